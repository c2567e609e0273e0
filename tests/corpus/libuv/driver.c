/*
 * Three fds arrive in one message and libuv has no memory to queue the second:
 * what it cannot hand over must be closed.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "uv.h"

#define SENT 3

static int no_memory;
static ssize_t result;

static void *try_malloc(size_t size)
{
	return no_memory ? NULL : malloc(size);
}

static void *try_realloc(void *ptr, size_t size)
{
	return no_memory ? NULL : realloc(ptr, size);
}

static void *try_calloc(size_t count, size_t size)
{
	return no_memory ? NULL : calloc(count, size);
}

/* libuv asks for the buffer just before it receives. */
static void on_alloc(uv_handle_t *handle, size_t hint, uv_buf_t *buf)
{
	static char space[16];

	(void)handle;
	(void)hint;
	*buf = uv_buf_init(space, sizeof(space));
	no_memory = 1;
}

static void on_read(uv_stream_t *stream, ssize_t nread, const uv_buf_t *buf)
{
	(void)buf;
	no_memory = 0;
	result = nread;
	uv_read_stop(stream);
	uv_close((uv_handle_t *)stream, NULL);
}

static int send_fds(int sock)
{
	union {
		struct cmsghdr hdr;
		char space[CMSG_SPACE(SENT * sizeof(int))];
	} control;
	char byte = 'x';
	struct iovec iov = {.iov_base = &byte, .iov_len = 1};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};
	int zero = open("/dev/zero", O_RDONLY);
	int fds[SENT] = {zero, zero, zero};
	ssize_t sent;

	memset(&control, 0, sizeof(control));
	control.hdr.cmsg_level = SOL_SOCKET;
	control.hdr.cmsg_type = SCM_RIGHTS;
	control.hdr.cmsg_len = CMSG_LEN(sizeof(fds));
	memcpy(CMSG_DATA(&control.hdr), fds, sizeof(fds));
	msg.msg_control = control.space;
	msg.msg_controllen = sizeof(control.space);
	sent = sendmsg(sock, &msg, 0);
	close(zero);
	return sent == 1 ? 0 : -1;
}

int main(void)
{
	uv_loop_t loop;
	uv_pipe_t pipe;
	int socks[2];

	if (uv_replace_allocator(try_malloc, try_realloc, try_calloc, free) != 0 ||
	    socketpair(AF_UNIX, SOCK_STREAM, 0, socks) != 0 || send_fds(socks[1]) != 0) {
		perror("driver");
		return 1;
	}
	if (uv_loop_init(&loop) != 0 || uv_pipe_init(&loop, &pipe, 1) != 0 ||
	    uv_pipe_open(&pipe, socks[0]) != 0 ||
	    uv_read_start((uv_stream_t *)&pipe, on_alloc, on_read) != 0)
		return 1;
	uv_run(&loop, UV_RUN_DEFAULT);
	close(socks[1]);
	return uv_loop_close(&loop) != 0 || result != UV_ENOMEM;
}
