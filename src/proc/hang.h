/* Where the processes of a run stood when its deadline passed. Internal to proc. */
#ifndef EXITPATH_PROC_HANG_H
#define EXITPATH_PROC_HANG_H

#include <sys/types.h>

/* Writes <dir>/hang.txt for all descendants of pid; what cannot be read is left out.
 * dir NULL: nowhere. */
void hang_write(const char *dir, pid_t pid);

#endif
