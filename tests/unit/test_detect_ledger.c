/* Real processes under the real supervisor: this program is its own subject. */
#include "harness.h"

#include "base/fs.h"
#include "base/mem.h"
#include "detect/detect.h"
#include "ledger/ledger.h"
#include "proc/proc.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <netinet/in.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define SHM_NAME "/exp-unit-trap"
#define TMP_NAME "/tmp/exp-unit-trap"

static const char *self; /* this program, absolute */

/* --- subjects: each runs as a process of its own, in the checkout ------------------ */

static void hold_fd(void)
{
	open("data.log", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
}

static void hold_two_fds(void)
{
	hold_fd();
	hold_fd();
}

static void close_fd(void)
{
	close(open("data.log", O_RDWR | O_CREAT | O_CLOEXEC, 0600));
}

static void hold_pipe(void)
{
	int fds[2];

	if (pipe2(fds, O_CLOEXEC) == 0)
		close(fds[0]);
}

static void hold_epoll(void)
{
	epoll_create1(EPOLL_CLOEXEC);
}

static void hold_memfd(void)
{
	memfd_create("blob", MFD_CLOEXEC);
}

static void hold_deleted(void)
{
	hold_fd();
	unlink("data.log");
}

static int listen_on(int family)
{
	struct sockaddr_in6 a6 = {.sin6_family = AF_INET6, .sin6_addr = in6addr_loopback};
	struct sockaddr_in a4 = {.sin_family = AF_INET};
	int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);

	a4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (family == AF_INET)
		bind(fd, (struct sockaddr *)&a4, sizeof(a4));
	else
		bind(fd, (struct sockaddr *)&a6, sizeof(a6));
	listen(fd, 5);
	return fd;
}

static void hold_listener(void)
{
	listen_on(AF_INET);
}

static void hold_listener6(void)
{
	listen_on(AF_INET6);
}

static void hold_connection(void)
{
	struct sockaddr_in a;
	socklen_t len = sizeof(a);
	int server = listen_on(AF_INET),
	    fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	getsockname(server, (struct sockaddr *)&a, &len);
	if (connect(fd, (struct sockaddr *)&a, len) < 0)
		abort();
	close(accept4(server, NULL, NULL, SOCK_CLOEXEC));
	close(server);
}

/* The peer reset it: the kernel does not list it any more. */
static void hold_reset(void)
{
	struct sockaddr_in a;
	socklen_t len = sizeof(a);
	int server = listen_on(AF_INET),
	    fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	getsockname(server, (struct sockaddr *)&a, &len);
	if (connect(fd, (struct sockaddr *)&a, len) < 0)
		abort();
	close(server);
}

static void hold_udp(void)
{
	struct sockaddr_in a = {.sin_family = AF_INET};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	bind(fd, (struct sockaddr *)&a, sizeof(a));
}

static void hold_unbound(void)
{
	socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
}

static void hold_unix(void)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX, .sun_path = "app.sock"};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	bind(fd, (struct sockaddr *)&a, sizeof(a));
	listen(fd, 5);
}

static void hold_socketpair(void)
{
	int fds[2];

	socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds);
}

static void hold_flock(void)
{
	flock(open("a.lock", O_RDWR | O_CREAT | O_CLOEXEC, 0600), LOCK_EX);
}

static void hold_fcntl_lock(void)
{
	struct flock range = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

	fcntl(open("a.lock", O_RDWR | O_CREAT | O_CLOEXEC, 0600), F_SETLK, &range);
}

static void *sleep_on(void *name)
{
	pthread_setname_np(pthread_self(), name);
	pause();
	return NULL;
}

static void *return_at_once(void *arg)
{
	return arg;
}

static void *leave(void *arg)
{
	exit(arg != NULL);
}

static char worker_names[2][16] = {"worker-1", "worker-2"};

static void hold_threads(void)
{
	pthread_t t;

	for (int i = 0; i < 2; i++)
		pthread_create(&t, NULL, sleep_on, worker_names[i]);
	usleep(50000);
}

static void join_threads(void)
{
	pthread_t t[8];

	for (int i = 0; i < 8; i++)
		pthread_create(&t[i], NULL, return_at_once, NULL);
	for (int i = 0; i < 8; i++)
		pthread_join(t[i], NULL);
}

static void exit_in_thread(void)
{
	pthread_t t;

	pthread_create(&t, NULL, leave, NULL);
	pthread_join(t, NULL);
}

/* The parent closes before it exits: the child's copy is nobody's leak. */
static void fork_copies(void)
{
	int fd = open("data.log", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	pid_t pid = fork();

	if (pid == 0)
		_exit(0);
	waitpid(pid, NULL, 0);
	close(fd);
}

static void fork_opens(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		hold_fd();
		_exit(0);
	}
	waitpid(pid, NULL, 0);
}

/* A daemon's double fork: the middle one is gone when the last one exits. */
static void orphan_copies(void)
{
	int fd = open("data.log", O_RDWR | O_CREAT | O_CLOEXEC, 0600), ready[2];
	char byte;
	pid_t pid;

	if (pipe2(ready, O_CLOEXEC) < 0)
		return;
	pid = fork();
	if (pid == 0) {
		if (fork() == 0) {
			while (getppid() == 1)
				;
			usleep(50000);
			_exit(0);
		}
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	close(ready[1]);
	if (read(ready[0], &byte, 1) < 0) /* until the orphan is gone */
		abort();
	close(ready[0]);
	close(fd);
}

static void fork_talks(void)
{
	int ours[2], pair[2];
	char byte;
	pid_t pid;

	if (pipe2(ours, O_CLOEXEC) < 0 ||
	    socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		abort();
	pid = fork();
	if (pid == 0)
		_exit(write(ours[1], "x", 1) != 1);
	close(ours[1]);
	close(pair[1]);
	if (read(ours[0], &byte, 1) != 1)
		abort();
	close(ours[0]);
	close(pair[0]);
	waitpid(pid, NULL, 0);
}

/* dash and bash hold the script itself; fd 9 is the script's own affair. */
static void run_script(void)
{
	static const char script[] = "#!/bin/sh\nexec 9</dev/zero\ntrue\n";
	int fd = open("script", O_WRONLY | O_CREAT | O_CLOEXEC, 0700);
	pid_t pid;

	if (write(fd, script, sizeof(script) - 1) < 0)
		abort();
	close(fd);
	pid = fork();
	if (pid == 0) {
		execl("./script", "./script", (char *)NULL);
		_exit(127);
	}
	waitpid(pid, NULL, 0);
}

static void exec_inherits(void)
{
	int fd = open("args.txt", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	pid_t pid;

	fcntl(fd, F_SETFD, 0);
	pid = fork();
	if (pid == 0) {
		execl(self, self, "clean", (char *)NULL);
		_exit(127);
	}
	waitpid(pid, NULL, 0);
	close(fd);
}

static void child_fails_to_exec(void)
{
	pid_t pid = vfork();

	if (pid == 0) {
		execl("./missing", "x", (char *)NULL);
		_exit(127);
	}
	waitpid(pid, NULL, 0);
}

static void hold_zombie(void)
{
	pid_t pid = fork();
	siginfo_t info;

	if (pid == 0)
		_exit(0);
	waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT);
}

static void hold_killed_zombie(void)
{
	pid_t pid = fork();
	siginfo_t info;

	if (pid == 0)
		pause();
	kill(pid, SIGKILL);
	waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT);
}

static void zombie_of_child(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		hold_zombie();
		_exit(0);
	}
	waitpid(pid, NULL, 0);
}

static void leave_child(void)
{
	if (fork() == 0) {
		execl("/bin/sleep", "sleep", "100", (char *)NULL);
		_exit(127);
	}
}

static void leave_temp(void)
{
	CLEANUP_FREE char *path = path_join(getenv("TMPDIR"), "foo.XXXXXX");

	close(mkostemp(path, O_CLOEXEC));
}

static void leave_temp_dir(void)
{
	CLEANUP_FREE char *dir = path_join(getenv("TMPDIR"), "app");
	CLEANUP_FREE char *file = path_join(dir, "cache.db");

	mkdir(dir, 0700);
	close(open(file, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
	free(TAKE_PTR(file));
	file = path_join(dir, "empty");
	mkdir(file, 0700);
}

static void leave_in_tmp(void)
{
	close(open(TMP_NAME, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
}

/* A template in a frame that later calls overwrite. */
static __attribute__((noinline)) void make_random(void)
{
	char path[] = TMP_NAME "-XXXXXX";

	close(mkostemp(path, O_CLOEXEC));
}

static void leave_random(void)
{
	char text[4096];

	make_random();
	for (int i = 0; i < 3; i++)
		snprintf(text, sizeof(text), "%4000d %f", i, i * 1.5);
}

static void leave_relative(void)
{
	int dir = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (symlink("/tmp", "link") < 0 || chdir("link") < 0)
		abort();
	close(open("exp-unit-trap", O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
	close(openat(dir, "." TMP_NAME "-2", O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
	close(dir);
}

static void leave_directory(void)
{
	mkdir(TMP_NAME "/", 0700);
	close(open(TMP_NAME "/x", O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
}

static void leave_socket(void)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX, .sun_path = TMP_NAME};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	bind(fd, (struct sockaddr *)&a, sizeof(a));
	close(fd);
}

static void child_leaves(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		leave_in_tmp();
		_exit(0);
	}
	waitpid(pid, NULL, 0);
}

static void remove_from_tmp(void)
{
	leave_in_tmp();
	unlink(TMP_NAME);
}

/* More names than are remembered one by one. */
static void many_in_tmp(void)
{
	for (int i = 0; i < 5000; i++)
		remove_from_tmp();
	leave_in_tmp();
	for (int i = 0; i < 5000; i++) {
		close(open(TMP_NAME "-2", O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
		unlink(TMP_NAME "-2");
	}
}

static void leave_again(void)
{
	unlink(TMP_NAME);
	leave_in_tmp();
}

static void sleep_a_while(void)
{
	usleep(200000);
}

static void leave_semaphore(void)
{
	sem_close(sem_open(SHM_NAME, O_CREAT, 0600, 1));
}

static void leave_posix_shm(void)
{
	close(shm_open(SHM_NAME, O_RDWR | O_CREAT, 0600));
}

static void leave_sysv_shm(void)
{
	shmget(IPC_PRIVATE, 4096, IPC_CREAT | 0600);
}

static void remove_sysv_shm(void)
{
	shmctl(shmget(IPC_PRIVATE, 4096, IPC_CREAT | 0600), IPC_RMID, NULL);
}

static void die(void)
{
	hold_fd();
	raise(SIGKILL);
}

static void hang(void)
{
	pause();
}

/* exit, not exit_group: the filter does not see it. */
static void vanish(void)
{
	syscall(SYS_exit, 0);
}

/* Nothing that a test puts in place of the file is believed, or waited for. */
static void forge(void)
{
	static const char line[] = "{\"t\":\"end\",\"exits\":0,\"offset\":0}\n";
	int fd = open("../" LEDGER_FILE, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0400);

	if (write(fd, line, sizeof(line) - 1) < 0)
		abort();
	hold_fd();
	close(fd);
}

static void make_fifo(void)
{
	mkfifo("../" LEDGER_FILE, 0600);
	hold_fd();
}

static void make_directory(void)
{
	mkdir("../" LEDGER_FILE, 0700);
	mkdir("../" LEDGER_FILE "/x", 0700);
	hold_fd();
}

static void make_link(void)
{
	if (symlink("/dev/zero", "../" LEDGER_FILE) < 0)
		abort();
	hold_fd();
}

static void remove_tmpdir(void)
{
	rmdir(getenv("TMPDIR"));
}

static void many_processes(void)
{
	for (int i = 0; i < 50; i++) {
		pid_t pid = fork();

		if (pid == 0)
			_exit(0);
		waitpid(pid, NULL, 0);
	}
}

static void do_nothing(void)
{
}

/* --- what is expected of each ------------------------------------------------------ */

static const struct subject {
	const char *name;
	void (*run)(void);
	enum probe_state state;
	const char *leaks; /* "what=units", sorted by resource and what */
} subjects[] = {
	{"clean", do_nothing, PROBE_COMPLETE, ""},
	{"fd", hold_fd, PROBE_COMPLETE, "fd data.log=1"},
	{"two-fds", hold_two_fds, PROBE_COMPLETE, "fd data.log=2"},
	{"closed-fd", close_fd, PROBE_COMPLETE, ""},
	{"pipe", hold_pipe, PROBE_COMPLETE, "fd pipe=1"},
	{"epoll", hold_epoll, PROBE_COMPLETE, "fd eventpoll=1"},
	{"memfd", hold_memfd, PROBE_COMPLETE, "fd memfd:blob (deleted)=1"},
	{"deleted", hold_deleted, PROBE_COMPLETE, "fd data.log (deleted)=1"},
	{"tcp", hold_listener, PROBE_COMPLETE, "socket tcp listening on 127.0.0.1:*=1"},
	{"tcp6", hold_listener6, PROBE_COMPLETE, "socket tcp6 listening on [::1]:*=1"},
	{"tcp-connected", hold_connection, PROBE_COMPLETE,
	 "socket tcp 127.0.0.1:* connected to 127.0.0.1:*=1"},
	{"tcp-reset", hold_reset, PROBE_COMPLETE, "socket tcp unconnected=1"},
	{"udp", hold_udp, PROBE_COMPLETE, "socket udp bound to 127.0.0.1:*=1"},
	{"unbound", hold_unbound, PROBE_COMPLETE, "socket tcp unconnected=1"},
	{"unix", hold_unix, PROBE_COMPLETE, "socket unix listening on app.sock=1"},
	{"socketpair", hold_socketpair, PROBE_COMPLETE, "socket unix connected=2"},
	{"flock", hold_flock, PROBE_COMPLETE, "fd a.lock=1;lock a.lock=1"},
	{"fcntl", hold_fcntl_lock, PROBE_COMPLETE, "fd a.lock=1;lock a.lock=1"},
	{"threads", hold_threads, PROBE_COMPLETE, "thread worker-*=2"},
	{"joined-threads", join_threads, PROBE_COMPLETE, ""},
	{"exit-in-thread", exit_in_thread, PROBE_COMPLETE, ""},
	{"fork-copies", fork_copies, PROBE_COMPLETE, ""},
	{"fork-opens", fork_opens, PROBE_COMPLETE, "fd data.log=1"},
	{"orphan-copies", orphan_copies, PROBE_COMPLETE, ""},
	{"fork-talks", fork_talks, PROBE_COMPLETE, ""},
	{"script", run_script, PROBE_COMPLETE, "fd /dev/zero=1"},
	{"exec-inherits", exec_inherits, PROBE_COMPLETE, "fd args.txt=1"},
	{"failed-exec", child_fails_to_exec, PROBE_COMPLETE, ""},
	{"zombie", hold_zombie, PROBE_COMPLETE, "zombie test_detect_led=1"},
	{"killed-zombie", hold_killed_zombie, PROBE_COMPLETE, "zombie test_detect_led=1"},
	{"zombie-of-child", zombie_of_child, PROBE_COMPLETE, "zombie test_detect_led=1"},
	{"left-child", leave_child, PROBE_COMPLETE, "child sleep=1"},
	{"temp", leave_temp, PROBE_COMPLETE, "tempfile $TMPDIR/foo.*=1"},
	{"temp-dir", leave_temp_dir, PROBE_COMPLETE,
	 "tempfile $TMPDIR/app/cache.db=1;tempfile $TMPDIR/app/empty/=1"},
	{"in-tmp", leave_in_tmp, PROBE_COMPLETE, "shared_file " TMP_NAME "=1"},
	{"in-tmp-random", leave_random, PROBE_COMPLETE, "tempfile " TMP_NAME "-*=1"},
	{"in-tmp-relative", leave_relative, PROBE_COMPLETE,
	 "shared_file " TMP_NAME "=1;tempfile " TMP_NAME "-*=1"},
	{"in-tmp-directory", leave_directory, PROBE_COMPLETE,
	 "shared_file " TMP_NAME "=1"},
	{"in-tmp-socket", leave_socket, PROBE_COMPLETE, "shared_file " TMP_NAME "=1"},
	{"in-tmp-child", child_leaves, PROBE_COMPLETE, "shared_file " TMP_NAME "=1"},
	{"in-tmp-removed", remove_from_tmp, PROBE_COMPLETE, ""},
	{"in-tmp-many", many_in_tmp, PROBE_COMPLETE, "shared_file " TMP_NAME "=1"},
	{"in-tmp-again", leave_again, PROBE_COMPLETE, "shared_file " TMP_NAME "=1"},
	{"sleeps", sleep_a_while, PROBE_COMPLETE, ""},
	{"semaphore", leave_semaphore, PROBE_COMPLETE,
	 "shared_file /dev/shm/sem.exp-unit-trap=1"},
	{"posix-shm", leave_posix_shm, PROBE_COMPLETE,
	 "shared_file /dev/shm" SHM_NAME "=1"},
	{"sysv-shm", leave_sysv_shm, PROBE_COMPLETE, "sysv_shm System V shared memory=1"},
	{"removed-sysv-shm", remove_sysv_shm, PROBE_COMPLETE, ""},
	{"many", many_processes, PROBE_COMPLETE, ""},
	{"dies", die, PROBE_INTERRUPTED, ""},
	{"hangs", hang, PROBE_INTERRUPTED, ""},
	{"vanishes", vanish, PROBE_SILENT, ""},
	{"forges", forge, PROBE_COMPLETE, "fd data.log=1"},
	{"fifo", make_fifo, PROBE_COMPLETE, "fd data.log=1"},
	{"directory", make_directory, PROBE_COMPLETE, "fd data.log=1"},
	{"link", make_link, PROBE_COMPLETE, "fd data.log=1"},
	{"no-tmpdir", remove_tmpdir, PROBE_COMPLETE, ""},
};

static int become(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(subjects); i++) {
		if (!strcmp(subjects[i].name, name)) {
			subjects[i].run();
			return 0;
		}
	}
	return 127;
}

/* --- runs -------------------------------------------------------------------------- */

static int compare_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The signatures without the process, with units. */
static char *summarize(const struct probe *p)
{
	CLEANUP(strv) struct strv all = {0};

	for (size_t i = 0; i < p->nleaks; i++) {
		const struct leak *l = &p->leaks[i];
		const char *bar = strchr(l->signature, '|');

		bar = strchr(bar + 1, '|');
		strv_addf(&all, "%s %s=%llu", resource_name(l->resource), bar + 1,
			  (unsigned long long)l->units[0]);
	}
	if (all.n)
		qsort(all.v, all.n, sizeof(*all.v), compare_text);
	return strv_join(&all, ";");
}

static void remove_leftovers(void)
{
	struct shmid_ds ds;
	struct shm_info info;
	int top = shmctl(0, SHM_INFO, (struct shmid_ds *)&info);
	glob_t found;

	if (glob(TMP_NAME "*", 0, NULL, &found) == 0)
		for (size_t i = 0; i < found.gl_pathc; i++)
			remove_tree(found.gl_pathv[i], NULL);
	globfree(&found);
	shm_unlink(SHM_NAME);
	sem_unlink(SHM_NAME);
	for (int i = 0; i <= top; i++) {
		int id = shmctl(i, SHM_STAT, &ds);

		if (id >= 0 && ds.shm_nattch == 0 && ds.shm_segsz == 4096 &&
		    ds.shm_perm.cuid == geteuid() && kill(ds.shm_cpid, 0) < 0)
			shmctl(id, IPC_RMID, NULL);
	}
}

/* One run, so that several can go on at the same time. */
struct going {
	char *dir, *tmp, *checkout;
	struct run_spec spec;
	struct detect_run run;
	struct proc *proc;
};

static void start(struct going *g, const struct detector *d, const char *const *argv,
		  uint64_t timeout_ms)
{
	struct err err = {0};

	*g = (struct going){.dir = make_temp_dir(harness_tmpdir(), "run-", NULL)};
	g->tmp = path_join(g->dir, "tmp");
	g->checkout = path_join(g->dir, "co");
	g->spec = (struct run_spec){.cwd = xstrdup(g->checkout),
				    .dir = xstrdup(g->dir),
				    .timeout_ms = timeout_ms};
	g->run = (struct detect_run){
		.dir = g->dir, .tmpdir = g->tmp, .checkout = g->checkout};
	mkdir(g->tmp, 0700);
	mkdir(g->checkout, 0700);
	for (; *argv; argv++)
		strv_add(&g->spec.argv, *argv);
	strv_copy(&g->spec.env, environ);
	env_set(&g->spec.env, "TMPDIR", g->tmp);
	env_set(&g->spec.env, "ASAN_OPTIONS", "detect_leaks=1:exitcode=0");
	if (d->prepare(&g->run, &g->spec, &err) < 0)
		fail_msg("%s", err.message);
	g->proc = proc_start(&g->spec, &err);
	if (!g->proc)
		fail_msg("%s", err.message);
}

static void finish(struct going *g, const struct detector *d, struct probe *ret)
{
	struct run_result result;

	proc_finish(g->proc, &result);
	assert_int_equal(d->collect(&g->run, &result, ret, NULL), 0);
	assert_null(g->run.state);
	run_spec_release(&g->spec);
	free(g->dir);
	free(g->tmp);
	free(g->checkout);
}

static void run_argv(const struct detector *d, const char *const *argv,
		     uint64_t timeout_ms, struct probe *ret)
{
	struct going g;

	start(&g, d, argv, timeout_ms);
	finish(&g, d, ret);
	remove_leftovers();
}

static void expect(const char *const *argv, const char *leaks)
{
	CLEANUP(probe) struct probe p = {0};
	CLEANUP_FREE char *found = NULL;

	run_argv(detector_find("ledger"), argv, 20000, &p);
	found = summarize(&p);
	assert_int_equal(p.state, PROBE_COMPLETE);
	assert_string_equal(found, leaks);
	assert_int_equal(p.notes.n, 0);
}

static void check_subject(const struct subject *s)
{
	const char *const argv[] = {self, s->name, NULL};
	CLEANUP(probe) struct probe p = {0};
	CLEANUP_FREE char *found = NULL;

	run_argv(detector_find("ledger"), argv, s->run == hang ? 300 : 20000, &p);
	found = summarize(&p);
	if (p.state != s->state)
		fail_msg("%s: %s: %s", s->name, probe_state_name(p.state), p.detail);
	if (p.state == PROBE_COMPLETE)
		assert_null(p.detail);
	else
		assert_non_null(p.detail);
	if (s->state == PROBE_COMPLETE && strcmp(found, s->leaks))
		fail_msg("%s: found '%s', expected '%s'", s->name, found, s->leaks);
}

static void test_subjects(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(subjects); i++)
		check_subject(&subjects[i]);
}

static void test_inherited_says_from_whom(void **state)
{
	const char *const argv[] = {self, "exec-inherits", NULL};
	CLEANUP(probe) struct probe p = {0};
	const struct leak *l = NULL;

	(void)state;
	run_argv(detector_find("ledger"), argv, 20000, &p);
	for (size_t i = 0; i < p.nleaks; i++)
		if (p.leaks[i].resource == RESOURCE_FD)
			l = &p.leaks[i];
	assert_non_null(l);
	assert_non_null(strstr(l->what, "(inherited from test_detect_ledger)"));
	assert_string_equal(l->process, "test_detect_ledger");
}

static void test_who_left_it(void **state)
{
	const char *const argv[] = {self, "in-tmp", NULL};
	CLEANUP(probe) struct probe p = {0};

	(void)state;
	run_argv(detector_find("ledger"), argv, 20000, &p);
	assert_int_equal(p.nleaks, 1);
	assert_string_equal(p.leaks[0].process, "test_detect_ledger");
	assert_string_equal(p.leaks[0].signature, "shared_file|?|" TMP_NAME);
}

static void touch_trap(void)
{
	close(open(TMP_NAME, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
}

/* Another program of the machine, here this test, makes it meanwhile. */
static void test_others_are_not_blamed(void **state)
{
	const char *const argv[] = {self, "sleeps", NULL};
	pid_t pid = fork();

	(void)state;
	if (pid == 0) {
		usleep(50000);
		touch_trap();
		_exit(0);
	}
	expect(argv, "");
	waitpid(pid, NULL, 0);
	remove_leftovers();
}

static void test_what_was_there(void **state)
{
	const char *const opens[] = {self, "in-tmp", NULL};
	const char *const again[] = {self, "in-tmp-again", NULL};
	const char *const sleeps[] = {self, "sleeps", NULL};
	const char *const makes[] = {"mkdir", "-p", TMP_NAME "/a/b", NULL};

	(void)state;
	mkdir(TMP_NAME, 0700);
	expect(makes, "");
	touch_trap();
	expect(opens, "shared_file " TMP_NAME "=1");
	touch_trap();
	expect(again, "shared_file " TMP_NAME "=1");
	touch_trap();
	expect(sleeps, "");
}

static void test_two_at_a_time(void **state)
{
	const struct detector *d = detector_find("ledger");
	const char *const names[] = {"sleeps", "in-tmp", "posix-shm", "sleeps"};
	const char *const leaks[] = {"", "shared_file " TMP_NAME "=1",
				     "shared_file /dev/shm" SHM_NAME "=1", ""};
	struct going g[ARRAY_SIZE(names)];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		start(&g[i], d, (const char *const[]){self, names[i], NULL}, 20000);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		CLEANUP(probe) struct probe p = {0};
		CLEANUP_FREE char *found = NULL;

		finish(&g[i], d, &p);
		found = summarize(&p);
		assert_string_equal(found, leaks[i]);
	}
	remove_leftovers();
}

static void test_programs_that_leave_files(void **state)
{
	const char *const mktemp[] = {"/bin/sh", "-c",
				      "mktemp " TMP_NAME "-XXXXXXXXXX >/dev/null", NULL};
	const char *const redirect[] = {"/bin/sh", "-c", "echo >" TMP_NAME, NULL};
	const char *const python[] = {
		"python3", "-c",
		"import os, tempfile\n"
		"os.close(tempfile.mkstemp(dir='/tmp', prefix='exp-unit-trap-')[0])\n"
		"tempfile.mkdtemp(dir='/tmp', prefix='exp-unit-trap-d-')\n"
		"[str(i) * 3 for i in range(20000)]\n",
		NULL};

	(void)state;
	expect(mktemp, "tempfile " TMP_NAME "-*=1");
	expect(redirect, "shared_file " TMP_NAME "=1");
	expect(python, "tempfile " TMP_NAME "-*=1;tempfile " TMP_NAME "-d-*=1");
}

static void test_not_started(void **state)
{
	static const char *const argv[] = {"./missing", NULL};
	CLEANUP(probe) struct probe p = {0};

	(void)state;
	run_argv(detector_find("ledger"), argv, 0, &p);
	assert_int_equal(p.state, PROBE_INTERRUPTED);
	assert_int_equal(p.nleaks, 0);
}

static void prepare(struct detect_run *run, struct run_spec *spec)
{
	const char *dir = harness_tmpdir();

	*run = (struct detect_run){.dir = dir, .tmpdir = dir, .checkout = dir};
	assert_int_equal(detector_find("ledger")->prepare(run, spec, NULL), 0);
}

/* How a run ended without a word from the supervisor. */
static const struct {
	struct run_result result;
	enum probe_state state;
} silent[] = {
	{{.end = RUN_EXITED, .watch_failed = true}, PROBE_SILENT},
	{{.end = RUN_EXITED}, PROBE_SILENT},
	{{.end = RUN_LOST}, PROBE_SILENT},
	{{.end = RUN_CANCELLED}, PROBE_INTERRUPTED},
	{{.end = RUN_TIMED_OUT}, PROBE_INTERRUPTED},
};

static void test_silence(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(silent); i++) {
		struct run_spec spec = {0};
		struct detect_run run;
		CLEANUP(probe) struct probe p = {0};

		prepare(&run, &spec);
		assert_int_equal(detector_find("ledger")->collect(&run, &silent[i].result,
								  &p, NULL),
				 0);
		assert_int_equal(p.state, silent[i].state);
		assert_non_null(p.detail);
		assert_int_equal(p.files.n, 0);
	}
}

static void test_prepare_refuses(void **state)
{
	struct detect_run run = {.dir = "/", .tmpdir = "/", .checkout = "/"};
	const struct run_watch watch = {0};
	struct run_spec spec = {.watch = &watch};
	struct err err = {0};

	(void)state;
	assert_int_equal(detector_find("ledger")->prepare(&run, &spec, &err), -1);
	assert_int_equal(err.kind, ERR_INTERNAL);
}

/* No descriptor left for the ledger. */
static void test_no_memfd(void **state)
{
	struct detect_run run = {.dir = "/", .tmpdir = "/", .checkout = "/"};
	struct rlimit old, none;
	struct run_spec spec = {0};
	struct err err = {0};
	int rc;

	(void)state;
	getrlimit(RLIMIT_NOFILE, &old);
	none = old;
	none.rlim_cur = 3;
	setrlimit(RLIMIT_NOFILE, &none);
	rc = detector_find("ledger")->prepare(&run, &spec, &err);
	setrlimit(RLIMIT_NOFILE, &old);
	assert_int_equal(rc, -1);
	assert_int_equal(err.kind, ERR_ENVIRONMENT);
	assert_null(spec.watch);
	assert_null(run.state);
}

static void test_cannot_keep(void **state)
{
	const struct detector *d = detector_find("ledger");
	const char *dir = harness_tmpdir();
	struct detect_run run = {.dir = "/proc/nowhere", .tmpdir = dir, .checkout = dir};
	struct run_result result = {.end = RUN_EXITED};
	struct run_spec spec = {0};
	CLEANUP(probe) struct probe p = {0};
	struct err err = {0};

	(void)state;
	assert_int_equal(d->prepare(&run, &spec, &err), 0);
	spec.watch->at_end(spec.watch->ctx, NULL, 0, NULL);
	assert_int_equal(d->collect(&run, &result, &p, &err), -1);
	assert_int_equal(err.kind, ERR_ENVIRONMENT);
	assert_null(run.state);
}

static void test_canary_command_is_reported(void **state)
{
	const struct detector *d = detector_find("ledger");
	const char *const argv[] = {"/bin/sh", "-c", d->canary_command(), NULL};
	CLEANUP(probe) struct probe p = {0};
	CLEANUP_FREE char *version = NULL, *found = NULL;

	(void)state;
	assert_int_equal(d->probe(&version, NULL), 0);
	run_argv(d, argv, 20000, &p);
	found = summarize(&p);
	assert_string_equal(found, "fd /dev/null=1");
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		HARNESS_TEST(test_subjects),
		HARNESS_TEST(test_inherited_says_from_whom),
		HARNESS_TEST(test_who_left_it),
		HARNESS_TEST(test_others_are_not_blamed),
		HARNESS_TEST(test_what_was_there),
		HARNESS_TEST(test_two_at_a_time),
		HARNESS_TEST(test_programs_that_leave_files),
		HARNESS_TEST(test_not_started),
		HARNESS_TEST(test_silence),
		HARNESS_TEST(test_prepare_refuses),
		HARNESS_TEST(test_no_memfd),
		HARNESS_TEST(test_cannot_keep),
		HARNESS_TEST(test_canary_command_is_reported),
	};

	self = realpath("/proc/self/exe", NULL);
	if (argc > 1) {
		int rc = become(argv[1]);

		free((char *)(uintptr_t)self);
		return rc;
	}
	return HARNESS_RUN(tests);
}
