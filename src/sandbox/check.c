#include "sandbox/sandbox.h"

#include "base/fs.h"
#include "sandbox/explain.h"

#include <errno.h>
#include <linux/landlock.h>
#include <poll.h>
#include <sched.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* The run's own namespaces, with nothing to run in them. */
static int check_box(struct zygote *z, struct err *err)
{
	char *none[] = {NULL};
	const struct box_request req = {
		.argv = none, .env = none, .cwd = "/", .in = 0, .out = 1, .err = 2};
	uint64_t cpu, peak;
	struct box_event e;
	struct box b;
	int rc;

	if (zygote_run(z, &req, &b) < 0)
		return sandbox_explain("pid, mount and IPC namespaces", errno, err);
	for (;;) {
		struct pollfd p = {.fd = b.events, .events = POLLIN};

		rc = box_receive(&b, &e);
		if (rc == 0) {
			poll(&p, 1, -1);
			continue;
		}
		for (int i = 0; rc > 0 && i < 3; i++)
			fd_cleanup(&e.fds[i]);
		if (rc < 0 || e.kind != BOX_PRIVATE)
			break;
	}
	if (rc < 0)
		rc = err_set(err, ERR_ENVIRONMENT,
			     "the sandbox cannot be made: its init "
			     "died");
	else
		rc = e.kind == BOX_FAILED ? sandbox_explain(e.step, e.errnum, err) : 0;
	box_kill(&b, &cpu, &peak);
	return rc;
}

int sandbox_check(const struct sandbox *sb, struct err *err)
{
	struct zygote z;
	int rc;

	if (zygote_start(sb, &z, err) < 0)
		return -1;
	rc = check_box(&z, err);
	zygote_stop(&z);
	return rc;
}

/* By a child: the caller shall not be in it. */
bool sandbox_has_namespace(int flag)
{
	pid_t pid = fork();
	int status = 1;

	if (pid == 0)
		_exit(unshare(CLONE_NEWUSER) < 0 ||
		      (flag != CLONE_NEWUSER && unshare(flag) < 0));
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return pid > 0 && status == 0;
}

int sandbox_landlock_abi(void)
{
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0,
			   LANDLOCK_CREATE_RULESET_VERSION);

	return abi > 0 ? (int)abi : 0;
}
