/*
 * Forking at a point: the child takes the failure, the parent waits and goes on, so that
 * one run explores many points.
 *
 * It is done where the child can have all that the parent has: one thread, no channel to
 * anybody, no file open for writing, no children, no timer (fault_unsafe()). Its
 * descriptors are opened again, its output goes to files of its own, TMPDIR is a copy,
 * and it cannot change anything else (confine.c). What is not so is left to a run of its
 * own, as is everything that does not look clean; so a mistake here costs time.
 *
 * Nothing is flushed: what stdio holds back is written by both, to their own files, and
 * what the parent had written before is known by its size.
 */
#include "fork.h"

#include "abi/heap.h"
#include "sys.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/single_threaded.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

enum { OUTPUT_MAX = 64 << 20, KEY_DIGITS = 16 };

static struct fault_map *map;
static struct fault_outputs outputs; /* the run's standard output and error */
static char directory[FORK_PATH];    /* where files of outputs are made */
static int is_root, is_child;
static struct fault_trial *child; /* … and its trial */

/* NOLINTBEGIN(bugprone-reserved-identifier): of runtimes that may be there */
extern char __asan_init[] __attribute__((weak));
void HEAP_ONLY_COUNT(void) __attribute__((weak, visibility("default")));
extern char __lsan_do_leak_check[] __attribute__((weak));
extern char __tsan_init[] __attribute__((weak));
extern char __msan_init[] __attribute__((weak));
extern char __ubsan_default_options[] __attribute__((weak));
extern char __ubsan_handle_type_mismatch_v1[] __attribute__((weak));
/* NOLINTEND(bugprone-reserved-identifier) */

/* Their reports are made at exit, into files of the process, and a fork of their shadow
 * costs what a run does. */
static int is_sanitized(void)
{
	return __asan_init || __lsan_do_leak_check || __tsan_init || __msan_init ||
	       __ubsan_default_options || __ubsan_handle_type_mismatch_v1;
}

/* ---- outputs ---- */

static void join(char *to, const char *name)
{
	size_t n = strlen(directory);

	memcpy(to, directory, n);
	memcpy(to + n, name, strlen(name) + 1);
}

static void note_output(int i)
{
	struct stat st;

	if (fstat(i + 1, &st) < 0)
		return;
	outputs.dev[i] = st.st_dev;
	outputs.ino[i] = st.st_ino;
}

/* Pipes are exitpath's own; what the command itself has redirected stays. */
static void redirect(int to, const char *name)
{
	char path[FORK_PATH + 32];
	struct stat st;
	long fd;

	if (fstat(to, &st) < 0 || !S_ISFIFO(st.st_mode))
		return;
	join(path, name);
	fd = sys(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
		 0600);
	if (fd < 0)
		return;
	sys(SYS_dup3, fd, to, 0);
	sys(SYS_close, fd);
}

void fault_fork_init(struct fault_map *m, const char *path)
{
	const char *slash = strrchr(path, '/');
	int32_t none = 0, self = (int32_t)sys(SYS_getpid);
	int first = __atomic_compare_exchange_n(&m->root, &none, self, 0,
						__ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
	size_t n = slash ? (size_t)(slash - path) : 0;

	if (n + 8 > sizeof(directory))
		return;
	memcpy(directory, path, n);
	memcpy(directory + n, "/fork/", 7);
	is_root = first || none == self;
	map = m;
	if (m->mode == FAULT_EXPLORE && first) {
		redirect(1, "out");
		redirect(2, "err");
	}
	note_output(0);
	note_output(1);
}

/* ---- safe or not ---- */

static uint32_t unsafe_threads(void)
{
	struct stat st;

	/* Threads that were there before do no harm. */
	if (__libc_single_threaded)
		return 0;
	return stat("/proc/self/task", &st) < 0 || st.st_nlink != 3 ? FAULT_THREADS : 0;
}

static uint32_t unsafe_children(void)
{
	siginfo_t info;

	return sys(SYS_waitid, P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT | __WALL) ==
			       -ECHILD
		       ? 0
		       : FAULT_CHILDREN;
}

static uint32_t unsafe_timers(void)
{
	char byte;
	long fd, n = 0;

	for (int which = ITIMER_REAL; which <= ITIMER_PROF; which++) {
		struct itimerval t;

		if (sys(SYS_getitimer, which, &t) < 0 || t.it_value.tv_sec ||
		    t.it_value.tv_usec)
			return FAULT_TIMERS;
	}
	fd = sys(SYS_openat, AT_FDCWD, "/proc/self/timers", O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		n = sys(SYS_read, fd, &byte, 1);
		sys(SYS_close, fd);
	}
	return n > 0 ? FAULT_TIMERS : 0;
}

/* "7f12…-7f34… rw-s …": the letters after the first space. */
static int is_shared(const char *line, const char *own)
{
	const char *mode = strchr(line, ' ');

	return mode && mode[1] && mode[2] == 'w' && mode[3] && mode[4] == 's' &&
	       !strstr(line, own);
}

/* Memory that is written and shared, the map of faults apart. */
static uint32_t unsafe_memory(void)
{
	char bytes[4096 + FORK_PATH];
	size_t len = 0;
	uint32_t found = 0;
	long n, fd = sys(SYS_openat, AT_FDCWD, "/proc/self/maps", O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return FAULT_FILES;
	while (!found &&
	       (n = sys(SYS_read, fd, bytes + len, sizeof(bytes) - 1 - len)) > 0) {
		char *line = bytes, *newline;

		len += (size_t)n;
		bytes[len] = '\0';
		while ((newline = strchr(line, '\n'))) {
			*newline = '\0';
			if (is_shared(line, "/fault.map"))
				found = FAULT_FILES;
			line = newline + 1;
		}
		len -= (size_t)(line - bytes);
		memmove(bytes, line, len);
	}
	sys(SYS_close, fd);
	return found;
}

uint32_t fault_unsafe(int whole)
{
	uint32_t flags = is_root ? 0 : FAULT_DESCENDANT;

	if (is_sanitized())
		flags |= FAULT_SANITIZED;
	flags |= unsafe_threads() | unsafe_children();
	if (flags)
		return flags;
	flags = fault_unsafe_fds(&outputs);
	if (flags || !whole)
		return flags;
	flags = unsafe_timers() | unsafe_memory();
	if (!flags && (!*map->scratch || fault_scratch_count(map->scratch) == UINT32_MAX))
		flags = FAULT_SCRATCH;
	return flags;
}

/* ---- the child ---- */

static long open_output(const struct fault_trial *t, const char *suffix)
{
	char path[FORK_PATH + 32], *at;

	join(path, "");
	at = path + strlen(path);
	for (int i = KEY_DIGITS; i--;)
		*at++ = "0123456789abcdef"[t->key >> 4 * i & 15];
	memcpy(at, suffix, strlen(suffix) + 1);
	return sys(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
		   0600);
}

static void limit_output(void)
{
	struct rlimit r;

	if (sys(SYS_prlimit64, 0, RLIMIT_FSIZE, NULL, &r) < 0 || r.rlim_cur <= OUTPUT_MAX)
		return;
	r.rlim_cur = OUTPUT_MAX;
	sys(SYS_prlimit64, 0, RLIMIT_FSIZE, &r, NULL);
}

static int begin_child(struct fault_trial *t)
{
	const int out[2] = {(int)open_output(t, ".out"), (int)open_output(t, ".err")};
	int rc;

	sys(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	limit_output();
	rc = out[0] < 0 || out[1] < 0 ? -1 : fault_private_fds(&outputs, out);
	for (int i = 0; i < 2; i++)
		if (out[i] >= 0)
			sys(SYS_close, out[i]);
	return rc == 0 ? fault_confine(t, map->scratch) : -1;
}

/* ---- the parent ---- */

/* 0: it ended by itself. */
static int wait_for(pid_t pid, int *ret_status)
{
	struct timespec left = {map->deadline_ms / 1000,
				(long)(map->deadline_ms % 1000) * 1000000};
	struct pollfd p = {.fd = (int)sys(SYS_pidfd_open, pid, 0), .events = POLLIN};
	int late = 0;

	if (p.fd >= 0) {
		long n;

		/* ppoll() leaves in `left` what remains after a signal. */
		do
			n = sys(SYS_ppoll, &p, 1, &left, NULL, 8);
		while (n == -EINTR);
		late = n <= 0;
		sys(SYS_close, p.fd);
	}
	if (p.fd < 0 || late)
		sys(SYS_kill, pid, SIGKILL);
	while (sys(SYS_wait4, pid, ret_status, __WALL, NULL) == -EINTR)
		;
	return p.fd < 0 || late;
}

static void note_end(struct fault_trial *t, int status, int late)
{
	if (late) {
		t->state = TRIAL_LATE;
		map->late++;
	} else if (t->state == TRIAL_BEGUN) {
		t->status = status;
		t->left = fault_scratch_count(map->scratch);
		t->state = WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS
				   ? TRIAL_LEFT
				   : TRIAL_ENDED;
	}
}

static void note_written(struct fault_trial *t)
{
	for (int i = 0; i < 2; i++) {
		struct stat st;

		t->written[i] = fstat(i + 1, &st) == 0 && S_ISREG(st.st_mode)
					? (uint64_t)st.st_size
					: 0;
	}
}

/*
 * By the system call, which leaves the C library's number of the thread as it is: locks
 * that are held keep their owner. Without a signal at the end: neither a handler nor a
 * wait() of the program's sees the child.
 */
static pid_t do_fork(void)
{
	return (pid_t)sys(SYS_clone, 0, 0, 0, 0, 0);
}

int fault_fork(struct fault_trial *t)
{
	uint32_t entries = fault_scratch_count(map->scratch);
	int status = 0, late;
	pid_t pid;

	if (entries && fault_scratch_swap(map->scratch) < 0) {
		t->why = FAULT_SCRATCH;
		t->state = TRIAL_UNSAFE;
		return 0;
	}
	t->held = UINT32_MAX;
	t->lost_blocks = t->held_blocks = UINT64_MAX;
	t->fired = 1;
	note_written(t);
	pid = do_fork();
	if (pid == 0) {
		is_child = 1;
		child = t;
		if (HEAP_ONLY_COUNT)
			HEAP_ONLY_COUNT();
		if (begin_child(t) == 0)
			return 1;
		t->state = TRIAL_LEFT;
		syscall(SYS_exit_group, 0);
	}
	if (pid < 0) {
		t->state = TRIAL_LEFT;
	} else {
		late = wait_for(pid, &status);
		note_end(t, status, late);
	}
	if (entries)
		fault_scratch_restore(map->scratch);
	else
		fault_scratch_clear(map->scratch);
	return 0;
}

/* What the run itself holds when it ends: a child that holds the same has lost nothing.
 */
__attribute__((destructor)) static void note_held(void)
{
	int saved = errno;

	if (map && map->mode == FAULT_EXPLORE && is_root && !is_child)
		map->held = fault_held(&map->names);
	errno = saved;
}

/* At the exit of every process that has the heap library. */
__attribute__((visibility("default"))) int HEAP_TELL(uint64_t lost, uint64_t held);
int HEAP_TELL(uint64_t lost, uint64_t held)
{
	if (child) {
		child->lost_blocks = lost;
		child->held_blocks = held;
	} else if (map && map->mode == FAULT_EXPLORE && is_root) {
		map->lost_blocks = lost;
		map->held_blocks = held;
	}
	return child != NULL;
}
