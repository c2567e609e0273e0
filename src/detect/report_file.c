#include "detect/report_file.h"

#include "base/fs.h"
#include "base/mem.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

enum { PIECE = 1 << 16, PID_LIMIT = 1 << 22 /* PID_MAX_LIMIT of Linux */ };

int open_regular(const char *path, int flags)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | flags);
	struct stat st;

	/* A link, a socket. */
	if (fd < 0 && (errno == ENXIO || (errno == ELOOP && (flags & O_NOFOLLOW))))
		errno = EINVAL;
	if (fd >= 0 && (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))) {
		close(fd);
		errno = EINVAL;
		return -1;
	}
	return fd;
}

int read_regular(const char *path, size_t cap, struct buf *out)
{
	CLEANUP_FD int fd = open_regular(path, O_NOFOLLOW);

	return fd < 0 ? -1 : read_fd(fd, cap, out);
}

int feed_regular(const char *path, uint64_t cap,
		 void (*feed)(void *ctx, const char *data, size_t len), void *ctx)
{
	CLEANUP_FD int fd = open_regular(path, O_NOFOLLOW);
	CLEANUP_FREE char *piece = xcalloc(1, PIECE);
	uint64_t done = 0;

	while (fd >= 0 && done < cap) {
		ssize_t n = read(fd, piece, PIECE);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return (int)n;
		feed(ctx, piece, (size_t)n);
		done += (uint64_t)n;
	}
	return fd < 0 ? -1 : 0;
}

pid_t pid_in_name(const char *name, const char *prefix, const char *suffix)
{
	size_t n = strlen(prefix);
	pid_t pid = 0;

	if (strncmp(name, prefix, n) != 0)
		return 0;
	for (name += n; *name >= '0' && *name <= '9'; name++) {
		pid = pid * 10 + (*name - '0');
		if (pid > PID_LIMIT)
			return 0;
	}
	return strcmp(name, suffix) ? 0 : pid;
}

static int ascending(const void *a, const void *b)
{
	const pid_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

int pids_in_dir(const char *dir, const char *prefix, const char *suffix, pid_t **ret,
		size_t *ret_n)
{
	DIR *d = opendir(dir);
	const struct dirent *e;
	pid_t *pids = NULL;
	size_t n = 0, cap = 0;

	if (!d)
		return -1;
	while ((e = readdir(d))) {
		pid_t pid = pid_in_name(e->d_name, prefix, suffix);

		if (pid)
			*VEC_ADD(pids, n, cap) = pid;
	}
	closedir(d);
	if (n)
		qsort(pids, n, sizeof(*pids), ascending);
	*ret = pids;
	*ret_n = n;
	return 0;
}
