#include "harness.h"

#include "base/fs.h"
#include "base/macros.h"
#include "base/mem.h"
#include "proc/proc.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int shell(const char *script, const struct capture_opts *opts, struct buf *out,
		 int *ret_status, struct err *err)
{
	char *sh = xstrdup("sh"), *c = xstrdup("-c"), *text = xstrdup(script);
	char *argv[] = {sh, c, text, NULL};
	int rc = proc_capture(argv, opts, out, ret_status, err);

	free(sh);
	free(c);
	free(text);
	return rc;
}

static void captures_stdout(void **state)
{
	CLEANUP(buf) struct buf out = {0};
	struct err err = {0};

	(void)state;
	buf_adds(&out, "kept ");
	assert_int_equal(shell("echo out; echo err >&2", NULL, &out, NULL, &err), 0);
	assert_string_equal(out.data, "kept out\n");
	assert_int_equal(shell("cat; echo; exit 0", NULL, NULL, NULL, &err), 0);
}

static void passes_input_cwd_and_environment(void **state)
{
	char *env[] = {strdup("NAME=value"), NULL};
	struct capture_opts opts = {.cwd = harness_tmpdir(), .env = env, .input = "in"};
	CLEANUP(buf) struct buf out = {0};

	(void)state;
	harness_file("here", "");
	assert_int_equal(shell("/bin/cat; /bin/ls; echo $NAME", &opts, &out, NULL, NULL),
			 0);
	assert_string_equal(out.data, "inhere\nvalue\n");
	free(env[0]);
}

static void large_both_ways(void **state)
{
	size_t len = 8 << 20;
	CLEANUP_FREE char *input = xcalloc(1, len + 1);
	struct capture_opts opts = {.input = input};
	CLEANUP(buf) struct buf out = {0};

	(void)state;
	memset(input, 'x', len);
	assert_int_equal(shell("tee /dev/stderr", &opts, &out, NULL, NULL), 0);
	assert_int_equal(out.len, len);
	assert_memory_equal(out.data, input, len);
	/* input that nobody reads */
	assert_int_equal(shell("exit 0", &opts, &out, NULL, NULL), 0);
}

static void says_why_it_failed(void **state)
{
	static const struct {
		const char *script, *message;
	} cases[] = {
		{"echo first >&2; echo last >&2; exit 3", "sh failed with exit 3: last"},
		{"printf 'no newline' >&2; exit 1", "sh failed with exit 1: no newline"},
		{"printf 'text\\n\\n \\n' >&2; exit 1", "sh failed with exit 1: text"},
		{"exit 128", "sh failed with exit 128"},
		{"printf 'hint: x\\nerror: open(\"a\")\\nerror: b\\nfatal: failed\\n' "
		 ">&2; exit 1",
		 "sh failed with exit 1: error: open(\"a\"); fatal: failed"},
		{"echo error: alone >&2; exit 1", "sh failed with exit 1: error: alone"},
		{"echo >&2; exit 1", "sh failed with exit 1"},
		{"kill -9 $$", "sh was killed by signal 9"},
		{"echo why >&2; kill -15 $$", "sh was killed by signal 15: why"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(buf) struct buf out = {0};
		struct err err = {0};

		assert_int_equal(shell(cases[i].script, NULL, &out, NULL, &err), -1);
		assert_int_equal(err.kind, ERR_ENVIRONMENT);
		assert_string_equal(err.message, cases[i].message);
		assert_int_equal(out.len, 0);
	}
}

static void gives_the_status(void **state)
{
	CLEANUP(buf) struct buf out = {0};
	int status = -1;

	(void)state;
	assert_int_equal(shell("echo x; exit 3", NULL, &out, &status, NULL), 0);
	assert_int_equal(status, 3);
	assert_string_equal(out.data, "x\n");
	assert_int_equal(shell("kill -9 $$", NULL, &out, &status, NULL), 0);
	assert_int_equal(status, 128 + 9);
	assert_int_equal(shell("true", NULL, &out, &status, NULL), 0);
	assert_int_equal(status, 0);
}

static void says_what_it_cannot_run(void **state)
{
	char *missing[] = {strdup("no-such-program"), strdup("sub"), NULL};
	char *cwd[] = {strdup("true"), NULL};
	struct capture_opts opts = {.cwd = "/no/such/dir"};
	struct err err = {0};
	int status = -1;

	(void)state;
	assert_int_equal(proc_capture(missing, NULL, NULL, &status, &err), -1);
	assert_string_equal(
		err.message,
		"cannot run no-such-program sub (exec): No such file or directory");
	assert_int_equal(status, -1);
	assert_int_equal(proc_capture(cwd, &opts, NULL, NULL, &err), -1);
	assert_string_equal(err.message,
			    "cannot run true (chdir): No such file or directory");
	free(missing[0]);
	free(missing[1]);
	free(cwd[0]);
}

static void refuses_too_much(void **state)
{
	struct capture_opts opts = {.cap = 1000};
	CLEANUP(buf) struct buf out = {0};
	struct err err = {0};

	(void)state;
	assert_int_equal(shell("head -c 1000 /dev/zero", &opts, &out, NULL, &err), 0);
	assert_int_equal(out.len, 1000);
	assert_int_equal(shell("exec yes", &opts, &out, NULL, &err), -1);
	assert_string_equal(err.message, "sh wrote more than 1000 bytes");
	assert_int_equal(out.len, 1000);
}

static void keeps_the_end_of_long_errors(void **state)
{
	struct err err = {0};

	(void)state;
	assert_int_equal(shell("i=0; while [ $i -lt 30000 ]; do echo line $i >&2; "
			       "i=$((i+1)); done; exit 1",
			       NULL, NULL, NULL, &err),
			 -1);
	assert_string_equal(err.message, "sh failed with exit 1: line 29999");
}

static void does_not_wait_for_a_daemon(void **state)
{
	CLEANUP(buf) struct buf out = {0};

	(void)state;
	assert_int_equal(shell("sleep 30 & echo $!", NULL, &out, NULL, NULL), 0);
	assert_true(atoi(out.data) > 0);
	kill(atoi(out.data), SIGKILL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		HARNESS_TEST(captures_stdout),
		HARNESS_TEST(passes_input_cwd_and_environment),
		HARNESS_TEST(large_both_ways),
		HARNESS_TEST(says_why_it_failed),
		HARNESS_TEST(gives_the_status),
		HARNESS_TEST(says_what_it_cannot_run),
		HARNESS_TEST(refuses_too_much),
		HARNESS_TEST(keeps_the_end_of_long_errors),
		HARNESS_TEST(does_not_wait_for_a_daemon),
	};

	return HARNESS_RUN(tests);
}
