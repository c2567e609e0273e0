/* What real processes use: each test makes a family that does one thing and then sleeps.
 */
#include "harness.h"

#include "base/clock.h"
#include "base/macros.h"
#include "proc/tree.h"
#include "proc/usage.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MIB (UINT64_C(1) << 20)
#define ALL (USAGE_CPU | USAGE_MEMORY | USAGE_DISK | USAGE_PIDS)

static void reads_a_line(void **state)
{
	static const struct {
		const char *text, *key;
		int ret;
		uint64_t value;
	} cases[] = {
		{"rchar: 5\nwrite_bytes: 4096\ncancelled_write_bytes: 7\n", "write_bytes",
		 0, 4096},
		{"rchar: 5\nwrite_bytes: 4096\ncancelled_write_bytes: 7\n",
		 "cancelled_write_bytes", 0, 7},
		{"cancelled_write_bytes: 7\n", "write_bytes", -1, 0},
		{"00400000-7ff [rollup]\nRss:  1436 kB\nPss:\t 141 kB\nPss_Dirty: 9 kB\n",
		 "Pss", 0, 141},
		{"Pss:", "Pss", -1, 0},
		{"Pss: x\n", "Pss", -1, 0},
		{"Pss: -1\n", "Pss", -1, 0},
		{"", "Pss", -1, 0},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		uint64_t n = 0;

		assert_int_equal(usage_parse_line(cases[i].text, cases[i].key, &n),
				 cases[i].ret);
		assert_int_equal(n, cases[i].value);
	}
}

static void reads_resident_pages(void **state)
{
	static const struct {
		const char *text;
		int ret;
		uint64_t value;
	} cases[] = {
		{"1500 359 320 6 0 120 0\n", 0, 359},
		{"0 0 0 0 0 0 0\n", 0, 0},
		{"1500", -1, 0},
		{"1500 ", -1, 0},
		{"x 1", -1, 0},
		{"", -1, 0},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		uint64_t n = 0;

		assert_int_equal(usage_parse_resident(cases[i].text, &n), cases[i].ret);
		assert_int_equal(n, cases[i].value);
	}
}

static void reads_sysv_segments(void **state)
{
	static const struct {
		const char *line;
		uint64_t value;
	} cases[] = {
		{"       key      shmid perms                  size  cpid  lpid nattch   "
		 "uid   "
		 "gid  cuid  cgid      atime      dtime      ctime                   rss "
		 "      "
		 "           swap\n",
		 0},
		{"         0          3   600              33554432     5     5      0 "
		 "65534 "
		 "65534 65534 65534 1796083200 1796083201 1796083199              "
		 "33554432     "
		 "               4096\n",
		 33558528},
		{"-559038737          0   600                  4096     5     0      1   "
		 "  0   "
		 "  0     0     0          0          0 1796083199                     0 "
		 "     "
		 "                0\n",
		 0},
		{"0 1 600 4096 5 5 0 0 0 0 0 1 1 1", 0}, /* before Linux 2.6.34 */
		{"", 0},
		{"\n", 0},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_int_equal(usage_parse_sysv(cases[i].line), cases[i].value);
}

/* Forks a child that runs work(), says so, and sleeps. */
static pid_t start(void (*work)(void))
{
	int ready[2];
	char byte;
	pid_t pid;

	assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		work();
		if (write(ready[1], "x", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	close(ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	return pid;
}

static void stop(pid_t pid)
{
	proc_kill_descendants(pid);
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	while (waitpid(-1, NULL, 0) > 0) /* its orphans */
		;
}

static void usage_of(pid_t pid, int with_root, unsigned what, struct usage *u)
{
	memset(u, 0xff, sizeof(*u));
	usage_read(pid, with_root, what, 0, u);
}

static void burn(void)
{
	struct timespec used;

	do
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
	while (used.tv_sec == 0 && used.tv_nsec < 200000000);
}

static void nothing(void)
{
}

/* One of its children burns and lives, one burnt and was waited for. */
static void burn_in_children(void)
{
	pid_t pid;

	start(burn);
	pid = fork();
	if (pid == 0) {
		burn();
		_exit(0);
	}
	waitpid(pid, NULL, 0);
}

static void adds_cpu_time(void **state)
{
	pid_t pid = start(burn_in_children);
	struct usage u;

	(void)state;
	usage_of(pid, 1, USAGE_CPU, &u);
	assert_in_range(u.cpu_us, 360000, 480000);
	assert_int_equal(u.memory + u.disk + u.pids, 0);
	/* without the root: neither its own nor what it waited for */
	usage_of(pid, 0, USAGE_CPU, &u);
	assert_in_range(u.cpu_us, 180000, 240000);
	usage_of(getpid(), 0, USAGE_CPU, &u);
	assert_in_range(u.cpu_us, 360000, 480000);
	stop(pid);
}

static void touch(size_t size)
{
	if (mmap(NULL, size, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0) == MAP_FAILED)
		_exit(1);
}

/* 32 MiB that four processes share. */
static void share_memory(void)
{
	touch(32 * MIB);
	for (int i = 0; i < 3; i++)
		start(nothing);
}

static void tells_shared_memory_apart(void **state)
{
	pid_t pid = start(share_memory);
	struct usage u, over;

	(void)state;
	usage_of(pid, 1, USAGE_MEMORY, &u);
	assert_true(u.memory >= 128 * MIB);
	usage_read(pid, 1, USAGE_MEMORY, u.memory + 64 * MIB, &over);
	assert_true(over.memory >= 128 * MIB);
	usage_read(pid, 1, USAGE_MEMORY, 64 * MIB, &over);
	assert_true(over.memory >= 30 * MIB && over.memory < u.memory - 80 * MIB);
	assert_int_equal(over.cpu_us + over.disk + over.pids, 0);
	stop(pid);
}

static void *sleep_in_thread(void *arg)
{
	(void)arg;
	for (;;)
		pause();
	return NULL;
}

/* A thread, not the main one, has the child. */
static void *fork_in_thread(void *arg)
{
	start(nothing);
	return sleep_in_thread(arg);
}

/* 1 + 2 threads, a child of one of them, a zombie, a child that has a child. */
static void make_family(void)
{
	pthread_t t;
	pid_t zombie;

	pthread_create(&t, NULL, sleep_in_thread, NULL);
	pthread_create(&t, NULL, fork_in_thread, NULL);
	zombie = fork();
	if (zombie == 0)
		_exit(0);
	waitid(P_PID, (id_t)zombie, &(siginfo_t){0}, WEXITED | WNOWAIT);
	if (fork() == 0) {
		start(nothing);
		for (;;)
			pause();
	}
}

static void counts_threads_and_zombies(void **state)
{
	pid_t pid = start(make_family);
	uint64_t give_up = clock_us() + 5000000;
	struct usage u;

	(void)state;
	do
		usage_of(pid, 1, USAGE_PIDS, &u);
	while (u.pids != 7 && clock_us() < give_up);
	assert_int_equal(u.pids, 7);
	usage_of(pid, 0, USAGE_PIDS, &u);
	assert_int_equal(u.pids, 4);
	stop(pid);
}

static int by_number(const void *a, const void *b)
{
	return *(const pid_t *)a - *(const pid_t *)b;
}

/* The two ways to find descendants agree. */
static void finds_the_same_quickly(void **state)
{
	pid_t pid = start(make_family), quick[16], slow[16];
	uint64_t give_up = clock_us() + 5000000;
	ssize_t n;

	(void)state;
	n = proc_descendants_quick(pid, quick, ARRAY_SIZE(quick));
	if (n < 0) {
		stop(pid);
		skip(); /* no CONFIG_PROC_CHILDREN */
	}
	while (n != 4 && clock_us() < give_up)
		n = proc_descendants_quick(pid, quick, ARRAY_SIZE(quick));
	assert_int_equal(n, 4);
	assert_int_equal(proc_descendants(pid, slow, ARRAY_SIZE(slow)), 4);
	qsort(quick, 4, sizeof(*quick), by_number);
	qsort(slow, 4, sizeof(*slow), by_number);
	assert_memory_equal(quick, slow, 4 * sizeof(*quick));
	assert_int_equal(proc_descendants_quick(pid, quick, 2), 2);
	stop(pid);
	assert_int_equal(proc_descendants_quick(pid, quick, ARRAY_SIZE(quick)), 0);
}

static void make_many(void)
{
	for (int i = 0; i < 300; i++)
		if (fork() == 0)
			for (;;)
				pause();
}

/* The list of children is longer than one read. */
static void finds_many_children(void **state)
{
	pid_t pid = start(make_many), found[512];
	struct usage u;

	(void)state;
	if (proc_descendants_quick(pid, found, ARRAY_SIZE(found)) >= 0)
		assert_int_equal(proc_descendants_quick(pid, found, ARRAY_SIZE(found)),
				 300);
	usage_of(pid, 1, USAGE_PIDS, &u);
	assert_int_equal(u.pids, 301);
	stop(pid);
}

static char *written_file;

static void write_some(void)
{
	static char block[65536];
	int fd = open(written_file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	for (size_t i = 0; i < 4 * MIB / sizeof(block); i++)
		if (write(fd, block, sizeof(block)) != sizeof(block))
			_exit(1);
	fdatasync(fd);
	close(fd);
}

static void write_in_children(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		write_some();
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	start(write_some);
}

static void adds_bytes_written(void **state)
{
	char path[4096];
	struct usage u;
	pid_t pid;

	(void)state;
	snprintf(path, sizeof(path), "%s/written", harness_tmpdir());
	written_file = path;
	pid = start(write_some);
	usage_of(pid, 1, USAGE_DISK, &u);
	stop(pid);
	if (!u.disk)
		skip(); /* TMPDIR is no disk */
	assert_in_range(u.disk, 4 * MIB, 5 * MIB);

	pid = start(write_in_children);
	usage_of(pid, 1, USAGE_DISK, &u);
	/* The second truncates what the first wrote: that may be taken off. */
	assert_in_range(u.disk, 4 * MIB, 9 * MIB);
	stop(pid);
}

static void leaves_out_what_is_gone(void **state)
{
	pid_t pid = start(nothing);
	struct usage u;

	(void)state;
	stop(pid);
	usage_of(pid, 1, ALL, &u);
	assert_int_equal(u.cpu_us + u.memory + u.disk + u.pids, 0);
	usage_of(getpid(), 0, ALL, &u);
	assert_int_equal(u.cpu_us + u.memory + u.disk + u.pids, 0);
	/* ourselves */
	usage_of(getpid(), 1, ALL, &u);
	assert_true(u.memory > 0 && u.pids >= 1);
}

/* It is read while processes come and go. */
static void survives_a_storm(void **state)
{
	pid_t pid = fork();
	struct usage u;

	(void)state;
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;) {
			if (fork() == 0)
				_exit(0);
			waitpid(-1, NULL, 0);
		}
	}
	for (uint64_t end = clock_us() + 200000; clock_us() < end;) {
		usage_read(pid, 1, ALL, 1, &u);
		assert_true(u.pids >= 1 && u.pids <= 2);
	}
	stop(pid);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		HARNESS_TEST(reads_a_line),
		HARNESS_TEST(reads_resident_pages),
		HARNESS_TEST(reads_sysv_segments),
		HARNESS_TEST(adds_cpu_time),
		HARNESS_TEST(tells_shared_memory_apart),
		HARNESS_TEST(counts_threads_and_zombies),
		HARNESS_TEST(finds_the_same_quickly),
		HARNESS_TEST(finds_many_children),
		HARNESS_TEST(adds_bytes_written),
		HARNESS_TEST(leaves_out_what_is_gone),
		HARNESS_TEST(survives_a_storm),
	};

	/* orphans of this test are its own */
	prctl(PR_SET_CHILD_SUBREAPER, 1UL, 0UL, 0UL, 0UL);
	return HARNESS_RUN(tests);
}
