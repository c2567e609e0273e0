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

const char *const sandbox_own_dirs[] = {"/tmp",	 "/var/tmp", "/dev",
					"/proc", "/sys",     NULL};

bool sandbox_is_own_dir(const char *path)
{
	for (size_t i = 0; sandbox_own_dirs[i]; i++)
		if (!strcmp(path, sandbox_own_dirs[i]))
			return true;
	return false;
}

void sandbox_add_view(struct sandbox *s, const char *from, const char *at,
		      enum view_mode mode)
{
	*VEC_ADD(s->views, s->nviews, s->views_cap) = (struct sandbox_view){
		.from = xstrdup(from), .at = xstrdup(at), .mode = mode};
}

void sandbox_copy(struct sandbox *dst, const struct sandbox *src)
{
	for (size_t i = 0; i < src->nviews; i++)
		sandbox_add_view(dst, src->views[i].from, src->views[i].at,
				 src->views[i].mode);
	free(dst->home);
	dst->home = xstrdup(src->home);
	dst->network = src->network;
}

bool path_is_below(const char *path, const char *dir)
{
	size_t n = strlen(dir);

	while (n && dir[n - 1] == '/')
		n--;
	return !strncmp(path, dir, n) && (path[n] == '/' || !path[n]);
}

char *sandbox_outside(const struct sandbox *s, const char *path)
{
	for (size_t i = s ? s->nviews : 0; i--;) {
		const struct sandbox_view *v = &s->views[i];

		if (path_is_below(path, v->at))
			return xasprintf("%s%s", v->from, path + strlen(v->at));
	}
	return xstrdup(path);
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
