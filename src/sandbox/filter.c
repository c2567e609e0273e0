/*
 * Namespaces and mounts confine files, processes and networks; the filter takes away the
 * calls that reach past them: sockets that have no namespace (AF_VSOCK), new namespaces
 * and mounts (where kernel bugs live), io_uring (its operations are not filtered), keys,
 * bpf, userfaultfd, perf, modules. ptrace stays: LeakSanitizer and debuggers need it, and
 * the pid namespace bounds it.
 *
 * clone3() gives ENOSYS, since its flags lie in memory: libc falls back to clone().
 *
 * An interpreter that is a zygote may do, beside that, what it needs to start an init:
 * clone() with new namespaces, and mount().
 */
#include "sandbox/filter.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <seccomp.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"

#define NEW_NAMESPACES                                                                 \
	(CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | \
	 CLONE_NEWPID | CLONE_NEWNET)
#ifndef CLONE_NEWTIME
#define CLONE_NEWTIME 0x80
#endif

static const struct {
	const char *name;
	int errnum;
	bool server; /* a server may */
} denied[] = {
	{"mount", EPERM, true},
	{"umount", EPERM},
	{"umount2", EPERM},
	{"pivot_root", EPERM},
	{"open_tree", EPERM},
	{"open_tree_attr", EPERM},
	{"move_mount", EPERM},
	{"fsopen", EPERM},
	{"fsconfig", EPERM},
	{"fsmount", EPERM},
	{"fspick", EPERM},
	{"mount_setattr", EPERM},
	{"setns", EPERM},
	{"unshare", EPERM},
	{"clone3", ENOSYS, false},
	{"bpf", EPERM},
	{"keyctl", EPERM},
	{"add_key", EPERM},
	{"request_key", EPERM},
	{"userfaultfd", EPERM},
	{"perf_event_open", EPERM},
	{"io_uring_setup", ENOSYS},
	{"io_uring_enter", ENOSYS},
	{"io_uring_register", ENOSYS},
	{"kexec_load", EPERM},
	{"kexec_file_load", EPERM},
	{"init_module", EPERM},
	{"finit_module", EPERM},
	{"delete_module", EPERM},
	{"reboot", EPERM},
	{"swapon", EPERM},
	{"swapoff", EPERM},
	{"acct", EPERM},
	{"quotactl", EPERM},
	{"quotactl_fd", EPERM},
	{"settimeofday", EPERM},
	{"clock_settime", EPERM},
	{"clock_settime64", EPERM},
	{"adjtimex", EPERM},
	{"clock_adjtime", EPERM},
	{"syslog", EPERM},
	{"open_by_handle_at", EPERM},
	{"iopl", EPERM},
	{"ioperm", EPERM},
	{"uselib", ENOSYS},
	{"nfsservctl", ENOSYS},
	{"lookup_dcookie", EPERM},
	{"vhangup", EPERM},
	{"fanotify_init", EPERM},
	{"socketcall", ENOSYS},
};

static int deny(scmp_filter_ctx ctx, const char *name, int errnum)
{
	int nr = seccomp_syscall_resolve_name(name);

	if (nr == __NR_SCMP_ERROR)
		return 0; /* younger than this libseccomp */
	return seccomp_rule_add(ctx, SCMP_ACT_ERRNO((uint32_t)errnum), nr, 0);
}

static int deny_namespaces(scmp_filter_ctx ctx)
{
	static const int one_by_one[] = {CLONE_NEWNS,  CLONE_NEWCGROUP, CLONE_NEWUTS,
					 CLONE_NEWIPC, CLONE_NEWUSER,	CLONE_NEWPID,
					 CLONE_NEWNET};
	int rc = 0;

	for (size_t i = 0; i < ARRAY_SIZE(one_by_one) && rc == 0; i++)
		rc = seccomp_rule_add(ctx, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(clone), 1,
				      SCMP_A0(SCMP_CMP_MASKED_EQ,
					      (scmp_datum_t)one_by_one[i],
					      (scmp_datum_t)one_by_one[i]));
	return rc;
}

/* Families other than those that the network namespace confines do not exist; nor do
 * numbers with high bits set, which the kernel would cut off: they are greater. */
static int deny_sockets(scmp_filter_ctx ctx)
{
	static const int calls[] = {SCMP_SYS(socket), SCMP_SYS(socketpair)};
	static const int allowed[] = {AF_UNIX, AF_INET, AF_INET6, AF_NETLINK};
	int rc = 0;

	for (size_t c = 0; c < ARRAY_SIZE(calls); c++) {
		int low = -1;

		for (size_t i = 0; i <= ARRAY_SIZE(allowed) && rc == 0; i++) {
			int high = i < ARRAY_SIZE(allowed) ? allowed[i] : 0;

			for (int f = low + 1; f < high && rc == 0; f++)
				rc = seccomp_rule_add(
					ctx, SCMP_ACT_ERRNO(EAFNOSUPPORT), calls[c], 1,
					SCMP_A0_32(SCMP_CMP_EQ, (uint32_t)f, 0));
			low = high;
		}
		if (rc == 0)
			rc = seccomp_rule_add(ctx, SCMP_ACT_ERRNO(EAFNOSUPPORT), calls[c],
					      1, SCMP_A0_32(SCMP_CMP_GT, AF_NETLINK, 0));
	}
	return rc;
}

/* Typing into a terminal that is shared with the caller. The kernel looks at 32 bits of
 * the register: a comparison of all 64 could be passed by. */
static int deny_ioctls(scmp_filter_ctx ctx)
{
	static const unsigned requests[] = {TIOCSTI, TIOCLINUX};
	int rc = 0;

	for (size_t i = 0; i < ARRAY_SIZE(requests) && rc == 0; i++)
		rc = seccomp_rule_add(
			ctx, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(ioctl), 1,
			SCMP_A1(SCMP_CMP_MASKED_EQ, UINT32_MAX, requests[i]));
	return rc;
}

/*
 * A setuid program that a run leaves in its checkout would be one on the machine, of
 * whoever runs exitpath. By open() and mknod() none can be made that is not empty:
 * writing takes the bit away.
 */
static int deny_setuid(scmp_filter_ctx ctx)
{
	static const struct {
		int call;
		unsigned mode; /* which argument */
	} calls[] = {
		{SCMP_SYS(chmod), 1}, {SCMP_SYS(fchmod), 1}, {SCMP_SYS(fchmodat), 2}};
	int rc = deny(ctx, "fchmodat2", ENOSYS);

	for (size_t i = 0; i < ARRAY_SIZE(calls) && rc == 0; i++)
		rc = seccomp_rule_add(
			ctx, SCMP_ACT_ERRNO(EPERM), calls[i].call, 1,
			SCMP_CMP(calls[i].mode, SCMP_CMP_MASKED_EQ, S_ISUID, S_ISUID));
	return rc;
}

/* Limits of init: a command that lowered them would end its run as if the sandbox had
 * broken. */
static int deny_init(scmp_filter_ctx ctx)
{
	return seccomp_rule_add(ctx, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(prlimit64), 1,
				SCMP_A0(SCMP_CMP_MASKED_EQ, UINT32_MAX, 1));
}

/* A lease on a file that is only read makes whoever opens it to write wait, on the
 * machine, for up to fs.lease-break-time: as a file system that has none. */
static int deny_leases(scmp_filter_ctx ctx)
{
	static const int calls[] = {SCMP_SYS(fcntl), SCMP_SYS(fcntl64)};
	int rc = 0;

	for (size_t i = 0; i < ARRAY_SIZE(calls) && rc == 0; i++)
		rc = seccomp_rule_add(
			ctx, SCMP_ACT_ERRNO(EINVAL), calls[i], 1,
			SCMP_A1(SCMP_CMP_MASKED_EQ, UINT32_MAX, F_SETLEASE));
	return rc;
}

static int add_rules(scmp_filter_ctx ctx, bool server)
{
	int rc;

#if defined(__x86_64__)
	rc = seccomp_arch_add(ctx, SCMP_ARCH_X86);
	if (rc < 0)
		return rc;
#elif defined(__aarch64__)
	rc = seccomp_arch_add(ctx, SCMP_ARCH_ARM);
	if (rc < 0)
		return rc;
#endif
	/* Programs of yet another architecture (x32) get no call at all. */
	rc = seccomp_attr_set(ctx, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_ERRNO(ENOSYS));
	for (size_t i = 0; i < ARRAY_SIZE(denied) && rc == 0; i++)
		if (!server || !denied[i].server)
			rc = deny(ctx, denied[i].name, denied[i].errnum);
	if (rc == 0 && !server)
		rc = deny_namespaces(ctx);
	if (rc == 0)
		rc = deny_sockets(ctx);
	if (rc == 0)
		rc = deny_ioctls(ctx);
	if (rc == 0)
		rc = deny_setuid(ctx);
	if (rc == 0)
		rc = deny_init(ctx);
	if (rc == 0)
		rc = deny_leases(ctx);
	return rc;
}

/* The number of instructions in code, which has PLAN_FILTER; or -errno. */
static int export(scmp_filter_ctx ctx, struct sock_filter *code)
{
	CLEANUP_FD int fd = memfd_create("exitpath-seccomp", MFD_CLOEXEC);
	const size_t cap = sizeof(*code) * PLAN_FILTER;
	ssize_t n;
	int rc;

	if (fd < 0)
		return -errno;
	rc = seccomp_export_bpf(ctx, fd);
	if (rc < 0)
		return rc;
	n = pread(fd, code, cap, 0);
	if (n <= 0 || (size_t)n == cap || (size_t)n % sizeof(*code))
		return -E2BIG;
	return (int)((size_t)n / sizeof(*code));
}

static int compile(struct sock_filter *code, uint32_t *ret_n, bool server,
		   struct err *err)
{
	scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_ALLOW);
	int n;

	if (!ctx)
		return err_set(err, ERR_ENVIRONMENT, "seccomp: no filter can be made");
	n = add_rules(ctx, server);
	if (n == 0)
		n = export(ctx, code);
	seccomp_release(ctx);
	if (n < 0)
		return err_errno(err, ERR_ENVIRONMENT, -n, "seccomp: the filter");
	*ret_n = (uint32_t)n;
	return 0;
}

int filter_compile(struct plan *p, struct err *err)
{
	if (compile(p->filter, &p->nfilter, false, err) < 0)
		return -1;
	return p->is_server ? compile(p->server_filter, &p->nserver_filter, true, err)
			    : 0;
}
