/*
 * One supervisor per run, forked from exitpath, one thread, one poll loop:
 *
 *   exitpath ──control pipe──> supervisor ──> root of the command ──> its descendants
 *            <─result pipe────            <── stdout, stderr pipes
 *                                         <── exit listener (exit_notify.c)
 *
 * It is a child subreaper: a descendant whose parent died becomes its child, so that
 * no double fork or setsid() leaves the tree, and "no children" means "no descendants".
 * It leads a session of its own and blocks every signal that can be blocked: what the
 * terminal or the command sends by group does not reach it. exitpath tells it to stop
 * through the control pipe; EOF there means that exitpath died, and ends the run too.
 *
 * The run is over when the root has ended (SIGCHLD through a signalfd), when the
 * deadline passed (timerfd), or when it is cancelled. EOF of the output pipes means
 * nothing: a daemon may hold them open. What is still there after a short grace is
 * shown to the watch and killed.
 *
 * It leaves by _exit(): neither exit handlers of exitpath nor a leak check may run.
 */
#include "proc/supervisor.h"

#include "base/clock.h"
#include "base/fs.h"
#include "proc/exit_notify.h"
#include "proc/hang.h"
#include "proc/output.h"
#include "proc/spawn.h"
#include "proc/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/wait.h>

/* Members of a pipeline and helpers that notice the root's end need a moment to end
 * themselves; what is there after it would have stayed. */
#define GRACE_US 100000
#define GRACE_POLL_MS 3
#define MAX_LEFT 4096 /* processes shown to the watch; all are killed */

/* In a build for coverage: _exit() would throw the supervisor's counters away. */
extern void __gcov_dump(void) __attribute__((weak));

enum slot {
	SLOT_NOTIFY,
	SLOT_REPORT,
	SLOT_STDOUT,
	SLOT_STDERR,
	SLOT_CHILD,
	SLOT_CONTROL,
	SLOT_TIMER,
	SLOTS,
};

struct supervisor {
	const struct run_spec *spec;
	const struct supervise_opts *opts;
	int control; /* -1: exitpath is gone, or nobody can cancel */
	bool cancelled;
	int children; /* signalfd for SIGCHLD */
	int timer;
	int report; /* of spawn(); -1: the command was exec'ed */
	int socket; /* brings the listener */
	struct exit_notify notify;
	struct output out, err;
	pid_t root;
	bool over;
	uint64_t started;
	uint64_t cpu_before_us; /* of earlier runs of this process */
	struct run_result result;
};

static void end_run(struct supervisor *s, enum run_end end)
{
	if (s->over)
		return;
	s->over = true;
	s->result.end = end;
	s->result.wall_us = clock_us() - s->started;
}

static void not_started(struct supervisor *s, const char *step, int errnum)
{
	end_run(s, RUN_NOT_STARTED);
	snprintf(s->result.step, sizeof(s->result.step), "%s", step);
	s->result.errnum = errnum;
}

void supervisor_become(void)
{
	sigset_t all;
	int null;

	setsid();
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	signal(SIGCHLD, SIG_DFL); /* ignored, it would make wait() wait for all */
	prctl(PR_SET_CHILD_SUBREAPER, 1UL, 0UL, 0UL, 0UL);
	null = open("/dev/null", O_RDWR | O_CLOEXEC);
	for (int fd = 0; fd < 3; fd++)
		if (null >= 0 && null != fd)
			dup2(null, fd);
	if (null > 2)
		close(null);
	/* Other descriptors stay open, as the watch may need some: spawn() keeps them
	 * from the command. */
}

static void arm_timer(int fd, uint64_t ms)
{
	struct itimerspec at = {.it_value = {.tv_sec = (time_t)(ms / 1000),
					     .tv_nsec = (long)(ms % 1000) * 1000000}};

	timerfd_settime(fd, 0, &at, NULL); /* all zero: never */
}

static int open_output(struct supervisor *s, struct output *o, int file, const char *name,
		       uint64_t cap, int *ret_write)
{
	return file < 0 ? output_open(o, s->spec->dir, name, cap, ret_write)
			: output_open_file(o, file, cap, ret_write);
}

/* 0, or -1 after not_started(). */
static int prepare(struct supervisor *s, int *ret_out, int *ret_err, int *ret_socket)
{
	const struct run_spec *spec = s->spec;
	uint64_t cap = spec->output_cap ? spec->output_cap : DEFAULT_OUTPUT_CAP;
	sigset_t chld;
	int pair[2] = {-1, -1};

	sigemptyset(&chld);
	sigaddset(&chld, SIGCHLD);
	s->children = signalfd(-1, &chld, SFD_CLOEXEC | SFD_NONBLOCK);
	s->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (s->children < 0 || s->timer < 0 ||
	    open_output(s, &s->out, s->opts->out, "stdout", cap, ret_out) < 0 ||
	    open_output(s, &s->err, s->opts->err, "stderr", cap, ret_err) < 0 ||
	    (spec->watch &&
	     socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)) {
		not_started(s, "output", errno);
		return -1;
	}
	s->socket = pair[0];
	*ret_socket = pair[1];
	return 0;
}

static void start(struct supervisor *s)
{
	int out = -1, err = -1, socket = -1;
	struct spawn sp;

	if (prepare(s, &out, &err, &socket) < 0)
		return;
	sp = (struct spawn){
		.argv = s->spec->argv.v,
		.env = s->spec->env.v,
		.cwd = s->spec->cwd,
		.in = s->opts->in >= 0 ? s->opts->in : STDIN_FILENO,
		.out = out,
		.err = err,
		.session = true,
		.watch = s->spec->watch != NULL,
		.names = s->spec->watch && s->spec->watch->at_name,
		.watch_fd = socket,
	};
	s->started = clock_us();
	arm_timer(s->timer, s->spec->timeout_ms);
	s->root = spawn(&sp, &s->report);
	if (s->root < 0)
		not_started(s, spawn_step_name(SPAWN_FORK), errno);
	close(out);
	close(err);
	fd_cleanup(&socket);
}

/* Says false when no child, and so no descendant, is left. */
static bool reap(struct supervisor *s)
{
	for (;;) {
		int status;
		pid_t pid = waitpid(-1, &status, WNOHANG | __WALL);

		if (pid < 0)
			return errno != ECHILD;
		if (pid == 0)
			return true;
		if (pid != s->root || s->over)
			continue;
		if (WIFSIGNALED(status)) {
			end_run(s, RUN_SIGNALED);
			s->result.signal = WTERMSIG(status);
		} else {
			end_run(s, RUN_EXITED);
			s->result.status = WEXITSTATUS(status);
		}
	}
}

static void on_child(struct supervisor *s)
{
	struct signalfd_siginfo info[4];

	while (read(s->children, info, sizeof(info)) > 0)
		;
	reap(s);
}

static void on_report(struct supervisor *s)
{
	struct spawn_failure f;
	ssize_t n = read(s->report, &f, sizeof(f));

	close(s->report);
	s->report = -1;
	if (n == (ssize_t)sizeof(f)) {
		s->result.watch_failed = f.step == SPAWN_SECCOMP;
		not_started(s, spawn_step_name(f.step), f.errnum);
		return;
	}
	if (!s->spec->watch)
		return;
	exit_notify_init(&s->notify, exit_notify_receive(s->socket), s->root,
			 s->spec->watch);
	if (s->notify.fd < 0)
		s->result.watch_failed = true;
	close(s->socket);
	s->socket = -1;
}

static void on_notify(struct supervisor *s, short events)
{
	if (!(events & POLLIN)) { /* POLLHUP: nobody is left who has the filter */
		exit_notify_release(&s->notify);
	} else if (exit_notify_serve(&s->notify) < 0) {
		/* Whoever waits in it gets ENOSYS and dies: the run is void anyhow. */
		s->result.watch_failed = true;
		exit_notify_release(&s->notify);
	}
}

static void on_control(struct supervisor *s)
{
	char byte;
	ssize_t n = read(s->control, &byte, 1);

	if (n < 0 && errno == EINTR)
		return;
	/* EOF is for good: exitpath is gone. A byte is for this run. */
	if (n == 0)
		s->control = -1;
	s->cancelled = true;
	end_run(s, RUN_CANCELLED);
}

static void step(struct supervisor *s, int timeout_ms)
{
	struct pollfd p[SLOTS] = {
		[SLOT_NOTIFY] = {.fd = s->notify.fd, .events = POLLIN},
		[SLOT_REPORT] = {.fd = s->report, .events = POLLIN},
		[SLOT_STDOUT] = {.fd = s->out.pipe, .events = POLLIN},
		[SLOT_STDERR] = {.fd = s->err.pipe, .events = POLLIN},
		[SLOT_CHILD] = {.fd = s->children, .events = POLLIN},
		[SLOT_CONTROL] = {.fd = s->control, .events = POLLIN},
		[SLOT_TIMER] = {.fd = s->over ? -1 : s->timer, .events = POLLIN},
	};

	if (poll(p, SLOTS, timeout_ms) <= 0)
		return;
	if (p[SLOT_NOTIFY].revents)
		on_notify(s, p[SLOT_NOTIFY].revents);
	if (p[SLOT_REPORT].revents)
		on_report(s);
	if (p[SLOT_STDOUT].revents)
		output_read(&s->out);
	if (p[SLOT_STDERR].revents)
		output_read(&s->err);
	if (p[SLOT_CHILD].revents)
		on_child(s);
	if (p[SLOT_CONTROL].revents)
		on_control(s);
	if (p[SLOT_TIMER].revents)
		end_run(s, RUN_TIMED_OUT);
}

static void grace(struct supervisor *s)
{
	uint64_t until = clock_us() + GRACE_US;

	while (!s->cancelled && reap(s) && clock_us() < until)
		step(s, GRACE_POLL_MS);
}

/* Stops the descendants and lists those that live. */
static size_t freeze(pid_t *left)
{
	size_t n = proc_descendants(getpid(), left, MAX_LEFT), live = 0;

	if (n > MAX_LEFT)
		n = MAX_LEFT;
	for (size_t i = 0; i < n; i++) {
		struct proc_stat st;

		kill(left[i], SIGSTOP);
		if (proc_stat_read(left[i], &st) == 0 && st.state != 'Z' &&
		    st.state != 'X')
			left[live++] = left[i];
	}
	return live;
}

static void show_left(struct supervisor *s)
{
	static pid_t left[MAX_LEFT];
	const struct run_watch *w = s->spec->watch;

	if (w && w->at_end && !s->result.watch_failed)
		w->at_end(w->ctx, left, reap(s) ? freeze(left) : 0, NULL);
}

static void clean_up(struct supervisor *s)
{
	bool ended = s->result.end == RUN_EXITED || s->result.end == RUN_SIGNALED;
	unsigned killed;

	if (ended) {
		grace(s);
		show_left(s);
	} else if (s->result.end == RUN_TIMED_OUT) {
		hang_write(s->spec->dir, getpid());
	}
	if (!reap(s))
		return;
	killed = proc_kill_descendants(getpid());
	if (ended)
		s->result.left_behind = killed;
	reap(s);
}

static uint64_t children_cpu_us(const struct rusage *u)
{
	return (uint64_t)(u->ru_utime.tv_sec + u->ru_stime.tv_sec) * 1000000 +
	       (uint64_t)(u->ru_utime.tv_usec + u->ru_stime.tv_usec);
}

static void measure(struct supervisor *s)
{
	struct run_result *r = &s->result;
	struct rusage u;

	/* All descendants were reaped here or by a parent that was. The peak of a tiny
	 * program is that of our fork before its exec: the kernel keeps the maximum. */
	if (getrusage(RUSAGE_CHILDREN, &u) < 0)
		return;
	r->cpu_us = children_cpu_us(&u) - s->cpu_before_us;
	r->peak_kib = (uint64_t)u.ru_maxrss;
}

static void release(struct supervisor *s)
{
	fd_cleanup(&s->children);
	fd_cleanup(&s->timer);
	fd_cleanup(&s->report);
	fd_cleanup(&s->socket);
	exit_notify_release(&s->notify);
}

void supervise_run(const struct run_spec *spec, const struct supervise_opts *opts,
		   struct run_result *ret)
{
	struct rusage before = {0};
	struct supervisor s = {
		.spec = spec,
		.opts = opts,
		.control = opts->control,
		.children = -1,
		.timer = -1,
		.report = -1,
		.socket = -1,
		.notify = {.fd = -1},
		.out = {.pipe = -1, .file = -1},
		.err = {.pipe = -1, .file = -1},
	};

	getrusage(RUSAGE_CHILDREN, &before);
	s.cpu_before_us = children_cpu_us(&before);
	start(&s);
	while (!s.over)
		step(&s, -1);
	if (s.root > 0)
		clean_up(&s);
	output_finish(&s.out);
	output_finish(&s.err);
	measure(&s);
	s.result.stdout_bytes = s.out.bytes;
	s.result.stderr_bytes = s.err.bytes;
	s.result.stdout_cut = s.out.cut;
	s.result.stderr_cut = s.err.cut;
	release(&s);
	*ret = s.result;
}

void supervise(const struct run_spec *spec, int result_fd, int control_fd)
{
	const struct supervise_opts opts = {
		.control = control_fd, .out = -1, .err = -1, .in = -1};
	struct run_result result;

	supervisor_become();
	supervise_run(spec, &opts, &result);
	if (__gcov_dump)
		__gcov_dump();
	/* Smaller than PIPE_BUF: whole or not at all. */
	_exit(write_all(result_fd, &result, sizeof(result)) < 0);
}
