/* The zygote: waits for requests and clones an init for each. */
#include "sandbox/inner.h"

#include <errno.h>
#include <linux/sched.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
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

static void close_fds(const struct message_request *req)
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

/* Of what is to be the init of a run. */
struct birth {
	const struct plan *p;
	int socket;
	const struct message_request *req;
	inner_child_fn run_child;
};

static int begin_init(void *birth)
{
	const struct birth *b = birth;

	close(b->socket);
	inner_init(b->p, b->req, b->run_child);
}

static uint64_t namespaces(const struct plan *p)
{
	uint64_t flags = CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWIPC;

	if (p->network == NETWORK_LOOPBACK)
		flags |= CLONE_NEWNET; /* no port is left over from the last run */
	return flags;
}

/* As fork(), but the child is the supervisor's, and pid 1 of its own namespace. */
static pid_t clone_init(const struct birth *b)
{
	struct clone_args args = {.flags = namespaces(b->p) | CLONE_PARENT};
	pid_t pid = (pid_t)syscall(SYS_clone3, &args, sizeof(args));

	if (pid == 0)
		begin_init((void *)(uintptr_t)b);
	return pid;
}

/*
 * A server is large: its init is a task in the same memory, on a stack of its own, so
 * that only the command's process copies page tables. Both use nothing of libc that is
 * kept in memory but errno; the server waits for the next request, which comes when init
 * is dead, wherever it was killed. *ret_pidfd: the number means nothing to the
 * supervisor.
 */
static pid_t clone_server_init(const struct birth *b, int *ret_pidfd)
{
	enum { STACK = 256 << 10 };
	static char *stack;

	if (!stack) {
		stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
		if (stack == MAP_FAILED) {
			stack = NULL;
			return -1;
		}
	}
	/* The last init took that away, for the memory. */
	prctl(PR_SET_DUMPABLE, 1UL, 0UL, 0UL, 0UL);
	return clone(begin_init, stack + STACK,
		     (int)namespaces(b->p) | CLONE_VM | CLONE_PARENT | CLONE_PIDFD,
		     (void *)(uintptr_t)b, ret_pidfd);
}

void inner_serve(const struct plan *p, int socket, inner_child_fn run_child)
{
	/* Of this run and of the last: its init may look at it until it is dead. Not on
	 * the stack, where a server's command begins (server.c). */
	static struct message_request reqs[2];
	static struct birth b;
	unsigned at = 0;

	b = (struct birth){p, socket, NULL, run_child};
	while (next_request(socket, &reqs[at])) {
		struct message_reply reply;
		int pidfd = -1, rc;

		message_request_release(&reqs[!at]);
		b.req = &reqs[at];
		reply.pid = p->is_server ? clone_server_init(&b, &pidfd) : clone_init(&b);
		reply.errnum = reply.pid < 0 ? errno : 0;
		close_fds(&reqs[at]);
		rc = message_send(socket, &reply, sizeof(reply), &pidfd, 1);
		if (pidfd >= 0)
			close(pidfd);
		if (rc < 0)
			break;
		at = !at;
	}
	close_fds(&reqs[at]);
	message_request_release(&reqs[0]);
	message_request_release(&reqs[1]);
}
