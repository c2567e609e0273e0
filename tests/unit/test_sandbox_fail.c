/*
 * What a kernel, a container or a security module may refuse: each call that makes the
 * sandbox fails once, by a filter that the zygote and init inherit. Nothing may then be
 * run in less than the whole sandbox.
 */
#include "boxed.h"

#include <fcntl.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/mount.h>
#include <sys/resource.h>

#define ANY_ARG 9 /* all calls, whatever their arguments */

static const struct fail_case {
	const char *step; /* in the message; NULL: it works all the same */
	const char *call;
	unsigned arg;
	uint64_t value;
	int errnum;
} fail_cases[] = {
	{"descriptors", "close_range", ANY_ARG, 0, ENOSYS},
	{"descriptors", "dup3", ANY_ARG, 0, EMFILE},
	{"descriptors", "close_range", 2, 4 /* CLOSE_RANGE_CLOEXEC */, EINVAL},
	{"user namespace", "unshare", ANY_ARG, 0, EPERM},
	{"user namespace", "unshare", 0, CLONE_NEWUSER, ENOSPC},
	{"mount namespace", "unshare", 0, CLONE_NEWNS, EPERM},
	{"network namespace", "unshare", 0, CLONE_NEWNET, EINVAL},
	{"UTS namespace", "unshare", 0, CLONE_NEWUTS, EINVAL},
	{"cgroup namespace", "unshare", 0, CLONE_NEWCGROUP, EINVAL},
	{"user namespace", "unshare", 0, CLONE_NEWUSER | CLONE_NEWNS, EPERM},
	{"private mounts", "mount", 3, MS_REC | MS_PRIVATE, EPERM},
	{"clone of", "open_tree", ANY_ARG, 0, ENOSYS},
	{"clone of", "mount_setattr", ANY_ARG, 0, ENOSYS}, /* before Linux 5.12 */
	{"tmpfs", "mount", 3, MS_NOSUID, ENODEV},
	{"pivot_root", "pivot_root", ANY_ARG, 0, EINVAL}, /* on a ramfs */
	{"pivot_root", "umount2", ANY_ARG, 0, EINVAL},
	{"system directories", "move_mount", ANY_ARG, 0, EPERM},
	{"cannot be made", "symlink", ANY_ARG, 0, ENOSPC},
	{NULL, "mount", 3, MS_NOSUID | MS_NOEXEC, ENODEV}, /* no devpts */
	{"devices", "mount", 3, MS_NOSUID | MS_NOEXEC, EPERM},
	{"hiding secrets", "mount", 3, MS_BIND, EPERM},
	{"pid, mount and IPC", "clone3", ANY_ARG, 0, ENOSYS},
	{"pid, mount and IPC", "clone3", ANY_ARG, 0, EAGAIN},
	{"mount of /proc", "mount", 3, MS_NOSUID | MS_NODEV | MS_NOEXEC, EPERM},
	{"private directories", "mount", 3, MS_NOSUID | MS_NODEV, EPERM},
	{"capabilities", "prctl", 0, PR_SET_SECUREBITS, EPERM},
	{"capabilities", "capset", ANY_ARG, 0, EPERM},
	{"capabilities", "prctl", 0, PR_SET_NO_NEW_PRIVS, EINVAL},
	{NULL, "landlock_create_ruleset", ANY_ARG, 0, ENOSYS}, /* a kernel without */
	{"Landlock", "landlock_create_ruleset", 2, 0, ENOMEM},
	{"Landlock", "landlock_add_rule", ANY_ARG, 0, ENOMEM},
	{"Landlock", "landlock_restrict_self", ANY_ARG, 0, E2BIG},
	{"seccomp", "seccomp", ANY_ARG, 0, EINVAL},
	{"rlimits", "prlimit64", 1, RLIMIT_CORE, EPERM},
	{"rlimits", "prlimit64", 1, RLIMIT_NOFILE, EPERM},
	{"descriptors", "dup2", ANY_ARG, 0, EMFILE},
	{"fork", "vfork", ANY_ARG, 0, EAGAIN},
	{NULL, "setsid", ANY_ARG, 0, EPERM}, /* it leads one already */
};

static const struct fail_case *fail_case;

/* From here on; false: this machine has no such call. */
static bool refuse(const struct fail_case *c)
{
	scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_ALLOW);
	int nr = seccomp_syscall_resolve_name(c->call);
	const uint32_t act = SCMP_ACT_ERRNO((uint32_t)c->errnum);
	/* The /proc of root's runs is read-only. */
	const uint64_t mask =
		strcmp(c->call, "mount") ? UINT64_MAX : ~(uint64_t)MS_RDONLY;
	int rc;

	CHECK(ctx);
	if (nr == __NR_SCMP_ERROR || nr < 0) {
		seccomp_release(ctx);
		return false;
	}
	rc = c->arg == ANY_ARG ? seccomp_rule_add(ctx, act, nr, 0)
			       : seccomp_rule_add(ctx, act, nr, 1,
						  SCMP_CMP(c->arg, SCMP_CMP_MASKED_EQ,
							   mask, c->value));
	CHECK(rc == 0);
	CHECK(seccomp_load(ctx) == 0);
	seccomp_release(ctx);
	return true;
}

/* The step that failed: in the error of the zygote, or told by init. */
static const char *try_all(void)
{
	static struct err err;
	static struct boxed r;
	const struct sandbox nothing = {.network = NETWORK_NONE};
	char *argv[] = {(char[]){"/bin/true"}, NULL}, *env[] = {NULL};
	struct zygote z;
	struct box_request req = {.argv = argv,
				  .env = env,
				  .cwd = "/",
				  .in = 0,
				  .out = 1,
				  .err = 2,
				  .limits = {.files = 64, .disk = 1 << 20}};
	uint64_t cpu, peak;
	bool empty = false;
	struct box b;

	if (zygote_start(&nothing, &z, &err) < 0) {
		CHECK(err.hint[0]);
		return err.message;
	}
	r = (struct boxed){.status = -1};
	if (zygote_run(&z, &req, &b) < 0)
		snprintf(r.step, sizeof(r.step), "pid, mount and IPC");
	else {
		while (!empty && !r.lost) {
			struct pollfd p = {.fd = b.events, .events = POLLIN};

			CHECK(poll(&p, 1, 20000) > 0);
			boxed_events(&b, &r, &empty);
		}
		box_kill(&b, &cpu, &peak);
	}
	zygote_stop(&z);
	if (!r.step[0] && (r.lost || r.status != 0))
		return "nothing was said";
	return r.step[0] ? r.step : NULL;
}

static void refuses_one(void)
{
	const struct fail_case *c = fail_case;
	const char *step;
	uint64_t before = 0, after = 0;

	/* dup2() and vfork() by these names are not everywhere what libc calls. */
	for (int fd = 0; fd < 64; fd++)
		before |= fcntl(fd, F_GETFD) >= 0 ? UINT64_C(1) << fd : 0;
	if (!refuse(c))
		return;
	step = try_all();
	if (c->step ? !step || !strstr(step, c->step) : step != NULL) {
		fprintf(stderr, "# %s %s: %s, not %s\n", c->call, strerror(c->errnum),
			step ? step : "works", c->step ? c->step : "works");
		_exit(1);
	}
	for (int fd = 0; fd < 64; fd++)
		after |= fcntl(fd, F_GETFD) >= 0 ? UINT64_C(1) << fd : 0;
	CHECK(before == after);
	CHECK(waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD);
}

static void each_call_may_fail(void **state)
{
	int failed = 0;

	(void)state;
	if (boxed_fork(geteuid(), boxed_probe) == 77)
		skip();
	for (size_t i = 0; i < ARRAY_SIZE(fail_cases); i++) {
		fail_case = &fail_cases[i];
		failed += boxed_fork(geteuid(), refuses_one) != 0;
		if (geteuid() == 0 && boxed_fork(BOXED_USER, boxed_probe) == 0)
			failed += boxed_fork(BOXED_USER, refuses_one) != 0;
	}
	assert_int_equal(failed, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		HARNESS_TEST(each_call_may_fail),
	};

	return HARNESS_RUN(tests);
}
