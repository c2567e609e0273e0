/*
 * Mutants in forks: where the program first reaches one, a child goes on with the mutant
 * in force, and the program itself without it. So one run tries all of them, and each
 * costs a fork and what is left of the tests.
 *
 * The program calls exitpath_mutant() (src/instrument/probes_c.c). A child is made only
 * where it has all that the program has and can spoil nothing: in the process that the
 * run has started, with one thread, no children, no descriptor but its output and files
 * that are only read (those are opened again: offsets would be shared), no writable
 * shared memory. Its output is thrown away. A seccomp filter ends it where it would write
 * a file, start a program, or reach another process: that mutant gets a run of its own,
 * and so do those that are late.
 *
 * Children are made by the system call and without a signal: locks keep their owner, and
 * neither a handler nor a wait() of the program sees them.
 */
#include "abi/mutants.h"
#include "sys.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { JOBS = 16, DESCRIPTORS = 256, FILTER = 256 };

/* A child that runs. */
struct trial {
	pid_t pid;
	int fd;
	uint32_t id;
	uint64_t deadline_ms;
};

static struct mutants_map *map;
static struct trial trials[JOBS];
static unsigned running;
static unsigned decided, refused; /* by a fork; by the filter, sooner or later */
static int is_child;

static uint64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/* Not so in what the program itself has forked. */
static int is_root(void)
{
	return map && map->root == (int32_t)sys(SYS_getpid);
}

/* ---- safe or not ---- */

static int is_alone(void)
{
	struct stat st;
	siginfo_t info;

	/* "." ".." and one thread */
	if (stat("/proc/self/task", &st) < 0 || st.st_nlink != 3)
		return 0;
	return sys(SYS_waitid, P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == -ECHILD;
}

static int is_own(int fd)
{
	for (unsigned i = 0; i < running; i++)
		if (trials[i].fd == fd)
			return 1;
	return 0;
}

/* A device has no offset. */
static int may_share(int fd, long flags)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return 0;
	return S_ISCHR(st.st_mode) ||
	       (S_ISREG(st.st_mode) && (flags & O_ACCMODE) == O_RDONLY);
}

static int has_safe_descriptors(void)
{
	for (int fd = 0; fd < DESCRIPTORS; fd++) {
		long flags = sys(SYS_fcntl, fd, F_GETFL);

		if (flags < 0 || fd == 1 || fd == 2 || is_own(fd))
			continue;
		if (!may_share(fd, flags))
			return 0;
	}
	return 1;
}

/* Memory that is written and shared, our map apart: "7f12…-7f34… rw-s …". */
static int has_safe_memory(void)
{
	static char bytes[16384];
	size_t len = 0;
	int safe = 1;
	long n, fd = sys(SYS_openat, AT_FDCWD, "/proc/self/maps", O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return 0;
	while ((n = sys(SYS_read, fd, bytes + len, sizeof(bytes) - 1 - len)) > 0) {
		char *line = bytes, *newline;

		len += (size_t)n;
		bytes[len] = '\0';
		for (; (newline = strchr(line, '\n')); line = newline + 1) {
			char *mode = strchr(line, ' ');

			*newline = '\0';
			if (mode && mode[2] == 'w' && mode[4] == 's' &&
			    !strstr(line, "/" MUTANTS_NAME))
				safe = 0;
		}
		len -= (size_t)(line - bytes);
		memmove(bytes, line, len);
	}
	sys(SYS_close, fd);
	return safe;
}

/* ---- the child ---- */

#if defined(__x86_64__)
#define ARCH AUDIT_ARCH_X86_64
#else
#define ARCH AUDIT_ARCH_AARCH64
#endif

/* They change nothing outside of the process. */
static const int allowed[] = {
	SYS_read,
	SYS_write,
	SYS_readv,
	SYS_writev,
	SYS_pread64,
	SYS_preadv,
	SYS_close,
	SYS_lseek,
	SYS_munmap,
	SYS_mprotect,
	SYS_mremap,
	SYS_madvise,
	SYS_mincore,
	SYS_brk,
	SYS_mmap,
	SYS_fstat,
	SYS_newfstatat,
	SYS_statx,
	SYS_statfs,
	SYS_fstatfs,
	SYS_faccessat,
	SYS_readlinkat,
	SYS_getdents64,
	SYS_getcwd,
	SYS_dup,
	SYS_dup3,
	SYS_chdir,
	SYS_fchdir,
	SYS_umask,
	SYS_futex,
	SYS_rt_sigaction,
	SYS_rt_sigprocmask,
	SYS_rt_sigreturn,
	SYS_rt_sigpending,
	SYS_sigaltstack,
	SYS_getpid,
	SYS_gettid,
	SYS_getppid,
	SYS_getuid,
	SYS_geteuid,
	SYS_getgid,
	SYS_getegid,
	SYS_clock_gettime,
	SYS_clock_getres,
	SYS_clock_nanosleep,
	SYS_gettimeofday,
	SYS_nanosleep,
	SYS_getrandom,
	SYS_uname,
	SYS_sysinfo,
	SYS_getrusage,
	SYS_times,
	SYS_ppoll,
	SYS_pselect6,
	SYS_pipe2,
	SYS_set_tid_address,
	SYS_set_robust_list,
	SYS_rseq,
	SYS_sched_yield,
	SYS_sched_getaffinity,
	SYS_getitimer,
	SYS_setitimer,
	SYS_wait4,
	SYS_restart_syscall,
	SYS_exit,
	SYS_exit_group,
	SYS_fcntl,
	SYS_prlimit64,
	SYS_getcpu,
#ifdef SYS_open
	SYS_stat,
	SYS_lstat,
	SYS_access,
	SYS_readlink,
	SYS_dup2,
	SYS_pipe,
	SYS_poll,
	SYS_select,
	SYS_time,
	SYS_alarm,
	SYS_arch_prctl,
#endif
};

struct program {
	struct sock_filter code[FILTER];
	unsigned short n;
};

static void add(struct program *p, unsigned code, uint32_t k, unsigned jt, unsigned jf)
{
	if (p->n < FILTER)
		p->code[p->n++] =
			(struct sock_filter){(uint16_t)code, (uint8_t)jt, (uint8_t)jf, k};
}

static void load(struct program *p, size_t at)
{
	add(p, BPF_LD | BPF_W | BPF_ABS, (uint32_t)at, 0, 0);
}

static void end(struct program *p, uint32_t action)
{
	add(p, BPF_RET | BPF_K, action, 0, 0);
}

/* The call nr, only with value in these bits of an argument. */
static void add_when(struct program *p, long nr, unsigned arg, uint32_t mask,
		     uint32_t value)
{
	add(p, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)nr, 0, 5);
	load(p, offsetof(struct seccomp_data, args) + 8ul * arg);
	add(p, BPF_ALU | BPF_AND | BPF_K, mask, 0, 0);
	add(p, BPF_JMP | BPF_JEQ | BPF_K, value, 0, 1);
	end(p, SECCOMP_RET_ALLOW);
	end(p, SECCOMP_RET_KILL_PROCESS);
}

static void make_filter(struct program *p)
{
	const uint32_t writes = O_ACCMODE | O_CREAT | O_TRUNC;
	const uint32_t self = (uint32_t)sys(SYS_getpid);

	load(p, offsetof(struct seccomp_data, arch));
	add(p, BPF_JMP | BPF_JEQ | BPF_K, ARCH, 1, 0);
	end(p, SECCOMP_RET_KILL_PROCESS);
	load(p, offsetof(struct seccomp_data, nr));
	for (size_t i = 0; i < sizeof(allowed) / sizeof(*allowed); i++) {
		add(p, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)allowed[i], 0, 1);
		end(p, SECCOMP_RET_ALLOW);
	}
	add_when(p, SYS_openat, 2, writes, O_RDONLY);
#ifdef SYS_open
	add_when(p, SYS_open, 1, writes, O_RDONLY);
#endif
	add_when(p, SYS_kill, 0, UINT32_MAX, self);
	add_when(p, SYS_tgkill, 0, UINT32_MAX, self);
	add_when(p, SYS_ioctl, 1, UINT32_MAX, 0x5401); /* TCGETS */
	end(p, SECCOMP_RET_KILL_PROCESS);
}

static int confine(void)
{
	struct program p = {.n = 0};
	struct sock_fprog prog;

	make_filter(&p);
	prog = (struct sock_fprog){.len = p.n, .filter = p.code};
	if (p.n == FILTER || sys(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -1;
	return (int)sys(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &prog);
}

static int open_again(int fd)
{
	char path[32] = "/proc/self/fd/";
	char digits[12];
	size_t n = 0, at = strlen(path);
	long offset = sys(SYS_lseek, fd, 0, SEEK_CUR),
	     cloexec = sys(SYS_fcntl, fd, F_GETFD);
	long new;

	for (int v = fd; v || !n; v /= 10)
		digits[n++] = (char)('0' + v % 10);
	while (n)
		path[at++] = digits[--n];
	path[at] = '\0';
	new = sys(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
	if (new < 0 || sys(SYS_lseek, new, offset, SEEK_SET) < 0 ||
	    sys(SYS_dup3, new, fd, cloexec & FD_CLOEXEC ? O_CLOEXEC : 0) < 0)
		return -1;
	sys(SYS_close, new);
	return 0;
}

static int own_descriptors(void)
{
	long null = sys(SYS_openat, AT_FDCWD, "/dev/null", O_RDWR | O_CLOEXEC);

	if (null < 0)
		return -1;
	for (int fd = 0; fd < DESCRIPTORS; fd++) {
		struct stat st;

		if (fd == (int)null || fstat(fd, &st) < 0)
			continue;
		if (fd == 1 || fd == 2)
			sys(SYS_dup3, null, fd, 0);
		else if (is_own(fd))
			sys(SYS_close, fd);
		else if (S_ISREG(st.st_mode) && open_again(fd) < 0)
			return -1;
	}
	sys(SYS_close, null);
	return 0;
}

static void begin_child(uint32_t id, uint8_t *states)
{
	is_child = 1;
	sys(SYS_prctl, PR_SET_DUMPABLE, 0, 0, 0, 0);
	sys(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	memset(states, 0, map->n);
	states[id] = 2;
	if (own_descriptors() == 0 && confine() == 0)
		return;
	sys(SYS_kill, sys(SYS_getpid), SIGSYS); /* as the filter ends it */
	sys(SYS_exit_group, 0);
}

/* ---- the parent ---- */

static void reap(unsigned i, int late)
{
	struct trial *t = &trials[i];
	int status = 0;

	if (late)
		sys(SYS_kill, t->pid, SIGKILL);
	while (sys(SYS_wait4, t->pid, &status, __WALL, NULL) == -EINTR)
		;
	sys(SYS_close, t->fd);
	if (late) {
		mutants_ends(map)[t->id] = MUTANTS_LATE;
	} else if (WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS) {
		mutants_ends(map)[t->id] = MUTANTS_UNSAFE;
		refused++;
	} else {
		mutants_ends(map)[t->id] = status;
		decided++;
	}
	trials[i] = trials[--running];
}

/* Until fewer than `most` run. */
static void wait_until(unsigned most)
{
	while (running > most) {
		struct pollfd fds[JOBS];
		unsigned n = running;
		uint64_t now = now_ms(), next = UINT64_MAX;
		struct timespec left;

		for (unsigned i = 0; i < n; i++) {
			fds[i] = (struct pollfd){.fd = trials[i].fd, .events = POLLIN};
			if (trials[i].deadline_ms < next)
				next = trials[i].deadline_ms;
		}
		next = next > now ? next - now : 0;
		left = (struct timespec){(time_t)(next / 1000),
					 (long)(next % 1000) * 1000000};
		if (sys(SYS_ppoll, fds, n, &left, NULL, 8) < 0)
			continue;
		now = now_ms();
		for (unsigned i = n; i--;)
			if (fds[i].revents || trials[i].deadline_ms <= now)
				reap(i, !fds[i].revents);
	}
}

/* Tests that write files later on stop nearly every child, and late. */
static int is_futile(void)
{
	return refused >= 16 && refused > 3 * decided;
}

static int try_mutant(uint32_t id, uint8_t *states)
{
	unsigned jobs = map->jobs < 1 ? 1 : map->jobs > JOBS ? JOBS : map->jobs;
	pid_t pid;
	long fd;

	if (is_futile() || !is_root() || !is_alone() || !has_safe_descriptors() ||
	    !has_safe_memory()) {
		mutants_ends(map)[id] = MUTANTS_UNSAFE;
		return 0;
	}
	wait_until(jobs - 1);
	pid = (pid_t)sys(SYS_clone, 0, 0, 0, 0, 0);
	if (pid == 0) {
		begin_child(id, states);
		return 1;
	}
	fd = pid < 0 ? -1 : sys(SYS_pidfd_open, pid, 0);
	if (fd < 0) {
		mutants_ends(map)[id] = MUTANTS_UNSAFE;
		if (pid > 0) {
			sys(SYS_kill, pid, SIGKILL);
			sys(SYS_wait4, pid, NULL, __WALL, NULL);
		}
		return 0;
	}
	trials[running++] = (struct trial){.pid = pid,
					   .fd = (int)fd,
					   .id = id,
					   .deadline_ms = now_ms() + map->limit_ms};
	return 0;
}

__attribute__((visibility("default"))) int exitpath_mutant(unsigned id,
							   unsigned char *states);
int exitpath_mutant(unsigned id, unsigned char *states)
{
	int saved = errno, mutated;

	if (!map || is_child || map->mode != MUTANTS_FORK || id >= map->n)
		return 0;
	mutated = try_mutant(id, states);
	errno = saved;
	return mutated;
}

__attribute__((constructor)) static void begin(void)
{
	const char *path = getenv(MUTANTS_ENV);
	int saved = errno;
	int32_t none = 0, self = (int32_t)sys(SYS_getpid);
	struct stat st;
	long fd = path ? sys(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC) : -1;
	void *p = MAP_FAILED;

	if (fd >= 0 && fstat((int)fd, &st) == 0)
		p = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED,
			 (int)fd, 0);
	if (fd >= 0)
		sys(SYS_close, fd);
	if (p != MAP_FAILED) {
		map = p; /* after an exec, the process is still the first */
		__atomic_compare_exchange_n(&map->root, &none, self, 0, __ATOMIC_ACQ_REL,
					    __ATOMIC_ACQUIRE);
	}
	errno = saved;
}

/* Children of a program that ends before they do are waited for. */
__attribute__((destructor)) static void finish(void)
{
	int saved = errno;

	if (!is_child && is_root())
		wait_until(0);
	errno = saved;
}
