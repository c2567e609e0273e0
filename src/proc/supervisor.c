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
#include "proc/watchdog.h"
#include "sandbox/cgroup.h"
#include "sandbox/sandbox.h"

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
	SLOT_BOX,
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
	pid_t root; /* of the command; sandboxed: known only when it is watched */
	bool over;
	uint64_t started;
	uint64_t cpu_before_us; /* of earlier runs of this process */
	struct watchdog dog;
	uint64_t look_at; /* when the watchdog looks next, 0: never */
	/* Of a sandboxed run; box.init -1: it is none, or was not started. */
	struct box box;
	struct zygote own_zygote, *zygote;
	struct cgroup *own_cgroup, *cgroup;
	struct run_private private;
	bool empty; /* none but init is left */
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
	    (spec->watch && !spec->sandbox &&
	     socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)) {
		not_started(s, "output", errno);
		return -1;
	}
	s->socket = pair[0];
	*ret_socket = pair[1];
	return 0;
}

static void start_plain(struct supervisor *s, const struct spawn *sp)
{
	s->root = spawn(sp, &s->report);
	if (s->root < 0)
		not_started(s, spawn_step_name(SPAWN_FORK), errno);
	s->dog.root = getpid();
}

static void sandbox_failed(struct supervisor *s, const char *step, int errnum)
{
	not_started(s, step, errnum);
	s->result.end = RUN_SANDBOX_FAILED;
}

/* The cgroup and the zygote that the caller keeps, or some for this run alone. */
static int enter_sandbox(struct supervisor *s)
{
	const struct limits *l = &s->spec->limits;
	struct err err = {0};

	s->zygote = s->opts->zygote;
	s->cgroup = s->opts->cgroup;
	if (!s->zygote && (l->memory || l->pids || l->cpu_ms))
		s->cgroup = s->own_cgroup = cgroup_open(&err);
	if (!s->zygote) {
		errno = 0;
		if (zygote_start_in(s->spec->sandbox, s->cgroup, &s->own_zygote, &err) <
		    0) {
			sandbox_failed(s, "sandbox", errno ? errno : ENOTSUP);
			return -1;
		}
		s->zygote = &s->own_zygote;
	}
	if (s->cgroup && cgroup_begin(s->cgroup, l, 2) < 0) {
		sandbox_failed(s, "cgroup", errno);
		return -1;
	}
	return 0;
}

static void start_boxed(struct supervisor *s, const struct spawn *sp)
{
	const struct box_request req = {
		.argv = sp->argv,
		.env = sp->env,
		.cwd = sp->cwd,
		.in = sp->in,
		.out = sp->out,
		.err = sp->err,
		.watch = sp->watch,
		.names = sp->names,
		.discard = s->opts->discard,
		.limits = s->spec->limits,
	};

	if (enter_sandbox(s) < 0)
		return;
	if (zygote_run(s->zygote, &req, &s->box) < 0) {
		if (errno == E2BIG) { /* nothing was sent */
			not_started(s, "exec", E2BIG);
			return;
		}
		sandbox_failed(s, "zygote", errno);
		zygote_stop(s->zygote);
		return;
	}
	s->dog.root = s->box.init;
	s->dog.with_root = true;
	s->dog.cgroup = s->cgroup;
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
	s->dog.limits = s->spec->limits;
	s->started = clock_us();
	if (s->spec->sandbox)
		start_boxed(s, &sp);
	else
		start_plain(s, &sp);
	/* The sandbox's making is not the command's time. */
	s->started = clock_us();
	arm_timer(s->timer, s->spec->timeout_ms);
	close(out);
	close(err);
	fd_cleanup(&socket);
}

static void root_ended(struct supervisor *s, int status)
{
	if (WIFSIGNALED(status)) {
		end_run(s, RUN_SIGNALED);
		s->result.signal = WTERMSIG(status);
	} else {
		end_run(s, RUN_EXITED);
		s->result.status = WEXITSTATUS(status);
	}
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
		root_ended(s, status);
	}
}

static void on_child(struct supervisor *s)
{
	struct signalfd_siginfo info[4];

	while (read(s->children, info, sizeof(info)) > 0)
		;
	if (!s->spec->sandbox) /* else init reaps, and the box tells */
		reap(s);
}

static void box_started(struct supervisor *s, struct box_event *e)
{
	s->root = e->pid;
	if (!s->spec->watch)
		return;
	exit_notify_init(&s->notify, e->fds[0], s->root, s->spec->watch);
	e->fds[0] = -1;
	if (s->notify.fd < 0)
		s->result.watch_failed = true;
}

static void box_failed(struct supervisor *s, const struct box_event *e)
{
	if (!strcmp(e->step, "exit watch"))
		s->result.watch_failed = true;
	if (box_step_is_command(e->step))
		not_started(s, e->step, e->errnum);
	else
		sandbox_failed(s, e->step, e->errnum);
}

static void on_box_event(struct supervisor *s, struct box_event *e)
{
	if (e->written > s->dog.written)
		s->dog.written = e->written;
	switch (e->kind) {
	case BOX_PRIVATE:
		s->private = (struct run_private){e->fds[0], e->fds[1], e->fds[2]};
		s->dog.private_dir = e->fds[0];
		s->dog.sysvipc = e->fds[2];
		memset(e->fds, -1, sizeof(e->fds));
		break;
	case BOX_STARTED:
		box_started(s, e);
		break;
	case BOX_FAILED:
		box_failed(s, e);
		break;
	case BOX_ENDED:
		if (!s->over)
			root_ended(s, e->status);
		break;
	case BOX_EMPTY:
		s->empty = true;
		break;
	case BOX_WROTE:
		break;
	}
}

static void on_box(struct supervisor *s)
{
	struct box_event e;
	int rc;

	while ((rc = box_receive(&s->box, &e)) > 0) {
		on_box_event(s, &e);
		for (size_t i = 0; i < ARRAY_SIZE(e.fds); i++)
			fd_cleanup(&e.fds[i]);
	}
	if (rc < 0) { /* init is dead, and so is the run */
		s->empty = true;
		close(s->box.events);
		s->box.events = -1;
		if (!s->over)
			sandbox_failed(s, "init", ESRCH);
	}
}

/* A look at the limits, when it is due. */
static void look(struct supervisor *s)
{
	uint64_t now = clock_us();
	enum run_end end;
	int pause;

	if (s->over || !s->look_at || now < s->look_at)
		return;
	if (watchdog_look(&s->dog, s->out.bytes + s->err.bytes, &end))
		end_run(s, end);
	pause = watchdog_pause_ms(&s->dog);
	s->look_at = pause < 0 ? 0 : now + (uint64_t)pause * 1000;
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
		[SLOT_BOX] = {.fd = s->box.events, .events = POLLIN},
	};

	if (poll(p, SLOTS, timeout_ms) <= 0)
		return;
	if (p[SLOT_BOX].revents)
		on_box(s);
	if (p[SLOT_NOTIFY].revents)
		on_notify(s, p[SLOT_NOTIFY].revents);
	if (p[SLOT_REPORT].revents)
		on_report(s);
	if (p[SLOT_STDOUT].revents)
		output_read(&s->out);
	if (p[SLOT_STDERR].revents)
		output_read(&s->err);
	if (s->dog.limits.output && s->out.bytes + s->err.bytes > s->dog.limits.output)
		end_run(s, RUN_OVER_OUTPUT);
	if (p[SLOT_CHILD].revents)
		on_child(s);
	if (p[SLOT_CONTROL].revents)
		on_control(s);
	if (p[SLOT_TIMER].revents)
		end_run(s, RUN_TIMED_OUT);
}

/* Is there more than the root was, and init? */
static bool any_left(struct supervisor *s)
{
	return s->spec->sandbox ? !s->empty : reap(s);
}

static void grace(struct supervisor *s)
{
	uint64_t until = clock_us() + GRACE_US;

	while (!s->cancelled && any_left(s) && clock_us() < until)
		step(s, GRACE_POLL_MS);
}

/* Stops the descendants and lists those that live. */
static size_t freeze(pid_t top, pid_t *left)
{
	size_t n = proc_descendants(top, left, MAX_LEFT), live = 0;

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

/* Returns how many there are. */
static size_t show_left(struct supervisor *s)
{
	static pid_t left[MAX_LEFT];
	const struct run_watch *w = s->spec->watch;
	bool boxed = s->spec->sandbox != NULL;
	size_t n = any_left(s) ? freeze(boxed ? s->box.init : getpid(), left) : 0;

	if (w && w->at_end && !s->result.watch_failed)
		w->at_end(w->ctx, left, n, boxed ? &s->private : NULL);
	return n;
}

static bool ended_by_itself(const struct supervisor *s)
{
	return s->result.end == RUN_EXITED || s->result.end == RUN_SIGNALED;
}

/* Is that limit why the run ended as it did? The first reason stands; what the kernel
 * does for memory or processes can also hit init, before there is a command. */
static bool explains(const struct supervisor *s, enum run_end limit)
{
	if (s->result.end == RUN_NOT_STARTED || s->result.end == RUN_SANDBOX_FAILED)
		return limit == RUN_OVER_MEMORY || limit == RUN_OVER_PIDS;
	return ended_by_itself(s);
}

/* What the kernel did on its own, at any time: a victim need not have been the root. */
static void last_look(struct supervisor *s)
{
	enum run_end end;

	if (s->look_at && watchdog_look(&s->dog, s->out.bytes + s->err.bytes, &end) &&
	    explains(s, end))
		s->result.end = end;
	/* RLIMIT_FSIZE, which init sets. That for the CPU is never the first. */
	if (s->spec->sandbox && s->result.end == RUN_SIGNALED &&
	    s->result.signal == SIGXFSZ && s->dog.limits.disk)
		s->result.end = RUN_OVER_DISK;
}

/* What was in the pipes when the root ended counts like the rest. */
static void finish_output(struct supervisor *s)
{
	struct run_result *r = &s->result;

	output_finish(&s->out);
	output_finish(&s->err);
	r->stdout_bytes = s->out.bytes;
	r->stderr_bytes = s->err.bytes;
	r->stdout_cut = s->out.cut;
	r->stderr_cut = s->err.cut;
	if (ended_by_itself(s) && s->dog.limits.output &&
	    r->stdout_bytes + r->stderr_bytes > s->dog.limits.output)
		r->end = RUN_OVER_OUTPUT;
}

static void clean_up(struct supervisor *s)
{
	bool ended = ended_by_itself(s);
	bool boxed = s->spec->sandbox != NULL;
	size_t left = 0;

	if (ended) {
		grace(s);
		left = show_left(s);
	} else if (s->result.end == RUN_TIMED_OUT) {
		hang_write(s->spec->dir, boxed ? s->box.init : getpid());
	}
	last_look(s);
	if (boxed) {
		box_kill(&s->box, &s->result.cpu_us, &s->result.peak_kib);
		/* memory.oom.group takes the zygote along. */
		if (s->result.end == RUN_OVER_MEMORY && s->cgroup &&
		    cgroup_tier(s->cgroup) == TIER_CGROUP_2)
			zygote_stop(s->zygote);
		/* Whoever was killed was waited for by nobody. */
		if (s->result.cpu_us < s->dog.cpu_us)
			s->result.cpu_us = s->dog.cpu_us;
	} else if (reap(s)) {
		unsigned killed = proc_kill_descendants(getpid());

		reap(s);
		if (ended)
			s->result.left_behind = killed;
		return;
	}
	if (ended)
		s->result.left_behind = (unsigned)left;
}

static void measure(struct supervisor *s)
{
	struct run_result *r = &s->result;
	struct rusage u;

	r->tier = s->dog.cgroup ? cgroup_tier(s->dog.cgroup)
		  : s->dog.limits.memory || s->dog.limits.pids ? TIER_POLLING
							       : TIER_NONE;
	if (s->spec->sandbox)
		return; /* said by the kernel when init ended */
	/* All descendants were reaped here or by a parent that was. The peak of a tiny
	 * program is that of our fork before its exec: the kernel keeps the maximum. */
	if (getrusage(RUSAGE_CHILDREN, &u) < 0)
		return;
	r->cpu_us = clock_cpu_us(&u) - s->cpu_before_us;
	r->peak_kib = (uint64_t)u.ru_maxrss;
}

/* Until the watchdog's next look. */
static int pause_ms(const struct supervisor *s)
{
	uint64_t now = clock_us();

	if (!s->look_at)
		return -1;
	return s->look_at > now ? (int)((s->look_at - now) / 1000) + 1 : 0;
}

static void release(struct supervisor *s)
{
	fd_cleanup(&s->children);
	fd_cleanup(&s->timer);
	fd_cleanup(&s->report);
	fd_cleanup(&s->socket);
	exit_notify_release(&s->notify);
	fd_cleanup(&s->private.tmp);
	fd_cleanup(&s->private.shm);
	fd_cleanup(&s->private.sysvipc);
	if (s->own_zygote.pid > 0)
		zygote_stop(&s->own_zygote);
	if (s->own_cgroup)
		cgroup_close(s->own_cgroup);
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
		.box = {-1, -1},
		.own_zygote = {.pid = -1, .socket = -1},
		.private = {-1, -1, -1},
		.dog = {.private_dir = -1, .sysvipc = -1},
	};
	int pause;

	getrusage(RUSAGE_CHILDREN, &before);
	s.cpu_before_us = clock_cpu_us(&before);
	start(&s);
	pause = watchdog_pause_ms(&s.dog);
	s.look_at = pause < 0 ? 0 : s.started + (uint64_t)pause * 1000;
	while (!s.over) {
		step(&s, pause_ms(&s));
		look(&s);
	}
	if (s.root > 0 || s.box.init > 0)
		clean_up(&s);
	finish_output(&s);
	measure(&s);
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
