/* What both kinds of `exitpath run` need. Internal to engine/run*.c. */
#ifndef EXITPATH_ENGINE_RUN_SESSION_H
#define EXITPATH_ENGINE_RUN_SESSION_H

#include "engine/run.h"
#include "proc/pool.h"

#include <jansson.h>

/* The sandbox that opts ask for. ERR_USAGE when it would show what it must not. */
int run_sandbox(const struct run_opts *opts, struct sandbox *ret, struct err *err);
/* The environment of every run. */
void run_env(const struct run_opts *opts, struct strv *ret);

/* The result as an object; the caller adds the newline and frees. line 0, id NULL: none.
 */
char *run_json(const struct pool_result *r, const struct run_opts *opts, uint64_t line,
	       const json_t *id);
char *run_json_bad(const char *error, const char *hint, uint64_t line, const json_t *id);

/* Bytes that wait until a descriptor can take them. */
enum { SINK_CHUNK = 4096 }; /* PIPE_BUF: a pipe that is writable takes it at once */
enum sink_state {
	SINK_OPEN,
	SINK_CLOSED, /* nobody reads it any more */
	SINK_BROKEN, /* errno */
};
/* One write(2) of at most SINK_CHUNK bytes; *done grows. */
enum sink_state sink_write(int fd, const char *data, size_t len, size_t *done);
/* For poll(): is there something to write, or only to be seen that nobody reads? */
struct pollfd sink_poll(int fd, bool pending);
/* revents of it: */
static inline bool sink_gone(const struct pollfd *p)
{
	return p->revents & (POLLERR | POLLNVAL);
}

#define SINK_PATIENCE_MS 1000 /* after a signal, for a reader that does not read */

#endif
