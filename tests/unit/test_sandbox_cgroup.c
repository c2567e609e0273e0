/*
 * Real groups, of whatever version this machine has. Where none can be made, only the
 * tests of the polling tier say something.
 */
#include "harness.h"

#include "base/macros.h"
#include "sandbox/cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MIB (UINT64_C(1) << 20)
#define CAP (32 * MIB)

static size_t n_groups;
static const char *groups_of; /* "-PID-": those that this process made */

static int count_group(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	if (type == FTW_D && !strncmp(path + ftw->base, "exitpath-", 9) &&
	    strstr(path + ftw->base, groups_of))
		n_groups++;
	return 0;
}

static size_t groups_left(pid_t owner)
{
	char text[32];

	snprintf(text, sizeof(text), "-%d-", (int)owner);
	groups_of = text;
	n_groups = 0;
	nftw("/sys/fs/cgroup", count_group, 32, FTW_PHYS);
	groups_of = NULL;
	return n_groups;
}

static struct cgroup *open_or_skip(void)
{
	struct err err = {0};
	struct cgroup *c = cgroup_open(&err);

	assert_non_null(c);
	if (cgroup_tier(c) == TIER_POLLING) {
		cgroup_close(c);
		skip();
	}
	return c;
}

/* Runs in a child that is in the group, and returns its wait status. */
static int run_in(const struct cgroup *c, int (*main)(void))
{
	int go[2], status;
	pid_t pid;
	char byte;

	assert_int_equal(pipe2(go, O_CLOEXEC), 0);
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(go[1]);
		if (read(go[0], &byte, 1) != 1)
			_exit(98);
		_exit(main());
	}
	close(go[0]);
	assert_int_equal(cgroup_attach(c, pid), 0);
	assert_int_equal(write(go[1], "x", 1), 1);
	close(go[1]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

static int hog(void)
{
	size_t size = (size_t)(4 * CAP);
	char *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		       -1, 0);

	if (p == MAP_FAILED)
		return 97;
	for (size_t i = 0; i < size; i += 4096)
		p[i] = 1;
	return 3;
}

static int hog_behind_a_shell(void)
{
	char self[4096], command[4200];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	self[n < 0 ? 0 : n] = '\0';
	snprintf(command, sizeof(command), "exec 2>/dev/null; '%s' hog; true", self);
	execl("/bin/sh", "sh", "-c", command, (char *)NULL);
	return 97;
}

/* Files in a tmpfs are memory, too. */
static int hog_of_files(void)
{
	static char block[65536];
	int fd = open("/dev/shm", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	if (fd < 0)
		return 97;
	for (uint64_t n = 0; n < 4 * CAP; n += sizeof(block))
		if (write(fd, block, sizeof(block)) != sizeof(block))
			return 96;
	return 3;
}

static int small(void)
{
	return 0;
}

static int burn(void)
{
	struct timespec used;

	do
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
	while (used.tv_sec == 0 && used.tv_nsec < 300000000);
	return 0;
}

/* Asks for 40 children, which all end when this does. Its value: how many it got. */
static int fork_burst(void)
{
	int got = 0, fds[2];
	char byte;

	if (pipe(fds) < 0)
		return 97;
	for (int i = 0; i < 40; i++) {
		pid_t pid = fork();

		if (pid == 0) {
			close(fds[1]);
			if (read(fds[0], &byte, 1) < 0)
				_exit(1);
			_exit(0);
		}
		got += pid > 0;
	}
	close(fds[1]);
	while (wait(NULL) > 0)
		;
	return got;
}

static void *sleep_in_thread(void *arg)
{
	(void)arg;
	poll(NULL, 0, 200);
	return NULL;
}

static int thread_burst(void)
{
	int got = 0;
	pthread_t threads[20];

	for (int i = 0; i < 20; i++)
		if (!pthread_create(&threads[got], NULL, sleep_in_thread, NULL))
			got++;
	for (int i = 0; i < got; i++)
		pthread_join(threads[i], NULL);
	return got;
}

static void counts_memory_kills(void **state)
{
	struct limits l = {.memory = CAP};
	struct cgroup *c = open_or_skip();
	struct cgroup_usage u;
	int status;

	(void)state;
	assert_int_equal(cgroup_begin(c, &l, 1), 0);
	status = run_in(c, hog);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	cgroup_usage(c, &u);
	assert_true(u.oom_kills >= 1);
	assert_true(u.peak == 0 || (u.peak > CAP / 2 && u.peak <= CAP));
	assert_int_equal(u.refused, 0);

	/* the next run is not blamed, and not measured with it */
	assert_int_equal(cgroup_begin(c, &l, 1), 0);
	assert_int_equal(run_in(c, small), 0);
	cgroup_usage(c, &u);
	assert_int_equal(u.oom_kills, 0);
	assert_true(u.peak < CAP / 2);

	/* a cap that is larger, and none at all */
	l.memory = 8 * CAP;
	assert_int_equal(cgroup_begin(c, &l, 1), 0);
	assert_int_equal(WEXITSTATUS(run_in(c, hog)), 3);
	l.memory = 0;
	assert_int_equal(cgroup_begin(c, &l, 1), 0);
	assert_int_equal(WEXITSTATUS(run_in(c, hog)), 3);
	cgroup_usage(c, &u);
	assert_int_equal(u.oom_kills, 0);
	assert_true(u.peak == 0 || u.peak >= 4 * CAP);

	/* and the small one again */
	l.memory = CAP;
	assert_int_equal(cgroup_begin(c, &l, 1), 0);
	assert_true(WIFSIGNALED(run_in(c, hog)));
	cgroup_usage(c, &u);
	assert_true(u.oom_kills >= 1);
	cgroup_close(c);
	assert_int_equal(groups_left(getpid()), 0);
}

static void counts_a_kill_that_a_shell_hides(void **state)
{
	struct limits l = {.memory = CAP};
	struct cgroup *c = open_or_skip();
	struct cgroup_usage u;
	int status;

	(void)state;
	assert_int_equal(cgroup_begin(c, &l, 1), 0);
	status = run_in(c, hog_behind_a_shell);
	if (cgroup_tier(c) == TIER_CGROUP_1) /* v2 kills the shell as well */
		assert_int_equal(status, 0);
	cgroup_usage(c, &u);
	assert_true(u.oom_kills >= 1);
	cgroup_close(c);
}

static void counts_files_in_memory(void **state)
{
	struct limits l = {.memory = CAP};
	struct cgroup *c = open_or_skip();
	struct cgroup_usage u;
	int status;

	(void)state;
	assert_int_equal(cgroup_begin(c, &l, 1), 0);
	status = run_in(c, hog_of_files);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 97) {
		cgroup_close(c);
		skip(); /* no /dev/shm here */
	}
	assert_true(WIFSIGNALED(status));
	cgroup_usage(c, &u);
	assert_true(u.oom_kills >= 1);
	cgroup_close(c);
}

static void refuses_forks(void **state)
{
	struct limits l = {.pids = 10};
	struct cgroup *c = open_or_skip();
	struct cgroup_usage u;

	(void)state;
	assert_int_equal(cgroup_begin(c, &l, 0), 0);
	assert_int_equal(WEXITSTATUS(run_in(c, fork_burst)), 9);
	cgroup_usage(c, &u);
	assert_int_equal(u.refused, 31);
	assert_int_equal(u.oom_kills, 0);

	/* ours do not count */
	assert_int_equal(cgroup_begin(c, &l, 2), 0);
	assert_int_equal(WEXITSTATUS(run_in(c, fork_burst)), 11);
	assert_int_equal(cgroup_begin(c, &l, 0), 0);
	assert_int_equal(WEXITSTATUS(run_in(c, thread_burst)), 9);
	cgroup_usage(c, &u);
	assert_int_equal(u.refused, 11);

	l.pids = 0;
	assert_int_equal(cgroup_begin(c, &l, 2), 0);
	assert_int_equal(WEXITSTATUS(run_in(c, fork_burst)), 40);
	cgroup_usage(c, &u);
	assert_int_equal(u.refused, 0);
	cgroup_close(c);
}

static void counts_cpu_time(void **state)
{
	struct limits l = {0};
	struct cgroup *c = open_or_skip();
	struct cgroup_usage u;

	(void)state;
	assert_int_equal(cgroup_begin(c, &l, 1), 0);
	assert_int_equal(run_in(c, burn), 0);
	cgroup_usage(c, &u);
	assert_in_range(u.cpu_us, 240000, 360000);
	assert_int_equal(cgroup_begin(c, &l, 1), 0);
	assert_int_equal(run_in(c, small), 0);
	cgroup_usage(c, &u);
	assert_in_range(u.cpu_us, 0, 60000);
	cgroup_close(c);
}

/* Holds 8 MiB until stdin of its pipe ends; says when it has them. */
static pid_t start_holder(const struct cgroup *c)
{
	int go[2], done[2];
	char byte;
	pid_t pid;

	assert_int_equal(pipe2(go, O_CLOEXEC), 0);
	assert_int_equal(pipe2(done, O_CLOEXEC), 0);
	pid = fork();
	if (pid == 0) {
		char *p;

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (read(go[0], &byte, 1) != 1)
			_exit(98);
		p = mmap(NULL, 8 * MIB, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
		if (p == MAP_FAILED || write(done[1], "x", 1) != 1)
			_exit(97);
		for (;;)
			pause();
	}
	assert_int_equal(cgroup_attach(c, pid), 0);
	assert_int_equal(write(go[1], "x", 1), 1);
	close(done[1]);
	assert_int_equal(read(done[0], &byte, 1), 1);
	close(go[0]);
	close(go[1]);
	close(done[0]);
	return pid;
}

static void refuses_a_cap_below_what_is_used(void **state)
{
	static const uint64_t before[] = {0, CAP};
	struct cgroup *c = open_or_skip();
	pid_t pid = start_holder(c);
	int status;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(before); i++) {
		struct limits l = {.memory = before[i]};

		if (i > 0)
			assert_int_equal(cgroup_begin(c, &l, 1), 0);
		l.memory = 2 * MIB;
		assert_int_equal(cgroup_begin(c, &l, 1), -1);
		assert_int_equal(errno, EBUSY);
	}
	assert_int_equal(waitpid(pid, &status, WNOHANG), 0);
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	cgroup_close(c);
}

static void moves_the_caller(void **state)
{
	struct limits l = {.memory = CAP};
	struct cgroup *c = open_or_skip();
	struct cgroup_usage u;
	int status;
	pid_t pid;

	(void)state;
	assert_int_equal(cgroup_begin(c, &l, 1), 0);
	pid = fork();
	if (pid == 0)
		_exit(cgroup_attach(c, 0) < 0 ? 1 : hog());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
	cgroup_usage(c, &u);
	assert_true(u.oom_kills >= 1);
	cgroup_close(c);
}

/* Two of a process do not get in each other's way. */
static void keeps_groups_apart(void **state)
{
	struct limits l = {.memory = CAP, .pids = 10};
	struct cgroup *a = open_or_skip(), *b = open_or_skip();
	struct cgroup_usage u;

	(void)state;
	assert_int_equal(cgroup_begin(a, &l, 1), 0);
	assert_int_equal(cgroup_begin(b, &l, 1), 0);
	assert_true(WIFSIGNALED(run_in(b, hog)));
	cgroup_usage(a, &u);
	assert_int_equal(u.oom_kills, 0);
	cgroup_close(b);
	assert_true(WIFSIGNALED(run_in(a, hog)));
	cgroup_usage(a, &u);
	assert_true(u.oom_kills >= 1);
	cgroup_close(a);
	assert_int_equal(groups_left(getpid()), 0);
}

static void removes_groups_of_the_dead(void **state)
{
	struct cgroup *c = open_or_skip();
	int ready[2];
	char byte;
	pid_t pid;

	(void)state;
	cgroup_close(c);
	assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
	pid = fork();
	if (pid == 0) {
		struct limits l = {.memory = CAP, .pids = 10};

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		c = cgroup_open(NULL);
		if (!c || cgroup_begin(c, &l, 1) < 0 || write(ready[1], "x", 1) < 0)
			_exit(1);
		for (;;)
			pause();
	}
	close(ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);

	/* its groups are left alone as long as it lives */
	assert_true(groups_left(pid) >= 1);
	cgroup_close(cgroup_open(NULL));
	assert_true(groups_left(pid) >= 1);

	/* a zombie is dead */
	kill(pid, SIGKILL);
	waitid(P_PID, (id_t)pid, &(siginfo_t){0}, WEXITED | WNOWAIT);
	cgroup_close(cgroup_open(NULL));
	assert_int_equal(groups_left(pid), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(groups_left(getpid()), 0);
}

/* The last process may still be on its way out. */
static void waits_for_the_last_process(void **state)
{
	struct cgroup *c = open_or_skip();
	pid_t pid = fork();

	(void)state;
	if (pid == 0)
		for (;;)
			pause();
	assert_int_equal(cgroup_attach(c, pid), 0);
	kill(pid, SIGKILL);
	cgroup_close(c);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(groups_left(getpid()), 0);
}

static void explains(void **state)
{
	CLEANUP_FREE char *why = NULL;
	enum limit_tier tier = cgroup_explain(&why);

	(void)state;
	assert_non_null(why);
	print_message("# %s: %s\n", limit_tier_name(tier), why);
	if (tier == TIER_CGROUP_2)
		assert_string_equal(why, "");
	else
		assert_non_null(strstr(why, "cgroup v2: "));
	assert_int_equal(groups_left(getpid()), 0);
}

static int as_nobody(void)
{
	struct limits l = {.memory = CAP, .pids = 10};
	CLEANUP_FREE char *why = NULL;
	struct cgroup_usage u = {.cpu_us = 1};
	struct cgroup *c;

	if (geteuid() == 0 &&
	    (setresgid(65534, 65534, 65534) < 0 || setresuid(65534, 65534, 65534) < 0))
		return 1;
	c = cgroup_open(NULL);
	if (!c || cgroup_tier(c) != TIER_POLLING)
		return 2;
	if (cgroup_attach(c, getpid()) < 0 || cgroup_begin(c, &l, 1) < 0)
		return 3;
	cgroup_usage(c, &u);
	if (u.cpu_us || u.memory || u.oom_kills)
		return 4;
	cgroup_close(c);
	if (cgroup_explain(&why) != TIER_POLLING || !strstr(why, "cgroup v2: ") ||
	    !strstr(why, "as root"))
		return 5;
	print_message("# as nobody: %s\n", why);
	fflush(NULL);
	return 0;
}

static void polls_where_nothing_is_allowed(void **state)
{
	pid_t pid;
	int status;

	(void)state;
	if (geteuid() != 0)
		skip(); /* something may have been delegated to us */
	pid = fork();
	if (pid == 0)
		_exit(as_nobody());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

/* Out of descriptors is not "polling". */
static void says_when_the_machine_is_at_its_end(void **state)
{
	struct cgroup *c = open_or_skip();
	int fds[128], n = 0;
	struct rlimit few = {.rlim_cur = ARRAY_SIZE(fds)}, old;
	struct err err = {0};

	(void)state;
	cgroup_close(c);
	getrlimit(RLIMIT_NOFILE, &old);
	few.rlim_max = old.rlim_max;
	setrlimit(RLIMIT_NOFILE, &few);
	while (n < (int)ARRAY_SIZE(fds) &&
	       (fds[n] = open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0)
		n++;
	for (int spare = 1; spare < 8; spare++) {
		close(fds[--n]);
		err = (struct err){0};
		c = cgroup_open(&err);
		if (c)
			break;
		assert_int_equal(err.kind, ERR_ENVIRONMENT);
		assert_non_null(strstr(err.message, "Too many open files"));
	}
	cgroup_close(c);
	setrlimit(RLIMIT_NOFILE, &old);
	while (n > 0)
		close(fds[--n]);
	assert_int_equal(groups_left(getpid()), 0);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		HARNESS_TEST(counts_memory_kills),
		HARNESS_TEST(counts_a_kill_that_a_shell_hides),
		HARNESS_TEST(counts_files_in_memory),
		HARNESS_TEST(refuses_forks),
		HARNESS_TEST(counts_cpu_time),
		HARNESS_TEST(refuses_a_cap_below_what_is_used),
		HARNESS_TEST(moves_the_caller),
		HARNESS_TEST(keeps_groups_apart),
		HARNESS_TEST(removes_groups_of_the_dead),
		HARNESS_TEST(waits_for_the_last_process),
		HARNESS_TEST(explains),
		HARNESS_TEST(polls_where_nothing_is_allowed),
		HARNESS_TEST(says_when_the_machine_is_at_its_end),
	};

	if (argc > 1 && !strcmp(argv[1], "hog"))
		return hog();
	return HARNESS_RUN(tests);
}
