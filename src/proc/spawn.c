/*
 * Between fork and exec the child allocates nothing and calls no stdio: all that it
 * needs (the candidates of the PATH search, the argv for a script without "#!") is
 * made before the fork. It leaves by SYS_exit, not exit_group: with the exit filter
 * in place the latter would wait for a supervisor that does not listen yet.
 */
#include "proc/spawn.h"

#include "base/fs.h"
#include "base/mem.h"
#include "proc/exit_notify.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define DEFAULT_PATH "/bin:/usr/bin" /* as execvp(3) when PATH is not set */

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

/* What the child may exec, in order, and the argv of a shell that runs a script. */
struct plan {
	struct strv paths;
	struct strv shell; /* "/bin/sh", the path, argv[1]… */
};

static void plan_make(struct plan *p, const struct spawn *s)
{
	struct strv env = {.v = (char **)(uintptr_t)s->env};
	const char *name = s->argv[0], *path;

	while (env.v[env.n])
		env.n++;
	path = env_get(&env, "PATH");
	if (!path)
		path = DEFAULT_PATH;
	if (strchr(name, '/')) {
		strv_add(&p->paths, name);
	} else if (*name) {
		for (const char *dir = path;; dir++) {
			size_t n = strcspn(dir, ":");

			if (n)
				strv_addf(&p->paths, "%.*s/%s", (int)n, dir, name);
			else /* an empty entry is the working directory */
				strv_addf(&p->paths, "./%s", name);
			dir += n;
			if (!*dir)
				break;
		}
	}
	strv_add(&p->shell, "/bin/sh");
	strv_add(&p->shell, name);
	strv_copy(&p->shell, s->argv + 1);
}

static void plan_release(struct plan *p)
{
	strv_release(&p->paths);
	strv_release(&p->shell);
}

static void reset_signals(void)
{
	sigset_t none;

	/* exec resets handlers, but keeps what is ignored. */
	for (int sig = 1; sig < NSIG; sig++)
		if (sig != SIGKILL && sig != SIGSTOP)
			/* glibc's signal() refuses 32 and 33, which make leaves
			 * ignored; the kernel's struct sigaction is at most this. */
			syscall(SYS_rt_sigaction, sig, (const long[4]){0}, NULL,
				(size_t)_NSIG / 8);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
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

/* By number: the wrapper of execve() in coverage builds writes its counters into files,
 * which the exit watch would stop before anybody serves it. */
static void exec(const char *path, char *const *argv, char *const *env)
{
	syscall(SYS_execve, path, argv, env);
}

/* As execvp(3): which errors go on to the next directory, and which is told. */
static int exec_plan(const struct plan *p, const struct spawn *s)
{
	int told = ENOENT;

	for (size_t i = 0; i < p->paths.n; i++) {
		exec(p->paths.v[i], s->argv, s->env);
		switch (errno) {
		case ENOEXEC:
			p->shell.v[1] = p->paths.v[i];
			exec(p->shell.v[0], p->shell.v, s->env);
			return errno;
		case EACCES:
			told = EACCES;
			break;
		case ENOENT:
		case ENOTDIR:
		case ESTALE:
		case ENODEV:
		case ETIMEDOUT:
			break;
		default:
			return errno;
		}
	}
	return told;
}

static struct spawn_failure child(const struct spawn *s, const struct plan *p)
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
	return (struct spawn_failure){SPAWN_EXEC, exec_plan(p, s)};
}

pid_t spawn(const struct spawn *s, int *ret_report)
{
	struct plan plan = {0};
	int report[2];
	int errnum;
	pid_t pid;

	if (spawn_pipe(report) < 0)
		return -1;
	plan_make(&plan, s);
	pid = fork();
	if (pid == 0) {
		struct spawn_failure f = child(s, &plan);

		if (write(report[1], &f, sizeof(f)) < 0)
			syscall(SYS_exit, 126);
		syscall(SYS_exit, 127);
	}
	errnum = errno;
	plan_release(&plan);
	close(report[1]);
	if (pid < 0) {
		close(report[0]);
		errno = errnum;
		return -1;
	}
	*ret_report = report[0];
	return pid;
}
