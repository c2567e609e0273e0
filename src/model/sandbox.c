#include "model/sandbox.h"

#include "base/mem.h"

#include <stdlib.h>

static const char *const networks[] = {
	[NETWORK_NONE] = "none",
	[NETWORK_LOOPBACK] = "loopback",
	[NETWORK_HOST] = "host",
};

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
