/*
 * The Python layer of `exitpath fault`: call sites of the project's modules raise.
 *
 * One run does most of it: the adapter runs the tests once, and then forks for each point
 * (adapters/python/exitpath_fault.py). Where it says that a fork is not safe, there is a
 * run for each point. What was found is confirmed by a run of its own, which has only
 * those points and their tests.
 */
#include "engine/fault_python.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/json.h"
#include "base/mem.h"
#include "detect/embed.h"
#include "detect/python_command.h"
#include "detect/report_file.h"
#include "engine/lane.h"
#include "engine/run_session.h"
#include "fault/site.h"
#include "proc/proc.h"
#include "rev/rev.h"
#include "sandbox/sandbox.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#define WHOLE_TIMEOUT_MS (UINT64_C(3600) * 1000)
enum {
	TOKEN_BYTES = 16,
	REPORT_CAP = 64 << 20,
	TICK_MS = 200,
	TIME_FACTOR = 10,
	TIME_MORE_MS = 10000,
	MAX_JOBS = 2,
};

/* What all runs have in common. */
struct sites {
	const struct fault_opts *opts;
	char *const *argv;
	struct fault_report *report;
	char *scratch, *adapter;
	char *project;	 /* top of the working tree, as runs see it */
	const char *cwd; /* as runs see it */
	struct sandbox views;
	size_t next;
	uint64_t start_us;
	uint64_t whole_us; /* of the run that explored */
	bool first;	   /* some points were explored in first runs of tests */
	struct site_report found;
};

/* What one run is asked. */
struct ask {
	json_t *keys, *tests; /* borrowed; NULL: all */
	json_t *first;	      /* points that fail in a test's first run; NULL: none */
	bool here;	      /* in the process itself, without forks */
	uint64_t timeout_ms;
};

struct site_run {
	struct sites *s;
	char *dir, *tmpdir, token[2 * TOKEN_BYTES + 1];
	struct sandbox sandbox;
};

static void end_with(struct fault_report *r, enum outcome outcome, char *why,
		     const char *hint)
{
	r->outcome = outcome;
	free(r->why);
	r->why = why;
	free(r->hint);
	r->hint = xstrdup(hint);
}

/* A revision: its views are those of all of its runs. */
static void open_place(struct sites *s, const struct fault_place *p)
{
	s->project = xstrdup(p->seen);
	s->cwd = p->cwd;
	if (p->views)
		sandbox_copy(&s->views, p->views);
}

/* The working tree itself. */
static int open_tree(struct sites *s, struct err *err)
{
	const struct run_opts opts = {.dir = s->opts->dir, .network = NETWORK_LOOPBACK};
	bool sandboxed = s->opts->isolation == ISOLATION_SANDBOX;

	if (sandboxed && run_sandbox(&opts, &s->views, err) < 0)
		return -1;
	s->project = xstrdup(sandboxed ? s->views.views[0].at : s->opts->dir);
	s->cwd = s->opts->dir;
	return 0;
}

static int open_session(struct sites *s, struct err *err)
{
	s->scratch = make_temp_dir(scratch_parent(), "exitpath-fault", err);
	if (!s->scratch)
		return -1;
	s->adapter = path_join(s->scratch, "adapter.zip");
	if (write_file(s->adapter, embed_python_start,
		       (size_t)(embed_python_end - embed_python_start), err) < 0)
		return -1;
	if (s->opts->place)
		open_place(s, s->opts->place);
	else if (open_tree(s, err) < 0)
		return -1;
	if (s->opts->isolation != ISOLATION_SANDBOX)
		return 0;
	if (sandbox_check(&s->views, err) < 0)
		return -1;
	/* What a run writes below the project the next one does not find. */
	for (size_t i = 0; i < s->views.nviews; i++)
		if (s->views.views[i].mode == VIEW_WRITE)
			s->views.views[i].mode = VIEW_DISCARD;
	sandbox_add_view(&s->views, s->adapter, s->adapter, VIEW_READ);
	return 0;
}

static void close_session(struct sites *s)
{
	if (s->scratch)
		remove_tree(s->scratch, NULL);
	free(s->scratch);
	free(s->adapter);
	free(s->project);
	sandbox_release(&s->views);
	site_report_release(&s->found);
}

/* ---- one run ---- */

static uint64_t time_left_ms(const struct sites *s)
{
	uint64_t spent = (clock_us() - s->start_us) / 1000;

	if (!s->opts->time_ms)
		return 0;
	return spent < s->opts->time_ms ? s->opts->time_ms - spent : 1;
}

static json_t *settings_of(const struct site_run *r, const struct ask *a,
			   enum python_use use)
{
	const struct fault_opts *opts = r->s->opts;
	bool program = use == PYTHON_CODE || use == PYTHON_PROGRAM;
	json_t *j = json_object(), *fault = json_object();

	json_put(j, "dir", r->dir);
	json_put(j, "token", r->token);
	json_put(j, "root", r->s->project);
	json_put(j, "mode", program ? "program" : "tests");
	if (a->keys)
		json_object_set(fault, "keys", a->keys);
	if (a->tests)
		json_object_set(fault, "tests", a->tests);
	if (a->first)
		json_object_set(fault, "first", a->first);
	json_put(fault, "call", opts->call);
	json_put_int(fault, "points", opts->points);
	json_put_int(fault, "time_ms", (int64_t)time_left_ms(r->s));
	json_put_bool(fault, "forever", opts->forever);
	json_put_bool(fault, "fork", !a->here);
	json_object_set_new(j, "fault", fault);
	return j;
}

static void fill_env(const struct site_run *r, const struct ask *a, struct run_spec *spec)
{
	const struct run_opts opts = {.isolation = r->s->opts->isolation};
	CLEANUP_JSON json_t *settings = NULL;
	CLEANUP_FREE char *text = NULL, *all = NULL;
	const char *path;

	if (r->s->opts->place)
		strv_copy(&spec->env, r->s->opts->place->env->v);
	else
		run_env(&opts, &spec->env);
	path = env_get(&spec->env, "PYTHONPATH");
	all = path && *path ? xasprintf("%s:%s", r->s->adapter, path)
			    : xstrdup(r->s->adapter);
	settings = settings_of(r, a, python_command_use(&spec->argv));
	text = json_canonical(settings);
	env_set(&spec->env, "TMPDIR", r->tmpdir);
	env_set(&spec->env, "PYTHONPATH", all);
	env_set(&spec->env, "EXITPATH_PYTHON", text);
	python_command_lead(&spec->argv, r->s->adapter);
}

static int make_token(char *ret, struct err *err)
{
	unsigned char bytes[TOKEN_BYTES];

	if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
		return err_errno(err, ERR_ENVIRONMENT, errno, "no random bytes");
	for (size_t i = 0; i < sizeof(bytes); i++)
		snprintf(ret + 2 * i, 3, "%02x", bytes[i]);
	return 0;
}

/* Always followed by finish_run(), also when it fails. */
static int prepare_run(struct site_run *r, struct sites *s, const struct ask *a,
		       struct run_spec *spec, struct err *err)
{
	*r = (struct site_run){.s = s};
	r->dir = xasprintf("%s/%zu", s->scratch, s->next++);
	r->tmpdir = path_join(r->dir, "tmp");
	if (make_token(r->token, err) < 0 || make_dirs(r->tmpdir, 0700, err) < 0)
		return -1;
	if (s->opts->isolation == ISOLATION_SANDBOX) {
		sandbox_copy(&r->sandbox, &s->views);
		sandbox_add_view(&r->sandbox, r->dir, r->dir, VIEW_WRITE);
		spec->sandbox = &r->sandbox;
	}
	strv_copy(&spec->argv, s->argv);
	fill_env(r, a, spec);
	spec->cwd = xstrdup(s->cwd);
	if (s->opts->place)
		spec->limits = s->opts->place->limits;
	spec->dir = xstrdup(r->dir);
	spec->timeout_ms = a->timeout_ms;
	return 0;
}

/* Each process that ran tests has a report. */
static int read_reports(const struct site_run *r, struct site_report *ret,
			struct err *err)
{
	CLEANUP_FREE pid_t *pids = NULL;
	size_t n;

	if (pids_in_dir(r->dir, "report.", "", &pids, &n) < 0)
		return err_errno(err, ERR_ENVIRONMENT, errno, "cannot read %s", r->dir);
	for (size_t i = 0; i < n; i++) {
		CLEANUP_FREE char *path = xasprintf("%s/report.%d", r->dir, pids[i]);
		CLEANUP(buf) struct buf text = {0};

		if (read_regular(path, REPORT_CAP, &text) == 0)
			site_report_parse(buf_str(&text), text.len, r->token, ret);
		else if (!ret->malformed)
			ret->malformed = xasprintf("report.%d is no file", pids[i]);
	}
	return 0;
}

static int finish_run(struct site_run *r, const struct run_result *result,
		      struct site_report *ret, struct err *err)
{
	int rc = 0;

	r->s->report->runs++;
	r->s->report->cpu_us += result->cpu_us;
	if (ret && r->dir && path_exists(r->dir))
		rc = read_reports(r, ret, err);
	if (r->dir && remove_tree(r->dir, rc == 0 ? err : NULL) < 0)
		rc = -1;
	free(r->dir);
	free(r->tmpdir);
	sandbox_release(&r->sandbox);
	return rc;
}

static void tell_progress(const struct site_run *r)
{
	CLEANUP_FREE char *path = path_join(r->dir, "progress");
	CLEANUP(buf) struct buf text = {0};
	size_t done, all;

	if (read_regular(path, 100, &text) < 0 ||
	    sscanf(buf_str(&text), "%zu %zu", &done, &all) != 2)
		progress_tell(r->s->opts->progress, "fault", "the tests without a fault",
			      NULL, 0, 0);
	else
		progress_tell(r->s->opts->progress, "fault", "points", NULL, done, all);
}

/* One run by itself; its end in result. */
static int run_one(struct sites *s, const struct ask *a, struct run_result *result,
		   struct site_report *ret, struct err *err)
{
	CLEANUP(run_spec) struct run_spec spec = {0};
	struct site_run run;
	struct proc *p = NULL;
	int rc = prepare_run(&run, s, a, &spec, err);

	*result = (struct run_result){.end = RUN_LOST};
	if (rc == 0 && !(p = proc_start(&spec, err)))
		rc = -1;
	if (p) {
		struct pollfd fds[] = {{.fd = proc_fd(p), .events = POLLIN},
				       {.fd = proc_interrupt_fd(), .events = POLLIN}};

		while (poll(fds, 2, TICK_MS) <= 0)
			tell_progress(&run);
		if (proc_interrupted())
			proc_cancel(p);
		proc_finish(p, result);
	}
	if (finish_run(&run, result, ret, rc == 0 ? err : NULL) < 0)
		rc = -1;
	if (rc == 0 && proc_interrupted())
		rc = err_set(err, ERR_INTERRUPTED, "stopped by signal %d (%s)",
			     proc_interrupted(), strsignal(proc_interrupted()));
	return rc;
}

/* ---- the run that explores ---- */

/* What it must have shown. false: the outcome says why not. */
static bool serves(struct sites *s, const struct run_result *result)
{
	const struct site_report *f = &s->found;
	CLEANUP_FREE char *how = run_result_describe(result);
	struct fault_report *r = s->report;

	if (f->malformed)
		end_with(r, OUTCOME_HARNESS_ERROR, xstrdup(f->malformed), NULL);
	else if (result->end == RUN_NOT_STARTED || result->end == RUN_SANDBOX_FAILED ||
		 result->end == RUN_LOST)
		end_with(r, OUTCOME_HARNESS_ERROR, xasprintf("%s: %s", s->argv[0], how),
			 NULL);
	else if (f->refused)
		end_with(r, OUTCOME_HARNESS_ERROR, xstrdup(f->refused), NULL);
	else if (f->failed || (f->counted && !f->tests))
		end_with(r, OUTCOME_BASELINE_INVALID,
			 xasprintf("without any fault: %s",
				   f->failed ? f->failed : "no test passes"),
			 "a test that passes shows what a fault changes");
	else if (!f->started && run_result_passed(result))
		end_with(r, OUTCOME_HARNESS_ERROR,
			 xstrdup("no Python loaded the adapter and ran tests"),
			 "python -I, -E or -S leave PYTHONPATH out, as does a cleared "
			 "environment; --layer libc makes calls of the interpreter fail");
	else if (!f->planned)
		end_with(
			r, OUTCOME_BASELINE_INVALID,
			xasprintf("without any fault the command does not pass: %s", how),
			"a test that passes shows what a fault changes");
	else if (!f->npoints)
		end_with(r, OUTCOME_HARNESS_ERROR,
			 s->opts->key
				 ? xasprintf("the point %016" PRIx64 " was not reached",
					     s->opts->key)
				 : xstrdup("the tests reach no call of the project's "
					   "modules that could fail"),
			 s->opts->key
				 ? "keys change with the function that makes the call"
				 : "see --call; --layer libc makes calls of the "
				   "interpreter fail");
	else if (!f->done)
		end_with(r, OUTCOME_HARNESS_ERROR,
			 xasprintf("the tests ended before their points: %s", how), NULL);
	else
		return true;
	return false;
}

static int explore(struct sites *s, struct err *err)
{
	CLEANUP_JSON json_t *keys = NULL;
	struct ask ask = {.timeout_ms = WHOLE_TIMEOUT_MS};
	struct run_result result;

	if (s->opts->key) {
		CLEANUP_FREE char *key = xasprintf("%016" PRIx64, s->opts->key);

		keys = json_array();
		json_array_append_new(keys, json_text(key));
		ask.keys = keys;
	}
	if (run_one(s, &ask, &result, &s->found, err) < 0)
		return -1;
	s->whole_us = result.wall_us;
	strv_copy(&s->report->notes,
		  s->found.notes.v ? s->found.notes.v : (char *[]){NULL});
	s->report->points = s->found.npoints + s->found.outside;
	s->report->calls = s->found.calls;
	s->report->chosen = s->found.npoints;
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
	struct ask ask = {
		.here = true,
		.timeout_ms = s->whole_us / 1000 * TIME_FACTOR + TIME_MORE_MS,
	};

	if (*l->at == s->found.npoints || (s->opts->time_ms && time_left_ms(s) <= 1))
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
	if (prepare_run(&l->run, s, &ask, spec, err) < 0) {
		finish_run(&l->run, &(struct run_result){.end = RUN_LOST}, NULL, NULL);
		return -1;
	}
	return 1;
}

/* What a process that died could not say. */
static void take_death(struct site_report *r, const struct run_result *result)
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

	if (finish_run(&l->run, result, &r, err) < 0)
		return -1;
	if (result->end == RUN_CANCELLED)
		return 0;
	take_death(&r, result);
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

static json_t *first_json(const struct site_point *p)
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
static int explore_first(struct sites *s, json_t *points, struct site_report *ret,
			 struct err *err)
{
	struct ask ask = {.first = points, .timeout_ms = WHOLE_TIMEOUT_MS};
	struct run_result result;

	return run_one(s, &ask, &result, ret, err);
}

static int explore_missed(struct sites *s, struct err *err)
{
	CLEANUP_JSON json_t *points = json_array();
	CLEANUP(site_report) struct site_report r = {0};

	for (size_t i = 0; i < s->found.npoints; i++) {
		const struct site_point *p = &s->found.points[i];

		if (was_tried(&s->found, p->key) && !has_fired(&s->found, p->key))
			json_array_append_new(points, first_json(p));
	}
	if (!json_array_size(points))
		return 0;
	if (explore_first(s, points, &r, err) < 0)
		return -1;
	s->first = true;
	move_trials(&r, &s->found);
	return 0;
}

/* ---- findings ---- */

static char *replay_of(const struct sites *s, uint64_t key)
{
	const struct fault_opts *o = s->opts;
	CLEANUP(strv) struct strv v = {0};

	if (o->invocation) {
		strv_copy(&v, o->invocation->v);
	} else {
		strv_add(&v, "exitpath");
		strv_add(&v, "fault");
		if (o->isolation != ISOLATION_SANDBOX)
			strv_addf(&v, "--isolation=%s", isolation_name(o->isolation));
		if (o->layer) {
			strv_add(&v, "--layer");
			strv_add(&v, o->layer->name);
		}
	}
	if (o->forever) {
		strv_add(&v, "--mode");
		strv_add(&v, "forever");
	}
	strv_add(&v, "--replay");
	strv_addf(&v, "%016" PRIx64, key);
	if (!o->lifecycle) {
		strv_add(&v, "--");
		strv_copy(&v, s->argv);
	}
	return shell_quote(v.v);
}

/* The same call, before and after its effect, or in several tests: one finding. */
static bool is_known(const struct sites *s, const struct site_point *p,
		     enum fault_defect d, const struct fault_finding *list, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct site_point *q = site_report_point(&s->found, list[i].key);

		if (list[i].defect == d && q && q->line == p->line &&
		    !strcmp(q->file, p->file) && !strcmp(q->label, p->label))
			return true;
	}
	return false;
}

static void fill_finding(const struct sites *s, const struct site_point *p,
			 const struct site_trial *t, struct fault_finding *f)
{
	f->call = xstrdup(p->label);
	f->error = !strcmp(p->variant, "after")
			   ? xasprintf("%s after its effect", t->error ? t->error : "?")
			   : xstrdup(t->error ? t->error : "?");
	f->key = p->key;
	f->replay = replay_of(s, p->key);
	leak_copy(&f->chain, &t->chain, 0);
}

/* The trials that show a defect, one per call and defect. */
static void collect(const struct sites *s, struct fault_report *into)
{
	for (size_t i = 0; i < s->found.ntrials; i++) {
		const struct site_trial *t = &s->found.trials[i];
		const struct site_point *p = site_report_point(&s->found, t->key);
		struct fault_finding f = {0};

		if (!p || !site_judge(p, t, &f) ||
		    is_known(s, p, f.defect, into->findings, into->nfindings)) {
			fault_finding_release(&f);
			continue;
		}
		fill_finding(s, p, t, &f);
		*fault_report_finding(into) = f;
	}
}

static bool was_found(const struct sites *s, const struct site_report *again,
		      const struct fault_finding *f)
{
	for (size_t i = 0; i < again->ntrials; i++) {
		const struct site_trial *t = &again->trials[i];
		const struct site_point *p = site_report_point(&s->found, t->key);
		struct fault_finding g = {0};
		bool same = p && t->key == f->key && site_judge(p, t, &g) &&
			    g.defect == f->defect;

		fault_finding_release(&g);
		if (same)
			return true;
	}
	return false;
}

static void add_once(json_t *list, const char *text)
{
	size_t i;
	json_t *item;

	json_array_foreach (list, i, item)
		if (!strcmp(json_string_value(item), text))
			return;
	json_array_append_new(list, json_text(text));
}

/* How the candidates are tried once more, in a new process. */
enum confirm_by { CONFIRM_TESTS, CONFIRM_ALL, CONFIRM_FIRST, CONFIRM_WAYS };

static int run_again(struct sites *s, const struct fault_report *candidates,
		     enum confirm_by by, struct site_report *ret, struct err *err)
{
	CLEANUP_JSON json_t *keys = json_array(), *tests = json_array(),
			    *first = json_array();
	struct ask ask = {
		.keys = keys,
		.tests = by == CONFIRM_TESTS ? tests : NULL,
		.here = s->found.unsafe != NULL,
		.timeout_ms = WHOLE_TIMEOUT_MS,
	};
	struct run_result result;

	for (size_t i = 0; i < candidates->nfindings; i++) {
		const struct fault_finding *f = &candidates->findings[i];
		const struct site_point *p = site_report_point(&s->found, f->key);
		CLEANUP_FREE char *key = xasprintf("%016" PRIx64, f->key);

		add_once(keys, key);
		for (size_t k = 0; p && k < p->tests.n; k++)
			add_once(tests, p->tests.v[k]);
		if (p)
			json_array_append_new(first, first_json(p));
	}
	if (by == CONFIRM_FIRST)
		return explore_first(s, first, ret, err);
	if (run_one(s, &ask, &result, ret, err) < 0)
		return -1;
	take_death(ret, &result);
	return 0;
}

/* What is seen again becomes a finding. */
static int confirm(struct sites *s, struct fault_report *candidates, enum confirm_by by,
		   struct err *err)
{
	CLEANUP(site_report) struct site_report again = {0};
	size_t left = 0;

	if (run_again(s, candidates, by, &again, err) < 0)
		return -1;
	for (size_t i = 0; i < candidates->nfindings; i++) {
		struct fault_finding *f = &candidates->findings[i];

		if (was_found(s, &again, f))
			*fault_report_finding(s->report) = *f;
		else
			candidates->findings[left++] = *f;
	}
	candidates->nfindings = left;
	return 0;
}

static int confirm_all(struct sites *s, struct err *err)
{
	CLEANUP(fault_report) struct fault_report candidates = {0};

	collect(s, &candidates);
	for (int by = 0; by < CONFIRM_WAYS && candidates.nfindings; by++)
		if ((by != CONFIRM_FIRST || s->first) &&
		    confirm(s, &candidates, (enum confirm_by)by, err) < 0)
			return -1;
	for (size_t i = 0; i < candidates.nfindings; i++)
		*VEC_ADD(s->report->unsettled, s->report->nunsettled,
			 s->report->unsettled_cap) = candidates.findings[i];
	s->report->unconfirmed = candidates.nfindings;
	candidates.nfindings = 0;
	return 0;
}

/* ---- the outcome ---- */

static void count_trials(struct sites *s)
{
	struct fault_report *r = s->report;
	size_t again = 0;

	for (size_t i = 0; i < s->found.npoints; i++) {
		const struct site_point *p = &s->found.points[i];
		bool fired = false, tried = false, not_again = false;

		for (size_t k = 0; k < s->found.ntrials; k++) {
			const struct site_trial *t = &s->found.trials[k];

			fired |= t->key == p->key && t->fired;
			tried |= t->key == p->key && !t->again;
			not_again |= t->key == p->key && t->again;
		}
		r->explored += fired;
		r->missed += tried && !fired;
		again += not_again && !fired;
	}
	*(s->found.unsafe ? &r->rerun : &r->forked) = r->explored + r->missed;
	if (again)
		strv_addf(&r->notes,
			  "%zu points are reached by tests alone that cannot be "
			  "repeated: not tried",
			  again);
	if (s->found.outside)
		strv_addf(&r->notes,
			  "%zu calls are made outside of tests that pass: not tried",
			  s->found.outside);
	if (s->found.unsafe)
		strv_addf(&r->notes, "no forks, one run for each point: %s",
			  s->found.unsafe);
}

static void conclude(struct sites *s)
{
	struct fault_report *r = s->report;

	count_trials(s);
	if (r->nfindings)
		end_with(r, OUTCOME_DEFECT, NULL, NULL);
	else if (!r->explored)
		end_with(r, OUTCOME_INCONCLUSIVE, xstrdup("no call was made to fail"),
			 s->opts->time_ms ? "allow more --time" : NULL);
	else if (r->unconfirmed || r->missed)
		end_with(r, OUTCOME_INCONCLUSIVE,
			 xstrdup("not all of it happens in every run"), NULL);
	else
		end_with(r, OUTCOME_CLEAN, NULL, NULL);
}

static int run_all(struct sites *s, struct err *err)
{
	int rc;

	if (open_session(s, err) < 0)
		return -1;
	rc = explore(s, err);
	if (rc <= 0)
		return rc;
	if (s->found.unsafe && rerun_all(s, err) < 0)
		return -1;
	if (explore_missed(s, err) < 0 || confirm_all(s, err) < 0)
		return -1;
	conclude(s);
	return 0;
}

static int explore_python(const struct fault_opts *opts, char *const *argv,
			  struct fault_report *report, struct err *err)
{
	struct sites s = {
		.opts = opts, .argv = argv, .report = report, .start_us = clock_us()};
	int rc = run_all(&s, err);

	close_session(&s);
	return rc;
}

static bool runs_python(char *const *argv)
{
	CLEANUP(strv) struct strv words = {0};

	strv_copy(&words, argv);
	return python_command_use(&words) != PYTHON_NONE;
}

const struct fault_layer fault_layer_python = {
	.name = "python",
	.fits = runs_python,
	.explore = explore_python,
};
