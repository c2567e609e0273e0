/*
 * A forked child must leave no trace: its parent goes on with the same files, pipes and
 * processes. A seccomp filter lets through what concerns the child alone. All else is
 * trapped: SIGSYS comes in the place of the system call, its handler makes the call when
 * the path lies in TMPDIR, notes what is held when the call is an exit, and ends the
 * child otherwise, which leaves the point to a run of its own. Calls of the handler pass
 * the filter by the address they are made at.
 *
 * Where the program blocks SIGSYS a trapped call kills it: that is seen, too.
 */
#include "fork.h"

#include "sys.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <ucontext.h>

static struct fault_trial *trial;
static const char *scratch;

/* ---- the gate: the one place from which all calls are let through ---- */

long fault_gate(long nr, long a, long b, long c, long d, long e)
	__attribute__((visibility("hidden")));
extern const char fault_gate_end[] __attribute__((visibility("hidden")));

#if defined(__x86_64__)
#define ARCH AUDIT_ARCH_X86_64
__asm__(".text\n"
	".globl fault_gate, fault_gate_end\n"
	".hidden fault_gate, fault_gate_end\n"
	".type fault_gate, @function\n"
	"fault_gate:\n"
	"	mov %rdi, %rax\n"
	"	mov %rsi, %rdi\n"
	"	mov %rdx, %rsi\n"
	"	mov %rcx, %rdx\n"
	"	mov %r8, %r10\n"
	"	mov %r9, %r8\n"
	"	xor %r9d, %r9d\n"
	"	syscall\n"
	"fault_gate_end:\n"
	"	ret\n"
	".size fault_gate, . - fault_gate\n");

static void read_call(const ucontext_t *u, long *ret_args)
{
	static const int places[] = {REG_RDI, REG_RSI, REG_RDX, REG_R10, REG_R8};

	for (size_t i = 0; i < 5; i++)
		ret_args[i] = u->uc_mcontext.gregs[places[i]];
}

static void set_result(ucontext_t *u, long result)
{
	u->uc_mcontext.gregs[REG_RAX] = result;
}
#else
#define ARCH AUDIT_ARCH_AARCH64
__asm__(".text\n"
	".globl fault_gate, fault_gate_end\n"
	".hidden fault_gate, fault_gate_end\n"
	".type fault_gate, %function\n"
	"fault_gate:\n"
	"	mov x8, x0\n"
	"	mov x0, x1\n"
	"	mov x1, x2\n"
	"	mov x2, x3\n"
	"	mov x3, x4\n"
	"	mov x4, x5\n"
	"	mov x5, xzr\n"
	"	svc 0\n"
	"fault_gate_end:\n"
	"	ret\n"
	".size fault_gate, . - fault_gate\n");

static void read_call(const ucontext_t *u, long *ret_args)
{
	for (size_t i = 0; i < 5; i++)
		ret_args[i] = (long)u->uc_mcontext.regs[i];
}

static void set_result(ucontext_t *u, long result)
{
	u->uc_mcontext.regs[0] = (unsigned long)result;
}
#endif

__attribute__((noreturn)) static void leave(uint32_t state, uint32_t why, long status)
{
	trial->why = why;
	__atomic_store_n(&trial->state, state, __ATOMIC_RELEASE);
	for (;;)
		fault_gate(SYS_exit_group, status, 0, 0, 0, 0);
}

/* ---- calls with a path ---- */

/* Which arguments are directories and paths; -1: the working directory, none. */
static const struct path_call {
	long nr;
	signed char dir, path, dir2, path2;
} path_calls[] = {
#ifdef SYS_open
	{SYS_open, -1, 0, -1, -1},     {SYS_creat, -1, 0, -1, -1},
	{SYS_unlink, -1, 0, -1, -1},   {SYS_mkdir, -1, 0, -1, -1},
	{SYS_rmdir, -1, 0, -1, -1},    {SYS_rename, -1, 0, -1, 1},
	{SYS_chmod, -1, 0, -1, -1},    {SYS_renameat, 0, 1, 2, 3},
#endif
	{SYS_openat, 0, 1, -1, -1},    {SYS_unlinkat, 0, 1, -1, -1},
	{SYS_mkdirat, 0, 1, -1, -1},   {SYS_renameat2, 0, 1, 2, 3},
	{SYS_fchmodat, 0, 1, -1, -1},  {SYS_truncate, -1, 0, -1, -1},
	{SYS_utimensat, 0, 1, -1, -1},
};

static int goes_up(const char *path)
{
	for (const char *at = path; (at = strstr(at, "..")); at += 2)
		if ((at == path || at[-1] == '/') && (at[2] == '/' || !at[2]))
			return 1;
	return 0;
}

static int is_sink(const char *path)
{
	return !strcmp(path, "/dev/null") || !strcmp(path, "/dev/zero") ||
	       !strcmp(path, "/dev/full");
}

/* There are no links in TMPDIR that lead out of it: fault_scratch_count(), and links are
 * not made. */
static int is_own(long dir, const char *path)
{
	char text[FORK_PATH], link[64];
	size_t n = strlen(scratch), at;

	if (!path || !*path || goes_up(path) || strlen(path) >= FORK_PATH)
		return 0;
	if (*path == '/') {
		memcpy(text, path, strlen(path) + 1);
	} else {
		if (dir == AT_FDCWD)
			memcpy(link, "/proc/self/cwd", 15);
		else
			fault_number(link, "/proc/self/fd/", (uint64_t)dir);
		fault_read_link(AT_FDCWD, link, text, sizeof(text));
		at = strlen(text);
		if (!at || at + strlen(path) + 2 > sizeof(text))
			return 0;
		text[at] = '/';
		memcpy(text + at + 1, path, strlen(path) + 1);
	}
	return is_sink(text) || (!strncmp(text, scratch, n) && text[n] == '/');
}

static int may_make(const struct path_call *c, const long *args)
{
	long dir = c->dir < 0 ? AT_FDCWD : (int)args[c->dir];
	long dir2 = c->dir2 < 0 ? AT_FDCWD : (int)args[c->dir2];

	return is_own(dir, (const char *)args[c->path]) &&
	       (c->path2 < 0 || is_own(dir2, (const char *)args[c->path2]));
}

static void trapped(int signal, siginfo_t *info, void *context)
{
	ucontext_t *u = context;
	long nr = info->si_syscall, args[5];
	int saved = errno;

	(void)signal;
	read_call(u, args);
	if (nr == SYS_exit_group) {
		trial->held = fault_held(&trial->names);
		leave(TRIAL_BEGUN, 0, args[0]);
	}
	for (size_t i = 0; i < sizeof(path_calls) / sizeof(*path_calls); i++) {
		if (path_calls[i].nr != nr || !may_make(&path_calls[i], args))
			continue;
		set_result(u,
			   fault_gate(nr, args[0], args[1], args[2], args[3], args[4]));
		errno = saved;
		return;
	}
	leave(TRIAL_LEFT, (uint32_t)nr, 0);
}

/* ---- the filter ---- */

/* They change nothing outside of the process, whatever their arguments. */
static const int allowed[] = {
	SYS_read,
	SYS_write,
	SYS_readv,
	SYS_writev,
	SYS_pread64,
	SYS_pwrite64,
	SYS_preadv,
	SYS_pwritev,
	SYS_preadv2,
	SYS_pwritev2,
	SYS_close,
	SYS_lseek,
	SYS_munmap,
	SYS_mprotect,
	SYS_mremap,
	SYS_madvise,
	SYS_mincore,
	SYS_msync,
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
	SYS_ftruncate,
	SYS_fsync,
	SYS_fdatasync,
	SYS_fadvise64,
	SYS_sendfile,
	SYS_copy_file_range,
	SYS_chdir,
	SYS_fchdir,
	SYS_umask,
	SYS_futex,
	SYS_rt_sigprocmask,
	SYS_rt_sigreturn,
	SYS_rt_sigpending,
	SYS_rt_sigsuspend,
	SYS_rt_sigtimedwait,
	SYS_sigaltstack,
	SYS_getpid,
	SYS_gettid,
	SYS_getppid,
	SYS_getuid,
	SYS_geteuid,
	SYS_getgid,
	SYS_getegid,
	SYS_getgroups,
	SYS_getpgid,
	SYS_getsid,
	SYS_getresuid,
	SYS_getresgid,
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
	SYS_epoll_create1,
	SYS_epoll_ctl,
	SYS_epoll_pwait,
	SYS_eventfd2,
	SYS_pipe2,
	SYS_memfd_create,
	SYS_timerfd_create,
	SYS_timerfd_settime,
	SYS_set_tid_address,
	SYS_set_robust_list,
	SYS_rseq,
	SYS_sched_yield,
	SYS_sched_getaffinity,
	SYS_getitimer,
	SYS_setitimer,
	SYS_wait4,
	SYS_waitid,
	SYS_restart_syscall,
	SYS_membarrier,
	SYS_capget,
	SYS_getcpu,
	SYS_getpriority,
	SYS_getxattr,
	SYS_lgetxattr,
	SYS_fgetxattr,
#ifdef SYS_open
	SYS_stat,
	SYS_lstat,
	SYS_access,
	SYS_readlink,
	SYS_dup2,
	SYS_pipe,
	SYS_poll,
	SYS_select,
	SYS_epoll_create,
	SYS_epoll_wait,
	SYS_time,
	SYS_alarm,
	SYS_getpgrp,
	SYS_arch_prctl,
	SYS_eventfd,
	SYS_pause,
	SYS_getdents,
#endif
#ifdef SYS_faccessat2
	SYS_faccessat2,
#endif
};

enum { FILTER = 512 };

struct program {
	struct sock_filter code[FILTER];
	unsigned short n;
};

static void add(struct program *p, unsigned short code, uint32_t k, uint8_t jt,
		uint8_t jf)
{
	if (p->n < FILTER)
		p->code[p->n++] = (struct sock_filter){code, jt, jf, k};
}

static void load(struct program *p, size_t at)
{
	add(p, BPF_LD | BPF_W | BPF_ABS, (uint32_t)at, 0, 0);
}

static void end(struct program *p, uint32_t action)
{
	add(p, BPF_RET | BPF_K, action, 0, 0);
}

static size_t argument(int i)
{
	return offsetof(struct seccomp_data, args) + 8 * (size_t)i; /* low half first */
}

/* Of the call nr, only with value in the bits of that argument; or only without. */
static void add_when(struct program *p, long nr, int arg, uint32_t mask, uint32_t value,
		     int equal)
{
	add(p, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)nr, 0, 5);
	load(p, argument(arg));
	add(p, BPF_ALU | BPF_AND | BPF_K, mask, 0, 0);
	add(p, BPF_JMP | BPF_JEQ | BPF_K, value, equal ? 0 : 1, equal ? 1 : 0);
	end(p, SECCOMP_RET_ALLOW);
	end(p, SECCOMP_RET_TRAP);
}

static void add_gate(struct program *p)
{
	uintptr_t at = (uintptr_t)fault_gate_end;

	load(p, offsetof(struct seccomp_data, instruction_pointer));
	add(p, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)at, 0, 3);
	load(p, offsetof(struct seccomp_data, instruction_pointer) + 4);
	add(p, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)(at >> 32), 0, 1);
	end(p, SECCOMP_RET_ALLOW);
}

/* Locks of records: a child has none of its parent's, so that it would find other ones.
 */
static void add_fcntl(struct program *p)
{
	static const int safe[] = {F_DUPFD, F_DUPFD_CLOEXEC, F_GETFD,
				   F_SETFD, F_GETFL,	     F_SETFL};
	const uint8_t n = sizeof(safe) / sizeof(*safe);

	add(p, BPF_JMP | BPF_JEQ | BPF_K, SYS_fcntl, 0, (uint8_t)(2 * n + 2));
	load(p, argument(1));
	for (uint8_t i = 0; i < n; i++) {
		add(p, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)safe[i], 0, 1);
		end(p, SECCOMP_RET_ALLOW);
	}
	end(p, SECCOMP_RET_TRAP);
}

static void make_filter(struct program *p)
{
	const uint32_t self = (uint32_t)sys(SYS_getpid);
	const uint32_t writes = O_ACCMODE | O_CREAT | O_TRUNC;

	load(p, offsetof(struct seccomp_data, arch));
	add(p, BPF_JMP | BPF_JEQ | BPF_K, ARCH, 1, 0);
	end(p, SECCOMP_RET_TRAP);
	add_gate(p);
	load(p, offsetof(struct seccomp_data, nr));
	for (size_t i = 0; i < sizeof(allowed) / sizeof(*allowed); i++) {
		add(p, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)allowed[i], 0, 1);
		end(p, SECCOMP_RET_ALLOW);
	}
#ifdef SYS_open
	add_when(p, SYS_open, 1, writes, 0, 1);
#endif
	add_when(p, SYS_openat, 2, writes, 0, 1);
	add_when(p, SYS_kill, 0, UINT32_MAX, self, 1);
	add_when(p, SYS_tgkill, 0, UINT32_MAX, self, 1);
	add_when(p, SYS_rt_sigaction, 0, UINT32_MAX, SIGSYS, 0);
	/* Terminals; what is read of them is TCGETS, "is it one?". */
	add_when(p, SYS_ioctl, 1, UINT32_MAX, 0x5401, 1);
	/* Of itself; to change a limit of another process is not ours. */
	add_when(p, SYS_prlimit64, 0, UINT32_MAX, 0, 1);
	add_fcntl(p);
	end(p, SECCOMP_RET_TRAP);
}

int fault_confine(struct fault_trial *t, const char *dir)
{
	struct program p = {.n = 0};
	struct sigaction action = {.sa_sigaction = trapped,
				   .sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK};
	struct sock_fprog program = {.filter = p.code};
	sigset_t set;

	trial = t;
	scratch = dir;
	make_filter(&p);
	program.len = p.n;
	sigemptyset(&set);
	sigaddset(&set, SIGSYS);
	sigemptyset(&action.sa_mask);
	if (p.n == FILTER || sigaction(SIGSYS, &action, NULL) < 0 ||
	    sigprocmask(SIG_UNBLOCK, &set, NULL) < 0 ||
	    sys(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    sys(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) < 0)
		return -1;
	return 0;
}
