/*
 * The side in the supervisor: asks the server for the sessions of the run when a process
 * that has sockets exits, when the run has ended, and at each cycle that an adapter tells
 * of. The process concerned stands still meanwhile. The text goes to a memfd: a test does
 * not get at it. One JSON line each:
 *
 *   {t: "exit",  us, root, exe, sockets, sessions}    sockets: the process's own
 *   {t: "cycle", us, cycle, sessions}                 0: the level before the first
 *   {t: "end",   us, left, sessions}                  left: processes still live
 *   {t: "failed", why}                                the server was asked in vain
 */
#ifndef EXITPATH_DETECT_PG_WATCH_H
#define EXITPATH_DETECT_PG_WATCH_H

#include "detect/pg_server.h"

#include "base/buf.h"
#include "model/run.h"

struct pg_watch;

/* An adapter that has this variable makes the file named by it and the number of the
 * cycle, at the end of each cycle: PREFIX + "0" after the warm-up. The call is what
 * counts; it returns when the server was asked. */
#define PG_MARK_ENV "EXITPATH_CYCLE"

struct pg_watch_opts {
	struct pg_conn *conn; /* the supervisor's alone. Taken */
	const char *name, *since;
	const char *mark;	       /* PREFIX; NULL: no cycles inside */
	const struct run_watch *inner; /* called first; NULL: none */
};
struct pg_watch *pg_watch_new(const struct pg_watch_opts *opts, struct err *err);
const struct run_watch *pg_watch_of(struct pg_watch *w);
/* After the run. */
int pg_watch_read(const struct pg_watch *w, struct buf *ret, struct err *err);
void pg_watch_free(struct pg_watch *w);

#endif
