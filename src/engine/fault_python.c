/*
 * The Python layer of `exitpath fault`: call sites of the project's modules raise.
 *
 * One run does most of it: the adapter runs the tests once, and then forks for each point
 * (adapters/python/exitpath_fault.py). Where it says that a fork is not safe, there is a
 * run for each point. What tests do once in a process fails in one that has run no test.
 * What was found is confirmed by a run of its own, which has only those points and their
 * tests.
 */
#include "engine/fault_python.h"

#include "base/clock.h"
#include "base/mem.h"
#include "detect/python_command.h"
#include "detect/python_wrapper.h"
#include "engine/fault_explore.h"
#include "engine/fault_python_run.h"
#include "engine/lane.h"

#include <inttypes.h>
#include <string.h>

enum { TIME_FACTOR = 10, TIME_MORE_MS = 10000, MAX_JOBS = 2 };

/* ---- the run that explores ---- */

/* What it must have shown. false: the outcome says why not. */
static bool serves(struct sites *s, const struct run_result *result)
{
	const struct site_report *f = &s->found;
	CLEANUP_FREE char *how = run_result_describe(result);
	struct fault_report *r = s->report;

	if (f->malformed)
		fault_end_with(r, OUTCOME_HARNESS_ERROR, xstrdup(f->malformed), NULL);
	else if (result->end == RUN_NOT_STARTED || result->end == RUN_SANDBOX_FAILED ||
		 result->end == RUN_LOST)
		fault_end_with(r, OUTCOME_HARNESS_ERROR,
			       xasprintf("%s: %s", s->argv[0], how), NULL);
	else if (f->refused)
		fault_end_with(r, OUTCOME_HARNESS_ERROR, xstrdup(f->refused), NULL);
	else if (f->failed || (f->counted && !f->tests))
		fault_end_with(r, OUTCOME_BASELINE_INVALID,
			       xasprintf("without any fault: %s",
					 f->failed ? f->failed : "no test passes"),
			       "a test that passes shows what a fault changes");
	else if (!f->started && run_result_passed(result))
		fault_end_with(
			r, OUTCOME_HARNESS_ERROR,
			xstrdup("no Python loaded the adapter and ran tests"),
			"python -I, -E or -S leave PYTHONPATH out, as does a cleared "
			"environment; --layer libc makes calls of the interpreter fail");
	else if (!f->planned)
		fault_end_with(
			r, OUTCOME_BASELINE_INVALID,
			xasprintf("without any fault the command does not pass: %s%s%s",
				  how, s->said ? ": " : "", s->said ? s->said : ""),
			"a test that passes shows what a fault changes");
	else if (!f->npoints && !s->opts->only)
		fault_end_with(
			r, OUTCOME_HARNESS_ERROR,
			s->opts->key
				? xasprintf("the point %016" PRIx64 " was not reached",
					    s->opts->key)
				: xstrdup("the tests reach no call of the project's "
					  "modules that could fail"),
			s->opts->key ? "keys change with the function that makes the call"
				     : "see --call; --layer libc makes calls of the "
				       "interpreter fail");
	else if (!f->done)
		fault_end_with(r, OUTCOME_HARNESS_ERROR,
			       xasprintf("the tests ended before their points: %s", how),
			       NULL);
	else
		return true;
	return false;
}

static int explore(struct sites *s, struct err *err)
{
	CLEANUP_JSON json_t *keys = NULL, *known = sites_known(s);
	struct site_ask ask = {
		.all = true,
		.here = s->opts->no_fork,
		.known = known,
		.timeout_ms = SITE_TIMEOUT_MS,
	};
	struct run_result result;

	if (s->opts->key) {
		CLEANUP_FREE char *key = xasprintf("%016" PRIx64, s->opts->key);

		keys = json_array();
		json_array_append_new(keys, json_text(key));
		ask.keys = keys;
	}
	if (sites_run(s, &ask, &result, &s->found, err) < 0)
		return -1;
	s->whole_us = result.wall_us;
	s->here = s->found.unsafe || s->opts->no_fork;
	strv_copy(&s->report->notes,
		  s->found.notes.v ? s->found.notes.v : (char *[]){NULL});
	s->report->chosen = s->found.npoints + s->found.left;
	s->report->points = s->report->chosen + s->found.outside;
	s->report->calls = s->found.calls;
	s->report->near = s->found.near;
	sites_recall(s);
	return serves(s, &result);
}

/* ---- where a fork is not safe: a run for each point ---- */

struct site_lane {
	struct sites *s;
	size_t *at; /* the next point */
	size_t mine;
	struct site_run run;
};

static json_t *one_key(uint64_t key)
{
	CLEANUP_FREE char *text = xasprintf("%016" PRIx64, key);
	json_t *list = json_array();

	json_array_append_new(list, json_text(text));
	return list;
}

static int next_point(void *ctx, struct run_spec *spec, struct err *err)
{
	struct site_lane *l = ctx;
	struct sites *s = l->s;
	CLEANUP_JSON json_t *keys = NULL, *tests = json_array();
	const struct site_point *p;
	struct site_ask ask = {
		.here = true,
		.timeout_ms = s->whole_us / 1000 * TIME_FACTOR + TIME_MORE_MS,
	};

	while (*l->at < s->found.npoints && sites_knows(s, s->found.points[*l->at].key))
		(*l->at)++;
	if (*l->at == s->found.npoints || sites_late(s))
		return 0;
	progress_tell(s->opts->progress, "fault", "points", NULL, *l->at,
		      s->found.npoints);
	l->mine = (*l->at)++;
	p = &s->found.points[l->mine];
	keys = one_key(p->key);
	if (p->tests.n)
		json_array_append_new(tests, json_text(p->tests.v[0]));
	ask.keys = keys;
	ask.tests = tests;
	if (site_run_prepare(&l->run, s, &ask, spec, err) < 0) {
		site_run_finish(&l->run, &(struct run_result){.end = RUN_LOST}, NULL,
				NULL);
		return -1;
	}
	return 1;
}

void site_take_death(struct site_report *r, const struct run_result *result)
{
	struct site_trial *t;

	if (!r->fired.fired || r->ntrials)
		return;
	t = VEC_ADD(r->trials, r->ntrials, r->trials_cap);
	*t = r->fired;
	r->fired = (struct site_trial){0};
	t->key = r->npoints ? r->points[0].key : 0;
	if (r->npoints && r->points[0].tests.n) {
		free(t->test);
		t->test = xstrdup(r->points[0].tests.v[0]);
	}
	t->end = run_result_late(result)       ? SITE_HANG
		 : result->end == RUN_SIGNALED ? SITE_SIGNAL
					       : SITE_LEFT;
	t->signal = result->signal;
	t->seconds = (double)result->wall_us / 1e6;
}

static void move_trials(struct site_report *from, struct site_report *to)
{
	for (size_t i = 0; i < from->ntrials; i++)
		*VEC_ADD(to->trials, to->ntrials, to->trials_cap) = from->trials[i];
	from->ntrials = 0;
}

static int point_done(void *ctx, const struct run_result *result, struct err *err)
{
	struct site_lane *l = ctx;
	CLEANUP(site_report) struct site_report r = {0};

	if (site_run_finish(&l->run, result, &r, err) < 0)
		return -1;
	if (result->end == RUN_CANCELLED)
		return 0;
	site_take_death(&r, result);
	move_trials(&r, &l->s->found);
	return 0;
}

static int rerun_all(struct sites *s, struct err *err)
{
	struct site_lane lanes[MAX_JOBS] = {0};
	struct lane handles[MAX_JOBS];
	size_t at = 0;

	for (size_t i = 0; i < MAX_JOBS; i++) {
		lanes[i] = (struct site_lane){.s = s, .at = &at};
		handles[i] = (struct lane){
			.next = next_point, .done = point_done, .ctx = &lanes[i]};
	}
	return lanes_run(handles, MAX_JOBS,
			 s->opts->isolation == ISOLATION_SANDBOX ? MAX_JOBS : 1, err);
}

/* ---- what a test does once ---- */

json_t *site_first_json(const struct site_point *p)
{
	CLEANUP_FREE char *key = xasprintf("%016" PRIx64, p->key);
	json_t *j = json_object(), *tests = json_array();

	for (size_t i = 0; i < p->tests.n; i++)
		json_array_append_new(tests, json_text(p->tests.v[i]));
	json_put(j, "key", key);
	json_put(j, "phase", p->phase);
	json_put_bool(j, "must", p->must);
	json_object_set_new(j, "tests", tests);
	return j;
}

static bool has_fired(const struct site_report *r, uint64_t key)
{
	for (size_t i = 0; i < r->ntrials; i++)
		if (r->trials[i].key == key && r->trials[i].fired)
			return true;
	return false;
}

static bool was_tried(const struct site_report *r, uint64_t key)
{
	for (size_t i = 0; i < r->ntrials; i++)
		if (r->trials[i].key == key)
			return true;
	return false;
}

/* A process that has run no test yet comes to calls that others made long ago, and to
 * those of tests that cannot be repeated. */
int sites_explore_first(struct sites *s, json_t *points, struct site_report *ret,
			struct err *err)
{
	struct site_ask ask = {.first = points, .timeout_ms = SITE_TIMEOUT_MS};
	struct run_result result;

	return sites_run(s, &ask, &result, ret, err);
}

static int explore_missed(struct sites *s, struct err *err)
{
	CLEANUP_JSON json_t *points = json_array();
	CLEANUP(site_report) struct site_report r = {0};

	for (size_t i = 0; i < s->found.npoints; i++) {
		const struct site_point *p = &s->found.points[i];

		if (was_tried(&s->found, p->key) && !has_fired(&s->found, p->key))
			json_array_append_new(points, site_first_json(p));
	}
	if (!json_array_size(points))
		return 0;
	if (sites_explore_first(s, points, &r, err) < 0)
		return -1;
	s->first = true;
	move_trials(&r, &s->found);
	return 0;
}

/* ---- a check behind each run ---- */

/* The runner's own pass alone stands before it: what others wrote is not there. */
int sites_check(struct sites *s, const struct site_point *p, struct site_report *ret,
		struct err *err)
{
	const struct site_ask ask = {
		.bare = p ? p->key : 0,
		.must = p && p->must,
		.check = true,
		.timeout_ms = s->whole_us / 1000 * TIME_FACTOR + TIME_MORE_MS,
	};
	struct run_result result;
	struct site_trial *t;

	if (sites_run(s, &ask, &result, ret, err) < 0)
		return -1;
	t = VEC_ADD(ret->trials, ret->ntrials, ret->trials_cap);
	*t = ret->fired;
	ret->fired = (struct site_trial){0};
	t->key = ask.bare;
	if (!t->test)
		t->test = xstrdup("the command");
	return 0;
}

static bool check_serves(struct sites *s, const struct site_trial *t)
{
	if (t->checked && !t->check_status)
		return true;
	fault_end_with(s->report,
		       t->checked ? OUTCOME_BASELINE_INVALID : OUTCOME_HARNESS_ERROR,
		       t->checked ? xasprintf("without any fault the check fails with "
					      "%d%s%s",
					      t->check_status, t->check_said ? ": " : "",
					      t->check_said ? t->check_said : "")
				  : xstrdup("the check did not come to its end"),
		       "it runs behind the command, in the same directory and sandbox");
	return false;
}

/* 1: go on; 0: the outcome is set. */
static int check_all(struct sites *s, struct err *err)
{
	CLEANUP(site_report) struct site_report base = {0};

	if (sites_check(s, NULL, &base, err) < 0)
		return -1;
	if (!check_serves(s, &base.trials[0]))
		return 0;
	for (size_t i = 0; i < s->found.npoints && !sites_late(s); i++) {
		CLEANUP(site_report) struct site_report r = {0};

		progress_tell(s->opts->progress, "fault", "checks", NULL, i,
			      s->found.npoints);
		if (sites_knows(s, s->found.points[i].key))
			continue;
		if (sites_check(s, &s->found.points[i], &r, err) < 0)
			return -1;
		move_trials(&r, &s->found);
	}
	return 1;
}

static int run_all(struct sites *s, struct err *err)
{
	int rc;

	if (sites_open(s, err) < 0)
		return -1;
	rc = explore(s, err);
	if (rc <= 0)
		return rc;
	if (s->here && rerun_all(s, err) < 0)
		return -1;
	if (explore_missed(s, err) < 0)
		return -1;
	if (s->opts->check) {
		rc = check_all(s, err);
		if (rc <= 0)
			return rc;
	}
	return sites_conclude(s, err);
}

static int explore_python(const struct fault_opts *opts, char *const *argv,
			  struct fault_report *report, struct err *err)
{
	struct sites s = {
		.opts = opts, .argv = argv, .report = report, .start_us = clock_us()};
	int rc;

	if (opts->path)
		return err_set(err, ERR_USAGE,
			       "--path: calls of Python have none; see --call, --caller");
	if (opts->nth > 1)
		return err_set(err, ERR_USAGE,
			       "--nth: a call of Python fails the first time alone");
	rc = run_all(&s, err);
	sites_remember(&s);
	sites_close(&s);
	return rc;
}

static bool runs_python(char *const *argv, const char *dir)
{
	CLEANUP(strv) struct strv words = {0};

	strv_copy(&words, argv);
	return python_command_use(&words) != PYTHON_NONE ||
	       python_wrapper_runs_tests(&words, dir);
}

const struct fault_layer fault_layer_python = {
	.name = "python",
	.fits = runs_python,
	.explore = explore_python,
};
