#include "proc/proc.h"

#include "base/fs.h"
#include "base/mem.h"
#include "proc/children.h"
#include "proc/spawn.h"
#include "proc/supervisor.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <sys/wait.h>

enum { RESULT, CONTROL }; /* descriptors of a supervisor */

struct proc {
	struct child child;
	bool watched;
};

_Static_assert(sizeof(struct run_result) <= PIPE_BUF, "a result is written at once");

static int check_spec(const struct run_spec *spec, struct err *err)
{
	if (!spec->argv.n || !spec->dir || !spec->cwd)
		return err_set(err, ERR_INTERNAL, "a run without %s",
			       !spec->argv.n ? "a command"
			       : spec->dir   ? "a working directory"
					     : "an output directory");
	return 0;
}

static _Noreturn void in_child(const struct run_spec *spec, int result, int control)
{
	children_close();
	supervise(spec, result, control);
}

struct proc *proc_start(const struct run_spec *spec, struct err *err)
{
	int result[2], control[2];
	struct proc *p;
	pid_t pid;

	if (check_spec(spec, err) < 0)
		return NULL;
	children_adopt();
	if (spawn_pipe(result) < 0)
		goto no_pipe;
	if (spawn_pipe(control) < 0)
		goto no_control;
	pid = fork();
	if (pid < 0)
		goto no_fork;
	if (pid == 0) {
		close(result[0]);
		close(control[1]);
		in_child(spec, result[1], control[0]);
	}
	close(result[1]);
	close(control[0]);
	p = xcalloc(1, sizeof(*p));
	*p = (struct proc){
		.child = {.pid = pid, .fds = {result[0], control[1], -1, -1, -1, -1}},
		.watched = spec->watch != NULL,
	};
	child_add(&p->child);
	return p;

no_fork:
	err_errno(err, ERR_ENVIRONMENT, errno, "cannot fork a supervisor for %s",
		  spec->argv.v[0]);
	close(control[0]);
	close(control[1]);
	close(result[0]);
	close(result[1]);
	return NULL;
no_control:
	close(result[0]);
	close(result[1]);
no_pipe:
	err_errno(err, ERR_ENVIRONMENT, errno, "cannot make a pipe for %s",
		  spec->argv.v[0]);
	return NULL;
}

int proc_fd(const struct proc *p)
{
	return p->child.fds[RESULT];
}

void proc_cancel(struct proc *p)
{
	/* Closing says it as well as a byte, and cannot raise SIGPIPE. */
	fd_cleanup(&p->child.fds[CONTROL]);
	p->child.fds[CONTROL] = -1;
}

void proc_finish(struct proc *p, struct run_result *ret)
{
	struct run_result r = {0};
	ssize_t n;

	do {
		n = read(p->child.fds[RESULT], &r, sizeof(r));
	} while (n < 0 && errno == EINTR);
	while (waitpid(p->child.pid, NULL, 0) < 0 && errno == EINTR)
		;
	child_remove(&p->child);
	if (n != (ssize_t)sizeof(r)) {
		r = (struct run_result){.end = RUN_LOST, .watch_failed = p->watched};
		child_kill_orphans(&p->child);
	}
	close(p->child.fds[RESULT]);
	fd_cleanup(&p->child.fds[CONTROL]);
	free(p);
	*ret = r;
}

int proc_run(const struct run_spec *spec, struct run_result *ret, struct err *err)
{
	struct proc *p;

	if (proc_interrupted())
		return err_set(err, ERR_INTERRUPTED, "interrupted by signal %d",
			       proc_interrupted());
	p = proc_start(spec, err);
	if (!p)
		return -1;
	for (;;) {
		struct pollfd fds[2] = {{.fd = p->child.fds[RESULT], .events = POLLIN},
					{.fd = proc_interrupt_fd(), .events = POLLIN}};

		if (poll(fds, 2, -1) < 0 && errno != EINTR)
			break;
		if (fds[0].revents)
			break;
		if (proc_interrupted()) {
			proc_cancel(p);
			break;
		}
	}
	proc_finish(p, ret);
	return 0;
}
