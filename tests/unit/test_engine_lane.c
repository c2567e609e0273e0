#include "harness.h"

#include "base/fs.h"
#include "base/mem.h"
#include "engine/lane.h"
#include "proc/proc.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NEVER = 1000 };

/* A lane of `total` runs of a shell command; events of all lanes go into one journal. */
struct script {
	const char *name, *command;
	size_t total, begun, ended;
	size_t bad_next, bad_done; /* the run in which the callback fails; NEVER */
	size_t no_command;	   /* the run that cannot be started */
	int raise_in_done;	   /* signal that comes after the first run */
	enum run_end last;
	struct buf *journal;
};

static int next(void *ctx, struct run_spec *spec, struct err *err)
{
	struct script *s = ctx;

	if (s->begun == s->total)
		return 0;
	if (s->begun == s->bad_next)
		return err_set(err, ERR_ENVIRONMENT, "next of %s", s->name);
	s->begun++;
	buf_addf(s->journal, "+%s", s->name);
	if (s->begun - 1 != s->no_command) {
		strv_add(&spec->argv, "/bin/sh");
		strv_add(&spec->argv, "-c");
		strv_add(&spec->argv, s->command);
	}
	strv_add(&spec->env, "PATH=/usr/bin:/bin");
	spec->cwd = xstrdup("/");
	spec->dir = xstrdup(harness_tmpdir());
	spec->timeout_ms = 20000;
	return 1;
}

static int done(void *ctx, const struct run_result *r, struct err *err)
{
	struct script *s = ctx;

	s->last = r->end;
	buf_addf(s->journal, "-%s", s->name);
	if (s->raise_in_done)
		raise(s->raise_in_done);
	if (s->ended++ == s->bad_done)
		return err_set(err, ERR_ENVIRONMENT, "done of %s", s->name);
	return 0;
}

static struct script script(const char *name, const char *command, size_t total,
			    struct buf *journal)
{
	return (struct script){.name = name,
			       .command = command,
			       .total = total,
			       .bad_next = NEVER,
			       .bad_done = NEVER,
			       .no_command = NEVER,
			       .journal = journal};
}

static int run(struct script *s, size_t n, unsigned jobs, struct err *err)
{
	struct lane lanes[9] = {0};

	for (size_t i = 0; i < n; i++)
		lanes[i] = (struct lane){.next = next, .done = done, .ctx = &s[i]};
	return lanes_run(lanes, n, jobs, err);
}

static void one_job_runs_one_lane_after_the_other(void **state)
{
	CLEANUP(buf) struct buf journal = {0};
	struct script s[] = {script("a", "exit 0", 3, &journal),
			     script("b", "exit 3", 2, &journal)};
	struct err err = {0};

	(void)state;
	assert_int_equal(run(s, 2, 1, &err), 0);
	assert_string_equal(buf_str(&journal), "+a-a+a-a+a-a+b-b+b-b");
	assert_int_equal(s[1].last, RUN_EXITED);
}

static void two_jobs_run_side_by_side(void **state)
{
	CLEANUP(buf) struct buf journal = {0};
	struct script s[] = {script("a", "sleep 0.3", 1, &journal),
			     script("b", "exit 0", 3, &journal)};
	struct err err = {0};

	(void)state;
	assert_int_equal(run(s, 2, 2, &err), 0);
	assert_string_equal(buf_str(&journal), "+a+b-b+b-b+b-b-a");
}

static void lanes_without_runs_are_done(void **state)
{
	CLEANUP(buf) struct buf journal = {0};
	struct script s[] = {script("a", "exit 0", 0, &journal),
			     script("b", "exit 0", 1, &journal)};
	struct err err = {0};

	(void)state;
	assert_int_equal(run(s, 0, 1, &err), 0);
	assert_int_equal(run(s, 2, 2, &err), 0);
	assert_string_equal(buf_str(&journal), "+b-b");
}

/* Whatever fails, every run that was begun is reported to done(), the other lane's too.
 */
static void an_error_ends_all_lanes(void **state)
{
	static const struct {
		const char *what;
		size_t bad_next, bad_done, no_command;
		const char *message;
		size_t begun;
	} cases[] = {
		{"next, at once", 0, NEVER, NEVER, "next of b", 0},
		{"next, later", 2, NEVER, NEVER, "next of b", 2},
		{"done", NEVER, 1, NEVER, "done of b", 2},
		{"start", NEVER, NEVER, 1, "a run without a command", 2},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(buf) struct buf journal = {0};
		struct script s[] = {script("a", "sleep 15", 2, &journal),
				     script("b", "exit 0", 5, &journal)};
		struct err err = {0};

		s[1].bad_next = cases[i].bad_next;
		s[1].bad_done = cases[i].bad_done;
		s[1].no_command = cases[i].no_command;
		if (run(s, 2, 2, &err) != -1)
			fail_msg("%s: no error", cases[i].what);
		if (strcmp(err.message, cases[i].message) != 0)
			fail_msg("%s: %s", cases[i].what, err.message);
		assert_int_equal(s[0].begun, 1);
		assert_int_equal(s[0].ended, 1);
		assert_int_equal(s[0].last, RUN_CANCELLED);
		assert_int_equal(s[1].begun, cases[i].begun);
		assert_int_equal(s[1].ended, s[1].begun);
	}
}

static void too_many_lanes_are_refused(void **state)
{
	struct script s[9] = {0};
	struct err err = {0};

	(void)state;
	assert_int_equal(run(s, 9, 1, &err), -1);
	assert_int_equal(err.kind, ERR_INTERNAL);
}

/* In a process of its own: a signal that was caught stays. Exit status 0: as it should.
 */
static int interrupted(struct script *s, size_t n, const char *want)
{
	struct err err = {0};
	int rc = run(s, n, 2, &err);

	if (rc == -1 && err.kind == ERR_INTERRUPTED &&
	    strstr(err.message, "stopped by signal 15") &&
	    !strcmp(buf_str(s->journal), want))
		return 0;
	fprintf(stderr, "%d %s %s\n", rc, err.message, buf_str(s->journal));
	return 1;
}

static void a_signal_ends_all_lanes(void **state)
{
	static const char *const want[] = {
		"+a+b-b-a", /* in the middle: nothing more is started */
		"+b-b",	    /* between two runs */
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(want); i++) {
		CLEANUP(buf) struct buf journal = {0};
		struct script s[] = {script("a", "sleep 15", 2, &journal),
				     script("b", "exit 0", 5, &journal)};
		const char *dir = harness_tmpdir();
		int status;
		pid_t pid;

		assert_non_null(dir); /* made before the fork, removed after the test */
		s[1].raise_in_done = SIGTERM;
		pid = fork();
		assert_true(pid >= 0);
		if (pid == 0) {
			proc_catch_interrupts();
			_exit(interrupted(s + i, 2 - i, want[i]));
		}
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_int_equal(status, 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		HARNESS_TEST(one_job_runs_one_lane_after_the_other),
		HARNESS_TEST(two_jobs_run_side_by_side),
		HARNESS_TEST(lanes_without_runs_are_done),
		HARNESS_TEST(an_error_ends_all_lanes),
		HARNESS_TEST(too_many_lanes_are_refused),
		HARNESS_TEST(a_signal_ends_all_lanes),
	};

	return HARNESS_RUN(tests);
}
