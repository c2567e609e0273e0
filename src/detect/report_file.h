/* Report files are written next to the program under test, which may put anything in
 * their place: only regular files are read, without waiting, and no link is followed. */
#ifndef EXITPATH_DETECT_REPORT_FILE_H
#define EXITPATH_DETECT_REPORT_FILE_H

#include "base/buf.h"

#include <stdint.h>
#include <sys/types.h>

/* flags: O_NOFOLLOW, or 0 for programs and libraries. -1 with errno, EINVAL for what is
 * no regular file; the fd is CLOEXEC. */
int open_regular(const char *path, int flags);
int read_regular(const char *path, size_t cap, struct buf *out); /* 0, or -1 */
/* Hands the file to feed() piece by piece, at most cap bytes. 0, or -1 with errno. */
int feed_regular(const char *path, uint64_t cap,
		 void (*feed)(void *ctx, const char *data, size_t len), void *ctx);

/* The pid in a file name "PREFIXpidSUFFIX", or 0. */
pid_t pid_in_name(const char *name, const char *prefix, const char *suffix);
/* The pids of such files in dir, ascending; the caller frees. -1 with errno. */
int pids_in_dir(const char *dir, const char *prefix, const char *suffix, pid_t **ret,
		size_t *ret_n);

#endif
