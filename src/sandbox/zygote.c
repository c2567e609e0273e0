#include "sandbox/sandbox.h"

#include "base/buf.h"
#include "base/fs.h"
#include "sandbox/cgroup.h"
#include "sandbox/explain.h"
#include "sandbox/inner.h"
#include "sandbox/make_plan.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
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

struct ready {
	char step[32]; /* "": the root stands */
	int errnum;
};

/* Nothing of exitpath stays open in there but the socket, at 3. */
static void keep_only(int socket)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	for (int fd = 0; fd < 3; fd++)
		dup2(null, fd);
	dup2(socket, 3);
	close_range(4, ~0U, 0);
	fcntl(3, F_SETFD, FD_CLOEXEC);
}

static int enter(const struct plan *p, const char **step)
{
	int proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int rc = -1;

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

static _Noreturn void zygote_main(const struct plan *p, const struct cgroup *cgroup,
				  int socket, pid_t parent)
{
	struct ready ready = {0};
	const char *step = "cgroup";
	int rc = 0;

	prctl(PR_SET_PDEATHSIG, (unsigned long)SIGKILL, 0UL, 0UL, 0UL);
	if (getppid() != parent)
		_exit(1);
	if (cgroup)
		rc = cgroup_attach(cgroup, 0);
	if (rc == 0) {
		keep_only(socket);
		socket = 3;
		rc = enter(p, &step);
	}
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

static int wait_until_ready(struct zygote *z, struct err *err)
{
	CLEANUP(buf) struct buf b = {0};
	struct ready ready;
	ssize_t n;

	do {
		n = recv(z->socket, &ready, sizeof(ready), MSG_WAITALL);
	} while (n < 0 && errno == EINTR);
	if (n != (ssize_t)sizeof(ready))
		return err_set(err, ERR_ENVIRONMENT,
			       "sandbox: its first process died before it was made");
	if (ready.step[0])
		return sandbox_explain(ready.step, ready.errnum, err);
	return 0;
}

int zygote_start(const struct sandbox *sb, struct zygote *ret, struct err *err)
{
	return zygote_start_in(sb, NULL, ret, err);
}

int zygote_start_in(const struct sandbox *sb, const struct cgroup *cgroup,
		    struct zygote *ret, struct err *err)
{
	struct plan *p = plan_new(sb, err);
	struct zygote z = {-1, -1};
	pid_t self = getpid();
	int pair[2];

	if (!p)
		return -1;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0) {
		free(p);
		return err_errno(err, ERR_ENVIRONMENT, errno, "sandbox: socketpair");
	}
	z.socket = pair[0];
	z.pid = fork();
	if (z.pid == 0)
		zygote_main(p, cgroup, pair[1], self);
	if (z.pid < 0)
		err_errno(err, ERR_ENVIRONMENT, errno, "sandbox: fork");
	free(p);
	close(pair[1]);
	if (z.pid < 0 || wait_until_ready(&z, err) < 0) {
		zygote_stop(&z);
		return -1;
	}
	*ret = z;
	return 0;
}

void zygote_stop(struct zygote *z)
{
	fd_cleanup(&z->socket);
	z->socket = -1;
	if (z->pid > 0) {
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

int zygote_run(struct zygote *z, const struct box_request *req, struct box *ret)
{
	struct message_reply reply = {.pid = -1, .errnum = EPIPE};
	const int on = 1;
	int pair[2];
	ssize_t n;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return -1;
	/* The kernel then says who sends: the command's pid as we count. */
	setsockopt(pair[0], SOL_SOCKET, SO_PASSCRED, &on, sizeof(on));
	if (send_request(z, req, pair[1]) == 0) {
		do {
			n = recv(z->socket, &reply, sizeof(reply), MSG_WAITALL);
		} while (n < 0 && errno == EINTR);
		if (n != (ssize_t)sizeof(reply))
			reply = (struct message_reply){.pid = -1, .errnum = EPIPE};
	} else {
		reply.errnum = errno;
	}
	close(pair[1]);
	if (reply.pid < 0) {
		close(pair[0]);
		errno = reply.errnum;
		return -1;
	}
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
	*ret_cpu_us = (uint64_t)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1000000 +
		      (uint64_t)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
	*ret_peak_kib = (uint64_t)u.ru_maxrss;
}
