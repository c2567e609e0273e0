/*
 * Between fork and exec the child calls no stdio. It leaves by SYS_exit, not exit_group:
 * with the exit filter in place the latter would wait for a supervisor that does not
 * listen yet.
 */
#include "proc/spawn.h"

#include "base/fs.h"
#include "base/mem.h"
#include "proc/exit_notify.h"
#include "sandbox/exec.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

static const char *const step_names[] = {
	[SPAWN_FORK] = "fork",	     [SPAWN_STDIO] = "stdio", [SPAWN_CHDIR] = "chdir",
	[SPAWN_SECCOMP] = "seccomp", [SPAWN_EXEC] = "exec",
};

const char *spawn_step_name(enum spawn_step s)
{
	return step_names[s];
}

int spawn_raise(int fd)
{
	int high;

	if (fd < 0 || fd > 2)
		return fd;
	high = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	close(fd);
	return high;
}

int spawn_pipe(int ret_fds[2])
{
	int fds[2];

	if (pipe2(fds, O_CLOEXEC) < 0)
		return -1;
	fds[0] = spawn_raise(fds[0]);
	fds[1] = spawn_raise(fds[1]);
	if (fds[0] < 0 || fds[1] < 0) {
		fd_cleanup(&fds[0]);
		fd_cleanup(&fds[1]);
		return -1;
	}
	ret_fds[0] = fds[0];
	ret_fds[1] = fds[1];
	return 0;
}

static int place_stdio(const struct spawn *s)
{
	const int from[3] = {s->in, s->out, s->err};

	for (int fd = 0; fd < 3; fd++)
		if (dup2(from[fd], fd) < 0)
			return -1;
	return 0;
}

static void no_core(void)
{
	struct rlimit lim;

	if (getrlimit(RLIMIT_CORE, &lim) == 0) {
		lim.rlim_cur = 0;
		setrlimit(RLIMIT_CORE, &lim);
	}
}

static struct spawn_failure child(const struct spawn *s)
{
	if (s->session) {
		setsid();
		no_core();
		/* The root must not outlive a supervisor that was killed. */
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	}
	reset_signals();
	if (place_stdio(s) < 0)
		return (struct spawn_failure){SPAWN_STDIO, errno};
	close_range(3, ~0U, CLOSE_RANGE_CLOEXEC);
	if (s->cwd && chdir(s->cwd) < 0)
		return (struct spawn_failure){SPAWN_CHDIR, errno};
	if (s->watch && exit_notify_install(s->watch_fd, s->names) < 0)
		return (struct spawn_failure){SPAWN_SECCOMP, errno};
	exec_search(s->argv, s->env);
	return (struct spawn_failure){SPAWN_EXEC, errno};
}

pid_t spawn(const struct spawn *s, int *ret_report)
{
	int report[2];
	int errnum;
	pid_t pid;

	if (spawn_pipe(report) < 0)
		return -1;
	pid = fork();
	if (pid == 0) {
		struct spawn_failure f = child(s);

		if (write(report[1], &f, sizeof(f)) < 0)
			syscall(SYS_exit, 126);
		syscall(SYS_exit, 127);
	}
	errnum = errno;
	close(report[1]);
	if (pid < 0) {
		close(report[0]);
		errno = errnum;
		return -1;
	}
	*ret_report = report[0];
	return pid;
}
