#include "sandbox/sandbox.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/fs.h"
#include "sandbox/cgroup.h"
#include "sandbox/exec.h"
#include "sandbox/explain.h"
#include "sandbox/inner.h"
#include "sandbox/make_plan.h"
#include "sandbox/start.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

/* In a build for coverage: _exit() would throw the counters away. */
extern void __gcov_dump(void) __attribute__((weak));

enum { PATIENCE_MS = 60000 }; /* with a machine, or a file system, that hardly answers */

/* Nothing of exitpath stays open in there but the socket, at 3; 0 to 2 are taken. */
static int keep_only(int *socket)
{
	int high = fcntl(*socket, F_DUPFD_CLOEXEC, 4);
	/* exitpath: ignore[never-released] close_range() takes it; an error ends this */
	int null = open("/dev/null", O_RDWR);

	if (high < 0 || null < 0)
		return -1;
	*socket = high;
	for (int fd = 0; fd < 3; fd++)
		if (dup2(null, fd) < 0)
			return -1;
	if (dup3(high, 3, O_CLOEXEC) < 0)
		return -1;
	*socket = 3;
	return close_range(4, ~0U, 0);
}

int start_enter(const struct plan *p, const char **step)
{
	int proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int rc = -1;

	/* Who is not dumpable (a program that only root can read) may not write its own
	 * map of users. No run can see this process. */
	prctl(PR_SET_DUMPABLE, 1UL, 0UL, 0UL, 0UL);
	*step = "/proc";
	if (proc >= 0 && inner_namespaces(p, step) == 0 && inner_root(p, step) == 0)
		rc = inner_lock(proc, step);
	if (proc >= 0) {
		int errnum = errno;

		close(proc);
		errno = errnum;
	}
	return rc;
}

void start_process(pid_t parent)
{
	sigset_t all;

	/* Neither here nor in init may a handler of exitpath's run, and a command can
	 * reach its init with no signal that is blocked. */
	reset_signals();
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	prctl(PR_SET_PDEATHSIG, (unsigned long)SIGKILL, 0UL, 0UL, 0UL);
	if (getppid() != parent)
		_exit(1);
}

static _Noreturn void zygote_main(const struct plan *p, const struct cgroup *cgroup,
				  int socket, pid_t parent)
{
	struct message_ready ready = {0};
	const char *step = "cgroup";
	int rc = 0;

	start_process(parent);
	if (cgroup)
		rc = cgroup_attach(cgroup, 0);
	if (rc == 0) {
		step = "descriptors";
		rc = keep_only(&socket);
	}
	if (rc == 0)
		rc = start_enter(p, &step);
	if (rc < 0) {
		ready.errnum = errno;
		snprintf(ready.step, sizeof(ready.step), "%s", step);
	}
	/* It was cleared when the credentials changed. */
	prctl(PR_SET_PDEATHSIG, (unsigned long)SIGKILL, 0UL, 0UL, 0UL);
	if (write_all(socket, &ready, sizeof(ready)) == 0 && !ready.step[0])
		inner_serve(p, socket, NULL);
	if (__gcov_dump)
		__gcov_dump();
	_exit(0);
}

/* All len bytes, or -1 with errno: ETIMEDOUT, or EPIPE when the zygote is dead. ret_fd:
 * the descriptor that came with them, -1: none. */
static int hear(int socket, void *data, size_t len, int *ret_fd)
{
	struct pollfd p = {.fd = socket, .events = POLLIN};
	long n;

	*ret_fd = -1;
	do {
		n = poll(&p, 1, PATIENCE_MS);
	} while (n < 0 && errno == EINTR);
	if (n == 0)
		errno = ETIMEDOUT;
	if (n <= 0)
		return -1;
	n = message_receive(socket, data, len, ret_fd, 1, NULL, MSG_WAITALL);
	if (n >= 0)
		errno = EPIPE;
	return n == (long)len ? 0 : -1;
}

/* 0, or -1 with errno and err. */
static int wait_until_ready(struct zygote *z, struct err *err)
{
	CLEANUP_FD int none = -1;
	struct message_ready ready;

	if (hear(z->socket, &ready, sizeof(ready), &none) < 0)
		return err_errno(err, ERR_ENVIRONMENT, errno,
				 "sandbox: its first process did not get ready");
	if (!ready.step[0])
		return 0;
	sandbox_explain(ready.step, ready.errnum, err);
	errno = ready.errnum;
	return -1;
}

/* No handler of the caller's runs in the child. */
pid_t start_fork(void)
{
	sigset_t all, old;
	int errnum;
	pid_t pid;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &old);
	pid = fork();
	errnum = errno;
	if (pid != 0)
		sigprocmask(SIG_SETMASK, &old, NULL);
	errno = errnum;
	return pid;
}

int zygote_start(const struct sandbox *sb, struct zygote *ret, struct err *err)
{
	return zygote_start_in(sb, NULL, ret, err);
}

int zygote_start_in(const struct sandbox *sb, const struct cgroup *cgroup,
		    struct zygote *ret, struct err *err)
{
	struct plan *p = plan_new(sb, err);
	struct zygote z = {.pid = -1, .socket = -1};
	pid_t self = getpid();
	int pair[2], errnum;

	if (!p)
		return -1;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0) {
		errnum = errno;
		free(p);
		err_errno(err, ERR_ENVIRONMENT, errnum, "sandbox: socketpair");
		errno = errnum;
		return -1;
	}
	z.socket = pair[0];
	z.pid = start_fork();
	if (z.pid == 0)
		zygote_main(p, cgroup, pair[1], self);
	errnum = errno;
	if (z.pid < 0)
		err_errno(err, ERR_ENVIRONMENT, errnum, "sandbox: fork");
	free(p);
	close(pair[1]);
	if (z.pid > 0 && wait_until_ready(&z, err) == 0) {
		*ret = z;
		return 0;
	}
	if (z.pid > 0)
		errnum = errno;
	zygote_stop(&z);
	errno = errnum;
	return -1;
}

/* What a server has left its process group: it hides from nobody but this, and only
 * keeps zombies from being reaped until we end. */
#define SERVER_PATIENCE_US 2000000

/* Nobody's number is used again while its group is there. The namespace's first process
 * ends when all the others, which are our children, were reaped. */
static void stop_server(pid_t group)
{
	uint64_t until = clock_us() + SERVER_PATIENCE_US;

	kill(-group, SIGKILL);
	for (;;) {
		pid_t pid = waitpid(-group, NULL, __WALL | WNOHANG);

		if (pid < 0 && errno != EINTR)
			return;
		if (pid == 0 && clock_us() > until)
			return;
		if (pid == 0)
			usleep(200);
	}
}

void zygote_stop(struct zygote *z)
{
	fd_cleanup(&z->socket);
	z->socket = -1;
	if (z->pid > 0 && z->server) {
		stop_server(z->pid);
	} else if (z->pid > 0) {
		/* A build for coverage has something to write at its end. */
		if (!__gcov_dump)
			kill(z->pid, SIGKILL);
		while (waitpid(z->pid, NULL, 0) < 0 && errno == EINTR)
			;
	}
	z->pid = -1;
}

static int send_request(const struct zygote *z, const struct box_request *req, int events)
{
	CLEANUP(buf) struct buf strings = {0};
	const int fds[MESSAGE_FDS] = {req->in, req->out, req->err, events};
	struct message_head head = {
		.magic = MESSAGE_MAGIC,
		.flags = (req->watch ? MESSAGE_WATCH : 0u) |
			 (req->names ? MESSAGE_NAMES : 0u) |
			 (req->discard ? MESSAGE_DISCARD : 0u),
		.limits = req->limits,
	};

	buf_add(&strings, req->cwd, strlen(req->cwd) + 1);
	for (; req->argv[head.argc]; head.argc++)
		buf_add(&strings, req->argv[head.argc], strlen(req->argv[head.argc]) + 1);
	for (; req->env[head.envc]; head.envc++)
		buf_add(&strings, req->env[head.envc], strlen(req->env[head.envc]) + 1);
	head.len = strings.len;
	if (head.len > MESSAGE_MAX_STRINGS) {
		errno = E2BIG;
		return -1;
	}
	if (message_send(z->socket, &head, sizeof(head), fds, MESSAGE_FDS) < 0)
		return -1;
	for (size_t done = 0; done < strings.len;) {
		ssize_t n = send(z->socket, strings.data + done, strings.len - done,
				 MSG_NOSIGNAL);

		if (n < 0 && errno != EINTR)
			return -1;
		if (n > 0)
			done += (size_t)n;
	}
	return 0;
}

/* The process as we count: it must be our child. -1: it is none. */
static pid_t child_of_pidfd(int pidfd)
{
	CLEANUP(buf) struct buf b = {0};
	CLEANUP_FD int fd = -1;
	siginfo_t info;
	char path[64];
	const char *line;

	if (waitid(P_PIDFD, (id_t)pidfd, &info, WEXITED | WNOHANG | WNOWAIT | __WALL) < 0)
		return -1;
	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", pidfd);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || read_fd(fd, 0, &b) < 0)
		return -1;
	line = strstr(buf_str(&b), "\nPid:");
	return line ? (pid_t)strtol(line + 5, NULL, 10) : -1;
}

/* 0, or -1 with errno: then reply->pid is no process. */
static int receive_reply(const struct zygote *z, struct message_reply *reply)
{
	CLEANUP_FD int pidfd = -1;

	if (hear(z->socket, reply, sizeof(*reply), &pidfd) < 0)
		return -1;
	errno = reply->errnum;
	if (reply->pid < 0 || !z->server)
		return reply->pid < 0 ? -1 : 0;
	reply->pid = pidfd < 0 ? -1 : child_of_pidfd(pidfd);
	errno = EPROTO;
	return reply->pid > 0 ? 0 : -1;
}

int zygote_run(struct zygote *z, const struct box_request *req, struct box *ret)
{
	struct message_reply reply = {.pid = -1};
	const int on = 1;
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return -1;
	/* The kernel then says who sends: the command's pid as we count. */
	setsockopt(pair[0], SOL_SOCKET, SO_PASSCRED, &on, sizeof(on));
	if (send_request(z, req, pair[1]) < 0 || receive_reply(z, &reply) < 0)
		reply = (struct message_reply){.pid = -1, .errnum = errno};
	close(pair[1]);
	if (reply.pid < 0) {
		close(pair[0]);
		errno = reply.errnum;
		return -1;
	}
	/* We know of it, and can kill it: now it may start the command. */
	message_send(pair[0], "", MESSAGE_GO, NULL, 0);
	*ret = (struct box){.init = reply.pid, .events = pair[0]};
	return 0;
}

bool box_step_is_command(const char *step)
{
	return !strcmp(step, "exec") || !strcmp(step, "chdir");
}

int box_receive(const struct box *b, struct box_event *ret)
{
	struct message_event e;
	long n;

	ret->pid = -1;
	n = message_receive(b->events, &e, sizeof(e), ret->fds, 3, &ret->pid,
			    MSG_DONTWAIT);
	if (n < 0)
		return errno == EAGAIN ? 0 : -1;
	if (n != (long)sizeof(e)) {
		for (int i = 0; i < 3; i++)
			fd_cleanup(&ret->fds[i]);
		return -1;
	}
	ret->kind = (enum box_event_kind)e.kind;
	ret->errnum = e.errnum;
	ret->status = e.status;
	ret->written = e.written;
	memcpy(ret->step, e.step, sizeof(ret->step));
	ret->step[sizeof(ret->step) - 1] = '\0';
	return 1;
}

void box_kill(struct box *b, uint64_t *ret_cpu_us, uint64_t *ret_peak_kib)
{
	struct rusage u = {0};

	kill(b->init, SIGKILL);
	while (wait4(b->init, NULL, __WALL, &u) < 0 && errno == EINTR)
		;
	fd_cleanup(&b->events);
	b->events = -1;
	*ret_cpu_us = clock_cpu_us(&u);
	*ret_peak_kib = (uint64_t)u.ru_maxrss;
}
