#include "proc/proc.h"

#include "base/fs.h"
#include "base/mem.h"
#include "proc/spawn.h"
#include "proc/supervisor.h"
#include "proc/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>

struct proc {
	pid_t supervisor;
	unsigned long long started; /* as proc_stat.start */
	int result, control;
	bool watched;
	struct proc *next;
};

static struct proc *running;

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

/* If a supervisor is killed its orphans must come to us, and not to init. */
static void adopt_orphans(void)
{
	struct sigaction chld;

	prctl(PR_SET_CHILD_SUBREAPER, 1UL, 0UL, 0UL, 0UL);
	if (sigaction(SIGCHLD, NULL, &chld) == 0 && chld.sa_handler == SIG_IGN)
		signal(SIGCHLD, SIG_DFL); /* inherited, it would hide exit states */
}

static _Noreturn void in_child(const struct run_spec *spec, int result, int control)
{
	/* An exitpath that dies must be seen by every supervisor, not by the last. */
	for (const struct proc *p = running; p; p = p->next) {
		close(p->result);
		close(p->control);
	}
	supervise(spec, result, control);
}

struct proc *proc_start(const struct run_spec *spec, struct err *err)
{
	int result[2], control[2];
	struct proc_stat st = {0};
	struct proc *p;
	pid_t pid;

	if (check_spec(spec, err) < 0)
		return NULL;
	adopt_orphans();
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
	proc_stat_read(pid, &st);
	p = xcalloc(1, sizeof(*p));
	*p = (struct proc){.supervisor = pid,
			   .started = st.start,
			   .result = result[0],
			   .control = control[1],
			   .watched = spec->watch != NULL,
			   .next = running};
	running = p;
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
	return p->result;
}

void proc_cancel(struct proc *p)
{
	/* Closing says it as well as a byte, and cannot raise SIGPIPE. */
	fd_cleanup(&p->control);
	p->control = -1;
}

static bool is_supervisor(pid_t pid)
{
	for (const struct proc *p = running; p; p = p->next)
		if (p->supervisor == pid)
			return true;
	return false;
}

/* What a lost supervisor had below it is now our child, next to other supervisors, and
 * to whatever was there before that supervisor. */
static bool kill_orphans(unsigned long long started)
{
	pid_t pids[256], self = getpid();
	size_t n = proc_descendants(self, pids, ARRAY_SIZE(pids));
	bool found = false;

	for (size_t i = 0; i < n && i < ARRAY_SIZE(pids); i++) {
		struct proc_stat st;

		if (proc_stat_read(pids[i], &st) < 0 || st.ppid != self ||
		    st.start < started || is_supervisor(pids[i]))
			continue;
		kill(pids[i], SIGSTOP);
		proc_kill_descendants(pids[i]);
		kill(pids[i], SIGKILL);
		waitpid(pids[i], NULL, __WALL);
		found = true;
	}
	return found || n > ARRAY_SIZE(pids);
}

static void forget(struct proc *p)
{
	for (struct proc **at = &running; *at; at = &(*at)->next) {
		if (*at == p) {
			*at = p->next;
			return;
		}
	}
}

void proc_finish(struct proc *p, struct run_result *ret)
{
	struct run_result r = {0};
	ssize_t n;

	do {
		n = read(p->result, &r, sizeof(r));
	} while (n < 0 && errno == EINTR);
	while (waitpid(p->supervisor, NULL, 0) < 0 && errno == EINTR)
		;
	forget(p);
	if (n != (ssize_t)sizeof(r)) {
		r = (struct run_result){.end = RUN_LOST, .watch_failed = p->watched};
		for (int i = 0; i < 100 && kill_orphans(p->started); i++)
			;
	}
	close(p->result);
	fd_cleanup(&p->control);
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
		struct pollfd fds[2] = {{.fd = p->result, .events = POLLIN},
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
