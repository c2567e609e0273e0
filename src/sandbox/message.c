#include "sandbox/message.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

enum { MAX_FDS = 8 };

union control {
	char space[CMSG_SPACE(sizeof(int) * MAX_FDS) + CMSG_SPACE(sizeof(struct ucred))];
	struct cmsghdr align;
};

int message_send(int socket, const void *data, size_t len, const int *fds, int nfds)
{
	union control control;
	struct iovec iov = {(void *)(uintptr_t)data, len};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};
	struct cmsghdr *h;
	ssize_t n;

	while (nfds && fds[nfds - 1] < 0)
		nfds--;
	if (nfds > MAX_FDS) {
		errno = EINVAL;
		return -1;
	}
	if (nfds) {
		memset(&control, 0, sizeof(control));
		/* The first header stands at the beginning: cmsg(3). */
		h = &control.align;
		h->cmsg_level = SOL_SOCKET;
		h->cmsg_type = SCM_RIGHTS;
		h->cmsg_len = CMSG_LEN(sizeof(int) * (size_t)nfds);
		memcpy(CMSG_DATA(h), fds, sizeof(int) * (size_t)nfds);
		msg.msg_control = control.space;
		msg.msg_controllen = CMSG_SPACE(sizeof(int) * (size_t)nfds);
	}
	do {
		n = sendmsg(socket, &msg, MSG_NOSIGNAL);
	} while (n < 0 && errno == EINTR);
	if (n >= 0 && (size_t)n != len)
		errno = EMSGSIZE;
	return n == (ssize_t)len ? 0 : -1;
}

static void take_control(struct msghdr *msg, int *fds, int nfds, int *ret_pid)
{
	for (struct cmsghdr *h = CMSG_FIRSTHDR(msg); h; h = CMSG_NXTHDR(msg, h)) {
		size_t len = h->cmsg_len - CMSG_LEN(0);

		if (h->cmsg_level != SOL_SOCKET)
			continue;
		if (h->cmsg_type == SCM_CREDENTIALS && ret_pid) {
			struct ucred cred;

			memcpy(&cred, CMSG_DATA(h), sizeof(cred));
			*ret_pid = cred.pid;
		} else if (h->cmsg_type == SCM_RIGHTS) {
			for (size_t i = 0; i < len / sizeof(int); i++) {
				int fd;

				memcpy(&fd, CMSG_DATA(h) + i * sizeof(int), sizeof(fd));
				if ((int)i < nfds)
					fds[i] = fd;
				else
					close(fd);
			}
		}
	}
}

long message_receive(int socket, void *data, size_t len, int *fds, int nfds, int *ret_pid,
		     int flags)
{
	union control control;
	struct iovec iov = {data, len};
	struct msghdr msg = {.msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = control.space,
			     .msg_controllen = sizeof(control.space)};
	ssize_t n;

	for (int i = 0; i < nfds; i++)
		fds[i] = -1;
	do {
		n = recvmsg(socket, &msg, flags | MSG_CMSG_CLOEXEC);
	} while (n < 0 && errno == EINTR);
	if (n >= 0)
		take_control(&msg, fds, nfds, ret_pid);
	return n;
}

/* The next string, or NULL when there is none left. */
static char *next_string(const struct message_request *r, size_t *at)
{
	char *s = r->strings + *at, *end;

	if (*at >= r->head.len)
		return NULL;
	end = memchr(s, '\0', (size_t)r->head.len - *at);
	if (!end)
		return NULL;
	*at += (size_t)(end - s) + 1;
	return s;
}

static char **next_list(const struct message_request *r, uint32_t n, size_t *at)
{
	char **list = calloc((size_t)n + 1, sizeof(*list));

	if (!list)
		return NULL;
	for (uint32_t i = 0; i < n; i++) {
		list[i] = next_string(r, at);
		if (!list[i]) {
			free(list);
			return NULL;
		}
	}
	return list;
}

int message_parse(struct message_request *r)
{
	const struct message_head *h = &r->head;
	size_t at = 0;

	r->cwd = NULL;
	r->argv = r->env = NULL;
	errno = EPROTO;
	/* Each string takes a byte at least. */
	if (h->magic != MESSAGE_MAGIC || (h->flags & ~(uint32_t)MESSAGE_ALL_FLAGS) ||
	    h->len > MESSAGE_MAX_STRINGS || h->argc >= h->len || h->envc >= h->len)
		return -1;
	r->cwd = next_string(r, &at);
	if (!r->cwd)
		return -1;
	r->argv = next_list(r, h->argc, &at);
	if (!r->argv)
		return -1;
	r->env = next_list(r, h->envc, &at);
	if (!r->env || at != h->len) {
		free(r->argv);
		free(r->env);
		r->argv = r->env = NULL;
		errno = EPROTO;
		return -1;
	}
	return 0;
}

void message_request_release(struct message_request *r)
{
	free(r->argv);
	free(r->env);
	free(r->strings);
	r->argv = r->env = NULL;
	r->strings = NULL;
}
