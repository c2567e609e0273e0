/*
 * From a process that has entered the sandbox to an interpreter that serves there:
 *
 *	the caller ──clone──> guard   pid 1 of a new namespace, waits
 *	           ──clone──> server  pid 2, execs the interpreter
 *
 * Both are children of the supervisor. The interpreter cannot be pid 1 itself: the
 * kernel does not let pid 1 make siblings (CLONE_PARENT), as a zygote must. The guard
 * ends, and with it the kernel ends all in the namespace, when the server ends or the
 * supervisor dies.
 */
#include "sandbox/inner.h"

#include "sandbox/exec.h"
#include "sandbox/server.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/close_range.h>
#include <linux/sched.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef AT_RECURSIVE
#define AT_RECURSIVE 0x8000 /* linux/fcntl.h */
#endif

static int fail(const char **step, const char *what)
{
	*step = what;
	return -1;
}

static pid_t clone_sibling(void)
{
	struct clone_args args = {.flags = CLONE_PARENT};

	return (pid_t)syscall(SYS_clone3, &args, sizeof(args));
}

/* Its pid in the new namespace. It is made just after us. */
static int open_server(void)
{
	for (int i = 0; i < 1000; i++) {
		int fd = (int)syscall(SYS_pidfd_open, 2, 0);

		if (fd >= 0)
			return fd;
		usleep(1000);
	}
	return -1;
}

static _Noreturn void guard(void)
{
	struct pollfd p = {.fd = SERVER_SOCKET};

	prctl(PR_SET_PDEATHSIG, (unsigned long)SIGKILL, 0UL, 0UL, 0UL);
	if (poll(&p, 1, 0) != 0) /* the supervisor died before that */
		_exit(1);
	signal(SIGCHLD, SIG_IGN); /* nobody waits for orphans */
	p = (struct pollfd){.fd = open_server(), .events = POLLIN};
	if (p.fd > 0) {
		close_range(0, (unsigned)p.fd - 1, 0);
		close_range((unsigned)p.fd + 1, ~0U, 0);
	}
	while (p.fd >= 0 && poll(&p, 1, -1) < 0 && errno == EINTR)
		;
	_exit(0);
}

/*
 * The interpreter of a virtual environment may lie in a view. Read-only: it is for what
 * is loaded, and the runs mount the views again. A view within a view may have no place
 * there, and the server then does not find its interpreter.
 */
static void show_views(const struct plan *p)
{
	struct mount_attr attr = {.attr_set = MOUNT_ATTR_RDONLY};

	for (uint32_t i = 0; i < p->nviews; i++) {
		const char *at = plan_string(p, p->views[i].at);
		char from[64];

		snprintf(from, sizeof(from), INNER_VIEWS "/%u", i);
		if (mount(from, at, NULL, MS_BIND | MS_REC, NULL) == 0)
			mount_setattr(AT_FDCWD, at, AT_RECURSIVE, &attr, sizeof(attr));
	}
}

static int become_server(const struct plan *p, const struct inner_server *s,
			 const char **step)
{
	unsigned long flags = MS_NOSUID | MS_NODEV | MS_NOEXEC;
	char program[PATH_MAX];

	prctl(PR_SET_PDEATHSIG, (unsigned long)SIGKILL, 0UL, 0UL, 0UL);
	if (p->is_root)
		flags |= MS_RDONLY; /* see init.c */
	if (mount("proc", "/proc", "proc", flags, NULL) < 0)
		return fail(step, "mount of /proc");
	show_views(p);
	if (chdir(s->cwd) < 0)
		return fail(step, "chdir");
	if (exec_find(s->argv[0], s->env, program) < 0)
		return fail(step, "interpreter");
	reset_signals();
	if (inner_server_capabilities() < 0)
		return fail(step, "capabilities");
	if (inner_server_seccomp(p) < 0)
		return fail(step, "seccomp");
	for (int fd = SERVER_SOCKET; fd <= SERVER_LIBRARY; fd++)
		fcntl(fd, F_SETFD, 0);
	execve(program, s->argv, s->env);
	return fail(step, "exec");
}

static _Noreturn void say_failed(const char *step)
{
	struct message_ready ready = {.errnum = errno};

	snprintf(ready.step, sizeof(ready.step), "%s", step);
	message_send(SERVER_SOCKET, &ready, sizeof(ready), NULL, 0);
	_exit(1);
}

int inner_server_start(const struct plan *p, const struct inner_server *s,
		       const char **step)
{
	pid_t pid;

	if (unshare(CLONE_NEWPID) < 0)
		return fail(step, "pid namespace");
	pid = clone_sibling();
	if (pid == 0)
		guard();
	if (pid > 0)
		pid = clone_sibling();
	if (pid == 0 && become_server(p, s, step) < 0)
		say_failed(*step);
	return pid < 0 ? fail(step, "clone") : 0;
}
