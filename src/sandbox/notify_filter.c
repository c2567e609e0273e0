/*
 * The filter decides by architecture and number alone wherever it can: the kernel keeps a
 * bitmap of calls that are always allowed (since 5.11), and those cost nothing. open()
 * has to be looked at each time, which costs some 30 ns.
 */
#include "sandbox/notify_filter.h"

#include "base/macros.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* linux/seccomp.h of Linux 5.19 */
#ifndef SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
#define SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV (1UL << 5)
#endif

#define LOAD(field) \
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (unsigned)offsetof(struct seccomp_data, field))
/* In place of a comparison: the value skips `yes` or `no` instructions. */
#define JUMP_EQ(value, yes, no) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (value), (yes), (no))
#define JUMP_SET(bits, yes, no) BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, (bits), (yes), (no))
#define ANSWER(action) BPF_STMT(BPF_RET | BPF_K, (action))

enum { NONE = -1 };

struct call {
	int nr;
	int dirfd, path;
	int flags; /* of open(): stops with O_CREAT only; NONE: always */
	bool is_address;
};

struct architecture {
	uint32_t audit;
	int exit_group;
	const struct call *calls;
	size_t ncalls;
};

/* Numbers: arch/<arch>/…/syscall*.tbl and include/uapi/asm-generic/unistd.h of Linux.
 * The flags of openat2() are in memory, where a filter cannot look. */
#if defined(__x86_64__)
#define X32 0x40000000
static const struct call x86_64_calls[] = {
	{2, NONE, 0, 1, false},	     /* open */
	{257, 0, 1, 2, false},	     /* openat */
	{437, 0, 1, NONE, false},    /* openat2 */
	{85, NONE, 0, NONE, false},  /* creat */
	{83, NONE, 0, NONE, false},  /* mkdir */
	{258, 0, 1, NONE, false},    /* mkdirat */
	{133, NONE, 0, NONE, false}, /* mknod */
	{259, 0, 1, NONE, false},    /* mknodat */
	{82, NONE, 1, NONE, false},  /* rename */
	{264, 2, 3, NONE, false},    /* renameat */
	{316, 2, 3, NONE, false},    /* renameat2 */
	{86, NONE, 1, NONE, false},  /* link */
	{265, 2, 3, NONE, false},    /* linkat */
	{88, NONE, 1, NONE, false},  /* symlink */
	{266, 1, 2, NONE, false},    /* symlinkat */
	{49, NONE, 1, NONE, true},   /* bind */
};
static const struct call i386_calls[] = {
	{5, NONE, 0, 1, false},	    /* open */
	{295, 0, 1, 2, false},	    /* openat */
	{437, 0, 1, NONE, false},   /* openat2 */
	{8, NONE, 0, NONE, false},  /* creat */
	{39, NONE, 0, NONE, false}, /* mkdir */
	{296, 0, 1, NONE, false},   /* mkdirat */
	{14, NONE, 0, NONE, false}, /* mknod */
	{297, 0, 1, NONE, false},   /* mknodat */
	{38, NONE, 1, NONE, false}, /* rename */
	{302, 2, 3, NONE, false},   /* renameat */
	{353, 2, 3, NONE, false},   /* renameat2 */
	{9, NONE, 1, NONE, false},  /* link */
	{303, 2, 3, NONE, false},   /* linkat */
	{83, NONE, 1, NONE, false}, /* symlink */
	{304, 1, 2, NONE, false},   /* symlinkat */
	{361, NONE, 1, NONE, true}, /* bind */
};
static const struct architecture architectures[] = {
	{AUDIT_ARCH_X86_64, 231, x86_64_calls, ARRAY_SIZE(x86_64_calls)},
	{AUDIT_ARCH_X86_64, X32 | 231, NULL, 0},
	{AUDIT_ARCH_I386, 252, i386_calls, ARRAY_SIZE(i386_calls)},
};
#elif defined(__aarch64__)
static const struct call aarch64_calls[] = {
	{56, 0, 1, 2, false},	    /* openat */
	{437, 0, 1, NONE, false},   /* openat2 */
	{34, 0, 1, NONE, false},    /* mkdirat */
	{33, 0, 1, NONE, false},    /* mknodat */
	{38, 2, 3, NONE, false},    /* renameat */
	{276, 2, 3, NONE, false},   /* renameat2 */
	{37, 2, 3, NONE, false},    /* linkat */
	{36, 1, 2, NONE, false},    /* symlinkat */
	{200, NONE, 1, NONE, true}, /* bind */
};
static const struct architecture architectures[] = {
	{AUDIT_ARCH_AARCH64, 94, aarch64_calls, ARRAY_SIZE(aarch64_calls)},
	{AUDIT_ARCH_ARM, 248, NULL, 0},
};
#else
static const struct architecture architectures[] = {{0}};
#endif

struct program {
	struct sock_filter *code;
	unsigned n;
};

static void emit(struct program *p, struct sock_filter f)
{
	if (p->n < NOTIFY_FILTER_MAX)
		p->code[p->n] = f;
	p->n++;
}

/* Each test stops, or goes on to the one that follows. */
static void emit_call(struct program *p, const struct call *c)
{
	if (c->flags == NONE) {
		emit(p, (struct sock_filter)JUMP_EQ((unsigned)c->nr, 0, 1));
		emit(p, (struct sock_filter)ANSWER(SECCOMP_RET_USER_NOTIF));
		return;
	}
	emit(p, (struct sock_filter)JUMP_EQ((unsigned)c->nr, 0, 4));
	/* the low half: both architectures are little-endian */
	emit(p, (struct sock_filter)LOAD(args[c->flags]));
	emit(p, (struct sock_filter)JUMP_SET(O_CREAT, 0, 1));
	emit(p, (struct sock_filter)ANSWER(SECCOMP_RET_USER_NOTIF));
	emit(p, (struct sock_filter)ANSWER(SECCOMP_RET_ALLOW));
}

static void emit_architecture(struct program *p, const struct architecture *a, bool names)
{
	const struct call exit_group = {a->exit_group, NONE, NONE, NONE, false};
	unsigned start;

	emit(p, (struct sock_filter)LOAD(arch));
	emit(p, (struct sock_filter)JUMP_EQ(a->audit, 0, 0));
	start = p->n;
	emit(p, (struct sock_filter)LOAD(nr));
	emit_call(p, &exit_group);
	for (size_t i = 0; names && i < a->ncalls; i++)
		emit_call(p, &a->calls[i]);
	p->code[start - 1].jf = (unsigned char)(p->n - start);
}

unsigned notify_filter(struct sock_filter ret[NOTIFY_FILTER_MAX], bool names)
{
	struct program p = {.code = ret};

	if (!architectures[0].audit)
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(architectures); i++)
		emit_architecture(&p, &architectures[i], names);
	emit(&p, (struct sock_filter)ANSWER(SECCOMP_RET_ALLOW));
	return p.n;
}

bool notify_name_call(const struct seccomp_data *d, struct name_call *ret)
{
	for (size_t i = 0; i < ARRAY_SIZE(architectures); i++) {
		const struct architecture *a = &architectures[i];

		for (size_t k = 0; k < a->ncalls; k++) {
			const struct call *c = &a->calls[k];

			if (a->audit != d->arch || c->nr != d->nr)
				continue;
			*ret = (struct name_call){c->dirfd, c->path, c->is_address};
			return true;
		}
	}
	return false;
}

/* Some flags are younger than the call: without WAIT_KILLABLE_RECV a signal handler
 * may interrupt the stop, and exit_group starts anew and notifies again. SPEC_ALLOW
 * keeps kernels before 5.16 from slowing the program down for having a filter. */
static int install(struct sock_filter *filter, unsigned n)
{
	static const unsigned long flags[] = {
		SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV | SECCOMP_FILTER_FLAG_SPEC_ALLOW,
		SECCOMP_FILTER_FLAG_SPEC_ALLOW,
	};
	struct sock_fprog prog = {
		.len = (unsigned short)n,
		.filter = filter,
	};
	long fd = -1;

	for (size_t i = 0; i < ARRAY_SIZE(flags); i++) {
		fd = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
			     flags[i] | SECCOMP_FILTER_FLAG_NEW_LISTENER, &prog);
		if (fd >= 0 || errno != EINVAL)
			break;
	}
	return (int)fd;
}

int notify_filter_install(bool names)
{
	struct sock_filter filter[NOTIFY_FILTER_MAX];
	unsigned n = notify_filter(filter, names);
	int fd;

	if (!n || n > NOTIFY_FILTER_MAX) {
		errno = ENOTSUP;
		return -1;
	}
	fd = install(filter, n);
	/*
	 * Unprivileged, a filter needs no_new_privs. With CAP_SYS_ADMIN it does not, and
	 * then we leave it alone: it takes setuid programs (sudo, ping, postgres helpers)
	 * their privilege, and the command would behave otherwise than without us.
	 */
	if (fd < 0 && errno == EACCES &&
	    prctl(PR_SET_NO_NEW_PRIVS, 1UL, 0UL, 0UL, 0UL) == 0)
		fd = install(filter, n);
	return fd;
}
