/* The zygote: waits for requests and clones an init for each. */
#include "sandbox/inner.h"

#include <errno.h>
#include <linux/sched.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

static int read_all(int fd, char *data, size_t len)
{
	while (len) {
		ssize_t n = read(fd, data, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return -1;
		data += n;
		len -= (size_t)n;
	}
	return 0;
}

static void close_fds(struct message_request *req)
{
	for (int i = 0; i < MESSAGE_FDS; i++)
		if (req->fds[i] >= 0)
			close(req->fds[i]);
}

/* 1: a request; 0: the supervisor is gone, or talks nonsense. */
static int next_request(int socket, struct message_request *req)
{
	long n = message_receive(socket, &req->head, sizeof(req->head), req->fds,
				 MESSAGE_FDS, NULL, MSG_WAITALL);

	req->strings = NULL;
	req->argv = req->env = NULL;
	if (n != (long)sizeof(req->head) || req->head.len > MESSAGE_MAX_STRINGS)
		return 0;
	/* Fewer come when there is no room for more. */
	for (int i = 0; i < MESSAGE_FDS; i++)
		if (req->fds[i] < 0)
			return 0;
	req->strings = malloc((size_t)req->head.len + 1);
	return req->strings &&
	       read_all(socket, req->strings, (size_t)req->head.len) == 0 &&
	       message_parse(req) == 0;
}

/* As fork(), but the child is the supervisor's, and pid 1 of its own namespace. */
static pid_t clone_init(const struct plan *p, int *ret_pidfd)
{
	struct clone_args args = {
		.flags = CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWIPC | CLONE_PARENT,
	};

	if (p->is_server) { /* the number means nothing to the supervisor */
		args.flags |= CLONE_PIDFD;
		args.pidfd = (uint64_t)(uintptr_t)ret_pidfd;
	}

	if (p->network == NETWORK_LOOPBACK)
		args.flags |= CLONE_NEWNET; /* no port is left over from the last run */
	return (pid_t)syscall(SYS_clone3, &args, sizeof(args));
}

void inner_serve(const struct plan *p, int socket, inner_child_fn run_child)
{
	struct message_request req;

	while (next_request(socket, &req)) {
		struct message_reply reply;
		int pidfd = -1, rc;

		reply.pid = clone_init(p, &pidfd);
		if (reply.pid == 0) {
			close(socket);
			inner_init(p, &req, run_child);
		}
		reply.errnum = reply.pid < 0 ? errno : 0;
		close_fds(&req);
		message_request_release(&req);
		rc = message_send(socket, &reply, sizeof(reply), &pidfd, 1);
		if (pidfd >= 0)
			close(pidfd);
		if (rc < 0)
			return;
	}
	close_fds(&req);
	message_request_release(&req);
}
