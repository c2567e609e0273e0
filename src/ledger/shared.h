/*
 * What outlives a process: System V segments, which are compared before and after, and
 * files in the run's own TMPDIR, which is empty before. See names.h for /tmp.
 */
#ifndef EXITPATH_LEDGER_SHARED_H
#define EXITPATH_LEDGER_SHARED_H

#include "base/strv.h"
#include "ledger/procfs.h"

enum { LEFTOVERS_CAP = 1000 }; /* files of one directory tree that are listed */

struct segments {
	struct sysv_segment *v;
	size_t n, cap;
};

void segments_read(struct segments *s);
void segments_read_fd(int fd, struct segments *s); /* fd: a /proc/sysvipc/shm */
void segments_release(struct segments *s);
bool segment_known(const struct segments *s, int id);

/*
 * Files and empty directories below dir, as paths relative to it, sorted; symbolic
 * links are not followed. 0; or -1 with errno when dir cannot be listed. A missing dir
 * is empty. ret_more: there are more than LEFTOVERS_CAP.
 */
int leftovers_list(const char *dir, struct strv *ret, bool *ret_more);
/* The names in a directory itself, sorted, at most LEFTOVERS_CAP. 0, or -1 with errno. */
int names_in(int dir, struct strv *ret);

#endif
