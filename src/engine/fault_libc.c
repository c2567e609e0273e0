/*
 * Record, plan, explore, judge, confirm.
 *
 * One run forks at each point where that is safe (engine/fault_fork.c), and what is clean
 * there is done. Every other point is explored by a run of its own from the start: the
 * command's prefix is paid again each time, but threads, sockets, files, children and
 * sanitizers are as they always are.
 */
#include "engine/fault_explore.h"

#include "base/clock.h"
#include "base/mem.h"
#include "engine/fault_fork.h"
#include "engine/lane.h"
#include "fault/calls.h"
#include "proc/proc.h"
#include "sandbox/sandbox.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#define BASE_TIMEOUT_MS (UINT64_C(600) * 1000)
/* A run with a fault is no slower than one without, unless the machine is busy. */
enum { TIME_FACTOR = 10, TIME_MORE_MS = 5000, MAX_TRIES = 3, MAX_JOBS = 8 };

struct explore_lane {
	struct explore *x;
	struct fault_run run;
	size_t point;
};

static void count_run(struct explore *x, const struct run_result *r)
{
	x->report->runs++;
	x->report->cpu_us += r->cpu_us;
}

/* ---- without a fault ---- */

static int run_base(struct explore *x, struct fault_seen *seen,
		    struct fault_record *record, struct err *err)
{
	const struct fault_request request = {
		.mode = FAULT_RECORD,
		.occurrence = x->opts->nth,
		.classes = x->opts->classes,
		.call = UINT32_MAX,
	};
	CLEANUP(run_spec) struct run_spec spec = {0};
	struct run_result result = {.end = RUN_LOST};
	struct fault_run run;
	int rc;

	rc = fault_run_prepare(&run, &x->session, &request, &spec, err);
	if (rc == 0)
		rc = proc_run(&spec, &result, err);
	if (fault_run_finish(&run, &result, seen, record, rc == 0 ? err : NULL) < 0)
		rc = -1;
	count_run(x, &result);
	if (rc == 0 && proc_interrupted())
		rc = err_set(err, ERR_INTERRUPTED, "stopped by signal %d (%s)",
			     proc_interrupted(), strsignal(proc_interrupted()));
	return rc;
}

static bool has_class(const struct explore *x, enum fault_class c)
{
	for (size_t i = 0; i < x->record.npoints; i++)
		if (fault_calls[x->record.points[i].call].class == c)
			return true;
	return false;
}

static const struct probe *heap_probe(const struct explore *x)
{
	return &x->base.probe[x->session.without[FAULT_PROBE_LSAN] ? FAULT_PROBE_HEAP
								   : FAULT_PROBE_LSAN];
}

/* In the first run both look on; from then on the one that fits. */
static void choose_probes(struct explore *x)
{
	bool fits = x->base.probe[FAULT_PROBE_LSAN].state != PROBE_NOT_FITTING;

	x->session.without[fits ? FAULT_PROBE_HEAP : FAULT_PROBE_LSAN] = true;
}

static void note_base(struct explore *x)
{
	struct strv *notes = &x->report->notes;
	const struct probe *heap = heap_probe(x);

	if (heap->state != PROBE_COMPLETE)
		strv_addf(notes, "memory that is lost is not seen: %s",
			  heap->detail ? heap->detail : probe_state_name(heap->state));
	if (!x->session.without[FAULT_PROBE_LSAN] && !has_class(x, FAULT_CLASS_MEMORY) &&
	    (x->opts->classes & 1u << FAULT_CLASS_MEMORY))
		strv_add(notes,
			 "no call of the class memory was seen: clang's static "
			 "sanitizer runtimes hide them; build with -shared-libasan "
			 "or gcc");
	if (x->compare == COMPARE_NOT)
		strv_add(notes, "errors that nobody is told of are not seen: the output "
				"differs from run to run");
	if (x->record.lost)
		strv_addf(notes, "%" PRIu32 " points found no room and were not tried",
			  x->record.lost);
}

static bool check_serves(struct explore *x, const struct fault_seen *seen)
{
	if (!x->opts->check || (seen->checked && !seen->check_status))
		return true;
	fault_end_with(
		x->report,
		seen->checked ? OUTCOME_BASELINE_INVALID : OUTCOME_HARNESS_ERROR,
		seen->checked
			? xasprintf("without any fault the check fails with %d%s%s",
				    seen->check_status, seen->check_said ? ": " : "",
				    seen->check_said ? seen->check_said : "")
			: xstrdup("the check did not come to its end"),
		"it runs behind the command, in the same directory and sandbox");
	return false;
}

/* What the run without a fault must be. false: the outcome says why not. */
static bool base_serves(struct explore *x, const struct fault_seen *seen)
{
	CLEANUP_FREE char *how = run_result_describe(&seen->run);

	for (size_t i = 0; i < FAULT_PROBES; i++)
		if (seen->probe[i].failed) {
			fault_end_with(x->report, OUTCOME_BASELINE_INVALID,
				       xasprintf("without any fault: %s",
						 seen->probe[i].failure
							 ? seen->probe[i].failure
							 : "a sanitizer's error"),
				       NULL);
			return false;
		}
	if (seen->run.end == RUN_NOT_STARTED || seen->run.end == RUN_SANDBOX_FAILED ||
	    seen->run.end == RUN_LOST) {
		fault_end_with(x->report, OUTCOME_HARNESS_ERROR,
			       xasprintf("%s: %s", x->session.argv[0], how), NULL);
		return false;
	}
	if (!run_result_passed(&seen->run)) {
		fault_end_with(
			x->report, OUTCOME_BASELINE_INVALID,
			xasprintf("without any fault the command does not pass: %s%s%s",
				  how, seen->error ? ": " : "",
				  seen->error ? seen->error : ""),
			"a test that passes shows what a fault changes");
		return false;
	}
	return check_serves(x, seen);
}

static void nothing_to_fail(struct explore *x)
{
	if (x->opts->key)
		fault_end_with(x->report, OUTCOME_HARNESS_ERROR,
			       xasprintf("the point %016" PRIx64 " was not reached",
					 x->opts->key),
			       "points belong to one build of the program");
	else if (x->plan.outside)
		fault_end_with(x->report, OUTCOME_HARNESS_ERROR,
			       xstrdup("no program of the project reached a call that "
				       "could fail"),
			       "name lifecycles that run what the project builds, "
			       "dynamically linked: faults: {lifecycles: [NAME]}");
	else
		fault_end_with(x->report, OUTCOME_HARNESS_ERROR,
			       xstrdup("no call that could fail was reached"),
			       "see --classes and --call");
}

static bool record_serves(struct explore *x)
{
	if (!x->record.loaded) {
		fault_end_with(
			x->report, OUTCOME_HARNESS_ERROR,
			xasprintf("%s did not load the library that makes calls fail",
				  x->session.argv[0]),
			"static and setuid programs, and those that clear LD_PRELOAD, "
			"do not: link the program dynamically");
		return false;
	}
	if (!x->plan.n && !x->opts->only) {
		nothing_to_fail(x);
		return false;
	}
	return true;
}

/* 1: go on; 0: the outcome is set. Two runs: output that differs proves nothing. */
static int record(struct explore *x, struct err *err)
{
	CLEANUP(fault_seen) struct fault_seen again = {0};
	CLEANUP(fault_record) struct fault_record spare = {0};
	uint64_t slower;

	progress_tell(x->opts->progress, "fault", "the command without a fault", NULL, 0,
		      0);
	x->session.timeout_ms =
		x->opts->place ? x->opts->place->timeout_ms : BASE_TIMEOUT_MS;
	if (run_base(x, &x->base, &x->record, err) < 0)
		return -1;
	if (!base_serves(x, &x->base))
		return 0;
	choose_probes(x);
	fault_choose(x);
	if (!record_serves(x))
		return 0;
	if (run_base(x, &again, &spare, err) < 0)
		return -1;
	if (!base_serves(x, &again))
		return 0;
	x->compare = fault_comparison(&x->base, &again);
	slower = x->base.run.wall_us > again.run.wall_us ? x->base.run.wall_us
							 : again.run.wall_us;
	x->session.timeout_ms = slower / 1000 * TIME_FACTOR + TIME_MORE_MS;
	note_base(x);
	return 1;
}

/* ---- with one ---- */

/* A first run; a second for what had a defect, or did not come to its call. */
static bool wants_run(const struct trial *t)
{
	return !t->tries || (t->tries < MAX_TRIES && !t->confirmed && !t->clean);
}

static bool is_late(const struct explore *x)
{
	return x->opts->time_ms && (clock_us() - x->start_us) / 1000 >= x->opts->time_ms;
}

/* What had a defect is confirmed at once: time may not be left for another pass. */
static bool next_point(struct explore *x, size_t *ret)
{
	if (x->nagain) {
		*ret = x->again[--x->nagain];
		return true;
	}
	while (x->at < x->plan.n && !wants_run(&x->trials[x->at]))
		x->at++;
	if (x->at == x->plan.n)
		return false;
	*ret = x->at++;
	return true;
}

static int next_run(void *ctx, struct run_spec *spec, struct err *err)
{
	struct explore_lane *l = ctx;
	struct explore *x = l->x;
	const struct fault_point *p;
	struct fault_request request = {0};

	if (!next_point(x, &l->point) || is_late(x))
		return 0;
	p = x->plan.points[l->point];
	request = (struct fault_request){
		.mode = x->opts->forever ? FAULT_FOREVER : FAULT_ONCE,
		.classes = x->opts->classes,
		.call = x->opts->call ? p->call : UINT32_MAX,
		.key = p->key,
		.occurrence = x->opts->nth ? x->opts->nth : 1,
		.errnum = x->opts->errnum,
	};
	progress_tell(x->opts->progress, "fault", "points", NULL, x->begun, x->plan.n);
	x->begun += x->begun + 1 < x->plan.n;
	if (fault_run_prepare(&l->run, &x->session, &request, spec, err) < 0) {
		const struct run_result lost = {.end = RUN_LOST};
		CLEANUP(fault_seen) struct fault_seen seen = {0};
		CLEANUP(fault_record) struct fault_record r = {0};

		fault_run_finish(&l->run, &lost, &seen, &r, NULL);
		return -1;
	}
	return 1;
}

/* Is a file that stays the fault's own doing? */
static bool removes_files(const struct explore *x, const struct fault_point *p)
{
	return fault_call_removes(&fault_calls[p->call]) ||
	       (x->opts->forever && x->opts->classes & 1u << FAULT_CLASS_FILE);
}

static void expect_of(void *ctx, size_t point, struct fault_expect *ret)
{
	const struct explore *x = ctx;
	const struct fault_point *p = x->plan.points[point];

	*ret = (struct fault_expect){
		.base = &x->base,
		.compare = x->compare,
		.must_report = p->flags & FAULT_WRITTEN,
		.removes = removes_files(x, p),
		.occurrences = p->count,
	};
}

static void take(struct explore *x, size_t point, struct fault_seen *seen)
{
	struct fault_expect expect;
	struct trial *t = &x->trials[point];
	struct fault_judgement j;

	t->tries++;
	if (!seen->fired)
		return;
	t->fired = true;
	expect_of(x, point, &expect);
	fault_judge(&expect, seen, &j);
	if (j.defect == DEFECT_NONE) {
		t->clean = true;
		fault_settle(x, point);
	} else if (t->judgement.defect == DEFECT_NONE) {
		t->judgement = j; /* j.stack points into what is moved along */
		t->seen = *seen;
		*seen = (struct fault_seen){0};
		*VEC_ADD(x->again, x->nagain, x->again_cap) = point;
		return;
	} else if (t->judgement.defect == j.defect) {
		t->confirmed = true;
		fault_settle(x, point);
	}
	fault_judgement_release(&j);
}

static int run_done(void *ctx, const struct run_result *result, struct err *err)
{
	struct explore_lane *l = ctx;
	CLEANUP(fault_seen) struct fault_seen seen = {0};
	CLEANUP(fault_record) struct fault_record r = {0};
	const struct fault_point *p;

	count_run(l->x, result);
	if (fault_run_finish(&l->run, result, &seen, &r, err) < 0)
		return -1;
	if (result->end == RUN_CANCELLED)
		return 0;
	p = fault_record_find(&r, l->x->plan.points[l->point]->key);
	seen.reached = p ? p->count : 0;
	take(l->x, l->point, &seen);
	return 0;
}

static unsigned jobs_of(const struct explore *x)
{
	long n = sysconf(_SC_NPROCESSORS_ONLN);

	if (x->opts->isolation != ISOLATION_SANDBOX || n < 1)
		return 1;
	return n < MAX_JOBS ? (unsigned)n : MAX_JOBS;
}

/* 0: no limit. Half of what is left: forks that hang must not take all of it. */
static uint64_t time_left_ms(const struct explore *x)
{
	uint64_t gone = (clock_us() - x->start_us) / 1000;

	if (!x->opts->time_ms)
		return 0;
	return x->opts->time_ms > gone + 1 ? (x->opts->time_ms - gone) / 2 : 1;
}

static bool all_known(const struct explore *x)
{
	for (size_t i = 0; i < x->plan.n; i++)
		if (!x->trials[i].known)
			return false;
	return true;
}

/* Points that are clean in a fork need no run. */
static int explore_forked(struct explore *x, struct err *err)
{
	const struct fault_fork fork = {
		.base = &x->base,
		.compare = x->compare,
		.plan = &x->plan,
		.time_ms = time_left_ms(x),
		.expect = expect_of,
		.ctx = x,
	};
	CLEANUP(fault_forked) struct fault_forked forked = {0};

	/* In the run that forks the first time decides. */
	if (x->opts->key || x->opts->no_fork || x->opts->nth > 1 || x->opts->check ||
	    all_known(x))
		return 0;
	progress_tell(x->opts->progress, "fault", "points, in forks", NULL, 0, 0);
	if (fault_fork_explore(&x->session, &fork, &forked, err) < 0)
		return -1;
	if (forked.ran)
		count_run(x, &forked.run);
	for (size_t i = 0; i < x->plan.n; i++) {
		struct trial *t = &x->trials[i];

		if (t->known || !forked.clean[i])
			continue;
		t->forked = t->clean = t->fired = true;
		t->tries = 1;
		fault_settle(x, i);
	}
	x->report->forked = forked.nclean;
	if (forked.why)
		strv_addf(&x->report->notes, "runs of their own: %s", forked.why);
	return 0;
}

static int explore_all(struct explore *x, struct err *err)
{
	if (explore_forked(x, err) < 0)
		return -1;
	for (unsigned pass = 0; pass < MAX_TRIES && !is_late(x); pass++) {
		struct explore_lane lanes[MAX_JOBS] = {0};
		struct lane handles[MAX_JOBS];

		x->at = 0;
		for (size_t i = 0; i < MAX_JOBS; i++) {
			lanes[i].x = x;
			handles[i] = (struct lane){
				.next = next_run, .done = run_done, .ctx = &lanes[i]};
		}
		if (lanes_run(handles, MAX_JOBS, jobs_of(x), err) < 0)
			return -1;
	}
	return 0;
}

static int run_all(struct explore *x, struct err *err)
{
	int rc;

	if (fault_session_open(&x->session, x->opts, x->session.argv, err) < 0 ||
	    (x->opts->isolation == ISOLATION_SANDBOX &&
	     sandbox_check(&x->session.views, err) < 0))
		return -1;
	rc = record(x, err);
	if (rc <= 0)
		return rc;
	fault_recall(x);
	if (explore_all(x, err) < 0)
		return -1;
	fault_conclude(x);
	return 0;
}

static int explore_libc(const struct fault_opts *opts, char *const *argv,
			struct fault_report *report, struct err *err)
{
	struct explore x = {
		.opts = opts,
		.session = {.argv = argv},
		.report = report,
		.start_us = clock_us(),
	};
	int rc = run_all(&x, err);

	for (size_t i = 0; i < x.plan.n && x.trials; i++) {
		fault_seen_release(&x.trials[i].seen);
		fault_judgement_release(&x.trials[i].judgement);
		fault_finding_release(&x.trials[i].finding);
	}
	free(x.trials);
	free(x.again);
	fault_plan_release(&x.plan);
	fault_record_release(&x.record);
	fault_seen_release(&x.base);
	symbols_free(x.symbols);
	fault_session_close(&x.session);
	return rc;
}

const struct fault_layer fault_layer_libc = {
	.name = "libc",
	.knows_call = fault_call_known,
	.explore = explore_libc,
};
