/*
 * What outlives a process: files, shared memory. Namespaces that the whole machine
 * shares are compared before and after; the run's own TMPDIR is empty before.
 */
#ifndef EXITPATH_LEDGER_SHARED_H
#define EXITPATH_LEDGER_SHARED_H

#include "base/strv.h"
#include "ledger/procfs.h"

enum { LEFTOVERS_CAP = 1000 }; /* files of one directory tree that are listed */

/* Names in /tmp and /dev/shm that belong to us, and System V segments. Sorted. */
struct shared {
	struct strv tmp, shm;
	struct sysv_segment *segments;
	size_t nsegments, segments_cap;
};

/* names: also list /tmp and /dev/shm; segments are cheap and always listed. */
void shared_read(struct shared *s, bool names);
void shared_release(struct shared *s);
/* Calls each() for what is in after and not in before. */
void names_added(const struct strv *before, const struct strv *after,
		 void (*each)(void *ctx, const char *name), void *ctx);
bool segment_known(const struct shared *s, int id);

/*
 * Files and empty directories below dir, as paths relative to it, sorted; symbolic
 * links are not followed. 0; or -1 with errno when dir cannot be listed. A missing dir
 * is empty. ret_more: there are more than LEFTOVERS_CAP.
 */
int leftovers_list(const char *dir, struct strv *ret, bool *ret_more);

#endif
