/*
 * Tests in, verdicts out. An item is a test whose executions are on their way; items wait
 * in the order of the tests, and the first is told when it is known. What is expensive is
 * asked last: only a test that stands on the right code is executed under another hash
 * seed and on the buggy revision.
 */
#include "base/buf.h"
#include "base/fs.h"
#include "base/mem.h"
#include "engine/vet_parts.h"
#include "proc/proc.h"
#include "vet/subset.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>

enum {
	ARG_BYTES = 100000, /* execve() takes 128 KiB in one argument */
	STDIN_NAME_MAX = 64,
};
#define SEED "4711" /* of the other process; that of the first is 0 */

enum ask { ASK_JUDGE, ASK_AGAIN, ASK_BUGGY, ASKS };

struct item {
	struct vet_test test;
	char *only;   /* the test of the file; NULL: not known yet */
	char *seen;   /* path of the file, as runs see it */
	char *bad;    /* why it is no test */
	bool pytest;  /* it runs it, as far as is known */
	unsigned out; /* asked, not answered */
	bool asked_all;
	struct vet_sights sights;
	struct item *next;
};

struct stream {
	struct vet_places *places;
	const struct vet_opts *opts;
	struct vet_input *in;
	struct vet_record *record;
	struct vet_report *report;
	struct item *first;
	size_t nitems;
	struct vet_test *accepted; /* name, shape and what it does */
	size_t naccepted, accepted_cap;
	bool over; /* nothing more is read or told */
};

static void item_free(struct item *i)
{
	vet_test_release(&i->test);
	free(i->only);
	free(i->seen);
	free(i->bad);
	vet_sight_release(&i->sights.judge);
	vet_sight_release(&i->sights.again);
	vet_sight_release(&i->sights.buggy);
	free(i);
}

static struct vet_sight *sight_of(struct item *i, enum ask ask)
{
	return ask == ASK_JUDGE	  ? &i->sights.judge
	       : ask == ASK_AGAIN ? &i->sights.again
				  : &i->sights.buggy;
}

/* ---- asking ---- */

/* ASCII, so that it may be cut anywhere. */
static void add_spec(const struct item *i, enum ask ask, struct strv *argv)
{
	CLEANUP_JSON json_t *j = json_object();
	CLEANUP_FREE char *text = NULL;

	json_put(j, "name", i->test.name);
	json_put(j, "path", i->seen);
	json_put(j, "source", i->test.source);
	json_put(j, "only", i->only);
	json_put(j, "what", ask == ASK_JUDGE ? "judge" : "once");
	text = json_dumps(j, JSON_COMPACT | JSON_ENSURE_ASCII);
	for (const char *at = text; *at;) {
		size_t n = strnlen(at, ARG_BYTES);

		strv_take(argv, xstrndup(at, n));
		at += n;
	}
}

static int ask(struct stream *s, struct item *i, enum ask what, struct err *err)
{
	struct vet_place *place =
		what == ASK_BUGGY ? &s->places->buggy : &s->places->right;
	CLEANUP(strv) struct strv argv = {0}, env = {0};
	CLEANUP_FREE char *warm = NULL;
	const struct vet_opts *o = s->opts;
	struct pool_run run = {
		.argv = &argv,
		.env = &env,
		.cwd = o->dir,
		.timeout_ms =
			o->settings.limit_ms * (what == ASK_JUDGE ? VET_RUN_LIMITS : 1) +
			1000,
		.limits = o->limits,
		.network = NETWORK_NONE,
		.discard = true,
		.warm = WARM_PYTHON,
		.id = (uint64_t)(uintptr_t)i | (unsigned)what,
	};

	strv_add(&argv, o->python ? o->python : "python3");
	strv_addf(&argv, "%s/exitpath_vet.py", place->code);
	add_spec(i, what, &argv);
	strv_copy(&env, place->env.v);
	env_set(&env, "PYTHONHASHSEED", what == ASK_AGAIN ? SEED : "0");
	env_set(&env, "PYTHONDONTWRITEBYTECODE", "1");
	/* adapters/warm/python.py: which of two interpreters; a wrong guess costs time.
	 */
	warm = path_join(place->code, i->pytest ? "warm.pytest" : "warm");
	env_set(&env, "EXITPATH_WARM", warm);
	i->out++;
	sight_of(i, what)->asked = true;
	return pool_submit(place->pool, &run, err);
}

/* ---- tests ---- */

static struct item *add_item(struct stream *s, struct item **at)
{
	struct item *i = xcalloc(1, sizeof(*i));

	_Static_assert(ASKS <= sizeof(void *), "fits into the low bits of a pointer");
	i->next = *at;
	*at = i;
	s->nitems++;
	return i;
}

static char *path_of(const struct stream *s, const struct vet_test *t)
{
	if (!t->path)
		return xasprintf("%s/test_exitpath_vetted.py", s->opts->dir);
	if (*t->path == '/')
		return xstrdup(t->path);
	return xasprintf("%s/%s", s->opts->dir,
			 !strncmp(t->path, "./", 2) ? t->path + 2 : t->path);
}

static struct item **end_of(struct stream *s)
{
	struct item **at = &s->first;

	while (*at)
		at = &(*at)->next;
	return at;
}

/* Each may ask for three runs, and the queue is what bounds our memory. */
static bool has_room(const struct stream *s)
{
	size_t queue = s->opts->queue ? s->opts->queue : POOL_QUEUE;

	return !s->over && s->nitems < queue && pool_has_room(s->places->right.pool);
}

/* 1: a test came; 0: none now; -1: err. */
static int next_test(struct stream *s, struct err *err)
{
	struct vet_test t = {0};
	char *why = NULL;
	enum vet_next kind;
	struct item *i;

	if (!has_room(s))
		return 0;
	kind = vet_input_next(s->in, &t, &why);
	if (kind == VET_NEXT_NONE)
		return 0;
	i = add_item(s, end_of(s));
	i->test = t;
	i->bad = why;
	if (kind == VET_NEXT_BAD)
		return 1;
	i->seen = path_of(s, &t);
	i->pytest = strstr(t.source, "pytest") || strstr(t.source, "\nfrom .");
	return ask(s, i, ASK_JUDGE, err) < 0 ? -1 : 1;
}

/* A file of several tests: one item for each, in its place. */
static int expand(struct stream *s, struct item *i, struct err *err)
{
	CLEANUP_JSON json_t *tests = json_deep_copy(vet_several(&i->sights.judge));
	struct item **at = &s->first;
	const json_t *one;
	size_t n;

	while (*at != i)
		at = &(*at)->next;
	*at = i->next;
	s->nitems--;
	json_array_foreach (tests, n, one) {
		struct item *part;

		if (!json_is_string(one))
			continue;
		part = add_item(s, at);
		at = &part->next;
		part->only = xstrdup(json_string_value(one));
		part->test.name = xasprintf("%s::%s", i->test.name, part->only);
		part->test.path = xstrdup(i->test.path);
		part->test.source = xstrdup(i->test.source);
		part->seen = xstrdup(i->seen);
		part->pytest = json_get_bool(i->sights.judge.seen, "pytest", i->pytest);
		if (ask(s, part, ASK_JUDGE, err) < 0)
			return -1;
	}
	item_free(i);
	return 0;
}

/* What is to be done when all answers are there. */
static int advance(struct stream *s, struct item *i, struct err *err)
{
	if (s->over || i->out || i->bad)
		return 0;
	if (vet_several(&i->sights.judge) && !i->only)
		return expand(s, i, err);
	if (i->asked_all)
		return 0;
	i->asked_all = true;
	i->pytest = json_get_bool(i->sights.judge.seen, "pytest", i->pytest);
	if (!vet_promising(&i->sights.judge, &s->opts->settings))
		return 0;
	if (!i->only)
		i->only = xstrdup(json_get(i->sights.judge.seen, "only", NULL));
	if (s->places->buggy.pool && ask(s, i, ASK_BUGGY, err) < 0)
		return -1;
	return ask(s, i, ASK_AGAIN, err);
}

/* ---- answers ---- */

static int take(struct stream *s, struct pool *p, bool *ret_any, struct err *err)
{
	CLEANUP(pool_result) struct pool_result r = {0};
	struct item *i;

	if (!p || !pool_take(p, &r))
		return 0;
	*ret_any = true;
	i = (struct item *)(uintptr_t)(r.id & ~(uint64_t)(sizeof(void *) - 1));
	i->out--;
	vet_sight_take(sight_of(i, (enum ask)(r.id & (sizeof(void *) - 1))), &r.run,
		       buf_str(&r.out), r.out.len, buf_str(&r.err));
	return advance(s, i, err);
}

static void judge(struct stream *s, struct item *i)
{
	struct vet_test *t = &i->test;

	if (i->bad) {
		t->verdict = VET_ERROR;
		t->score = t->coverage = t->kill_rate = VET_UNKNOWN;
		vet_reason_add(&t->reasons, VET_SYNTAX, 0, "%s", i->bad);
		return;
	}
	vet_judge(&i->sights, &s->opts->settings, t);
	if (t->verdict != VET_ACCEPTED)
		return;
	for (size_t k = 0; k < s->naccepted; k++)
		if (vet_same(t, &s->accepted[k])) {
			t->verdict = VET_REJECTED;
			vet_reason_add(&t->reasons, VET_DUPLICATE, 0,
				       "it does the same as %s", s->accepted[k].name);
			return;
		}
}

/* Copies what later ones are compared with. */
static void keep(struct stream *s, const struct vet_test *t)
{
	struct vet_test *k = VEC_ADD(s->accepted, s->naccepted, s->accepted_cap);

	k->name = xstrdup(t->name);
	k->shape = xstrdup(t->shape);
	strv_copy(&k->kills, t->kills.v);
	strv_copy(&k->branches, t->branches.v);
}

static bool is_known(const struct item *i)
{
	return i->bad || (!i->out && i->asked_all);
}

static int tell(struct stream *s, struct err *err)
{
	while (s->first && is_known(s->first) && !s->over) {
		struct item *i = s->first;

		judge(s, i);
		s->report->accepted += i->test.verdict == VET_ACCEPTED;
		s->report->rejected += i->test.verdict == VET_REJECTED;
		s->report->broken += i->test.verdict == VET_ERROR;
		s->report->executions += i->test.executions;
		if (!s->opts->tell(s->opts->ctx, &i->test))
			s->over = true;
		if (i->test.verdict == VET_ACCEPTED)
			keep(s, &i->test);
		if (!i->bad && vet_record_add(s->record, &i->test, err) < 0)
			return -1;
		s->first = i->next;
		s->nitems--;
		item_free(i);
	}
	return 0;
}

/* ---- the loop ---- */

static int work(struct stream *s, struct err *err)
{
	struct pool *right = s->places->right.pool, *buggy = s->places->buggy.pool;
	bool any;
	int rc;

	do {
		any = false;
		while ((rc = next_test(s, err)) > 0)
			any = true;
		if (rc < 0 || pool_dispatch(right, err) < 0 ||
		    (buggy && pool_dispatch(buggy, err) < 0) ||
		    take(s, right, &any, err) < 0 || take(s, buggy, &any, err) < 0 ||
		    tell(s, err) < 0)
			return -1;
	} while (any);
	return 0;
}

static int loop(struct stream *s, struct err *err)
{
	for (;;) {
		enum { IN, INTERRUPT, POOLS };
		struct pollfd p[POOLS + 2 * POOL_MAX_WORKERS];
		size_t n = POOLS;

		if (work(s, err) < 0)
			return -1;
		if (proc_interrupted())
			return err_set(err, ERR_INTERRUPTED, "stopped by signal %d (%s)",
				       proc_interrupted(), strsignal(proc_interrupted()));
		if (s->over || (vet_input_over(s->in) && !s->first))
			return 0;
		p[IN] = (struct pollfd){
			.fd = vet_input_waits(s->in) && has_room(s) ? s->opts->in : -1,
			.events = POLLIN,
		};
		p[INTERRUPT] =
			(struct pollfd){.fd = proc_interrupt_fd(), .events = POLLIN};
		n += pool_fds(s->places->right.pool, p + n, POOL_MAX_WORKERS);
		if (s->places->buggy.pool)
			n += pool_fds(s->places->buggy.pool, p + n, POOL_MAX_WORKERS);
		if (poll(p, n, -1) > 0 && p[IN].revents && vet_input_read(s->in, err) < 0)
			return -1;
	}
}

int vet_stream(struct vet_places *places, struct vet_input *in, struct vet_record *record,
	       struct vet_report *ret, struct err *err)
{
	struct stream s = {
		.places = places,
		.opts = places->opts,
		.in = in,
		.record = record,
		.report = ret,
	};
	int rc = loop(&s, err);

	while (s.first) {
		struct item *i = s.first;

		s.first = i->next;
		item_free(i);
	}
	for (size_t k = 0; k < s.naccepted; k++)
		vet_test_release(&s.accepted[k]);
	free(s.accepted);
	return rc;
}
