/* The exit watch: each process is seen once, at its exit, with what it holds. */
#include "harness.h"
#include "hostile.h"

#include "base/fs.h"
#include "base/mem.h"
#include "proc/proc.h"
#include "proc/tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- the programs; _exit() is exit_group in all of them ---- */

static int holds_fds(void)
{
	for (int i = 100; i < 107; i++)
		dup2(0, i);
	_exit(3);
}

static int has_children(void)
{
	for (int i = 1; i <= 3; i++)
		if (fork() == 0)
			_exit(10 + i);
	while (wait(NULL) > 0)
		;
	_exit(0);
}

static void *leave(void *status)
{
	syscall(SYS_exit_group, (int)(intptr_t)status);
	return NULL;
}

static int exits_in_a_thread(void)
{
	pthread_t t;

	pthread_create(&t, NULL, leave, (void *)(intptr_t)21);
	pthread_join(t, NULL);
	return 1;
}

static int exits_in_all_threads(void)
{
	pthread_t t;

	for (int i = 0; i < 8; i++)
		pthread_create(&t, NULL, leave, (void *)(intptr_t)22);
	leave((void *)(intptr_t)22);
	return 0;
}

static void on_alarm(int sig)
{
	(void)sig;
}

/* A signal every 300 us: the stop in exit_group is interrupted, or would be. */
static int exits_in_a_storm(void)
{
	struct itimerval every = {{0, 300}, {0, 300}};

	signal(SIGALRM, on_alarm);
	setitimer(ITIMER_REAL, &every, NULL);
	for (int i = 0; i < 5; i++)
		pause();
	_exit(23);
}

static int vforks(void)
{
	pid_t pid = vfork();

	if (pid == 0) {
		execl("/bin/sh", "sh", "-c", "exit 31", (char *)NULL);
		_exit(1);
	}
	waitpid(pid, NULL, 0);
	pid = vfork();
	if (pid == 0)
		_exit(32); /* its parent waits in vfork meanwhile */
	waitpid(pid, NULL, 0);
	_exit(0);
}

static int is_killed(void)
{
	kill(getpid(), SIGKILL);
	return 0;
}

static int leaves_by_exit(void) /* exit, not exit_group: nobody is told */
{
	syscall(SYS_exit, 24);
	return 0;
}

/* As a 32-bit program does. */
static int exits_by_int80(void)
{
#ifdef __x86_64__
	__asm__ volatile("int $0x80" : : "a"(252), "b"(25));
#endif
	_exit(25);
}

static int leaves_children(void)
{
	for (int i = 0; i < 3; i++)
		if (fork() == 0)
			for (;;)
				pause();
	_exit(0);
}

static int kills_in_the_stop(void)
{
	pid_t pid = fork();

	if (pid == 0)
		_exit(0); /* the watch of this test takes its time */
	usleep(20000);
	kill(pid, SIGKILL);
	_exit(waitpid(pid, NULL, 0) == pid ? 0 : 1);
}

static int leaks_memory(void)
{
	char *volatile p = malloc(1234);

	p = NULL;
	return p != NULL; /* through exit(): LeakSanitizer has its turn */
}

static int no_new_privs(void)
{
	_exit(prctl(PR_GET_NO_NEW_PRIVS, 0UL, 0UL, 0UL, 0UL));
}

static int nests(void)
{
	static const struct run_watch watch;
	CLEANUP(run_spec) struct run_spec spec = {.watch = &watch};
	struct run_result r = {0};

	mkdir("inner", 0700);
	hostile_spec(&spec, "/proc/self/cwd", "holds_fds");
	free(spec.dir);
	spec.dir = strdup("inner");
	if (proc_run(&spec, &r, NULL) < 0)
		return 1;
	return r.end == RUN_NOT_STARTED && !strcmp(r.step, "seccomp") &&
			       r.errnum == EBUSY && r.watch_failed
		       ? 0
		       : 2;
}

static const struct hostile programs[] = {
	{"holds_fds", holds_fds},
	{"has_children", has_children},
	{"exits_in_a_thread", exits_in_a_thread},
	{"exits_in_all_threads", exits_in_all_threads},
	{"exits_in_a_storm", exits_in_a_storm},
	{"vforks", vforks},
	{"is_killed", is_killed},
	{"leaves_by_exit", leaves_by_exit},
	{"exits_by_int80", exits_by_int80},
	{"leaves_children", leaves_children},
	{"kills_in_the_stop", kills_in_the_stop},
	{"leaks_memory", leaks_memory},
	{"no_new_privs", no_new_privs},
	{"nests", nests},
	{NULL, NULL},
};

/* ---- the watch; it lives in the supervisor, so it tells through a file ---- */

struct seen {
	const char *path;
	unsigned delay_us;
	/* read back from the file: */
	struct {
		int pid, code, root, fds;
		char state;
	} exits[512];
	unsigned n;
	int left; /* -1: at_end was not called */
	int left_alive;
};

static void append(const struct seen *s, const char *text)
{
	int fd = open(s->path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);

	if (write(fd, text, strlen(text)) < 0)
		abort();
	close(fd);
}

static int count_fds(pid_t pid)
{
	char path[64];
	DIR *d;
	int n = 0;

	snprintf(path, sizeof(path), "/proc/%d/fd", pid);
	d = opendir(path);
	if (!d)
		return -1;
	for (struct dirent *e; (e = readdir(d));)
		n += e->d_name[0] != '.';
	closedir(d);
	return n;
}

static void at_exit(void *ctx, pid_t pid, int code, bool root)
{
	const struct seen *s = ctx;
	struct proc_stat st = {.state = '?'}; /* killed meanwhile */
	char text[128];

	usleep(s->delay_us);
	proc_stat_read(pid, &st);
	snprintf(text, sizeof(text), "exit %d %d %d %d %c\n", pid, code, root,
		 count_fds(pid), st.state);
	append(s, text);
}

static void at_end(void *ctx, const pid_t *left, size_t n, const struct run_private *own)
{
	char text[128];
	int alive = 0;

	(void)own;
	for (size_t i = 0; i < n; i++)
		alive += count_fds(left[i]) >= 3;
	snprintf(text, sizeof(text), "end %zu %d\n", n, alive);
	append(ctx, text);
}

static void read_seen(struct seen *s)
{
	CLEANUP(buf) struct buf b = {0};

	s->left = -1;
	s->n = 0;
	if (!path_exists(s->path))
		return;
	assert_int_equal(read_file(s->path, 0, &b, NULL), 0);
	for (char *p = b.data; p && *p; p = strchr(p, '\n') + 1) {
		__auto_type e = &s->exits[s->n];

		if (sscanf(p, "exit %d %d %d %d %c", &e->pid, &e->code, &e->root, &e->fds,
			   &e->state) == 5)
			s->n++;
		else if (sscanf(p, "end %d %d", &s->left, &s->left_alive) != 2)
			fail_msg("the watch wrote: %s", p);
		assert_true(s->n < ARRAY_SIZE(s->exits));
	}
	unlink(s->path);
}

static void run_watched_in(const char *dir, struct run_spec *spec, unsigned delay_us,
			   struct seen *s, struct run_result *r)
{
	CLEANUP_FREE char *path = path_join(dir, "watch");
	struct run_watch watch = {at_exit, at_end, s};
	struct err err = {0};

	*s = (struct seen){.path = path, .delay_us = delay_us};
	spec->watch = &watch;
	if (proc_run(spec, r, &err) < 0)
		fail_msg("%s", err.message);
	assert_int_equal(proc_descendants(getpid(), NULL, 0), 0);
	read_seen(s);
}

static void run_watched(struct run_spec *spec, unsigned delay_us, struct seen *s,
			struct run_result *r)
{
	run_watched_in(harness_tmpdir(), spec, delay_us, s, r);
}

static void run_hostile(const char *name, unsigned delay_us, struct seen *s,
			struct run_result *r)
{
	CLEANUP(run_spec) struct run_spec spec = {0};

	hostile_spec(&spec, harness_tmpdir(), name);
	run_watched(&spec, delay_us, s, r);
	assert_false(r->watch_failed);
}

static void run_script(const char *script, struct seen *s, struct run_result *r)
{
	CLEANUP(run_spec) struct run_spec spec = {0};

	hostile_spec(&spec, harness_tmpdir(), "-c");
	free(spec.argv.v[0]);
	spec.argv.v[0] = strdup("/bin/sh");
	strv_add(&spec.argv, script);
	run_watched(&spec, 0, s, r);
}

/* ---- the tests ---- */

static void sees_each_exit_once(void **state)
{
	static const struct {
		const char *name;
		unsigned delay_us;
		int status, n; /* n: exits seen */
	} cases[] = {
		{"holds_fds", 0, 3, 1},
		{"has_children", 0, 0, 4},
		{"exits_in_a_thread", 0, 21, 1},
		{"exits_in_all_threads", 0, 22, 1},
		{"exits_in_all_threads", 10000, 22, 1},
		{"exits_in_a_storm", 0, 23, 1},
		{"exits_in_a_storm", 10000, 23, 1},
		{"vforks", 0, 0, 3},
		{"vforks", 10000, 0, 3},
		{"leaves_by_exit", 0, 24, 0},
		{"exits_by_int80", 0, 25, 1},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct run_result r;
		struct seen s;
		int roots = 0;

		run_hostile(cases[i].name, cases[i].delay_us, &s, &r);
		assert_int_equal(r.end, RUN_EXITED);
		assert_int_equal(r.status, cases[i].status);
		if ((int)s.n != cases[i].n)
			fail_msg("%s: %u exits were seen, not %d", cases[i].name, s.n,
				 cases[i].n);
		for (unsigned k = 0; k < s.n; k++)
			roots += s.exits[k].root;
		assert_int_equal(roots, s.n ? 1 : 0);
		if (s.n)
			assert_int_equal(s.exits[s.n - 1].code, cases[i].status);
		assert_int_equal(s.left, 0);
	}
}

static void sees_what_is_held(void **state)
{
	struct run_result r;
	struct seen s;

	(void)state;
	run_hostile("holds_fds", 0, &s, &r);
	assert_int_equal(s.exits[0].fds, 3 + 7);
	assert_int_equal(s.exits[0].code, 3);
	assert_true(s.exits[0].state != 'Z');
}

static void sees_codes_of_children(void **state)
{
	struct run_result r;
	struct seen s;
	int sum = 0;

	(void)state;
	run_hostile("has_children", 0, &s, &r);
	for (unsigned i = 0; i < 3; i++) {
		assert_false(s.exits[i].root);
		sum += s.exits[i].code;
	}
	assert_int_equal(sum, 11 + 12 + 13);
	assert_true(s.exits[3].root);
}

static void sees_no_exit_of_the_killed(void **state)
{
	struct run_result r;
	struct seen s;

	(void)state;
	run_hostile("is_killed", 0, &s, &r);
	assert_int_equal(r.end, RUN_SIGNALED);
	assert_int_equal(r.signal, SIGKILL);
	assert_int_equal(s.n, 0);
	assert_int_equal(s.left, 0);
}

static void shows_who_is_left(void **state)
{
	struct run_result r;
	struct seen s;

	(void)state;
	run_hostile("leaves_children", 0, &s, &r);
	assert_int_equal(r.end, RUN_EXITED);
	assert_int_equal(s.n, 1);
	assert_int_equal(s.left, 3);
	assert_int_equal(s.left_alive, 3);
	assert_int_equal(r.left_behind, 3);
}

static void survives_a_kill_in_the_stop(void **state)
{
	struct run_result r;
	struct seen s;

	(void)state;
	run_hostile("kills_in_the_stop", 50000, &s, &r);
	assert_int_equal(r.end, RUN_EXITED);
	assert_int_equal(r.status, 0);
	assert_true(s.n >= 1);
	assert_true(s.exits[s.n - 1].root);
}

/* Its tracer is a clone(CLONE_VM) process whose parent waits for it. */
static void leaves_leak_sanitizer_alone(void **state)
{
	struct run_result r;
	struct seen s;

	(void)state;
	run_hostile("leaks_memory", 0, &s, &r);
	assert_int_equal(r.end, RUN_EXITED);
	assert_int_equal(r.status, 0);
	assert_true(s.n >= 1);
	assert_true(s.exits[s.n - 1].root);
#ifdef __SANITIZE_ADDRESS__
	{
		CLEANUP(buf) struct buf b = {0};
		CLEANUP_FREE char *path =
			xasprintf("%s/asan.%d", harness_tmpdir(), s.exits[s.n - 1].pid);

		assert_int_equal(read_file(path, 0, &b, NULL), 0);
		assert_non_null(strstr(b.data, "1234 byte(s) leaked"));
	}
#endif
}

static void follows_many_processes(void **state)
{
	struct run_result r;
	struct seen s;

	(void)state;
	run_script("i=0; while [ $i -lt 100 ]; do /bin/true; i=$((i+1)); done; "
		   "(/bin/true | /bin/cat | /bin/cat); exec /bin/false",
		   &s, &r);
	assert_int_equal(r.end, RUN_EXITED);
	assert_int_equal(r.status, 1);
	assert_true(s.n >= 104);
	assert_int_equal(s.exits[s.n - 1].code, 1);
	assert_true(s.exits[s.n - 1].root);
	assert_int_equal(s.left, 0);
	for (unsigned i = 0; i < s.n; i++)
		for (unsigned k = 0; k < i; k++)
			assert_true(s.exits[i].pid != s.exits[k].pid);
}

static void refuses_to_run_unwatched(void **state)
{
	struct run_result r;
	struct seen s;

	(void)state;
	run_hostile("nests", 0, &s, &r);
	assert_int_equal(r.end, RUN_EXITED);
	assert_int_equal(r.status, 0);
}

static void tells_that_exec_failed(void **state)
{
	CLEANUP(run_spec) struct run_spec spec = {0};
	struct run_result r;
	struct seen s;

	(void)state;
	hostile_spec(&spec, harness_tmpdir(), "x");
	free(spec.argv.v[0]);
	spec.argv.v[0] = strdup("/no/such/program");
	run_watched(&spec, 0, &s, &r);
	assert_int_equal(r.end, RUN_NOT_STARTED);
	assert_string_equal(r.step, "exec");
	assert_false(r.watch_failed);
	assert_int_equal(s.n, 0);
	assert_int_equal(s.left, -1);
}

static void kills_the_watched_at_the_deadline(void **state)
{
	CLEANUP(run_spec) struct run_spec spec = {0};
	struct run_result r;
	struct seen s;

	(void)state;
	hostile_spec(&spec, harness_tmpdir(), "100");
	free(spec.argv.v[0]);
	spec.argv.v[0] = strdup("sleep");
	spec.timeout_ms = 200;
	run_watched(&spec, 0, &s, &r);
	assert_int_equal(r.end, RUN_TIMED_OUT);
	assert_int_equal(s.n, 0);
	assert_int_equal(s.left, -1);
}

/* Exits 0 when nobody's command is watched, and has no_new_privs. */
static int as_nobody(const char *dir)
{
	CLEANUP(run_spec) struct run_spec spec = {0};
	struct run_result r;
	struct seen s;

	hostile_spec(&spec, dir, "-q");
	free(spec.argv.v[0]);
	spec.argv.v[0] = strdup("grep");
	strv_add(&spec.argv, "NoNewPrivs:.*1");
	strv_add(&spec.argv, "/proc/self/status");
	if (setresgid(65534, 65534, 65534) < 0 || setresuid(65534, 65534, 65534) < 0)
		return 90;
	run_watched_in(dir, &spec, 0, &s, &r);
	return r.end == RUN_EXITED && s.n == 1 && s.exits[0].fds >= 1 ? r.status : 91;
}

/* Root keeps its setuid programs; somebody else cannot have a filter otherwise. */
static void sets_no_new_privs_only_if_needed(void **state)
{
	char dir[] = "/tmp/exitpath-nobody-XXXXXX"; /* $TMPDIR may be closed to nobody */
	struct run_result r;
	struct seen s;
	pid_t pid;
	int status;

	(void)state;
	if (geteuid() != 0)
		skip();
	run_hostile("no_new_privs", 0, &s, &r);
	assert_int_equal(r.status, 0);

	assert_non_null(mkdtemp(dir));
	assert_int_equal(chown(dir, 65534, 65534), 0);
	pid = fork();
	if (pid == 0)
		_exit(as_nobody(dir));
	waitpid(pid, &status, 0);
	assert_int_equal(remove_tree(dir, NULL), 0);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		HARNESS_TEST(sees_each_exit_once),
		HARNESS_TEST(sees_what_is_held),
		HARNESS_TEST(sees_codes_of_children),
		HARNESS_TEST(sees_no_exit_of_the_killed),
		HARNESS_TEST(shows_who_is_left),
		HARNESS_TEST(survives_a_kill_in_the_stop),
		HARNESS_TEST(leaves_leak_sanitizer_alone),
		HARNESS_TEST(follows_many_processes),
		HARNESS_TEST(refuses_to_run_unwatched),
		HARNESS_TEST(tells_that_exec_failed),
		HARNESS_TEST(kills_the_watched_at_the_deadline),
		HARNESS_TEST(sets_no_new_privs_only_if_needed),
	};
	int status = hostile_main(programs, argc, argv);

	if (status >= 0)
		return status;
	prctl(PR_SET_CHILD_SUBREAPER, 1UL, 0UL, 0UL, 0UL);
	return HARNESS_RUN(tests);
}
