#include "proc/warm.h"

#include "base/mem.h"
#include "sandbox/cgroup.h"

#include <string.h>

void warm_init(struct warm_servers *w)
{
	*w = (struct warm_servers){0};
	for (size_t i = 0; i < WARM_KEYS; i++)
		lane_init(&w->slots[i].lane);
}

static void forget(struct warm_server_slot *s)
{
	lane_close(&s->lane);
	strv_release(&s->argv);
	strv_release(&s->env);
	free(s->cwd);
	*s = (struct warm_server_slot){0};
	lane_init(&s->lane);
}

void warm_close(struct warm_servers *w)
{
	for (size_t i = 0; i < WARM_KEYS; i++)
		forget(&w->slots[i]);
}

static bool same(const struct strv *a, const struct strv *b, size_t n)
{
	if (a->n != n || b->n < n)
		return false;
	for (size_t i = 0; i < n; i++)
		if (strcmp(a->v[i], b->v[i]) != 0)
			return false;
	return true;
}

static bool serves(const struct warm_server_slot *s, const struct wire_request *q,
		   size_t first)
{
	return s->argv.n && s->network == q->network && !strcmp(s->cwd, q->cwd) &&
	       same(&s->argv, &q->argv, first) && same(&s->env, &q->env, q->env.n);
}

/* A free one, else that which was asked for least lately; those with an interpreter
 * last, or only those. */
static struct warm_server_slot *oldest(struct warm_servers *w, bool running)
{
	struct warm_server_slot *found = NULL;

	for (size_t i = 0; i < WARM_KEYS; i++) {
		struct warm_server_slot *s = &w->slots[i];

		if ((s->lane.zygote.pid > 0) == running &&
		    (!found || s->asked < found->asked))
			found = s;
	}
	return found;
}

static struct warm_server_slot *find(struct warm_servers *w, const struct wire_request *q,
				     size_t first)
{
	struct warm_server_slot *s;

	for (size_t i = 0; i < WARM_KEYS; i++)
		if (serves(&w->slots[i], q, first))
			return &w->slots[i];
	s = oldest(w, false); /* WARM_SERVERS < WARM_KEYS: there is one */
	forget(s);
	for (size_t i = 0; i < first; i++)
		strv_add(&s->argv, q->argv.v[i]);
	strv_copy(&s->env, q->env.v);
	s->cwd = xstrdup(q->cwd);
	s->network = q->network;
	return s;
}

static void make_room(struct warm_servers *w)
{
	unsigned running = 0;

	for (size_t i = 0; i < WARM_KEYS; i++)
		running += w->slots[i].lane.zygote.pid > 0;
	if (running >= WARM_SERVERS)
		lane_close(&oldest(w, true)->lane);
}

static int start(struct warm_servers *w, struct warm_server_slot *s,
		 const struct sandbox *sb, const struct wire_request *q, int cancel)
{
	const struct warm_server server = {
		.argv = s->argv.v,
		.first = s->argv.n,
		.env = q->env.v,
		.cwd = s->cwd,
		.cancel = cancel,
	};
	struct err err = {0};

	make_room(w);
	if (lane_prepare(&s->lane, sb, s->network, &err) < 0 ||
	    zygote_start_warm(&s->lane.sandbox, s->lane.cgroup, &server, &s->lane.zygote,
			      &err) < 0) {
		lane_close(&s->lane);
		return -1;
	}
	/* Beside the server and init, of which every zygote has its like: the guard. */
	cgroup_add_own(s->lane.cgroup, 1, s->lane.zygote.memory);
	return 0;
}

struct lane *warm_lane(struct warm_servers *w, const struct sandbox *sb,
		       const struct wire_request *q, int cancel)
{
	size_t first = q->warm == WARM_PYTHON ? warm_fits(q->argv.v, q->env.v) : 0;
	bool is_first = w->clock == 0;
	struct warm_server_slot *s;

	if (!first)
		return NULL;
	s = find(w, q, first);
	s->asked = ++w->clock;
	s->times++;
	if (s->never || (s->times < 2 && !is_first))
		return NULL;
	if (s->lane.zygote.pid > 0)
		return &s->lane;
	/* It was ended: out of memory, or by what it runs. */
	s->never = s->deaths++ == WARM_DEATHS || start(w, s, sb, q, cancel) < 0;
	return s->never ? NULL : &s->lane;
}
