/*
 * A run and its limits, sandboxed and not, by root (who can have cgroups) and by an
 * ordinary user, whose runs are looked at in /proc.
 */
#include "boxed.h"
#include "hostile.h"

#include "proc/proc.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/stat.h>

#define MIB (UINT64_C(1) << 20)

static char dir[256];

static void grow(size_t mib)
{
	for (size_t i = 0; i < mib; i++) {
		char *p = malloc(MIB);

		if (!p)
			_exit(3);
		memset(p, (int)i + 1, MIB);
		__asm__ volatile("" : : "r"(p) : "memory");
	}
}

static int hog(void)
{
	grow(1024);
	return 0;
}

static int hog_behind(void)
{
	pid_t pid = fork();

	if (pid == 0)
		_exit(hog());
	waitpid(pid, NULL, 0);
	return 0;
}

static int modest(void)
{
	grow(32);
	return 7;
}

static char chunk[1 << 20];

static int write_to(int fd, int mib)
{
	memset(chunk, 'x', sizeof(chunk));
	for (int i = 0; i < mib; i++)
		if (fd < 0 || write(fd, chunk, sizeof(chunk)) != (ssize_t)sizeof(chunk))
			return 3;
	return 0;
}

/* Memory of no process: it is never mapped. */
static int hog_memfd(void)
{
	for (int i = 0; i < 32; i++)
		if (write_to(memfd_create("hog", MFD_CLOEXEC), 32) != 0)
			return 3;
	usleep(200000);
	return 0;
}

static int modest_memfd(void)
{
	int fd = memfd_create("modest", MFD_CLOEXEC);
	char *p;

	write_to(fd, 40);
	p = mmap(NULL, 40 * MIB, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED)
		return 3;
	for (size_t i = 0; i < 40 * MIB; i += 4096)
		p[i] = 1;
	usleep(100000);
	return 7;
}

static int hog_sysv(void)
{
	for (int i = 0; i < 32; i++) {
		int id = shmget(IPC_PRIVATE, 32 * MIB, 0600);
		void *p = shmat(id, NULL, 0);

		if (p == (void *)-1)
			return 3;
		memset(p, 1, 32 * MIB);
		shmdt(p);
	}
	usleep(200000);
	return 0;
}

static int spin(void)
{
	volatile bool for_ever = true;

	while (for_ever)
		;
	return 0;
}

static int spin_together(void)
{
	for (int i = 0; i < 3; i++)
		if (fork() == 0)
			return spin();
	while (wait(NULL) > 0)
		;
	return 0;
}

static int forks(void)
{
	for (int i = 0; i < 60; i++) {
		pid_t pid = fork();

		if (pid < 0)
			break;
		if (pid == 0) {
			sleep(100);
			_exit(0);
		}
	}
	sleep(1);
	return 0;
}

static int fills_tmp(void)
{
	write_to(open("/tmp/big", O_WRONLY | O_CREAT | O_CLOEXEC, 0600), 64);
	return 0; /* as a program that looks at no error */
}

/* What orphans wrote is known to init alone. */
static int orphans_write(void)
{
	for (int i = 0; i < 8; i++) {
		char name[16];
		pid_t pid = fork();

		if (pid == 0 && fork() == 0) {
			int fd;

			snprintf(name, sizeof(name), "f%d", i);
			fd = open(name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
			write_to(fd, 8);
			fsync(fd);
			_exit(0);
		}
		if (pid == 0)
			_exit(0);
		waitpid(pid, NULL, 0);
		usleep(100000);
	}
	return 7;
}

static int says_10000(void)
{
	_exit(write(1, chunk, 10000) == 10000 ? 7 : 3); /* no byte more */
}

static int says_60000(void)
{
	return write(1, chunk, 60000) == 60000 ? 7 : 3;
}

static int raises_xcpu(void)
{
	return raise(SIGXCPU);
}

static int raises_xfsz(void)
{
	return raise(SIGXFSZ);
}

static int aborts(void)
{
	abort();
}

static int sleeps(void)
{
	sleep(100);
	return 0;
}

static const struct hostile programs[] = {
	{"hog", hog},
	{"hog_behind", hog_behind},
	{"modest", modest},
	{"hog_memfd", hog_memfd},
	{"modest_memfd", modest_memfd},
	{"hog_sysv", hog_sysv},
	{"spin", spin},
	{"spin_together", spin_together},
	{"forks", forks},
	{"fills_tmp", fills_tmp},
	{"orphans_write", orphans_write},
	{"says_10000", says_10000},
	{"says_60000", says_60000},
	{"raises_xcpu", raises_xcpu},
	{"raises_xfsz", raises_xfsz},
	{"aborts", aborts},
	{"sleeps", sleeps},
	{NULL, NULL},
};

#define BOTH 3
#define BOXED 2
#define PLAIN 1

static const struct limit_case {
	const char *program;
	int where;
	struct limits limits;
	enum run_end end;
	int value; /* status or signal */
} limit_cases[] = {
	{"hog", BOTH, {.memory = 128 * MIB}, RUN_OVER_MEMORY, 0},
	{"hog_behind", BOTH, {.memory = 128 * MIB}, RUN_OVER_MEMORY, 0},
	{"modest", BOTH, {.memory = 128 * MIB}, RUN_EXITED, 7},
	{"hog_memfd", BOXED, {.memory = 128 * MIB}, RUN_OVER_MEMORY, 0},
	{"modest_memfd", BOXED, {.memory = 128 * MIB}, RUN_EXITED, 7},
	{"hog_sysv", BOXED, {.memory = 128 * MIB}, RUN_OVER_MEMORY, 0},
	{"spin", BOTH, {.cpu_ms = 200}, RUN_OVER_CPU, 0},
	{"spin_together", BOTH, {.cpu_ms = 300}, RUN_OVER_CPU, 0},
	{"forks", BOTH, {.pids = 16}, RUN_OVER_PIDS, 0},
	{"fills_tmp", BOXED, {.disk = 16 * MIB}, RUN_OVER_DISK, 0},
	{"orphans_write", BOXED, {.disk = 24 * MIB}, RUN_OVER_DISK, 0},
	{"orphans_write", BOXED, {.disk = 80 * MIB}, RUN_EXITED, 7},
	{"says_10000", BOTH, {.output = 10000}, RUN_EXITED, 7},
	{"says_60000", BOTH, {.output = 10000}, RUN_OVER_OUTPUT, 0},
	{"raises_xcpu", BOTH, {.cpu_ms = 1000}, RUN_SIGNALED, SIGXCPU},
	{"raises_xfsz", PLAIN, {.disk = 16 * MIB}, RUN_SIGNALED, SIGXFSZ},
	{"aborts", BOTH, GENERATED_LIMITS, RUN_SIGNALED, SIGABRT},
	{"sleeps", BOTH, GENERATED_LIMITS, RUN_TIMED_OUT, 0},
	{"modest", BOTH, GENERATED_LIMITS, RUN_EXITED, 7},
};

/* In the child: a directory of the user's own, removed by the harness. */
static void own_dir(char ret[300])
{
	snprintf(ret, 300, "%s/%u", dir, geteuid());
	CHECK(mkdir(ret, 0755) == 0 || errno == EEXIST);
}

static bool as_expected(const struct limit_case *c, const struct run_result *r)
{
	int value = r->end == RUN_EXITED     ? r->status
		    : r->end == RUN_SIGNALED ? r->signal
					     : 0;

	if (r->end == c->end && value == c->value)
		return true;
	fprintf(stderr, "# as %u: %s: %s, status %d, signal %d, %s %s, tier %s\n",
		geteuid(), c->program, run_end_name(r->end), r->status, r->signal,
		r->step, strerror(r->errnum), limit_tier_name(r->tier));
	return false;
}

static bool run_case(const struct limit_case *c, bool boxed)
{
	CLEANUP(sandbox) struct sandbox sb = {0};
	CLEANUP(run_spec) struct run_spec spec = {.limits = c->limits};
	struct run_result r;
	struct err err = {0};
	char own[300], tools[300];

	own_dir(own);
	snprintf(tools, sizeof(tools), "%s/tools", dir);
	sandbox_add_view(&sb, tools, tools, VIEW_READ);
	sandbox_add_view(&sb, own, own, VIEW_WRITE);
	snprintf(tools, sizeof(tools), "%s/tools/self", dir);
	strv_add(&spec.argv, tools);
	strv_add(&spec.argv, c->program);
	/* It would make the sanitizer's own the larger part. */
	strv_add(&spec.env, "ASAN_OPTIONS=quarantine_size_mb=1:detect_leaks=0:"
			    "handle_abort=0");
	spec.cwd = strdup(own);
	spec.dir = strdup(own);
	spec.timeout_ms = c->end == RUN_TIMED_OUT ? 300 : 30000;
	spec.sandbox = boxed ? &sb : NULL;
	CHECK(proc_run(&spec, &r, &err) == 0);
	/* Without cgroups of one's own. */
	if (boxed && geteuid() != 0 && c->limits.memory)
		CHECK(r.tier == TIER_POLLING || r.tier == TIER_CGROUP_2);
	return as_expected(c, &r);
}

static void keeps_limits(void)
{
	int failed = 0;

	for (size_t i = 0; i < ARRAY_SIZE(limit_cases); i++) {
		const struct limit_case *c = &limit_cases[i];

		if (c->where & BOXED)
			failed += !run_case(c, true);
		if (c->where & PLAIN)
			failed += !run_case(c, false);
	}
	CHECK(!failed);
}

static void copy_self(void)
{
	char tools[512], from[64], to[600];
	char *argv[] = {(char[]){"/bin/cp"}, from, to, NULL};
	pid_t pid;
	int status;

	snprintf(dir, sizeof(dir), "%s", harness_tmpdir());
	assert_int_equal(chmod(dir, 01777), 0);
	snprintf(tools, sizeof(tools), "%s/tools", dir);
	assert_int_equal(mkdir(tools, 0755), 0);
	snprintf(from, sizeof(from), "/proc/%d/exe", (int)getpid());
	snprintf(to, sizeof(to), "%s/self", tools);
	pid = fork();
	if (pid == 0) {
		execv(argv[0], argv);
		_exit(127);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(chmod(to, 0755), 0);
}

static void limits_hold(void **state)
{
	(void)state;
	copy_self();
	boxed_run(keeps_limits);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		HARNESS_TEST(limits_hold),
	};
	int rc = hostile_main(programs, argc, argv);

	return rc >= 0 ? rc : HARNESS_RUN(tests);
}
