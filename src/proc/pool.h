/*
 * Many runs on few workers.
 *
 * A worker is a process of its own: it supervises one run after the other, and its
 * zygote, which is inside the sandbox already, starts them (see supervisor.c and
 * sandbox/sandbox.h). The pool forks its workers at once, before exitpath is large.
 * Requests wait in a bounded queue: pool_submit() is for whoever saw pool_has_room(),
 * so a producer that is faster is simply not read further. Nothing is dropped: a worker
 * that dies gives RUN_LOST for its run and is replaced.
 *
 * The loop is the caller's:
 *
 *	while (more || pool_pending(p)) {
 *		fill fds with pool_fds() and its own; poll(); pool_dispatch(p);
 *		while (pool_take(p, &r)) …
 *	}
 */
#ifndef EXITPATH_PROC_POOL_H
#define EXITPATH_PROC_POOL_H

#include "base/buf.h"
#include "base/err.h"
#include "model/run.h"

#include <poll.h>
#include <stdbool.h>

enum {
	POOL_QUEUE = 32, /* requests that wait: default */
	POOL_MAX_QUEUE = 4096,
	POOL_MAX_WORKERS = 64,
	POOL_DEFAULT_MAX_WORKERS = 8, /* default: the processors, at most this */
};

/* One run. Copied by pool_submit(). */
struct pool_run {
	const struct strv *argv, *env;
	const char *cwd;     /* absolute, as the run sees it */
	uint64_t timeout_ms; /* 0: none */
	struct limits limits;
	enum network network;
	bool discard; /* VIEW_WRITE views are VIEW_DISCARD for this run */
	enum warm warm;
	uint64_t id; /* the caller's */
};

struct pool_result {
	uint64_t id;
	struct run_result run;
	struct buf out, err; /* what was kept of the streams, at most limits.output */
	char *error, *hint;  /* of RUN_SANDBOX_FAILED: why, and the next step; or NULL */
};
void pool_result_release(struct pool_result *r);
DEFINE_CLEANUP(pool_result)

struct pool_opts {
	unsigned workers;	       /* 0: default */
	unsigned queue;		       /* 0: POOL_QUEUE */
	bool ordered;		       /* results come in the order of submission */
	const struct sandbox *sandbox; /* NULL: no isolation. Lives as long as the pool */
	/* The runs read our standard input, unless it is a terminal (they have none). */
	bool pass_stdin;
	/* For one worker: the output is read while it is written, see pool_streams(), and
	 * is not part of the results. Without limits.output all of it is kept. */
	bool stream;
};

struct pool;
struct pool *pool_new(const struct pool_opts *opts, struct err *err);
/* False, too, while as many ordered results as the queue is long wait for an earlier
 * one. */
bool pool_has_room(const struct pool *p);
/* 0, or ERR_USAGE with the reason why there is no such thing. */
int pool_can_warm(enum warm warm, struct err *err);
/* ERR_USAGE when the request is too large, or needs what cannot be had. */
int pool_submit(struct pool *p, const struct pool_run *run, struct err *err);
size_t pool_pending(const struct pool *p); /* submitted and not yet taken */
/* Fills at most cap pollfds, returns how many there are. */
size_t pool_fds(const struct pool *p, struct pollfd *fds, size_t cap);
/* The files that hold stdout and stderr of the run under way (pool_opts.stream): to be
 * read with pread(). What was read may be dropped with fallocate(PUNCH_HOLE). */
void pool_streams(const struct pool *p, int ret_fds[2]);
/* Reads results that came and hands waiting requests to idle workers; never blocks. */
int pool_dispatch(struct pool *p, struct err *err);
bool pool_take(struct pool *p, struct pool_result *ret);
/* Queued requests and runs under way become RUN_CANCELLED results. */
void pool_cancel(struct pool *p);
/* Ends the workers and waits until they and everything below them are gone. */
void pool_free(struct pool *p);

#endif
