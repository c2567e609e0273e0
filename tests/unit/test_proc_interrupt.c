/* Signals are noted once and for all, so each case is a process of its own. */
#include "harness.h"

#include "base/clock.h"
#include "base/macros.h"
#include "proc/proc.h"

#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int notes_the_first(void)
{
	struct pollfd p = {.events = POLLIN};

	if (proc_interrupted() || proc_interrupt_fd() >= 0)
		return 1;
	proc_catch_interrupts();
	p.fd = proc_interrupt_fd();
	if (p.fd < 0 || poll(&p, 1, 0) != 0)
		return 2;
	raise(SIGINT);
	raise(SIGINT);
	raise(SIGTERM);
	if (proc_interrupted() != SIGINT || poll(&p, 1, 0) != 1)
		return 3;
	proc_catch_interrupts(); /* again: nothing changes */
	return proc_interrupt_fd() == p.fd ? 0 : 4;
}

static int leaves_nohup_alone(void)
{
	signal(SIGHUP, SIG_IGN);
	proc_catch_interrupts();
	raise(SIGHUP);
	return proc_interrupted();
}

static void fill(struct run_spec *spec)
{
	strv_add(&spec->argv, "sleep");
	strv_add(&spec->argv, "60");
	strv_copy(&spec->env, environ);
	spec->cwd = strdup("/");
	spec->dir = strdup(harness_tmpdir());
}

static void interrupt_soon(void)
{
	pid_t parent = getpid();

	if (fork() == 0) {
		usleep(100000);
		kill(parent, SIGTERM);
		_exit(0);
	}
}

static int cancels_a_run(void)
{
	CLEANUP(run_spec) struct run_spec spec = {0};
	struct run_result r = {0};
	struct err err = {0};

	fill(&spec);
	proc_catch_interrupts();
	interrupt_soon();
	if (proc_run(&spec, &r, &err) < 0 || r.end != RUN_CANCELLED)
		return 1;
	/* the next one is not even started */
	return proc_run(&spec, &r, &err) == -1 && err.kind == ERR_INTERRUPTED ? 0 : 2;
}

static int cancels_a_capture(void)
{
	CLEANUP(run_spec) struct run_spec spec = {0};
	struct err err = {0};

	fill(&spec);
	proc_catch_interrupts();
	interrupt_soon();
	return proc_capture(spec.argv.v, NULL, NULL, NULL, &err) == -1 &&
			       err.kind == ERR_INTERRUPTED
		       ? 0
		       : 1;
}

static void in_its_own_process(void **state)
{
	static int (*const cases[])(void) = {notes_the_first, leaves_nohup_alone,
					     cancels_a_run, cancels_a_capture};
	static const int signals[] = {SIGHUP, SIGINT, SIGTERM};

	(void)state;
	harness_tmpdir();
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		uint64_t start = clock_us();
		int status;
		pid_t pid = fork();

		if (pid == 0) {
			/* Whoever started the suite may have ignored some. */
			for (size_t k = 0; k < ARRAY_SIZE(signals); k++)
				signal(signals[k], SIG_DFL);
			_exit(cases[i]());
		}
		waitpid(pid, &status, 0);
		assert_true(WIFEXITED(status));
		assert_int_equal(WEXITSTATUS(status), 0);
		assert_true(clock_us() - start < 50000000); /* not the sleep's 60 s */
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {HARNESS_TEST(in_its_own_process)};

	return HARNESS_RUN(tests);
}
