#include "model/sandbox.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

static const char *const isolations[ISOLATIONS] = {
	[ISOLATION_SANDBOX] = "sandbox",
	[ISOLATION_NONE] = "none",
};

static const char *const networks[] = {
	[NETWORK_NONE] = "none",
	[NETWORK_LOOPBACK] = "loopback",
	[NETWORK_HOST] = "host",
};

static int find(const char *const *names, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(names[i], name))
			return (int)i;
	return -1;
}

const char *isolation_name(enum isolation i)
{
	return isolations[i];
}

int isolation_parse(const char *name, enum isolation *ret)
{
	int i = find(isolations, ARRAY_SIZE(isolations), name);

	if (i < 0)
		return -1;
	*ret = (enum isolation)i;
	return 0;
}

int network_parse(const char *name, enum network *ret)
{
	int i = find(networks, ARRAY_SIZE(networks), name);

	if (i < 0)
		return -1;
	*ret = (enum network)i;
	return 0;
}

const char *network_name(enum network n)
{
	return networks[n];
}

void sandbox_add_view(struct sandbox *s, const char *from, const char *at,
		      enum view_mode mode)
{
	*VEC_ADD(s->views, s->nviews, s->views_cap) = (struct sandbox_view){
		.from = xstrdup(from), .at = xstrdup(at), .mode = mode};
}

void sandbox_release(struct sandbox *s)
{
	for (size_t i = 0; i < s->nviews; i++) {
		free(s->views[i].from);
		free(s->views[i].at);
	}
	free(s->views);
	free(s->home);
	*s = (struct sandbox){0};
}
