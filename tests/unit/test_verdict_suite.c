#include "harness.h"

#include "base/mem.h"
#include "verdict/verdict.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

static const struct run_result
	ok = {.end = RUN_EXITED},
	fails = {.end = RUN_EXITED, .status = 2},
	crashes = {.end = RUN_SIGNALED, .signal = SIGSEGV},
	late = {.end = RUN_TIMED_OUT, .wall_us = 60000000},
	missing = {.end = RUN_NOT_STARTED, .step = "exec", .errnum = ENOENT},
	broken = {.end = RUN_NOT_STARTED, .step = "chdir", .errnum = ENOENT},
	hog = {.end = RUN_OVER_MEMORY}, busy = {.end = RUN_OVER_CPU},
	unboxed = {.end = RUN_SANDBOX_FAILED, .step = "pivot_root", .errnum = EPERM},
	lost = {.end = RUN_LOST}, cancelled = {.end = RUN_CANCELLED};

struct row {
	const struct run_result *base, *candidate;
	enum outcome outcome;
	const char *says;
};

static void check_rows(const struct row *rows, size_t n,
		       void (*verdict)(const struct run_result *,
				       const struct run_result *, struct check *))
{
	for (size_t i = 0; i < n; i++) {
		CLEANUP(check) struct check c = {0};

		verdict(rows[i].base, rows[i].candidate, &c);
		if (c.outcome != rows[i].outcome)
			fail_msg("row %zu: %s: %s", i, outcome_name(c.outcome),
				 c.explanation);
		assert_non_null(c.explanation);
		if (rows[i].says && !strstr(c.explanation, rows[i].says))
			fail_msg("row %zu: %s", i, c.explanation);
		assert_false(c.retry);
	}
}

static void setup(void **state)
{
	static const struct row rows[] = {
		{&ok, &ok, OUTCOME_CLEAN, "both revisions"},
		{NULL, &ok, OUTCOME_CLEAN, "passes on the candidate"},
		{&fails, NULL, OUTCOME_BASELINE_INVALID, "on base: exit 2"},
		{&fails, &fails, OUTCOME_BASELINE_INVALID, NULL},
		{&fails, &ok, OUTCOME_BASELINE_INVALID, NULL},
		{&crashes, &ok, OUTCOME_BASELINE_INVALID, "SIGSEGV"},
		{&missing, &ok, OUTCOME_BASELINE_INVALID, "No such file"},
		{&late, &ok, OUTCOME_BASELINE_INVALID, "timed out after 60 s"},
		{&ok, &fails, OUTCOME_BEHAVIOR_FAILED, "exit 2"},
		{NULL, &fails, OUTCOME_BEHAVIOR_FAILED, NULL},
		{&ok, &crashes, OUTCOME_BEHAVIOR_FAILED, NULL},
		{&ok, &missing, OUTCOME_BEHAVIOR_FAILED, NULL},
		{&ok, &late, OUTCOME_INCONCLUSIVE, "timed out after 60 s"},
		{&broken, &ok, OUTCOME_HARNESS_ERROR, "on base"},
		{&fails, &broken, OUTCOME_HARNESS_ERROR, "the candidate"},
		{&ok, &lost, OUTCOME_HARNESS_ERROR, NULL},
		{&ok, &hog, OUTCOME_BEHAVIOR_FAILED, "killed for memory"},
		{&hog, &hog, OUTCOME_BASELINE_INVALID, "killed for memory"},
		{&ok, &busy, OUTCOME_INCONCLUSIVE, "used up its CPU time"},
		{&ok, &unboxed, OUTCOME_HARNESS_ERROR, "pivot_root"},
		{&ok, &cancelled, OUTCOME_INCONCLUSIVE, "cancelled"},
		{&ok, NULL, OUTCOME_HARNESS_ERROR, "not run"},
		{NULL, NULL, OUTCOME_HARNESS_ERROR, NULL},
	};

	(void)state;
	check_rows(rows, ARRAY_SIZE(rows), verdict_setup);
}

static void suite(void **state)
{
	static const struct row rows[] = {
		{&ok, &ok, OUTCOME_CLEAN, "both revisions"},
		{NULL, &ok, OUTCOME_CLEAN, "passes on the candidate"},
		{&fails, &ok, OUTCOME_CLEAN, "passes on the candidate"},
		{&fails, &fails, OUTCOME_BASELINE_INVALID, "exit 2"},
		{&missing, &fails, OUTCOME_BASELINE_INVALID, NULL},
		{&ok, &fails, OUTCOME_BEHAVIOR_FAILED, "exit 2"},
		{NULL, &crashes, OUTCOME_BEHAVIOR_FAILED, "SIGSEGV"},
		{&late, &ok, OUTCOME_INCONCLUSIVE, "on base timed out"},
		{&ok, &late, OUTCOME_INCONCLUSIVE, "on the candidate timed out"},
		{&late, &late, OUTCOME_INCONCLUSIVE, "on both revisions"},
		{&fails, &late, OUTCOME_INCONCLUSIVE, NULL},
		{&broken, &ok, OUTCOME_HARNESS_ERROR, NULL},
		{&ok, &lost, OUTCOME_HARNESS_ERROR, NULL},
		{&ok, &hog, OUTCOME_BEHAVIOR_FAILED, "killed for memory"},
		{&hog, &hog, OUTCOME_BASELINE_INVALID, "killed for memory"},
		{&ok, &busy, OUTCOME_INCONCLUSIVE, "used up its CPU time"},
		{&ok, &unboxed, OUTCOME_HARNESS_ERROR, "pivot_root"},
		{&ok, &cancelled, OUTCOME_INCONCLUSIVE, NULL},
		{&ok, NULL, OUTCOME_HARNESS_ERROR, NULL},
	};

	(void)state;
	check_rows(rows, ARRAY_SIZE(rows), verdict_suite);
}

static void overall(void **state)
{
	struct check c[3] = {0};

	(void)state;
	assert_int_equal(verdict_overall(NULL, 0), OUTCOME_HARNESS_ERROR);
	assert_int_equal(verdict_overall(c, 3), OUTCOME_CLEAN);
	for (int a = OUTCOME_CLEAN; a <= OUTCOME_LEAK; a++) {
		for (int b = OUTCOME_CLEAN; b <= OUTCOME_LEAK; b++) {
			c[0].outcome = (enum outcome)a;
			c[2].outcome = (enum outcome)b;
			assert_int_equal(verdict_overall(c, 3),
					 outcome_worse((enum outcome)a, (enum outcome)b));
		}
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		HARNESS_TEST(setup),
		HARNESS_TEST(suite),
		HARNESS_TEST(overall),
	};

	return HARNESS_RUN(tests);
}
