/*
 * The supervisor's protocol with a zygote: a struct message_head with descriptors, the
 * strings behind it, and a struct message_reply. Internal to sandbox, but for
 * message_send() and message_receive(), by which proc passes descriptors, too.
 */
#ifndef EXITPATH_SANDBOX_MESSAGE_H
#define EXITPATH_SANDBOX_MESSAGE_H

#include "model/limits.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	MESSAGE_MAGIC = 0x65706731,	/* "epg1" */
	MESSAGE_MAX_STRINGS = 16 << 20, /* bytes: eight times ARG_MAX */
	MESSAGE_FDS = 4,		/* stdin, stdout, stderr, events */
	MESSAGE_GO = 1, /* bytes of the supervisor to init: it knows of it */
};

enum message_flags {
	MESSAGE_WATCH = 1,
	MESSAGE_NAMES = 2,
	MESSAGE_DISCARD = 4,
	MESSAGE_ALL_FLAGS = 7,
};

struct message_head {
	uint32_t magic, flags;
	uint32_t argc, envc;
	uint64_t len; /* of the strings: cwd, argv…, env…, each with its NUL */
	struct limits limits;
};

/* From the zygote before the first request. */
struct message_ready {
	char step[32]; /* "": it waits for requests */
	int32_t errnum;
};

struct message_reply {
	int32_t pid; /* of init; -1: errnum. From a server: as it counts; a pidfd comes
			with it */
	int32_t errnum;
};

/* A request that was read: everything points into strings. */
struct message_request {
	struct message_head head;
	char *strings;
	const char *cwd;
	char **argv, **env; /* NULL at the end */
	int fds[MESSAGE_FDS];
};

/* head and strings were read; makes cwd, argv and env. -1: not a request (EPROTO), or out
 * of memory. message_request_release() frees argv, env and strings. */
int message_parse(struct message_request *r);
void message_request_release(struct message_request *r);

/* The messages of init: struct box_event as it travels; descriptors beside it. */
struct message_event {
	uint32_t kind; /* enum box_event_kind */
	int32_t errnum, status;
	char step[32];
	uint64_t written;
};

/* 0, or -1 with errno. Descriptors of -1 are not sent. */
int message_send(int socket, const void *data, size_t len, const int *fds, int nfds);
/* Returns as recvmsg; fds[] that did not come are -1; ret_pid: the sender's, when the
 * socket passes credentials (may be NULL). */
long message_receive(int socket, void *data, size_t len, int *fds, int nfds, int *ret_pid,
		     int flags);

#endif
