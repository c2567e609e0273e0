/*
 * What a pool and its worker tell each other (pool.c, worker.c). Both are the same
 * program on the same machine: numbers are in its byte order. A request lies in a file
 * that both have open, and may be large; what goes through the socket is small.
 *
 *	request  magic, numbers, cwd, argv, env        in the file
 *	order    uint64_t: the request's length        pool → worker, one packet
 *	reply    magic, struct run_result, error, hint worker → pool, one packet
 *
 * The decoders believe nothing: whatever the bytes, they give a whole value or -1.
 * Internal to proc.
 */
#ifndef EXITPATH_PROC_WIRE_H
#define EXITPATH_PROC_WIRE_H

#include "proc/pool.h"

enum {
	WIRE_MAX_REQUEST = 8 << 20, /* bytes; execve() takes less */
	WIRE_MAX_STRINGS = 1 << 16, /* of argv and env, each */
	WIRE_MAX_REPLY = 4096,	    /* longer texts are cut */
};

struct wire_request {
	struct strv argv, env;
	char *cwd;
	uint64_t timeout_ms;
	uint64_t output_cap; /* bytes kept of each stream */
	struct limits limits;
	enum network network;
	enum warm warm;
	bool discard;
};

struct wire_reply {
	struct run_result run;
	char *error, *hint; /* why there is no sandbox, and the next step; or NULL */
};

void wire_put_request(struct buf *b, const struct pool_run *run, uint64_t output_cap);
/* 0, or -1 when it is none. The same for the reply. */
int wire_get_request(const void *data, size_t len, struct wire_request *ret);
void wire_request_release(struct wire_request *r);
DEFINE_CLEANUP(wire_request)

void wire_put_reply(struct buf *b, const struct wire_reply *reply);
int wire_get_reply(const void *data, size_t len, struct wire_reply *ret);
void wire_reply_release(struct wire_reply *r);
DEFINE_CLEANUP(wire_reply)

#endif
