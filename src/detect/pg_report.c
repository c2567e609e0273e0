#include "detect/pg_report.h"

#include "base/mem.h"
#include "detect/merge.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* A server process that was seen this long after an exit was not of that process. */
enum { NOTICED_US = 200000 };
enum { OTHERS_CAP = 16 };

static const struct {
	const char *word; /* of a report */
	enum resource resource;
} states[] = {
	[PG_IDLE] = {"idle", RESOURCE_PG_SESSION},
	[PG_IN_TRANSACTION] = {"idle in transaction", RESOURCE_PG_TRANSACTION},
	[PG_ACTIVE] = {"active", RESOURCE_PG_SESSION},
	[PG_LOCKED] = {"waiting for a lock", RESOURCE_PG_SESSION},
	[PG_HIDDEN] = {"in a state that is not told", RESOURCE_PG_SESSION},
};

void pg_sample_release(struct pg_sample *s)
{
	for (size_t i = 0; i < s->nsessions; i++) {
		free(s->sessions[i].id);
		free(s->sessions[i].work);
		free(s->sessions[i].what);
		free(s->sessions[i].name);
	}
	free(s->sessions);
	free(s->exe);
	*s = (struct pg_sample){0};
}

void pg_report_release(struct pg_report *r)
{
	for (size_t i = 0; i < r->nsamples; i++)
		pg_sample_release(&r->samples[i]);
	free(r->samples);
	free(r->failed);
	strv_release(&r->others);
	*r = (struct pg_report){0};
}

/* --- reading ------------------------------------------------------------------------ */

static enum pg_state state_of(const char *state, const char *wait)
{
	if (!strcmp(state, "idle"))
		return PG_IDLE;
	if (!strncmp(state, "idle in transaction", 19))
		return PG_IN_TRANSACTION;
	if (!*state || !strcmp(state, "disabled"))
		return PG_HIDDEN;
	return strcmp(wait, "Lock") ? PG_ACTIVE : PG_LOCKED;
}

/* What an idle session did last differs with the order of work. */
static char *describe(enum pg_state state, const char *query)
{
	CLEANUP_FREE char *statement = pg_statement(query);

	if (state == PG_IDLE || state == PG_HIDDEN || !*statement)
		return xstrdup(states[state].word);
	return xasprintf("%s%s %s", states[state].word,
			 state == PG_IN_TRANSACTION ? " after" : ":", statement);
}

void pg_sample_add(struct pg_sample *ret, const json_t *sessions, int canary)
{
	json_t *j;
	size_t i;

	ret->asked = json_is_array(sessions);
	json_array_foreach (sessions, i, j) {
		const char *pid = json_get(j, "pid", "?");
		struct pg_session *s =
			VEC_ADD(ret->sessions, ret->nsessions, ret->sessions_cap);

		s->state = state_of(json_get(j, "state", ""), json_get(j, "wait", ""));
		s->id = xasprintf("%s/%s", pid, json_get(j, "start", ""));
		s->work = s->state == PG_IDLE
				  ? xstrdup(s->id)
				  : xasprintf("%s/%s", s->id, json_get(j, "xact", ""));
		s->what = describe(s->state, json_get(j, "query", ""));
		s->name = xstrdup(json_get(j, "name", ""));
		s->ms = strtoll(json_get(j, "ms", "0"), NULL, 10);
		s->ours = json_get_bool(j, "ours", false);
		s->canary = strtol(pid, NULL, 10) == canary &&
			    s->state == PG_IN_TRANSACTION && s->ours;
	}
}

static void note_sessions(struct pg_report *r, const struct pg_sample *s)
{
	bool canary = false;

	for (size_t i = 0; i < s->nsessions; i++) {
		const struct pg_session *it = &s->sessions[i];

		canary |= it->canary;
		if (it->canary)
			continue;
		if (it->ours) {
			r->seen++;
			r->hidden |= it->state == PG_HIDDEN;
		} else if (r->others.n < OTHERS_CAP &&
			   !strv_contains(&r->others, it->name)) {
			strv_add(&r->others, it->name);
		}
	}
	r->no_canary |= s->asked && !canary;
}

static void read_line(struct pg_report *r, const json_t *j, int canary)
{
	const char *type = json_get(j, "t", "");
	struct pg_sample *s;

	if (!strcmp(type, "failed")) {
		if (!r->failed)
			r->failed = xstrdup(json_get(j, "why", "?"));
		return;
	}
	if (strcmp(type, "exit") && strcmp(type, "cycle") && strcmp(type, "end")) {
		r->malformed = true;
		return;
	}
	s = VEC_ADD(r->samples, r->nsamples, r->samples_cap);
	s->kind = *type == 'c'		  ? PG_SAMPLE_CYCLE
		  : !strcmp(type, "exit") ? PG_SAMPLE_EXIT
					  : PG_SAMPLE_END;
	s->us = json_get_int(j, "us", 0);
	s->cycle = json_get_int(j, "cycle", 0);
	s->sockets = json_get_int(j, "sockets", 0);
	s->left = json_get_int(j, "left", 0);
	s->exe = xstrdup(json_get(j, "exe", "?"));
	pg_sample_add(s, json_object_get(j, "sessions"), canary);
	note_sessions(r, s);
	r->ended |= s->kind == PG_SAMPLE_END;
}

void pg_report_parse(const char *text, size_t len, int canary, struct pg_report *ret)
{
	const char *end = text + len;

	while (text < end) {
		const char *nl = memchr(text, '\n', (size_t)(end - text));
		size_t n = (size_t)((nl ? nl : end) - text);
		CLEANUP_JSON json_t *j = json_loadb(text, n, 0, NULL);

		if (json_is_object(j))
			read_line(ret, j, canary);
		else
			ret->malformed = true;
		text += n + (nl != NULL);
	}
}

/* --- what is held ------------------------------------------------------------------- */

static const struct pg_session *find_id(const struct pg_sample *s, const char *id)
{
	for (size_t i = 0; s && i < s->nsessions; i++)
		if (!strcmp(s->sessions[i].id, id))
			return &s->sessions[i];
	return NULL;
}

static bool has_work(const struct pg_sample *s, const char *work)
{
	for (size_t i = 0; s && i < s->nsessions; i++)
		if (!strcmp(s->sessions[i].work, work))
			return true;
	return false;
}

static bool counts(const struct pg_session *s)
{
	return s->ours && !s->canary;
}

/* "idle in transaction for 1.2 s after UPDATE …". Signed before: that has no time. */
static void tell(struct leak *l, const struct pg_session *s, const char *more)
{
	const char *word = states[s->state].word, *rest = s->what + strlen(word);
	CLEANUP_FREE char *time = NULL;

	l->what = xasprintf("%s%s", s->what, more);
	leak_sign(l);
	if (s->state == PG_IDLE)
		return;
	time = xasprintf("%" PRId64 ".%" PRId64 " s", s->ms / 1000, s->ms % 1000 / 100);
	free(l->what);
	l->what = xasprintf("%s for %s%s%s", word, time, rest, more);
}

static void add(struct probe *p, const struct pg_session *s, enum resource resource,
		const char *exe, uint64_t units, const char *more, bool growth)
{
	struct leak *l = probe_leak(p, resource, units, 0);

	l->process = xstrdup(exe);
	l->growth = growth;
	tell(l, s, more);
}

/* Was the session still there when the server must have noticed the exit of sample i? */
static bool outlived(const struct pg_report *r, size_t i, const char *id)
{
	for (size_t k = i + 1; k < r->nsamples; k++)
		if (r->samples[k].asked &&
		    r->samples[k].us - r->samples[i].us > NOTICED_US &&
		    find_id(&r->samples[k], id))
			return true;
	return false;
}

/* Is it seen at a later exit of a process that has sockets, or with those left? */
static bool claimed_later(const struct pg_report *r, size_t i, const char *id)
{
	for (size_t k = i + 1; k < r->nsamples; k++) {
		const struct pg_sample *s = &r->samples[k];

		if ((s->sockets || s->left) && find_id(s, id))
			return true;
	}
	return false;
}

void pg_report_exits(const struct pg_report *r, const struct pg_sample *after,
		     struct probe *ret)
{
	for (size_t i = 0; i < r->nsamples; i++) {
		const struct pg_sample *s = &r->samples[i];
		bool end = s->kind == PG_SAMPLE_END;

		if (end ? !s->left : s->kind != PG_SAMPLE_EXIT || !s->sockets)
			continue;
		for (size_t k = 0; k < s->nsessions; k++) {
			const struct pg_session *it = &s->sessions[k];

			if (counts(it) && !find_id(after, it->id) &&
			    !claimed_later(r, i, it->id) && !outlived(r, i, it->id))
				add(ret, it, states[it->state].resource,
				    end ? "left running" : s->exe, 1, "", false);
		}
	}
	probe_merge(ret);
}

void pg_report_orphans(const struct pg_sample *after, struct probe *ret)
{
	for (size_t i = 0; i < after->nsessions; i++)
		if (counts(&after->sessions[i]))
			add(ret, &after->sessions[i], RESOURCE_PG_ORPHAN, NULL, 1,
			    ", after its process ended", false);
	probe_merge(ret);
}

static const struct pg_sample *cycle_sample(const struct pg_report *r, size_t cycle)
{
	for (size_t i = 0; i < r->nsamples; i++)
		if (r->samples[i].kind == PG_SAMPLE_CYCLE &&
		    r->samples[i].cycle == (int64_t)cycle)
			return &r->samples[i];
	return NULL;
}

size_t pg_report_cycles(const struct pg_report *r)
{
	size_t n = 0;

	while (cycle_sample(r, n))
		n++;
	return n ? n - 1 : 0;
}

/* How many of that description the cycle brought that are there to the last. */
static uint64_t added(const struct pg_report *r, size_t cycle, size_t cycles,
		      const char *what)
{
	const struct pg_sample *now = cycle_sample(r, cycle),
			       *before = cycle_sample(r, cycle - 1),
			       *last = cycle_sample(r, cycles);
	uint64_t n = 0;

	for (size_t i = 0; now && i < now->nsessions; i++) {
		const struct pg_session *s = &now->sessions[i];

		n += counts(s) && !strcmp(s->what, what) && !has_work(before, s->work) &&
		     has_work(last, s->work);
	}
	return n;
}

/* A pool that fills up once is no growth. */
static bool grows(const struct pg_report *r, size_t cycles, const char *what)
{
	size_t some = 0;

	for (size_t k = 1; k <= cycles; k++)
		some += added(r, k, cycles, what) > 0;
	return 2 * some > cycles;
}

void pg_report_cycle(const struct pg_report *r, size_t cycle, size_t cycles,
		     struct probe *ret)
{
	const struct pg_sample *now = cycle_sample(r, cycle), *first = cycle_sample(r, 0);
	CLEANUP(strv) struct strv done = {0};

	for (size_t i = 0; now && i < now->nsessions; i++) {
		const struct pg_session *s = &now->sessions[i];
		enum resource resource = states[s->state].resource;

		/* Of the warm-up: fixtures of a session, the first of a pool. */
		if (!counts(s) || has_work(first, s->work))
			continue;
		if (!grows(r, cycles, s->what)) {
			add(ret, s, resource, NULL, 1, "", false);
		} else if (!strv_contains(&done, s->what)) {
			uint64_t n = added(r, cycle, cycles, s->what);

			strv_add(&done, s->what);
			if (n)
				add(ret, s, resource, NULL, n, ", more with each cycle",
				    true);
		}
	}
	probe_merge(ret);
}

/* --- for people --------------------------------------------------------------------- */

static void sample_text(const struct pg_sample *s, struct buf *ret)
{
	for (size_t i = 0; i < s->nsessions; i++) {
		const struct pg_session *it = &s->sessions[i];

		buf_addf(ret, "  %s %s%s, %" PRId64 " ms: %s\n", it->id,
			 it->canary ? "canary" : it->name, it->ours ? "" : " (other)",
			 it->ms, it->what);
	}
}

void pg_report_text(const struct pg_report *r, const struct pg_sample *after,
		    struct buf *ret)
{
	for (size_t i = 0; i < r->nsamples; i++) {
		const struct pg_sample *s = &r->samples[i];

		if (s->kind == PG_SAMPLE_EXIT)
			buf_addf(ret, "exit of %s, %" PRId64 " sockets\n", s->exe,
				 s->sockets);
		else if (s->kind == PG_SAMPLE_CYCLE)
			buf_addf(ret, "cycle %" PRId64 "\n", s->cycle);
		else
			buf_addf(ret, "end, %" PRId64 " processes left\n", s->left);
		sample_text(s, ret);
	}
	buf_adds(ret, "after the run\n");
	sample_text(after, ret);
}
