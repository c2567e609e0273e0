/*
 * Attempts at a verdict: both sides measured, each detector judged; again when that was
 * intermittent, or when a leak has no place yet.
 */
#include "engine/measure.h"

#include "base/fs.h"
#include "base/json.h"
#include "base/mem.h"
#include "verdict/verdict.h"

#include <string.h>
#include <time.h>

enum { MAX_ATTEMPTS = 3 }; /* DESIGN §5.6 */

static int keep_side(struct session *s, struct measurement *m, size_t i,
		     struct strv *list, struct err *err)
{
	const char *side = side_name(m->side);
	const char *target = m->lifecycle->name, *detector = m->group->detector[i]->name;
	CLEANUP_JSON json_t *j = observation_to_json(&m->obs[i]);
	CLEANUP_FREE char *text = json_pretty(j);
	CLEANUP_FREE char *data_name = xasprintf("%s/%s/%s.json", target, detector, side);
	CLEANUP_FREE char *report_name =
		xasprintf("%s/%s/%s-report.txt", target, detector, side);

	if (session_keep(s, data_name, text, strlen(text), list, err) < 0)
		return -1;
	if (!m->report[i].len)
		return 0;
	return session_keep(s, report_name, buf_str(&m->report[i]), m->report[i].len,
			    list, err);
}

static void today(char ret[11])
{
	time_t now = time(NULL);
	struct tm tm;

	gmtime_r(&now, &tm);
	strftime(ret, 11, "%Y-%m-%d", &tm);
}

/* No name at all: where names matter, for suppressions, they cost too much to have them
 * in each run. */
static bool nameless(const struct leak *l)
{
	for (size_t i = 0; i < l->nframes; i++)
		if (l->frames[i].function)
			return false;
	return l->nframes > 0;
}

/* A leak without names, or a new one whose cheap stack ended before it reached code of
 * the project. */
static bool wants_precise(const struct detector *d, const struct check *c)
{
	if (!d->has_precise)
		return false;
	for (size_t i = 0; i < c->nfindings; i++) {
		const struct finding *f = &c->findings[i];
		const struct frame *top = leak_top_frame(&f->leak);

		if (f->class == FINDING_SUPPRESSED)
			continue;
		if (nameless(&f->leak) ||
		    (f->class == FINDING_NEW && !(top && top->project)))
			return true;
	}
	return false;
}

enum again { AGAIN_NO, AGAIN_INTERMITTENT, AGAIN_PRECISE };

struct attempt {
	unsigned number; /* 1 … MAX_ATTEMPTS: re-runs of what was intermittent */
	bool precise;	 /* once more with whole stacks, to name the place */
	/* For each detector: what an earlier attempt saw leak at times; or NULL. */
	char *earlier[MAX_GROUP];
	/* … and how its one run failed, which a later one may not; or NULL. */
	char *failed[MAX_GROUP];
};

static bool fails(const struct check *c)
{
	return c->outcome == OUTCOME_BASELINE_INVALID ||
	       c->outcome == OUTCOME_BEHAVIOR_FAILED;
}

/* A failure that did not come again is told, and decides nothing. */
static void remember_failure(struct attempt *a, size_t i, struct check *c)
{
	if (c->retry && fails(c) && !a->failed[i])
		a->failed[i] = xstrdup(c->explanation);
	else if (!c->retry && !fails(c) && a->failed[i])
		strv_addf(&c->notes, "not seen again after the first attempt: %s",
			  a->failed[i]);
}

/* Decides one detector. ret_again: whether, and why, to measure once more. */
static int judge(struct session *s, struct measurement m[2], size_t i, struct attempt *a,
		 enum again *ret_again, struct err *err)
{
	const struct lifecycle *l = m[0].lifecycle;
	bool precise = m[0].precise;
	CLEANUP(check) struct check c = {0};
	char date[11];
	bool skip = false;

	today(date);
	verdict_leak(
		&(struct leak_case){
			.lifecycle = l,
			.base = &m[SIDE_BASE].obs[i],
			.candidate = &m[SIDE_CANDIDATE].obs[i],
			.suppressions = s->contract.suppressions,
			.nsuppressions = s->contract.nsuppressions,
			.today = date,
			.attempt = a->number,
			.max_attempts = MAX_ATTEMPTS,
			.required =
				m[0].group->required || m[0].group->detector[i]->server,
			.inside = m[0].group->detector[i]->inside,
			.earlier = a->earlier[i],
		},
		&c, &skip);
	*ret_again = c.retry ? AGAIN_INTERMITTENT
		     : !precise && wants_precise(m[0].group->detector[i], &c)
			     ? AGAIN_PRECISE
			     : AGAIN_NO;
	if (keep_side(s, &m[SIDE_BASE], i, &c.base_artifacts, err) < 0 ||
	    keep_side(s, &m[SIDE_CANDIDATE], i, &c.candidate_artifacts, err) < 0)
		return -1;
	if (!a->earlier[i])
		a->earlier[i] = xstrdup(verdict_unsettled(&c));
	if (m[0].group->detector[i]->inside)
		remember_failure(a, i, &c);
	if (skip || *ret_again != AGAIN_NO)
		return 0;
	if (!c.command.n)
		lifecycle_argv(l, &c.command);
	c.duration_us = m[SIDE_CANDIDATE].duration_us;
	*result_check(s->result) = c;
	c = (struct check){0};
	return 0;
}

/* "artifacts/worker/lsan/base.json" → "artifacts/worker/lsan/attempt-1/base.json": the
 * last attempt, whose names the record holds, keeps the short ones. */
static void set_aside(struct session *s, size_t first)
{
	unsigned round = ++s->rounds_set_aside;

	for (size_t i = first; i < s->nartifacts; i++) {
		char *old = s->artifacts[i].name;
		const char *base = path_base(old);

		s->artifacts[i].name = xasprintf("%.*sattempt-%u/%s", (int)(base - old),
						 old, round, base);
		free(old);
	}
}

static bool all_passed(const struct observation *o)
{
	for (size_t i = 0; i < o->ncycles; i++)
		if (!run_result_passed(&o->cycles[i].run))
			return false;
	return true;
}

/* Judges each detector of the group after both sides were measured. */
static int judge_group(struct session *s, struct measurement m[2], struct attempt *a,
		       enum again *ret_again, struct err *err)
{
	size_t checks = s->result->nchecks, artifacts = s->nartifacts;

	*ret_again = AGAIN_NO;
	for (size_t i = 0; i < m[0].group->n; i++) {
		enum again again;

		if (judge(s, m, i, a, &again, err) < 0)
			return -1;
		if (again == AGAIN_INTERMITTENT || *ret_again == AGAIN_NO)
			*ret_again = again;
	}
	if (*ret_again == AGAIN_NO)
		return 0;
	/* The whole group is measured anew: one check for each detector stays. */
	while (s->result->nchecks > checks)
		check_release(&s->result->checks[--s->result->nchecks]);
	set_aside(s, artifacts);
	return 0;
}

/* One attempt: both sides measured, each detector judged. */
static int attempt_group(struct session *s, const struct lifecycle *l,
			 const struct group *g, struct attempt *a, enum again *ret_again,
			 bool *ret_base_ok, struct err *err)
{
	struct measurement m[2];
	struct lane lanes[2] = {0};
	size_t nlanes = 0;
	bool first = a->number == 1 && !a->precise, reused, ready = true;
	int rc = -1;

	measurement_init(&m[SIDE_BASE], s, l, g, SIDE_BASE);
	measurement_init(&m[SIDE_CANDIDATE], s, l, g, SIDE_CANDIDATE);
	m[SIDE_BASE].precise = m[SIDE_CANDIDATE].precise = a->precise;
	*ret_again = AGAIN_NO;
	*ret_base_ok = false;
	reused = first && measurement_reuse(s, &m[SIDE_BASE]);
	if (session_setup(s, reused && !s->same ? 1u << SIDE_CANDIDATE : 3u, &ready,
			  err) < 0)
		goto out;
	if (!ready) {
		rc = 0;
		goto out;
	}
	if (!reused)
		lanes[nlanes++] = measurement_lane(&m[SIDE_BASE]);
	lanes[nlanes++] = measurement_lane(&m[SIDE_CANDIDATE]);
	if (lanes_run(lanes, nlanes, s->same ? 1 : s->opts->jobs, err) < 0)
		goto out;
	if (!reused && !a->precise && measurement_remember(s, &m[SIDE_BASE], err) < 0)
		goto out;
	if (judge_group(s, m, a, ret_again, err) < 0)
		goto out;
	*ret_base_ok = all_passed(&m[SIDE_BASE].obs[0]);
	rc = 0;
out:
	measurement_release(&m[SIDE_BASE]);
	measurement_release(&m[SIDE_CANDIDATE]);
	return rc;
}

int measure_group(struct session *s, const struct lifecycle *l, const struct group *g,
		  bool *ret_base_ok, struct err *err)
{
	struct attempt a = {.number = 1};
	enum again again = AGAIN_NO;
	int rc;

	do {
		rc = attempt_group(s, l, g, &a, &again, ret_base_ok, err);
		if (again == AGAIN_PRECISE)
			a.precise = true;
		else
			a.number++;
	} while (rc == 0 && again != AGAIN_NO);
	for (size_t i = 0; i < MAX_GROUP; i++) {
		free(a.earlier[i]);
		free(a.failed[i]);
	}
	return rc;
}
