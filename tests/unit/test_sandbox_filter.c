/* The system calls that a sandboxed command does not get, tried one by one. */
#include "boxed.h"

#include "sandbox/filter.h"
#include "sandbox/inner.h"
#include "sandbox/make_plan.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#define HIGH (1UL << 32) /* the kernel looks at 32 bits of these arguments */
#define OTHER 0		 /* any errno but EPERM, or success: it came through */

static const struct call_case {
	const char *name;
	long nr;
	unsigned long args[6];
	int errnum;
} calls[] = {
	{"mount", SYS_mount, {0}, EPERM},
	{"umount2", SYS_umount2, {0}, EPERM},
	{"pivot_root", SYS_pivot_root, {0}, EPERM},
	{"open_tree", SYS_open_tree, {0}, EPERM},
	{"move_mount", SYS_move_mount, {0}, EPERM},
	{"fsopen", SYS_fsopen, {0}, EPERM},
	{"mount_setattr", SYS_mount_setattr, {0}, EPERM},
	{"setns", SYS_setns, {0}, EPERM},
	{"unshare", SYS_unshare, {CLONE_NEWUSER}, EPERM},
	{"clone, new user namespace", SYS_clone, {CLONE_NEWUSER | SIGCHLD}, EPERM},
	{"clone, new network", SYS_clone, {CLONE_NEWNET | SIGCHLD}, EPERM},
	{"clone, high bits", SYS_clone, {HIGH | CLONE_NEWNS | SIGCHLD}, EPERM},
	{"clone, without a new one", SYS_clone, {CLONE_THREAD}, OTHER}, /* EINVAL */
	{"clone3", SYS_clone3, {0}, ENOSYS},
	{"bpf", SYS_bpf, {0}, EPERM},
	{"keyctl", SYS_keyctl, {0}, EPERM},
	{"add_key", SYS_add_key, {0}, EPERM},
	{"request_key", SYS_request_key, {0}, EPERM},
	{"userfaultfd", SYS_userfaultfd, {0}, EPERM},
	{"perf_event_open", SYS_perf_event_open, {0}, EPERM},
	{"io_uring_setup", SYS_io_uring_setup, {1}, ENOSYS},
	{"io_uring_enter", SYS_io_uring_enter, {0}, ENOSYS},
	{"reboot", SYS_reboot, {0}, EPERM},
	{"open_by_handle_at", SYS_open_by_handle_at, {0}, EPERM},
	{"fanotify_init", SYS_fanotify_init, {0}, EPERM},
	{"syslog", SYS_syslog, {3}, EPERM},
	{"socket unix", SYS_socket, {AF_UNIX, SOCK_STREAM}, OTHER},
	{"socket inet", SYS_socket, {AF_INET, SOCK_STREAM}, OTHER},
	{"socket inet6", SYS_socket, {AF_INET6, SOCK_STREAM}, OTHER},
	{"socket netlink", SYS_socket, {AF_NETLINK, SOCK_RAW}, OTHER},
	{"socket packet", SYS_socket, {AF_PACKET, SOCK_RAW}, EAFNOSUPPORT},
	{"socket vsock", SYS_socket, {AF_VSOCK, SOCK_STREAM}, EAFNOSUPPORT},
	{"socket vsock, high bits",
	 SYS_socket,
	 {HIGH | AF_VSOCK, SOCK_STREAM},
	 EAFNOSUPPORT},
	{"socket alg", SYS_socket, {AF_ALG, SOCK_SEQPACKET}, EAFNOSUPPORT},
	{"socket 0", SYS_socket, {0, SOCK_STREAM}, EAFNOSUPPORT},
	{"socket 3", SYS_socket, {3, SOCK_STREAM}, EAFNOSUPPORT},
	{"socket -1", SYS_socket, {~0UL, SOCK_STREAM}, EAFNOSUPPORT},
	{"socketpair vsock", SYS_socketpair, {AF_VSOCK, SOCK_STREAM}, EAFNOSUPPORT},
	{"TIOCSTI", SYS_ioctl, {0, TIOCSTI, 0}, EPERM},
	{"TIOCSTI, high bits", SYS_ioctl, {0, HIGH | TIOCSTI, 0}, EPERM},
	{"TIOCLINUX", SYS_ioctl, {0, TIOCLINUX, 0}, EPERM},
	{"TIOCGWINSZ", SYS_ioctl, {0, TIOCGWINSZ, 0}, OTHER},
	{"fchmod u+s", SYS_fchmod, {0, 04755}, EPERM},
	{"fchmod u+s, high bits", SYS_fchmod, {0, HIGH | 04755}, EPERM},
	{"fchmod", SYS_fchmod, {1000, 0755}, OTHER}, /* EBADF */
	{"prlimit of init", SYS_prlimit64, {1, 0, 0, 0}, EPERM},
	{"prlimit of init, high bits", SYS_prlimit64, {HIGH | 1, 0, 0, 0}, EPERM},
	{"prlimit of itself", SYS_prlimit64, {0, 0, 0, 0}, OTHER},
	{"a lease", SYS_fcntl, {0, F_SETLEASE, F_RDLCK}, EINVAL},
	{"a lease, high bits", SYS_fcntl, {0, HIGH | F_SETLEASE, F_RDLCK}, EINVAL},
	{"another fcntl", SYS_fcntl, {0, F_GETFD}, OTHER},
	{"ptrace", SYS_ptrace, {0x4206, 0, 0, 0}, OTHER}, /* ESRCH */
#ifdef __x86_64__
	{"x32", 0x40000000L | SYS_getpid, {0}, ENOSYS},
	{"fchmodat2", 452, {0}, ENOSYS},
	{"chmod u+s", SYS_chmod, {0, 04755}, EPERM},
	{"iopl", SYS_iopl, {3}, EPERM},
#endif
};

static void tries_calls(void)
{
	const struct sandbox nothing = {0};
	struct err err = {0};
	struct plan *p = plan_new(&nothing, &err);
	int failed = 0;

	CHECK(p);
	CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1UL, 0UL, 0UL, 0UL) == 0);
	CHECK(inner_seccomp(p) == 0);
	for (size_t i = 0; i < ARRAY_SIZE(calls); i++) {
		const struct call_case *c = &calls[i];
		const unsigned long *a = c->args;
		long rc;
		bool right;

		errno = 0;
		rc = syscall(c->nr, a[0], a[1], a[2], a[3], a[4], a[5]);
		right = c->errnum ? rc == -1 && errno == c->errnum
				  : rc >= 0 || (errno != EPERM && errno != ENOSYS);
		if (!right)
			failed++;
		if (!right)
			fprintf(stderr, "# %s: %ld %s\n", c->name, rc, strerror(errno));
	}
	free(p);
	CHECK(!failed);
}

static void denies_calls(void **state)
{
	(void)state;
	assert_int_equal(boxed_fork(geteuid(), tries_calls), 0);
}

/* It is run for every call: what it costs is its length. */
static void is_short(void **state)
{
	const struct sandbox nothing = {0};
	struct err err = {0};
	struct plan *p = plan_new(&nothing, &err);

	(void)state;
	assert_non_null(p);
	print_message("%u instructions\n", p->nfilter);
	assert_in_range(p->nfilter, 60, PLAN_FILTER - 1);
	free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		HARNESS_TEST(denies_calls),
		HARNESS_TEST(is_short),
	};

	return HARNESS_RUN(tests);
}
