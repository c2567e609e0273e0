/* Files and descriptors: whole reads, atomic writes, trees. Every fd is CLOEXEC. */
#ifndef EXITPATH_BASE_FS_H
#define EXITPATH_BASE_FS_H

#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <unistd.h>

static inline void fd_cleanup(int *fd)
{
	if (*fd >= 0)
		close(*fd);
}
#define CLEANUP_FD __attribute__((cleanup(fd_cleanup)))

int write_all(int fd, const void *data, size_t len); /* 0 or -1 with errno */
/* Reads at most cap bytes (0: no cap) and adds them to out; -1 with errno. */
int read_fd(int fd, size_t cap, struct buf *out);
/* Regular files only: a pipe or a device may have no end. */
int read_file(const char *path, size_t cap, struct buf *out, struct err *err);
/* Temporary name, fsync, rename, fsync of the directory. */
int write_file(const char *path, const void *data, size_t len, struct err *err);
int make_dirs(const char *path, mode_t mode, struct err *err); /* mkdir -p */
/* Removes a tree without following links or crossing into other file systems;
 * makes read-only directories writable on its way. A missing path is fine. */
int remove_tree(const char *path, struct err *err);
bool path_exists(const char *path);
char *path_join(const char *dir, const char *name); /* the caller frees */
const char *path_base(const char *path);	    /* after the last '/' */
/* An absolute path of a fresh private directory under dir. The caller frees. */
char *make_temp_dir(const char *dir, const char *prefix, struct err *err);
/* $HOME; NULL when it is not set, relative, or "/" as that of some services. */
const char *home_dir(void);
/* The absolute path of a program found through PATH as execvp would, or NULL. */
char *find_program(const char *name);

#endif
