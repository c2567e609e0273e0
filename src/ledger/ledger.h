/*
 * The OS ledger: what a process holds according to the operating system.
 *
 * The watch side runs in the supervisor (see proc/proc.h): at each exit_group it reads
 * /proc/PID and writes one JSON line; at the root's end it adds what outlives the tree:
 * live descendants, files left in the scratch TMPDIR, what processes of this run have
 * left in /tmp and /dev/shm (not sandboxed: what they were seen to name), new System V
 * segments. The read side parses that text.
 */
#ifndef EXITPATH_LEDGER_LEDGER_H
#define EXITPATH_LEDGER_LEDGER_H

#include "base/buf.h"
#include "base/err.h"
#include "model/observation.h"
#include "model/run.h"

#include <sys/types.h>

#define LEDGER_FILE "ledger.jsonl"

struct ledger; /* the watch side of one run */

struct ledger_opts {
	const char *dir; /* where ledger.jsonl is kept after the run. What lies below it
			    and not in tmpdir or checkout belongs to detectors: a
			    descriptor to it is not reported */
	const char *tmpdir;   /* the run's private TMPDIR, watched for leftovers */
	const char *checkout; /* paths below it are reported relative to it */
	/* What the run sees, see at_end of struct run_watch: the three above are the
	 * paths that it sees. /tmp, /dev/shm and System V segments are its own then, and
	 * all that is left there is the run's. NULL: not sandboxed. Not owned. */
	const struct sandbox *sandbox;
};
/* Takes the before-snapshot of System V segments. */
struct ledger *ledger_new(const struct ledger_opts *opts, struct err *err);
const struct run_watch *ledger_watch(struct ledger *l);
/* After the run, in the process that called ledger_new(): the text, empty when nothing
 * was recorded; kept as an artifact too, whatever a test has put in its place. */
int ledger_read(const struct ledger *l, struct buf *ret, struct err *err);
void ledger_free(struct ledger *l);

/* Parses such a text, also a damaged one. Adds leaks to ret, sets its state. */
int ledger_parse(const char *text, size_t len, struct probe *ret, struct err *err);

#endif
