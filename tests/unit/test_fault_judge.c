/* fault_judge(): a run with a fault against the run without, in one row each. */
#include "harness.h"

#include "base/mem.h"
#include "fault/judge.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

enum { NOTHING = -1 };

struct row {
	const char *name;
	struct run_result run; /* with the fault; without: exit 0 */
	const char *error, *base_error;
	bool same_output, must_report, removes, not_fired;
	uint64_t reached;    /* of 1 */
	int held, base_held; /* enum resource, or NOTHING */
	bool check, checked; /* there is one; it came to its end */
	int check_status;
	const char *sanitizer;
	enum fault_defect defect;
	const char *what;
};

#define EXIT(n) .run = {.end = RUN_EXITED, .status = (n)}
#define KILLED(s) .run = {.end = RUN_SIGNALED, .signal = (s)}
#define NONE .held = NOTHING, .base_held = NOTHING

static const struct row rows[] = {
	{"survived", EXIT(1), NONE, .error = "no memory"},
	{"not fired", KILLED(SIGSEGV), NONE, .not_fired = true},
	{"crash", KILLED(SIGSEGV), NONE, .defect = DEFECT_CRASH, .what = "SIGSEGV"},
	{"under a shell", EXIT(139), NONE, .defect = DEFECT_CRASH, .what = "SIGSEGV"},
	{"killed by a test runner", KILLED(SIGTERM), NONE},
	{"abort with a message", KILLED(SIGABRT), NONE, .error = "fatal: no memory"},
	{"abort in silence", KILLED(SIGABRT), NONE, .defect = DEFECT_CRASH,
	 .what = "SIGABRT"},
	{"what it always says", KILLED(SIGABRT), NONE, .error = "hello",
	 .base_error = "hello", .defect = DEFECT_CRASH, .what = "SIGABRT"},
	{"what the shell says", EXIT(134), NONE, .error = "Aborted",
	 .defect = DEFECT_CRASH, .what = "SIGABRT"},
	{"the allocator", KILLED(SIGABRT), NONE, .error = "free(): invalid pointer",
	 .defect = DEFECT_CRASH, .what = "free()"},
	{"sanitizer", EXIT(1), NONE, .sanitizer = "heap-use-after-free in f",
	 .defect = DEFECT_SANITIZER, .what = "heap-use-after-free"},
	{"a sanitizer's crash", EXIT(1), NONE, .sanitizer = "SEGV in f",
	 .defect = DEFECT_CRASH, .what = "SEGV"},
	{"hang", .run = {.end = RUN_TIMED_OUT}, NONE, .defect = DEFECT_HANG,
	 .what = "without the fault"},

	{"swallowed", EXIT(0), NONE, .same_output = true, .must_report = true,
	 .defect = DEFECT_SWALLOWED, .what = "nobody was told"},
	{"told by the output", EXIT(0), NONE, .must_report = true},
	{"told by the status", EXIT(1), NONE, .same_output = true, .must_report = true},
	{"done again", EXIT(0), NONE, .same_output = true, .must_report = true,
	 .reached = 2},
	{"need not be told", EXIT(0), NONE, .same_output = true},

	{"lost", EXIT(1), .held = RESOURCE_HEAP, .base_held = NOTHING,
	 .defect = DEFECT_LEAK, .what = "heap lost"},
	{"lost on base, too", EXIT(1), .held = RESOURCE_HEAP, .base_held = RESOURCE_HEAP},
	{"held by who went on", EXIT(0), .held = RESOURCE_FD, .base_held = NOTHING,
	 .defect = DEFECT_HELD, .what = "held at exit"},
	{"held by who gave up", EXIT(1), .held = RESOURCE_FD, .base_held = NOTHING},
	{"held by who died", KILLED(SIGTERM), .held = RESOURCE_HEAP,
	 .base_held = NOTHING},
	{"a file", EXIT(1), .held = RESOURCE_TEMPFILE, .base_held = NOTHING,
	 .defect = DEFECT_FILE, .what = "left behind"},
	{"a file that could not be removed", EXIT(1), .held = RESOURCE_TEMPFILE,
	 .base_held = NOTHING, .removes = true},

	{"the check passes", EXIT(1), NONE, .check = true, .checked = true},
	{"the check fails", EXIT(1), NONE, .check = true, .checked = true,
	 .check_status = 3, .defect = DEFECT_CHECK, .what = "fails with 3: a row"},
	{"goes before what was swallowed", EXIT(0), NONE, .same_output = true,
	 .must_report = true, .check = true, .checked = true, .check_status = 1,
	 .defect = DEFECT_CHECK, .what = "fails with 1"},
	{"no check where it was to be", EXIT(0), NONE, .check = true,
	 .defect = DEFECT_CHECK, .what = "did not come to its end"},
	{"no check of what was killed", .run = {.end = RUN_TIMED_OUT}, NONE,
	 .check = true, .defect = DEFECT_HANG, .what = "without"},
};

static void hold(struct fault_seen *s, int resource)
{
	struct leak *l;

	s->probe[0].state = PROBE_COMPLETE;
	if (resource == NOTHING)
		return;
	l = probe_leak(&s->probe[0], (enum resource)resource, 1, 8);
	l->what = xstrdup("x");
	leak_sign(l);
}

static void judge(const struct row *r)
{
	CLEANUP(fault_seen) struct fault_seen base = {0}, seen = {0};
	CLEANUP(fault_judgement) struct fault_judgement j = {0};
	const struct fault_expect e = {
		.base = &base,
		.compare = COMPARE_EXACT,
		.must_report = r->must_report,
		.removes = r->removes,
		.occurrences = 1,
	};

	base.run.end = RUN_EXITED;
	base.error = xstrdup(r->base_error);
	base.checked = r->check;
	hold(&base, r->base_held);
	snprintf(base.exact, sizeof(base.exact), "a");
	seen.run = r->run;
	seen.error = xstrdup(r->error);
	seen.fired = !r->not_fired;
	seen.reached = r->reached ? r->reached : 1;
	seen.checked = r->checked;
	seen.check_status = r->check_status;
	seen.check_said = r->check_status ? xstrdup("a row is gone") : NULL;
	hold(&seen, r->held);
	snprintf(seen.exact, sizeof(seen.exact), r->same_output ? "a" : "b");
	seen.probe[0].failed = r->sanitizer != NULL;
	seen.probe[0].failure = xstrdup(r->sanitizer);
	fault_judge(&e, &seen, &j);
	if (j.defect != r->defect || (r->what && !strstr(j.what, r->what)))
		fail_msg("%s: %s: %s", r->name, fault_defect_name(j.defect),
			 j.what ? j.what : "-");
}

static void test_rows(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		judge(&rows[i]);
}

static void test_comparison(void **state)
{
	static const struct {
		const char *exact[2], *worded[2];
		enum fault_compare compare;
	} cases[] = {
		{{"a", "a"}, {"b", "b"}, COMPARE_EXACT},
		{{"a", "x"}, {"b", "b"}, COMPARE_WORDED},
		{{"a", "x"}, {"b", "y"}, COMPARE_NOT},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct fault_seen s[2] = {0};

		for (int k = 0; k < 2; k++) {
			snprintf(s[k].exact, SHA256_HEX, "%s", cases[i].exact[k]);
			snprintf(s[k].worded, SHA256_HEX, "%s", cases[i].worded[k]);
		}
		assert_int_equal(fault_comparison(&s[0], &s[1]), cases[i].compare);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		HARNESS_TEST(test_rows),
		HARNESS_TEST(test_comparison),
	};

	return HARNESS_RUN(tests);
}
