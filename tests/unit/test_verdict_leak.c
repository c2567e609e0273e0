#include "harness.h"

#include "base/mem.h"
#include "verdict/verdict.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

/*
 * A side is a word with one letter per cycle, the warm-up first, and a few leaks with a
 * digit per measured cycle:
 *
 *   o ok           f exit 1        s SIGABRT      a detector saw a failure
 *   7 exit 127     t timed out     x not found    q seccomp failed
 *   over the limit of m memory, p processes, > output, d disk, C CPU; z no sandbox
 *   w watch failed l lost          c cancelled    n not fitting
 *   S silent       U unparsed      F forced exit  i interrupted, exit 0
 *   e forced exit with exit 1      P exit 1, and this cycle of it passed
 */
struct held {
	enum resource resource;
	const char *name;    /* heap: function; else what */
	const char *series;  /* units per measured cycle, one digit each */
	uint64_t bytes;	     /* heap: of one unit; 0: 40 */
	const char *foreign; /* heap: the outermost function of an interpreter's stack */
	bool released; /* reachable: its stack gives blocks back; 0 units are told */
};

struct row {
	const char *base, *candidate;
	struct held base_held[3], candidate_held[3];
	bool repairs, required;
	enum outcome outcome;
	bool retry;
	const char *classes; /* N I L R S M (intermittent), in order */
	const char *says, *next, *note;
	bool next_ends; /* with that */
};

#define OK "oooo" /* one warm-up, three measured */

static void end_as(char c, struct run_result *run, struct probe *p)
{
	run->end = RUN_EXITED;
	switch (c) {
	case 'f':
	case 'e':
		run->status = 1;
		break;
	case 'P':
		run->status = 1;
		p->passed = true;
		break;
	case '7':
		run->status = 127;
		break;
	case 's':
		run->end = RUN_SIGNALED;
		run->signal = SIGABRT;
		p->state = PROBE_INTERRUPTED;
		break;
	case 'a':
		p->failed = true;
		p->failure = xstrdup("heap-use-after-free");
		break;
	case 't':
		run->end = RUN_TIMED_OUT;
		run->wall_us = 60000000;
		p->state = PROBE_INTERRUPTED;
		break;
	case 'm':
	case 'p':
	case '>':
	case 'd':
	case 'C':
	case 'z':
		run->end = c == 'm'   ? RUN_OVER_MEMORY
			   : c == 'p' ? RUN_OVER_PIDS
			   : c == '>' ? RUN_OVER_OUTPUT
			   : c == 'd' ? RUN_OVER_DISK
			   : c == 'C' ? RUN_OVER_CPU
				      : RUN_SANDBOX_FAILED;
		p->state = PROBE_INTERRUPTED;
		break;
	case 'x':
	case 'q':
		run->end = RUN_NOT_STARTED;
		run->errnum = ENOENT;
		memcpy(run->step, c == 'x' ? "exec" : "seccomp", c == 'x' ? 5 : 8);
		p->state = PROBE_INTERRUPTED;
		break;
	case 'w':
		run->watch_failed = true;
		break;
	case 'l':
		run->end = RUN_LOST;
		break;
	case 'c':
		run->end = RUN_CANCELLED;
		break;
	default:
		break;
	}
}

static enum probe_state state_of(char c)
{
	switch (c) {
	case 'n':
		return PROBE_NOT_FITTING;
	case 'S':
		return PROBE_SILENT;
	case 'U':
		return PROBE_UNPARSED;
	case 'F':
	case 'e':
		return PROBE_FORCED_EXIT;
	case 'i':
		return PROBE_INTERRUPTED;
	default:
		return PROBE_COMPLETE;
	}
}

static void hold(struct probe *p, const struct held *h, uint64_t units)
{
	bool heap = h->resource == RESOURCE_HEAP || h->resource == RESOURCE_REACHABLE;
	struct leak *l = probe_leak(p, h->resource, units,
				    heap ? units * (h->bytes ? h->bytes : 40) : 0);

	l->process = xstrdup("worker_test");
	l->released = h->released;
	if (heap) {
		struct frame *f = leak_frame(l);

		f->function = xstrdup(h->name);
		f->module = xstrdup("worker_test");
		f->file = xstrdup("src/worker.c");
		f->line = 41;
		f->project = !h->foreign;
		if (h->foreign) {
			f = leak_frame(l);
			f->function = xstrdup(h->foreign);
			f->module = xstrdup("bash");
		}
	} else {
		l->what = xstrdup(h->name);
	}
	leak_sign(l);
}

static void observe(struct observation *o, const char *cycles, const struct held *held)
{
	o->detector = xstrdup("lsan");
	for (size_t i = 0; cycles[i]; i++) {
		CLEANUP(probe) struct probe p = {.state = state_of(cycles[i])};
		struct run_result run = {.wall_us = 1000};

		end_as(cycles[i], &run, &p);
		for (size_t k = 0; i > 0 && k < 3 && held[k].series; k++)
			if (held[k].series[i - 1] > '0' || held[k].released)
				hold(&p, &held[k],
				     (uint64_t)(held[k].series[i - 1] - '0'));
		observation_add(o, &run, &p, i > 0);
	}
}

static char class_letter(enum finding_class c)
{
	static const char letters[] = {
		[FINDING_NEW] = 'N',	    [FINDING_INHERITED] = 'I',
		[FINDING_LEARNED] = 'L',    [FINDING_REPAIRED] = 'R',
		[FINDING_SUPPRESSED] = 'S', [FINDING_INTERMITTENT] = 'M',
	};

	return letters[c];
}

static void expect_says(const char *text, const char *part, size_t row)
{
	if (part && (!text || !strstr(text, part)))
		fail_msg("row %zu: \"%s\" is not in \"%s\"", row, part, text ? text : "");
}

static void check_row(const struct row *r, size_t i, unsigned attempt,
		      const struct suppression *suppressions, size_t nsuppressions)
{
	CLEANUP(observation) struct observation base = {0}, candidate = {0};
	CLEANUP(check) struct check c = {0};
	struct lifecycle lifecycle = {.name = (char[]){"worker_shutdown"},
				      .warmup = 1,
				      .cycles = 3,
				      .repairs = r->repairs};
	struct leak_case in = {.lifecycle = &lifecycle,
			       .base = &base,
			       .candidate = &candidate,
			       .suppressions = suppressions,
			       .nsuppressions = nsuppressions,
			       .today = "2026-11-30",
			       .attempt = attempt,
			       .max_attempts = 3,
			       .required = r->required};
	char classes[16] = "";
	bool skip = false;

	observe(&base, r->base, r->base_held);
	observe(&candidate, r->candidate, r->candidate_held);
	verdict_leak(&in, &c, &skip);
	for (size_t k = 0; k < c.nfindings; k++)
		classes[k] = class_letter(c.findings[k].class);
	if (c.outcome != r->outcome)
		fail_msg("row %zu: %s, not %s: %s", i, outcome_name(c.outcome),
			 outcome_name(r->outcome), c.explanation);
	assert_non_null(c.explanation);
	assert_int_equal(c.retry, r->retry && attempt < 3);
	if (r->classes)
		assert_string_equal(classes, r->classes);
	expect_says(c.explanation, r->says, i);
	expect_says(c.next, r->next, i);
	if (r->next_ends)
		assert_int_equal(strcspn(strstr(c.next, r->next), ";"), strlen(r->next));
	if (r->note) {
		bool said = false;

		for (size_t k = 0; k < c.notes.n; k++)
			said |= strstr(c.notes.v[k], r->note) != NULL;
		if (!said)
			fail_msg("row %zu: no note \"%s\"", i, r->note);
	}
	/* Every outcome that blocks says what to do, or is about missing runs. */
	if (c.outcome == OUTCOME_CLEAN)
		assert_null(c.next);
	assert_int_equal(c.attempt, attempt);
	assert_string_equal(c.target, "worker_shutdown");
	assert_string_equal(c.detector, "lsan");
	assert_int_equal(c.warmup, 1);
	assert_int_equal(c.candidate_cycles,
			 strlen(r->candidate) ? strlen(r->candidate) - 1 : 0);
}

static void check_rows(const struct row *rows, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		check_row(&rows[i], i, 1, NULL, 0);
		check_row(&rows[i], i, 3, NULL, 0);
	}
}

#define HEAP(f, s)                  \
	{                           \
		RESOURCE_HEAP, f, s \
	}
#define FD(f, s)                  \
	{                         \
		RESOURCE_FD, f, s \
	}
#define ROWS_RUN(rows) check_rows(rows, ARRAY_SIZE(rows))

static void how_runs_end(void **state)
{
	static const struct row rows[] = {
		{OK, OK, .outcome = OUTCOME_CLEAN, .says = "3 of 3 cycles"},
		/* the command cannot be started */
		{"x", "x", .outcome = OUTCOME_BASELINE_INVALID,
		 .says = "not found on base", .next = "--setup"},
		{"xxxx", OK, .outcome = OUTCOME_BASELINE_INVALID},
		{OK, "x", .outcome = OUTCOME_BEHAVIOR_FAILED,
		 .says = "not found on the cand"},
		{"7777", "7777", .outcome = OUTCOME_BASELINE_INVALID, .next = "--setup"},
		/* the machinery */
		{"q", "", .outcome = OUTCOME_HARNESS_ERROR, .says = "seccomp"},
		{OK, "q", .outcome = OUTCOME_HARNESS_ERROR, .says = "the candidate"},
		{"owoo", OK, .outcome = OUTCOME_HARNESS_ERROR, .says = "on base"},
		{OK, "ooow", .outcome = OUTCOME_HARNESS_ERROR, .says = "exit watch"},
		{"oolo", OK, .outcome = OUTCOME_HARNESS_ERROR},
		{OK, "ool", .outcome = OUTCOME_HARNESS_ERROR},
		{"ffff", "l", .outcome = OUTCOME_HARNESS_ERROR},
		{"", "", .outcome = OUTCOME_HARNESS_ERROR},
		{OK, "", .outcome = OUTCOME_HARNESS_ERROR},
		{"o", "o", .outcome = OUTCOME_HARNESS_ERROR,
		 .says = "0 of 3 cycles on base"},
		{OK, "o", .outcome = OUTCOME_HARNESS_ERROR, .says = "on the candidate"},
		{OK, "ooo", .outcome = OUTCOME_HARNESS_ERROR, .says = "2 of 3 cycles"},
		{"oc", "", .outcome = OUTCOME_INCONCLUSIVE, .says = "cancelled"},
		{OK, "oc", .outcome = OUTCOME_INCONCLUSIVE, .says = "cancelled"},
		/* base fails */
		{"ffff", OK, .outcome = OUTCOME_BASELINE_INVALID,
		 .says = "4 of 4 cycles: exit 1"},
		{"f", "", .outcome = OUTCOME_BASELINE_INVALID},
		{"ssss", "ffff", .outcome = OUTCOME_BASELINE_INVALID, .says = "SIGABRT"},
		{"aaaa", OK, .outcome = OUTCOME_BASELINE_INVALID,
		 .says = "heap-use-after-free (exit 0)"},
		{"fPPP", OK, .outcome = OUTCOME_INCONCLUSIVE, .retry = true,
		 .says = "fails in 1 of 4"},
		{OK, "PPfP", .outcome = OUTCOME_INCONCLUSIVE, .retry = true,
		 .says = "fails on the candidate at times, in 1 of 4"},
		{"fooo", OK, .outcome = OUTCOME_INCONCLUSIVE, .retry = true,
		 .says = "base is unstable"},
		{"oofo", "ffff", .outcome = OUTCOME_INCONCLUSIVE, .retry = true},
		{"eeee", OK, .outcome = OUTCOME_BASELINE_INVALID},
		/* base times out */
		{"tttt", OK, .outcome = OUTCOME_BASELINE_INVALID, .next = "--timeout"},
		{"m", "", .outcome = OUTCOME_BASELINE_INVALID,
		 .says = "killed for memory", .next = "`limits`"},
		{"p", OK, .outcome = OUTCOME_BASELINE_INVALID, .next = "`limits`"},
		{"C", "", .outcome = OUTCOME_BASELINE_INVALID, .says = "its CPU time",
		 .next = "`limits`"},
		{"C", "C", .outcome = OUTCOME_INCONCLUSIVE, .retry = true,
		 .next = "`limits`"},
		{"z", "", .outcome = OUTCOME_HARNESS_ERROR, .says = "was not run on base",
		 .next = "--isolation none"},
		{"t", "", .outcome = OUTCOME_BASELINE_INVALID},
		{"tttt", "tttt", .outcome = OUTCOME_INCONCLUSIVE, .retry = true,
		 .says = "on the candidate as well"},
		{"otoo", OK, .outcome = OUTCOME_INCONCLUSIVE, .retry = true},
		{"tfft", OK, .outcome = OUTCOME_BASELINE_INVALID},
		/* the candidate fails */
		{OK, "ffff", .outcome = OUTCOME_BEHAVIOR_FAILED,
		 .says = "4 of 4 cycles: exit 1"},
		{OK, "f", .outcome = OUTCOME_BEHAVIOR_FAILED},
		{OK, "ssss", .outcome = OUTCOME_BEHAVIOR_FAILED, .says = "SIGABRT"},
		{OK, "aaaa", .outcome = OUTCOME_BEHAVIOR_FAILED,
		 .says = "heap-use-after-free"},
		{OK, "eeee", .outcome = OUTCOME_BEHAVIOR_FAILED},
		{OK, "oofo", .outcome = OUTCOME_INCONCLUSIVE, .retry = true,
		 .says = "1 of 4 cycles", .next = "--cycles 12"},
		{OK, "tttt", .outcome = OUTCOME_INCONCLUSIVE,
		 .says = "timed out after 60 s", .next = "hang.txt"},
		{OK, "t", .outcome = OUTCOME_INCONCLUSIVE},
		{OK, "m", .outcome = OUTCOME_BEHAVIOR_FAILED, .says = "killed for memory",
		 .next = "limits of the contract"},
		{OK, "p", .outcome = OUTCOME_BEHAVIOR_FAILED,
		 .says = "its limit of processes"},
		{OK, ">", .outcome = OUTCOME_BEHAVIOR_FAILED,
		 .says = "more output than it may"},
		{OK, "d", .outcome = OUTCOME_BEHAVIOR_FAILED, .says = "more to disk"},
		{OK, "om", .outcome = OUTCOME_INCONCLUSIVE, .retry = true},
		{OK, "C", .outcome = OUTCOME_INCONCLUSIVE, .says = "it used up its CPU",
		 .next = "`limits`"},
		{OK, "z", .outcome = OUTCOME_HARNESS_ERROR,
		 .says = "not run on the candidate", .next = "--isolation none"},
		{OK, "ooto", .outcome = OUTCOME_INCONCLUSIVE, .retry = true},
		{OK, "fftf", .outcome = OUTCOME_INCONCLUSIVE, .retry = true},
	};

	(void)state;
	ROWS_RUN(rows);
}

static void what_the_detector_did(void **state)
{
	static const struct row rows[] = {
		{"nnnn", "nnnn", .required = true, .outcome = OUTCOME_HARNESS_ERROR,
		 .says = "-fsanitize=address"},
		{"nnnn", "nnnn", .outcome = OUTCOME_CLEAN, .says = "does not fit"},
		{"nnnn", OK, .outcome = OUTCOME_HARNESS_ERROR,
		 .says = "cannot observe base"},
		{OK, "nnnn", .outcome = OUTCOME_HARNESS_ERROR,
		 .says = "cannot observe the candidate"},
		{OK, "ooon", .outcome = OUTCOME_HARNESS_ERROR},
		{"oSoo", OK, .outcome = OUTCOME_HARNESS_ERROR, .says = "on base"},
		{OK, "ooSo", .outcome = OUTCOME_HARNESS_ERROR,
		 .says = "never a clean run"},
		{"Sooo", OK, .outcome = OUTCOME_HARNESS_ERROR}, /* the warm-up too */
		{"Uooo", OK, .outcome = OUTCOME_HARNESS_ERROR, .says = "cannot be read"},
		{OK, "UUUU", .outcome = OUTCOME_HARNESS_ERROR},
		{OK, "FFFF", .outcome = OUTCOME_HARNESS_ERROR, .says = "_exit"},
		{OK, "ooFo", .outcome = OUTCOME_HARNESS_ERROR, .says = "_exit"},
		{"FFFF", "FFFF", .outcome = OUTCOME_BASELINE_INVALID,
		 .says = "base leaves through _exit too, so nothing was checked"},
		{"FFFF", OK, .outcome = OUTCOME_BASELINE_INVALID, .says = "does not"},
		{"SFFF", "FFFF", .outcome = OUTCOME_HARNESS_ERROR},
		{"iooo", OK, .outcome = OUTCOME_HARNESS_ERROR},
		{OK, "oooi", .outcome = OUTCOME_HARNESS_ERROR, .says = "interrupted"},
		/* How the run ended comes before what the detector did. */
		{"nnnf", "nnnn", .outcome = OUTCOME_INCONCLUSIVE, .retry = true},
		/* A leak does not make up for a base that was not observed. */
		{"SSSS",
		 OK,
		 {{0}},
		 {HEAP("leak_here", "111")},
		 .outcome = OUTCOME_HARNESS_ERROR,
		 .classes = ""},
	};

	(void)state;
	ROWS_RUN(rows);
}

static void lost_memory(void **state)
{
	static const struct row rows[] = {
		{OK,
		 OK,
		 {{0}},
		 {HEAP("leak_here", "111")},
		 .outcome = OUTCOME_LEAK,
		 .classes = "N",
		 .says = "worker_shutdown leaks 1 allocation (40 bytes) per cycle in "
			 "leak_here "
			 "(src/worker.c:41): 3 of 3 cycles on the candidate, 0 of 3 on "
			 "base"},
		{OK,
		 OK,
		 {{0}},
		 {HEAP("a", "121"), HEAP("b", "999")},
		 .outcome = OUTCOME_LEAK,
		 .classes = "NN",
		 .says = "9 allocations (360 bytes) per cycle in b (src/worker.c:41): 3 "
			 "of 3 "
			 "cycles on the candidate, 0 of 3 on base. And 1 more new leak."},
		{OK,
		 OK,
		 {{0}},
		 {HEAP("a", "132")},
		 .outcome = OUTCOME_LEAK,
		 .says = "1 to 3 allocations (40 to 120 bytes)"},
		/* shown in full: outranks that the candidate fails as well */
		{OK, "ffff", {{0}}, {HEAP("a", "111")}, .outcome = OUTCOME_LEAK},
		{OK, "oofo", {{0}}, {HEAP("a", "111")}, .outcome = OUTCOME_LEAK},
		{OK,
		 "fofo",
		 {{0}},
		 {HEAP("a", "101")},
		 .outcome = OUTCOME_INCONCLUSIVE,
		 .retry = true},
		{OK,
		 "ssss",
		 {{0}},
		 {HEAP("a", "111")},
		 .outcome = OUTCOME_BEHAVIOR_FAILED},
		/* not in every cycle */
		{OK,
		 OK,
		 {{0}},
		 {HEAP("a", "101")},
		 .outcome = OUTCOME_INCONCLUSIVE,
		 .retry = true,
		 .classes = "M",
		 .says = "2 of 3 cycles on the candidate"},
		{OK,
		 OK,
		 {HEAP("a", "100")},
		 {{0}},
		 .outcome = OUTCOME_CLEAN,
		 .classes = ""},
		{OK,
		 OK,
		 {HEAP("a", "100")},
		 {HEAP("a", "001")},
		 .outcome = OUTCOME_CLEAN,
		 .classes = "M"},
		{OK,
		 OK,
		 {HEAP("a", "101")},
		 {HEAP("a", "111")},
		 .outcome = OUTCOME_INCONCLUSIVE,
		 .retry = true,
		 .classes = "M"},
		{OK,
		 OK,
		 {HEAP("a", "101")},
		 {HEAP("a", "232")},
		 .outcome = OUTCOME_LEAK,
		 .classes = "N"},
		/* base leaks */
		{OK,
		 OK,
		 {HEAP("a", "111")},
		 {HEAP("a", "111")},
		 .outcome = OUTCOME_BASELINE_INVALID,
		 .classes = "I",
		 .says = "base itself leaks 1 allocation (40 bytes) per cycle in a "
			 "(src/worker.c:41): 3 of 3 cycles on the candidate, 3 of 3 on "
			 "base",
		 .next = "on base first"},
		{OK,
		 OK,
		 {HEAP("a", "222")},
		 {HEAP("a", "111")},
		 .outcome = OUTCOME_BASELINE_INVALID,
		 .classes = "I",
		 .says = "base itself leaks 2 allocations (80 bytes)",
		 .next = "say so: --repairs"},
		/* the same allocation, and larger */
		{OK,
		 OK,
		 {HEAP("a", "111")},
		 {{RESOURCE_HEAP, "a", "111", 9000}},
		 .outcome = OUTCOME_BASELINE_INVALID,
		 .classes = "I",
		 .says = "base itself leaks 1 allocation (40 bytes)",
		 .note = "what base leaks has grown in a (src/worker.c:41): base 1 "
			 "allocation (40 bytes), the candidate 1 allocation (9000 "
			 "bytes)"},
		/* at times on both, and with more than base ever had */
		{OK,
		 OK,
		 {HEAP("a", "101")},
		 {HEAP("a", "011")},
		 .outcome = OUTCOME_CLEAN,
		 .classes = "M",
		 .note = "as base does at times: not blamed"},
		{OK,
		 OK,
		 {HEAP("a", "101")},
		 {HEAP("a", "022")},
		 .outcome = OUTCOME_INCONCLUSIVE,
		 .retry = true,
		 .classes = "M"},
		{OK,
		 OK,
		 {HEAP("a", "222")},
		 {{0}},
		 .outcome = OUTCOME_BASELINE_INVALID,
		 .classes = "R",
		 .says = "3 of 3 cycles on base, 0 of 3 on the candidate",
		 .next = "say so: --repairs"},
		{OK,
		 OK,
		 {HEAP("a", "111")},
		 {HEAP("a", "010")},
		 .outcome = OUTCOME_BASELINE_INVALID,
		 .classes = "I"},
		/* sanitizers miss one at times: 9 for 10 is the same leak */
		{OK,
		 OK,
		 {HEAP("a", "989")},
		 {HEAP("a", "999")},
		 .outcome = OUTCOME_BASELINE_INVALID,
		 .classes = "I"},
		{OK,
		 OK,
		 {HEAP("a", "888")},
		 {HEAP("a", "898")},
		 .outcome = OUTCOME_BASELINE_INVALID,
		 .retry = true,
		 .classes = "M"},
		/* base leaks and the candidate adds */
		{OK,
		 OK,
		 {HEAP("a", "111")},
		 {HEAP("a", "111"), HEAP("b", "111")},
		 .outcome = OUTCOME_LEAK,
		 .classes = "NI",
		 .says = "in b"},
		{OK,
		 OK,
		 {HEAP("a", "111")},
		 {HEAP("a", "222")},
		 .outcome = OUTCOME_LEAK,
		 .classes = "N",
		 .says = "where base has at most 1"},
		{OK,
		 OK,
		 {HEAP("a", "111")},
		 {HEAP("b", "111")},
		 .outcome = OUTCOME_LEAK,
		 .classes = "NR"},
		{OK,
		 OK,
		 {HEAP("a", "111")},
		 {HEAP("b", "101")},
		 .outcome = OUTCOME_BASELINE_INVALID,
		 .retry = true,
		 .classes = "MR"},
	};

	(void)state;
	ROWS_RUN(rows);
}

static void what_a_process_may_hold(void **state)
{
	static const struct row rows[] = {
		{OK,
		 OK,
		 {{0}},
		 {FD("data/log.txt", "111")},
		 .outcome = OUTCOME_LEAK,
		 .classes = "N",
		 .says = "leaks 1 descriptor (data/log.txt) per cycle: 3 of 3"},
		{OK,
		 OK,
		 {FD("log", "111")},
		 {FD("log", "111")},
		 .outcome = OUTCOME_CLEAN,
		 .classes = "L"},
		{OK,
		 OK,
		 {FD("log", "222")},
		 {FD("log", "111")},
		 .outcome = OUTCOME_CLEAN,
		 .classes = "L"},
		{OK,
		 OK,
		 {FD("log", "111")},
		 {FD("log", "222")},
		 .outcome = OUTCOME_LEAK,
		 .classes = "N",
		 .says = "where base has at most 1",
		 .next = "what is held on purpose needs a suppression in the contract, "
			 "reviewed and owned: fd:log"},
		{OK,
		 OK,
		 {FD("log", "121")},
		 {FD("log", "212")},
		 .outcome = OUTCOME_CLEAN,
		 .classes = "L"},
		{OK,
		 OK,
		 {FD("log", "111")},
		 {FD("log", "121")},
		 .outcome = OUTCOME_INCONCLUSIVE,
		 .retry = true,
		 .classes = "M"},
		/* A pool of threads: the number varies by itself. */
		{OK,
		 OK,
		 {{RESOURCE_THREAD, "pool", "444"}},
		 {{RESOURCE_THREAD, "pool", "354"}},
		 .outcome = OUTCOME_CLEAN,
		 .classes = "L",
		 .note = "3 to 5 threads (pool), base 4 to 4"},
		{OK,
		 OK,
		 {{RESOURCE_THREAD, "pool", "434"}},
		 {{RESOURCE_THREAD, "pool", "454"}},
		 .outcome = OUTCOME_CLEAN,
		 .classes = "L",
		 .note = "4 to 5 threads (pool), base 3 to 4"},
		{OK,
		 OK,
		 {{RESOURCE_THREAD, "pool", "434"}},
		 {{RESOURCE_THREAD, "pool", "565"}},
		 .outcome = OUTCOME_LEAK,
		 .classes = "N",
		 .next = "reviewed and owned: thread:pool"},
		/* A contract would refuse a suppression of that. */
		{OK,
		 OK,
		 {{0}},
		 {{RESOURCE_THREAD, "t", "111"}},
		 .outcome = OUTCOME_LEAK,
		 .classes = "N",
		 .next = "run the same command again",
		 .next_ends = true},
		{OK,
		 OK,
		 {{0}},
		 {FD("log", "010")},
		 .outcome = OUTCOME_INCONCLUSIVE,
		 .retry = true,
		 .classes = "M"},
		{OK,
		 OK,
		 {FD("log", "101")},
		 {FD("log", "020")},
		 .outcome = OUTCOME_CLEAN,
		 .classes = "L"},
		{OK,
		 OK,
		 {FD("log", "101")},
		 {FD("log", "111")},
		 .outcome = OUTCOME_CLEAN,
		 .classes = "L"},
		{OK,
		 OK,
		 {FD("log", "101")},
		 {FD("log", "222")},
		 .outcome = OUTCOME_LEAK,
		 .classes = "N"},
		{OK,
		 OK,
		 {FD("log", "101")},
		 {{0}},
		 .outcome = OUTCOME_CLEAN,
		 .classes = ""},
		/* Let go of by the candidate: base could have. */
		{OK,
		 OK,
		 {FD("log", "111")},
		 {{0}},
		 .outcome = OUTCOME_BASELINE_INVALID,
		 .classes = "R",
		 .next = "--repairs"},
		{OK,
		 OK,
		 {FD("log", "121")},
		 {{0}},
		 .outcome = OUTCOME_CLEAN,
		 .classes = "R"},
		/* A runtime needs a thread less. */
		{OK,
		 OK,
		 {{RESOURCE_THREAD, "pool", "111"}},
		 {{0}},
		 .outcome = OUTCOME_CLEAN,
		 .classes = "R"},
		{OK,
		 OK,
		 {FD("log", "111")},
		 {FD("log", "010")},
		 .outcome = OUTCOME_CLEAN,
		 .classes = "L"},
		{OK,
		 OK,
		 {FD("log", "111")},
		 {FD("log", "111"), FD("db", "111")},
		 .outcome = OUTCOME_LEAK,
		 .classes = "NL"},
		/* A temporary file outlives the process: no level is learned. */
		{OK,
		 OK,
		 {{RESOURCE_TEMPFILE, "t", "111"}},
		 {{RESOURCE_TEMPFILE, "t", "111"}},
		 .outcome = OUTCOME_BASELINE_INVALID,
		 .classes = "I"},
	};

	(void)state;
	ROWS_RUN(rows);
}

/* A shell, an interpreter: base cannot repair it, and the patch may not add to it. */
#define GIVEN_BACK(f, s)                                   \
	{                                                  \
		RESOURCE_REACHABLE, f, s, .released = true \
	}
#define KEPT(f, s)                       \
	{                                \
		RESOURCE_REACHABLE, f, s \
	}

/* Something still points to it: base is the proof that it ought to be given back. */
static void reachable_memory(void **state)
{
	static const struct row rows[] = {
		/* base gives all of it back */
		{OK, OK, .base_held = {GIVEN_BACK("grow", "000")},
		 .candidate_held = {KEPT("grow", "333")}, .outcome = OUTCOME_LEAK,
		 .classes = "N", .says = "3 allocations (120 bytes) per cycle in grow"},
		{OK, OK, .base_held = {GIVEN_BACK("grow", "000")},
		 .candidate_held = {GIVEN_BACK("grow", "111")}, .outcome = OUTCOME_LEAK,
		 .classes = "N"},
		{OK, OK, .base_held = {GIVEN_BACK("grow", "000")},
		 .candidate_held = {GIVEN_BACK("grow", "000")}, .outcome = OUTCOME_CLEAN,
		 .classes = ""},
		{OK, OK, .base_held = {GIVEN_BACK("grow", "000")},
		 .candidate_held = {KEPT("grow", "010")}, .outcome = OUTCOME_INCONCLUSIVE,
		 .retry = true, .classes = "M"},
		/* it keeps some, or never had any: a cache */
		{OK, OK, .base_held = {GIVEN_BACK("grow", "111")},
		 .candidate_held = {GIVEN_BACK("grow", "333")}, .outcome = OUTCOME_CLEAN,
		 .classes = "L", .note = "more than base, and no leak"},
		{OK, OK, .base_held = {KEPT("grow", "111")},
		 .candidate_held = {KEPT("grow", "222")}, .outcome = OUTCOME_CLEAN,
		 .classes = "L", .note = "more than base, and no leak"},
		{OK, OK, .candidate_held = {KEPT("grow", "111")},
		 .outcome = OUTCOME_CLEAN, .classes = "L",
		 .note = "holds 1 allocation (40 bytes) in grow"},
		{OK, OK, .base_held = {KEPT("grow", "111")},
		 .candidate_held = {KEPT("grow", "111")}, .outcome = OUTCOME_CLEAN,
		 .classes = "L"},
		{OK, OK, .base_held = {KEPT("grow", "111")}, .outcome = OUTCOME_CLEAN,
		 .classes = "R"},
		/* a repair */
		{OK, OK, .base_held = {KEPT("grow", "333")},
		 .candidate_held = {GIVEN_BACK("grow", "000")}, .repairs = true,
		 .outcome = OUTCOME_CLEAN, .classes = "R", .says = "Repaired"},
	};

	(void)state;
	ROWS_RUN(rows);
}

static void leaks_of_others(void **state)
{
#define FOREIGN(s)                                     \
	{                                              \
		RESOURCE_HEAP, "xmalloc", s, 0, "main" \
	}
	static const struct row rows[] = {
		{OK,
		 OK,
		 {FOREIGN("333")},
		 {FOREIGN("333")},
		 .outcome = OUTCOME_CLEAN,
		 .classes = "L",
		 .note = "1 leak on both revisions with no code of the repository"},
		{OK,
		 OK,
		 {FOREIGN("333")},
		 {FOREIGN("444")},
		 .outcome = OUTCOME_LEAK,
		 .classes = "N"},
		{OK,
		 OK,
		 {{0}},
		 {FOREIGN("111")},
		 .outcome = OUTCOME_LEAK,
		 .classes = "N"},
		{OK,
		 OK,
		 {{0}},
		 {FOREIGN("101")},
		 .outcome = OUTCOME_INCONCLUSIVE,
		 .retry = true,
		 .classes = "M"},
		{OK,
		 OK,
		 {FOREIGN("111")},
		 {{0}},
		 .outcome = OUTCOME_CLEAN,
		 .classes = "R"},
		/* A stack that was cut may have been the project's. */
		{OK,
		 OK,
		 {{RESOURCE_HEAP, "malloc", "111", 0, "strdup"}},
		 {{RESOURCE_HEAP, "malloc", "111", 0, "strdup"}},
		 .outcome = OUTCOME_BASELINE_INVALID,
		 .classes = "I"},
		{OK,
		 OK,
		 {FOREIGN("111"), HEAP("a", "111")},
		 {FOREIGN("111"), HEAP("a", "111")},
		 .outcome = OUTCOME_BASELINE_INVALID,
		 .classes = "IL",
		 .says = "in a (src/worker.c:41)"},
	};

	(void)state;
	ROWS_RUN(rows);
}

/* What leaked at times before is not clean because it does not leak now. */
static void an_earlier_attempt(void **state)
{
	static const struct {
		const char *candidate, *earlier;
		enum outcome outcome;
	} rows[] = {
		{"000", NULL, OUTCOME_CLEAN},
		{"000", "a leaks in 1 of 3.", OUTCOME_INCONCLUSIVE},
		{"111", "a leaks in 1 of 3.", OUTCOME_LEAK},
	};
	struct lifecycle lifecycle = {
		.name = (char[]){"worker"}, .warmup = 1, .cycles = 3};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(observation) struct observation base = {0}, candidate = {0};
		CLEANUP(check) struct check c = {0};
		const struct held none[3] = {{0}},
				  held[3] = {HEAP("a", rows[i].candidate)};
		bool skip;

		observe(&base, OK, none);
		observe(&candidate, OK, held);
		verdict_leak(&(struct leak_case){.lifecycle = &lifecycle,
						 .base = &base,
						 .candidate = &candidate,
						 .attempt = 2,
						 .max_attempts = 3,
						 .earlier = rows[i].earlier},
			     &c, &skip);
		assert_int_equal(c.outcome, rows[i].outcome);
		if (c.outcome == OUTCOME_INCONCLUSIVE)
			assert_non_null(strstr(c.explanation, rows[i].earlier));
	}
}

/* Only memory, and what outlives the process, is remembered. */
static void what_is_unsettled(void **state)
{
	const struct held none[3] = {{0}};
	const struct {
		struct held held[3];
		bool unsettled;
	} rows[] = {
		{{HEAP("a", "101")}, true},
		{{HEAP("a", "111")}, false},
		{{FD("log", "101")}, false},
		{{{0}}, false},
	};
	struct lifecycle lifecycle = {
		.name = (char[]){"worker"}, .warmup = 1, .cycles = 3};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(observation) struct observation base = {0}, candidate = {0};
		CLEANUP(check) struct check c = {0};
		bool skip;

		observe(&base, OK, none);
		observe(&candidate, OK, rows[i].held);
		verdict_leak(&(struct leak_case){.lifecycle = &lifecycle,
						 .base = &base,
						 .candidate = &candidate,
						 .attempt = 1,
						 .max_attempts = 3},
			     &c, &skip);
		assert_int_equal(verdict_unsettled(&c) != NULL, rows[i].unsettled);
	}
}

/* One check for each detector; the repair shows under one of them. */
static void repairs_under_one_detector(void **state)
{
	static const struct {
		struct {
			enum outcome outcome;
			bool unproven;
		} before[2];
		enum outcome after[2];
	} rows[] = {
		{{{OUTCOME_CLEAN, false}, {OUTCOME_BASELINE_INVALID, true}},
		 {OUTCOME_CLEAN, OUTCOME_CLEAN}},
		{{{OUTCOME_BASELINE_INVALID, true}, {OUTCOME_BASELINE_INVALID, true}},
		 {OUTCOME_BASELINE_INVALID, OUTCOME_BASELINE_INVALID}},
		{{{OUTCOME_LEAK, false}, {OUTCOME_BASELINE_INVALID, true}},
		 {OUTCOME_LEAK, OUTCOME_BASELINE_INVALID}},
		{{{OUTCOME_CLEAN, false}, {OUTCOME_BASELINE_INVALID, false}},
		 {OUTCOME_CLEAN, OUTCOME_BASELINE_INVALID}},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct check c[2] = {{0}};

		for (size_t k = 0; k < 2; k++) {
			c[k].detector = xstrdup(k ? "ledger" : "lsan");
			c[k].outcome = rows[i].before[k].outcome;
			c[k].unproven = rows[i].before[k].unproven;
		}
		verdict_repairs(c, 2);
		for (size_t k = 0; k < 2; k++) {
			assert_int_equal(c[k].outcome, rows[i].after[k]);
			check_release(&c[k]);
		}
	}
}

static void repairs(void **state)
{
	static const struct row rows[] = {
		{OK,
		 OK,
		 {HEAP("a", "111")},
		 {{0}},
		 .outcome = OUTCOME_CLEAN,
		 .classes = "R",
		 .says = "Repaired: base leaks 1 allocation (40 bytes) per cycle in a"},
		{OK,
		 OK,
		 {FD("db", "111")},
		 {{0}},
		 .outcome = OUTCOME_CLEAN,
		 .classes = "R"},
		{OK,
		 OK,
		 {FD("db", "333")},
		 {FD("db", "111")},
		 .outcome = OUTCOME_CLEAN,
		 .classes = "L"},
		{OK,
		 OK,
		 {{0}},
		 {{0}},
		 .outcome = OUTCOME_BASELINE_INVALID,
		 .says = "proves nothing"},
		{OK,
		 OK,
		 {FD("db", "111")},
		 {FD("db", "111")},
		 .outcome = OUTCOME_BASELINE_INVALID,
		 .classes = "L"},
		{OK,
		 OK,
		 {HEAP("a", "111")},
		 {HEAP("a", "111")},
		 .outcome = OUTCOME_LEAK,
		 .classes = "I",
		 .says = "Not repaired: worker_shutdown still leaks"},
		{OK,
		 OK,
		 {HEAP("a", "333")},
		 {HEAP("a", "111")},
		 .outcome = OUTCOME_LEAK,
		 .classes = "I",
		 .says = "Repaired in part"},
		{OK,
		 OK,
		 {HEAP("a", "111"), HEAP("b", "111")},
		 {HEAP("a", "111")},
		 .outcome = OUTCOME_LEAK,
		 .classes = "IR",
		 .says = "Repaired in part"},
		{OK,
		 OK,
		 {HEAP("a", "111")},
		 {HEAP("b", "111")},
		 .outcome = OUTCOME_LEAK,
		 .classes = "NR"},
		{OK,
		 OK,
		 {{0}},
		 {HEAP("b", "111")},
		 .outcome = OUTCOME_LEAK,
		 .classes = "N"},
		{OK,
		 OK,
		 {HEAP("a", "111")},
		 {HEAP("a", "100")},
		 .outcome = OUTCOME_INCONCLUSIVE,
		 .retry = true,
		 .classes = "M"},
		{OK,
		 OK,
		 {HEAP("a", "101")},
		 {{0}},
		 .outcome = OUTCOME_INCONCLUSIVE,
		 .retry = true,
		 .says = "at times only"},
		{OK,
		 "ffff",
		 {HEAP("a", "111")},
		 {{0}},
		 .outcome = OUTCOME_BEHAVIOR_FAILED},
		{OK, "FFFF", {HEAP("a", "111")}, {{0}}, .outcome = OUTCOME_HARNESS_ERROR},
	};
	struct row row;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		row = rows[i];
		row.repairs = true;
		check_rows(&row, 1);
	}
}

/* What is blamed was measured on both sides under the same conditions. */
static void a_reused_base(void **state)
{
	static const struct {
		const char *candidate;
		struct held held;
		unsigned attempt;
		enum outcome outcome;
		bool retry;
	} cases[] = {
		{OK, {.series = NULL}, 1, OUTCOME_CLEAN, false},
		{OK, HEAP("a", "111"), 1, OUTCOME_LEAK, true},
		{OK, HEAP("a", "111"), 3, OUTCOME_LEAK, false},
		{"ffff", {.series = NULL}, 1, OUTCOME_BEHAVIOR_FAILED, true},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(observation)
		struct observation base = {.reused = true}, candidate = {0};
		CLEANUP(check) struct check c = {0};
		struct held held[3] = {cases[i].held}, none[3] = {{0}};
		struct lifecycle l = {.name = (char[]){"t"}, .warmup = 1, .cycles = 3};
		struct leak_case in = {.lifecycle = &l,
				       .base = &base,
				       .candidate = &candidate,
				       .attempt = cases[i].attempt,
				       .max_attempts = 3};
		bool skip = false;

		observe(&base, OK, none);
		observe(&candidate, cases[i].candidate, held);
		verdict_leak(&in, &c, &skip);
		assert_int_equal(c.outcome, cases[i].outcome);
		assert_int_equal(c.retry, cases[i].retry);
	}
}

/* One run has all cycles in it: that it failed is seen once, and looked at again. */
static void a_run_that_has_all_cycles(void **state)
{
	static const struct {
		const char *base, *candidate;
		unsigned attempt;
		enum outcome outcome;
		bool retry;
	} cases[] = {
		{OK, OK, 1, OUTCOME_CLEAN, false},
		{OK, "ffff", 1, OUTCOME_BEHAVIOR_FAILED, true},
		{OK, "ffff", 2, OUTCOME_BEHAVIOR_FAILED, false},
		{"ffff", OK, 1, OUTCOME_BASELINE_INVALID, true},
		{"ffff", OK, 2, OUTCOME_BASELINE_INVALID, false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(observation) struct observation base = {0}, candidate = {0};
		CLEANUP(check) struct check c = {0};
		struct held none[3] = {{0}};
		struct lifecycle l = {.name = (char[]){"t"}, .warmup = 1, .cycles = 3};
		struct leak_case in = {.lifecycle = &l,
				       .base = &base,
				       .candidate = &candidate,
				       .inside = true,
				       .attempt = cases[i].attempt,
				       .max_attempts = 3};
		bool skip = false;

		observe(&base, cases[i].base, none);
		observe(&candidate, cases[i].candidate, none);
		verdict_leak(&in, &c, &skip);
		assert_int_equal(c.outcome, cases[i].outcome);
		assert_int_equal(c.retry, cases[i].retry);
	}
}

static void suppressions(void **state)
{
	struct suppression heap[] = {
		{.match = (char[]){"leak:leak_*"}, .expires = (char[]){"2026-11-30"}}};
	struct suppression old[] = {
		{.match = (char[]){"leak:leak_*"}, .expires = (char[]){"2026-11-29"}}};
	static const struct row clean = {OK,
					 OK,
					 {{0}},
					 {HEAP("leak_here", "111")},
					 .outcome = OUTCOME_CLEAN,
					 .classes = "S"},
				both = {OK,
					OK,
					{HEAP("leak_here", "111")},
					{HEAP("leak_here", "222")},
					.outcome = OUTCOME_CLEAN,
					.classes = "S"},
				gone = {OK,
					OK,
					{HEAP("leak_here", "111")},
					{{0}},
					.outcome = OUTCOME_CLEAN,
					.classes = "S"},
				other = {OK,
					 OK,
					 {{0}},
					 {HEAP("leak_here", "111"), HEAP("b", "111")},
					 .outcome = OUTCOME_LEAK,
					 .classes = "NS"},
				expired = {OK,
					   OK,
					   {{0}},
					   {HEAP("leak_here", "111")},
					   .outcome = OUTCOME_LEAK,
					   .classes = "N"},
				at_times = {OK,
					    OK,
					    {{0}},
					    {HEAP("leak_here", "101")},
					    .outcome = OUTCOME_CLEAN,
					    .classes = "S"},
				unproved = {OK,
					    OK,
					    {HEAP("leak_here", "111")},
					    {{0}},
					    .repairs = true,
					    .outcome = OUTCOME_BASELINE_INVALID,
					    .classes = "S"};

	(void)state;
	check_row(&clean, 0, 1, heap, 1);
	check_row(&both, 1, 1, heap, 1);
	check_row(&gone, 2, 1, heap, 1);
	check_row(&other, 3, 1, heap, 1);
	check_row(&expired, 4, 1, old, 1);
	check_row(&at_times, 5, 1, heap, 1);
	check_row(&unproved, 6, 1, heap, 1);
}

static bool has_note(const struct check *c, const char *part)
{
	for (size_t i = 0; i < c->notes.n; i++)
		if (strstr(c->notes.v[i], part))
			return true;
	return false;
}

static void notes_and_skip(void **state)
{
	struct lifecycle lifecycle = {.name = (char[]){"w"}, .cycles = 3};
	struct suppression old = {.match = (char[]){"leak:a"},
				  .expires = (char[]){"2020-01-01"}};
	static const struct held none[3] = {{0}}, a[3] = {HEAP("a", "111")},
				 b[3] = {HEAP("b", "100")};
	CLEANUP(observation) struct observation base = {0}, candidate = {0}, unfit = {0};
	CLEANUP(check) struct check c = {0}, d = {0};
	struct leak_case in = {.lifecycle = &lifecycle,
			       .base = &base,
			       .candidate = &candidate,
			       .suppressions = &old,
			       .nsuppressions = 1,
			       .today = "2026-11-30",
			       .attempt = 1,
			       .max_attempts = 3};
	bool skip = true;

	(void)state;
	observe(&base, OK, b);
	observe(&candidate, "oofo", a);
	base.reused = true;
	strv_add(&base.notes, "seen by both");
	strv_add(&base.notes, "seen once");
	strv_add(&candidate.notes, "seen by both");
	strv_add(&candidate.notes, "seen here");
	verdict_leak(&in, &c, &skip);
	assert_int_equal(c.outcome, OUTCOME_LEAK);
	assert_false(skip);
	assert_true(c.base_reused);
	assert_int_equal(c.duration_us, 4000);
	assert_int_equal(c.base_cycles, 3);
	assert_true(has_note(&c, "leak:a expired on 2020-01-01"));
	assert_true(has_note(&c,
			     "base holds 1 allocation (40 bytes) in b (src/worker.c:41) "
			     "in 1 of 3 cycles, the candidate never does"));
	assert_true(has_note(&c, "also fails in 1 of 4 cycles: exit 1"));
	assert_true(has_note(&c, "base: seen once"));
	assert_true(has_note(&c, "candidate: seen here"));
	assert_true(strv_contains(&c.notes, "seen by both"));
	assert_int_equal(c.notes.n, 6);
	/* new first; base's units stay NULL where base never had it */
	assert_null(c.findings[0].base_units);

	observe(&unfit, "nnnn", none);
	in.base = in.candidate = &unfit;
	verdict_leak(&in, &d, &skip);
	assert_true(skip);
	in.base = in.candidate = NULL;
	check_release(&d);
	verdict_leak(&in, &d, &skip);
	assert_int_equal(d.outcome, OUTCOME_HARNESS_ERROR);
}

static void series(void **state)
{
	static const struct {
		uint64_t units[5];
		size_t n;
		bool leaks, intermittent;
	} cases[] = {
		{{0}, 0, false, false},
		{{0}, 1, false, false},
		{{1}, 1, true, false},
		{{5, 5, 6}, 3, true, false},
		{{3, 0, 0}, 3, false, true},
		{{0, 0, 0}, 3, false, false},
		{{0, 1, 1, 1, 1}, 5, false, true},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		bool intermittent;

		assert_int_equal(series_leaks(cases[i].units, cases[i].n, &intermittent),
				 cases[i].leaks);
		assert_int_equal(intermittent, cases[i].intermittent);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		HARNESS_TEST(how_runs_end),
		HARNESS_TEST(what_the_detector_did),
		HARNESS_TEST(lost_memory),
		HARNESS_TEST(what_a_process_may_hold),
		HARNESS_TEST(reachable_memory),
		HARNESS_TEST(leaks_of_others),
		HARNESS_TEST(a_reused_base),
		HARNESS_TEST(an_earlier_attempt),
		HARNESS_TEST(a_run_that_has_all_cycles),
		HARNESS_TEST(what_is_unsettled),
		HARNESS_TEST(repairs_under_one_detector),
		HARNESS_TEST(repairs),
		HARNESS_TEST(suppressions),
		HARNESS_TEST(notes_and_skip),
		HARNESS_TEST(series),
	};

	return HARNESS_RUN(tests);
}
