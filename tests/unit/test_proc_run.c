/* Runs real programs, most of them hostile, and counts what they leave behind. */
#include "harness.h"
#include "hostile.h"

#include "base/fs.h"
#include "proc/proc.h"
#include "proc/tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* ---- the programs ---- */

static void note_pid(void)
{
	FILE *f = fopen("pids", "ae");

	if (f) {
		fprintf(f, "%d\n", getpid());
		fclose(f);
	}
}

static void wait_for_ever(void)
{
	note_pid();
	for (;;)
		pause();
}

static int ignores_sigterm(void)
{
	signal(SIGTERM, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	wait_for_ever();
	return 0;
}

/* Returns when the daemon has noted its pid: on a busy machine that takes its time. */
static void daemonize(void)
{
	if (fork() > 0) {
		for (int i = 0; i < 4000 && access("pids", F_OK) < 0; i++)
			usleep(5000);
		usleep(5000);
		return;
	}
	setsid();
	if (fork() > 0)
		_exit(0);
	wait_for_ever();
}

static int double_forks(void)
{
	daemonize();
	return 5;
}

static int holds_stdout(void)
{
	printf("before\n");
	fflush(stdout);
	daemonize();
	return 0;
}

static int forks_on(void) /* a bomb of 64 processes that fork when one dies */
{
	for (int i = 0; i < 6; i++)
		fork();
	note_pid();
	for (int i = 0; i < 200; i++) {
		pid_t pid = fork();

		if (pid == 0) {
			usleep(1000);
			_exit(0);
		}
		waitpid(pid, NULL, 0);
	}
	wait_for_ever();
	return 0;
}

static int writes_much(void)
{
	static char chunk[65536];

	memset(chunk, 'x', sizeof(chunk));
	for (int i = 0; i < 16384; i++) /* 1 GiB */
		for (size_t done = 0; done < sizeof(chunk);) {
			ssize_t n = write(1, chunk + done, sizeof(chunk) - done);

			if (n < 0)
				return 1;
			done += (size_t)n;
		}
	return 0;
}

static int closes_output(void)
{
	printf("out\n");
	fprintf(stderr, "err\n");
	fclose(stdout);
	fclose(stderr);
	usleep(50000);
	_exit(4);
}

static int lists_fds(void)
{
	DIR *d = opendir("/proc/self/fd");
	struct dirent *e;
	int extra = 0;

	while ((e = readdir(d)))
		if (e->d_name[0] != '.' && atoi(e->d_name) > 2 &&
		    atoi(e->d_name) != dirfd(d))
			extra++;
	closedir(d);
	return extra;
}

static int shows_signals(void)
{
	char line[256];
	FILE *f = fopen("/proc/self/status", "re");
	unsigned long long set;
	int bad = 0;

	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "SigIgn: %llx", &set) == 1 ||
		    sscanf(line, "SigBlk: %llx", &set) == 1) {
			bad += set != 0;
			fputs(line, stdout);
		}
	fclose(f);
	return bad;
}

static int shows_surroundings(void)
{
	struct rlimit core;
	char c;

	getrlimit(RLIMIT_CORE, &core);
	if (core.rlim_cur != 0 || read(0, &c, 1) != 0)
		return 1;
	if (getpgrp() != getpid() || isatty(0))
		return 2;
	fputs(getenv("GREETING") ? getenv("GREETING") : "none", stdout);
	return 0;
}

static int kills_supervisor(void)
{
	daemonize();
	kill(getppid(), SIGKILL);
	wait_for_ever();
	return 0;
}

static int aborts(void)
{
	signal(SIGABRT, SIG_DFL);
	abort();
}

static int ends_soon_after(void) /* like a pipeline whose reader is still at work */
{
	if (fork() == 0) {
		usleep(5000);
		printf("late\n");
		fflush(stdout);
		_exit(0);
	}
	_exit(0);
}

static int burns(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		size_t size = 64 << 20;
		volatile char *p = malloc(size);

		for (size_t i = 0; i < size; i += 4096)
			p[i] = 1;
		while (clock() < CLOCKS_PER_SEC / 5)
			;
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	return 0;
}

static const struct hostile programs[] = {
	{"ignores_sigterm", ignores_sigterm},
	{"double_forks", double_forks},
	{"holds_stdout", holds_stdout},
	{"forks_on", forks_on},
	{"writes_much", writes_much},
	{"closes_output", closes_output},
	{"lists_fds", lists_fds},
	{"shows_signals", shows_signals},
	{"shows_surroundings", shows_surroundings},
	{"kills_supervisor", kills_supervisor},
	{"aborts", aborts},
	{"ends_soon_after", ends_soon_after},
	{"burns", burns},
	{NULL, NULL},
};

/* ---- the tests ---- */

static void read_out(const char *name, struct buf *b)
{
	CLEANUP_FREE char *path = path_join(harness_tmpdir(), name);

	assert_int_equal(read_file(path, 0, b, NULL), 0);
}

static void assert_file(const char *name, const char *content)
{
	CLEANUP(buf) struct buf b = {0};

	read_out(name, &b);
	assert_string_equal(buf_str(&b), content);
}

/* How many of the pids that the program noted are still there; at least `least` were
 * noted. */
static unsigned survivors(unsigned least)
{
	CLEANUP(buf) struct buf b = {0};
	unsigned n = 0, noted = 0;

	read_out("pids", &b);
	for (char *p = b.data; p && *p; p = strchr(p, '\n') + 1, noted++)
		n += kill(atoi(p), 0) == 0;
	assert_true(noted >= least);
	return n;
}

static void remove_pids(void)
{
	CLEANUP_FREE char *path = path_join(harness_tmpdir(), "pids");

	assert_int_equal(unlink(path), 0);
}

static void run(const struct run_spec *spec, struct run_result *ret)
{
	struct err err = {0};

	if (proc_run(spec, ret, &err) < 0)
		fail_msg("%s", err.message);
	assert_int_equal(proc_descendants(getpid(), NULL, 0), 0);
}

static void run_hostile(const char *name, struct run_result *ret)
{
	CLEANUP(run_spec) struct run_spec spec = {0};

	hostile_spec(&spec, harness_tmpdir(), name);
	run(&spec, ret);
}

static void run_shell(const char *script, struct run_result *ret)
{
	CLEANUP(run_spec) struct run_spec spec = {0};

	strv_add(&spec.argv, "sh");
	strv_add(&spec.argv, "-c");
	strv_add(&spec.argv, script);
	strv_copy(&spec.env, environ);
	spec.cwd = strdup(harness_tmpdir());
	spec.dir = strdup(harness_tmpdir());
	run(&spec, ret);
}

static void tells_status_and_output(void **state)
{
	struct run_result r;

	(void)state;
	run_shell("echo out; echo error >&2; pwd; exit 7", &r);
	assert_int_equal(r.end, RUN_EXITED);
	assert_int_equal(r.status, 7);
	assert_int_equal(r.stderr_bytes, 6);
	assert_int_equal(r.left_behind, 0);
	assert_false(r.stdout_cut || r.stderr_cut || r.watch_failed);
	assert_true(r.wall_us > 0 && r.cpu_us > 0 && r.peak_kib > 0);
	assert_file("stderr", "error\n");
}

static void tells_the_signal(void **state)
{
	struct run_result r;

	(void)state;
	run_hostile("aborts", &r);
	assert_int_equal(r.end, RUN_SIGNALED);
	assert_int_equal(r.signal, SIGABRT);
}

static void gives_a_clean_surrounding(void **state)
{
	CLEANUP(run_spec) struct run_spec spec = {0};
	struct run_result r;
	sigset_t set, old;
	int fd = open("/dev/null", O_RDONLY); /* not CLOEXEC */

	(void)state;
	hostile_spec(&spec, harness_tmpdir(), "shows_surroundings");
	env_set(&spec.env, "GREETING", "hello");
	run(&spec, &r);
	assert_int_equal(r.status, 0);
	assert_file("stdout", "hello");

	run_hostile("lists_fds", &r);
	assert_int_equal(r.status, 0);
	close(fd);

	signal(SIGPIPE, SIG_IGN);
	signal(SIGINT, SIG_IGN);
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigprocmask(SIG_BLOCK, &set, &old);
	run_hostile("shows_signals", &r);
	sigprocmask(SIG_SETMASK, &old, NULL);
	signal(SIGPIPE, SIG_DFL);
	signal(SIGINT, SIG_DFL);
	assert_int_equal(r.end, RUN_EXITED);
	assert_file("stdout", "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n");
	assert_int_equal(r.status, 0);
}

static void works_without_standard_descriptors(void **state)
{
	struct run_result r;
	int saved[3];

	(void)state;
	for (int i = 0; i < 3; i++)
		saved[i] = fcntl(i, F_DUPFD_CLOEXEC, 10);
	for (int i = 0; i < 3; i++)
		close(i);
	run_shell("echo out; echo err >&2", &r);
	for (int i = 0; i < 3; i++) {
		dup2(saved[i], i);
		close(saved[i]);
	}
	assert_int_equal(r.end, RUN_EXITED);
	assert_file("stdout", "out\n");
	assert_file("stderr", "err\n");
}

static void says_what_did_not_start(void **state)
{
	static const struct {
		const char *program, *cwd, *step;
		int errnum;
	} cases[] = {
		{"no-such-program", NULL, "exec", ENOENT},
		{"/no/such/program", NULL, "exec", ENOENT},
		{"", NULL, "exec", ENOENT},
		{"./not-executable", NULL, "exec", EACCES},
		{"./directory", NULL, "exec", EACCES},
		{"true", "/no/such/directory", "chdir", ENOENT},
	};

	(void)state;
	harness_file("not-executable", "#!/bin/sh\n");
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(run_spec) struct run_spec spec = {0};
		CLEANUP_FREE char *sub = path_join(harness_tmpdir(), "directory");
		struct run_result r;

		mkdir(sub, 0700);
		strv_add(&spec.argv, cases[i].program);
		strv_copy(&spec.env, environ);
		spec.dir = strdup(harness_tmpdir());
		spec.cwd = strdup(cases[i].cwd ? cases[i].cwd : harness_tmpdir());
		run(&spec, &r);
		assert_int_equal(r.end, RUN_NOT_STARTED);
		assert_string_equal(r.step, cases[i].step);
		assert_int_equal(r.errnum, cases[i].errnum);
	}
}

static void says_that_output_has_no_place(void **state)
{
	CLEANUP(run_spec) struct run_spec spec = {0};
	struct run_result r;

	(void)state;
	hostile_spec(&spec, "/", "lists_fds");
	free(spec.dir);
	spec.dir = strdup("/no/such/dir");
	run(&spec, &r);
	assert_int_equal(r.end, RUN_NOT_STARTED);
	assert_string_equal(r.step, "output");
	assert_int_equal(r.errnum, ENOENT);
}

static void refuses_half_a_spec(void **state)
{
	struct run_spec spec = {0};
	struct run_result r;
	struct err err = {0};

	(void)state;
	assert_int_equal(proc_run(&spec, &r, &err), -1);
	assert_int_equal(err.kind, ERR_INTERNAL);
}

static void searches_path_as_the_shell_does(void **state)
{
	CLEANUP(run_spec) struct run_spec spec = {0};
	CLEANUP_FREE char *bin = path_join(harness_tmpdir(), "bin");
	struct run_result r;

	(void)state;
	mkdir(bin, 0700);
	/* no "#!": a shell runs it, as from execvp(3) */
	chmod(harness_file("bin/script", "echo \"script $1\"\n"), 0700);
	strv_add(&spec.argv, "script");
	strv_add(&spec.argv, "one");
	strv_add(&spec.env, "PATH=/no/such/dir:bin:");
	spec.cwd = strdup(harness_tmpdir());
	spec.dir = strdup(harness_tmpdir());
	run(&spec, &r);
	assert_int_equal(r.end, RUN_EXITED);
	assert_int_equal(r.status, 0);
	assert_file("stdout", "script one\n");

	free(spec.argv.v[0]);
	spec.argv.v[0] = strdup("bin/script"); /* relative to cwd */
	run(&spec, &r);
	assert_int_equal(r.status, 0);

	free(spec.argv.v[0]);
	spec.argv.v[0] = strdup("true");
	env_set(&spec.env, "PATH", NULL); /* the default is /bin:/usr/bin */
	run(&spec, &r);
	assert_int_equal(r.end, RUN_EXITED);
	assert_int_equal(r.status, 0);
}

static void kills_at_the_deadline(void **state)
{
	CLEANUP(run_spec) struct run_spec spec = {0};
	CLEANUP(buf) struct buf hang = {0};
	struct run_result r;

	(void)state;
	hostile_spec(&spec, harness_tmpdir(), "ignores_sigterm");
	spec.timeout_ms = 300;
	run(&spec, &r);
	assert_int_equal(r.end, RUN_TIMED_OUT);
	assert_true(r.wall_us >= 300000);
	assert_int_equal(survivors(1), 0);
	read_out("hang.txt", &hang);
	assert_non_null(strstr(hang.data, "test_proc_run"));
	assert_non_null(strstr(hang.data, "state S"));
	assert_non_null(strstr(hang.data, "fd 1 -> pipe:["));
	assert_non_null(strstr(hang.data, "ignores_sigterm"));
}

static void leaves_nobody_behind(void **state)
{
	static const struct {
		const char *name;
		int status;
	} cases[] = {
		{"double_forks", 5},
		{"holds_stdout", 0},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct run_result r;

		run_hostile(cases[i].name, &r);
		assert_int_equal(r.end, RUN_EXITED);
		assert_int_equal(r.status, cases[i].status);
		assert_int_equal(r.left_behind, 1);
		assert_int_equal(survivors(1), 0);
		remove_pids();
	}
	assert_file("stdout", "before\n");
}

static void outruns_a_fork_bomb(void **state)
{
	CLEANUP(run_spec) struct run_spec spec = {0};
	struct run_result r;

	(void)state;
	hostile_spec(&spec, harness_tmpdir(), "forks_on");
	spec.timeout_ms = 1500;
	run(&spec, &r);
	assert_int_equal(r.end, RUN_TIMED_OUT);
	assert_int_equal(survivors(16), 0);
}

static void waits_a_little_for_the_rest(void **state)
{
	struct run_result r;

	(void)state;
	run_hostile("ends_soon_after", &r);
	assert_int_equal(r.end, RUN_EXITED);
	assert_int_equal(r.left_behind, 0);
	assert_file("stdout", "late\n");
}

static void caps_output(void **state)
{
	CLEANUP_FREE char *path = path_join(harness_tmpdir(), "stdout");
	CLEANUP(run_spec) struct run_spec spec = {0};
	struct run_result r;
	struct stat st;

	(void)state;
	hostile_spec(&spec, harness_tmpdir(), "writes_much");
	spec.output_cap = 100001;
	run(&spec, &r);
	assert_int_equal(r.end, RUN_EXITED);
	assert_int_equal(r.status, 0);
	assert_int_equal(r.stdout_bytes, UINT64_C(1) << 30);
	assert_true(r.stdout_cut);
	assert_false(r.stderr_cut);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_size, 100001);
}

static void goes_on_when_the_disk_is_full(void **state)
{
	struct rlimit old, small;
	struct run_result r;

	(void)state;
	/* stands for ENOSPC: the supervisor inherits it, and a write past it fails */
	getrlimit(RLIMIT_FSIZE, &old);
	small = old;
	small.rlim_cur = 1 << 20;
	setrlimit(RLIMIT_FSIZE, &small);
	run_shell("head -c 2000000 /dev/zero", &r);
	setrlimit(RLIMIT_FSIZE, &old);
	assert_int_equal(r.end, RUN_EXITED);
	assert_int_equal(r.status, 0);
	assert_int_equal(r.stdout_bytes, 2000000);
	assert_true(r.stdout_cut);
}

static void main_exit_is_the_end(void **state)
{
	struct run_result r;

	(void)state;
	run_hostile("closes_output", &r);
	assert_int_equal(r.end, RUN_EXITED);
	assert_int_equal(r.status, 4);
	assert_file("stdout", "out\n");
	assert_file("stderr", "err\n");
}

static void measures_descendants(void **state)
{
	struct run_result r;

	(void)state;
	run_hostile("burns", &r);
	assert_true(r.cpu_us >= 200000);
	assert_true(r.peak_kib >= 64 << 10);
}

static void wait_for_pids(void)
{
	CLEANUP_FREE char *path = path_join(harness_tmpdir(), "pids");
	struct stat st;

	for (int i = 0; i < 2000 && (stat(path, &st) < 0 || !st.st_size); i++)
		usleep(5000);
}

static void cancels(void **state)
{
	CLEANUP(run_spec) struct run_spec spec = {0};
	struct run_result r;
	struct proc *p;

	(void)state;
	hostile_spec(&spec, harness_tmpdir(), "ignores_sigterm");
	p = proc_start(&spec, NULL);
	assert_non_null(p);
	wait_for_pids();
	proc_cancel(p);
	proc_cancel(p); /* twice is fine */
	proc_finish(p, &r);
	assert_int_equal(r.end, RUN_CANCELLED);
	assert_int_equal(survivors(1), 0);
}

static void runs_side_by_side(void **state)
{
	CLEANUP(run_spec) struct run_spec slow = {0}, quick = {0};
	struct pollfd fds[2];
	struct run_result r;
	struct proc *p, *q;

	(void)state;
	hostile_spec(&slow, harness_tmpdir(), "ignores_sigterm");
	hostile_spec(&quick, harness_tmpdir(), "lists_fds");
	p = proc_start(&slow, NULL);
	q = proc_start(&quick, NULL);
	fds[0] = (struct pollfd){.fd = proc_fd(p), .events = POLLIN};
	fds[1] = (struct pollfd){.fd = proc_fd(q), .events = POLLIN};
	assert_int_equal(poll(fds, 2, 20000), 1);
	assert_true(fds[1].revents);
	proc_finish(q, &r);
	assert_int_equal(r.end, RUN_EXITED);
	assert_int_equal(r.status, 0);
	wait_for_pids();
	proc_cancel(p);
	proc_finish(p, &r);
	assert_int_equal(r.end, RUN_CANCELLED);
	assert_int_equal(survivors(1), 0);
}

/* The other run must live when one supervisor is lost. */
static void survives_a_lost_supervisor(void **state)
{
	CLEANUP(run_spec) struct run_spec victim = {0}, other = {0};
	struct run_result r;
	struct proc *p, *q;

	(void)state;
	strv_add(&other.argv, "sleep");
	strv_add(&other.argv, "0.5");
	strv_copy(&other.env, environ);
	other.cwd = strdup(harness_tmpdir());
	other.dir = strdup(harness_tmpdir());
	hostile_spec(&victim, harness_tmpdir(), "kills_supervisor");
	q = proc_start(&other, NULL);
	p = proc_start(&victim, NULL);
	proc_finish(p, &r);
	assert_int_equal(r.end, RUN_LOST);
	assert_int_equal(survivors(1), 0);
	proc_finish(q, &r);
	assert_int_equal(r.end, RUN_EXITED);
	assert_int_equal(r.status, 0);
	assert_int_equal(proc_descendants(getpid(), NULL, 0), 0);
}

static void dies_with_exitpath(void **state)
{
	CLEANUP(run_spec) struct run_spec spec = {0};
	pid_t exitpath;

	(void)state;
	hostile_spec(&spec, harness_tmpdir(), "ignores_sigterm");
	exitpath = fork();
	if (exitpath == 0) {
		/* two of them: neither may hold the other's control pipe */
		if (!proc_start(&spec, NULL) || !proc_start(&spec, NULL))
			_exit(1);
		for (;;)
			pause();
	}
	wait_for_pids();
	kill(exitpath, SIGKILL);
	waitpid(exitpath, NULL, 0);
	/* the supervisors are ours now, and end by themselves */
	for (int i = 0; i < 2000 && proc_descendants(getpid(), NULL, 0); i++) {
		while (waitpid(-1, NULL, WNOHANG) > 0)
			;
		usleep(5000);
	}
	assert_int_equal(proc_descendants(getpid(), NULL, 0), 0);
	assert_int_equal(survivors(1), 0);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		HARNESS_TEST(tells_status_and_output),
		HARNESS_TEST(tells_the_signal),
		HARNESS_TEST(gives_a_clean_surrounding),
		HARNESS_TEST(works_without_standard_descriptors),
		HARNESS_TEST(says_what_did_not_start),
		HARNESS_TEST(says_that_output_has_no_place),
		HARNESS_TEST(refuses_half_a_spec),
		HARNESS_TEST(searches_path_as_the_shell_does),
		HARNESS_TEST(kills_at_the_deadline),
		HARNESS_TEST(leaves_nobody_behind),
		HARNESS_TEST(outruns_a_fork_bomb),
		HARNESS_TEST(waits_a_little_for_the_rest),
		HARNESS_TEST(caps_output),
		HARNESS_TEST(goes_on_when_the_disk_is_full),
		HARNESS_TEST(main_exit_is_the_end),
		HARNESS_TEST(measures_descendants),
		HARNESS_TEST(cancels),
		HARNESS_TEST(runs_side_by_side),
		HARNESS_TEST(survives_a_lost_supervisor),
		HARNESS_TEST(dies_with_exitpath),
	};
	int status = hostile_main(programs, argc, argv);

	if (status >= 0)
		return status;
	prctl(PR_SET_CHILD_SUBREAPER, 1UL, 0UL, 0UL, 0UL);
	return HARNESS_RUN(tests);
}
