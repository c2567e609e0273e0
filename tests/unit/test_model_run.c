#include "harness.h"

#include "base/macros.h"
#include "model/run.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>

static void names_ends(void **state)
{
	static const char *const names[] = {"exited",	   "signaled",	"timed_out",
					    "not_started", "cancelled", "lost"};

	(void)state;
	for (int e = RUN_EXITED; e <= RUN_LOST; e++)
		assert_string_equal(run_end_name((enum run_end)e), names[e]);
}

static void names_verdicts(void **state)
{
	(void)state;
	for (int e = 0; e < RUN_ENDS; e++) {
		assert_non_null(run_end_name((enum run_end)e));
		assert_non_null(run_verdict_name((enum run_end)e));
		for (int other = 0; other < e; other++)
			assert_string_not_equal(run_verdict_name((enum run_end)e),
						run_verdict_name((enum run_end)other));
	}
	assert_string_equal(run_verdict_name(RUN_OVER_MEMORY), "oom");
	assert_string_equal(run_verdict_name(RUN_SANDBOX_FAILED), "sandbox-error");
}

static void parses_names(void **state)
{
	enum isolation isolation = ISOLATION_SANDBOX;
	enum network network = NETWORK_HOST;

	(void)state;
	assert_int_equal(isolation_parse("none", &isolation), 0);
	assert_int_equal(isolation, ISOLATION_NONE);
	assert_int_equal(isolation_parse("None", &isolation), -1);
	assert_int_equal(network_parse("loopback", &network), 0);
	assert_int_equal(network, NETWORK_LOOPBACK);
	assert_int_equal(network_parse("", &network), -1);
}

static void describes(void **state)
{
	static const struct {
		struct run_result r;
		const char *text;
	} cases[] = {
		{{.end = RUN_EXITED, .status = 1}, "exit 1"},
		{{.end = RUN_SIGNALED, .signal = SIGABRT}, "killed by SIGABRT"},
		{{.end = RUN_SIGNALED, .signal = 99}, "killed by signal 99"},
		{{.end = RUN_TIMED_OUT, .wall_us = 60000123}, "timed out after 60 s"},
		{{.end = RUN_TIMED_OUT, .wall_us = 500900}, "timed out after 500 ms"},
		{{.end = RUN_TIMED_OUT, .wall_us = 1500000}, "timed out after 1.5 s"},
		{{.end = RUN_TIMED_OUT, .wall_us = 2000300}, "timed out after 2 s"},
		{{.end = RUN_NOT_STARTED, .step = "exec", .errnum = ENOENT},
		 "could not be started: exec: No such file or directory"},
		{{.end = RUN_CANCELLED}, "cancelled"},
		{{.end = RUN_OVER_CPU}, "used up its CPU time"},
		{{.end = RUN_OVER_MEMORY}, "killed for memory"},
		{{.end = RUN_SANDBOX_FAILED, .step = "pivot_root", .errnum = EPERM},
		 "not sandboxed: pivot_root: Operation not permitted"},
		{{.end = RUN_LOST}, "lost: its supervisor was killed"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP_FREE char *text = run_result_describe(&cases[i].r);

		assert_string_equal(text, cases[i].text);
	}
}

static void releases(void **state)
{
	struct run_spec spec = {0};

	(void)state;
	strv_add(&spec.argv, "a");
	strv_add(&spec.env, "A=b");
	run_spec_release(&spec);
	run_spec_release(&spec);
	assert_null(spec.argv.v);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		HARNESS_TEST(names_ends),   HARNESS_TEST(names_verdicts),
		HARNESS_TEST(parses_names), HARNESS_TEST(describes),
		HARNESS_TEST(releases),
	};

	return HARNESS_RUN(tests);
}
