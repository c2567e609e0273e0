#include "base/fs.h"

#include "base/mem.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

int write_all(int fd, const void *data, size_t len)
{
	const char *p = data;

	while (len) {
		ssize_t n = write(fd, p, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -1;
		p += n;
		len -= (size_t)n;
	}
	return 0;
}

int read_fd(int fd, size_t cap, struct buf *out)
{
	char chunk[16384];
	size_t got = 0;

	for (;;) {
		size_t want = sizeof(chunk);
		ssize_t n;

		if (cap && cap - got < want)
			want = cap - got;
		if (!want)
			return 0;
		n = read(fd, chunk, want);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -1;
		if (n == 0)
			return 0;
		buf_add(out, chunk, (size_t)n);
		got += (size_t)n;
	}
}

int read_file(const char *path, size_t cap, struct buf *out, struct err *err)
{
	/* Not blocking: to open a FIFO waits for its other end. */
	CLEANUP_FD int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return err_errno(err, ERR_ENVIRONMENT, errno, "cannot open %s", path);
	if (!S_ISREG(st.st_mode))
		return err_set(err, ERR_ENVIRONMENT, "cannot read %s: not a file", path);
	if (read_fd(fd, cap, out) < 0)
		return err_errno(err, ERR_ENVIRONMENT, errno, "cannot read %s", path);
	return 0;
}

static int sync_parent(const char *path)
{
	CLEANUP_FREE char *dir = xstrdup(path);
	char *slash = strrchr(dir, '/');
	CLEANUP_FD int fd = -1;

	if (slash == dir)
		slash++;
	if (slash)
		*slash = '\0';
	fd = open(slash ? dir : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? -1 : fsync(fd);
}

int write_file(const char *path, const void *data, size_t len, struct err *err)
{
	CLEANUP_FREE char *tmp = xasprintf("%s.tmp.%ld", path, (long)getpid());
	CLEANUP_FD int fd = open(tmp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	const char *step = "write";
	int rc;

	if (fd < 0)
		return err_errno(err, ERR_ENVIRONMENT, errno, "cannot create %s", tmp);
	if (write_all(fd, data, len) < 0)
		goto failed;
	step = "sync";
	if (fsync(fd) < 0)
		goto failed;
	step = "close";
	rc = close(fd);
	fd = -1; /* whatever it said */
	if (rc < 0)
		goto failed;
	step = "rename";
	if (rename(tmp, path) < 0 || sync_parent(path) < 0)
		goto failed;
	return 0;
failed:
	err_errno(err, ERR_ENVIRONMENT, errno, "cannot %s %s", step, path);
	unlink(tmp);
	return -1;
}

int make_dirs(const char *path, mode_t mode, struct err *err)
{
	CLEANUP_FREE char *p = xstrdup(path);
	struct stat st;

	for (char *s = p + 1; *p; s++) {
		char c = *s;

		if (c != '/' && c != '\0')
			continue;
		*s = '\0';
		if (mkdir(p, mode) < 0 && errno != EEXIST)
			return err_errno(err, ERR_ENVIRONMENT, errno,
					 "cannot make directory %s", p);
		*s = c;
		if (!c)
			break;
	}
	if (stat(p, &st) < 0 || !S_ISDIR(st.st_mode)) /* a file has the name */
		return err_errno(err, ERR_ENVIRONMENT, ENOTDIR,
				 "cannot make directory %s", p);
	return 0;
}

static int remove_entries(int dirfd, dev_t dev);

static int remove_at(int dirfd, const char *name, dev_t dev)
{
	CLEANUP_FD int fd = -1;
	struct stat st;

	if (unlinkat(dirfd, name, 0) == 0 || errno == ENOENT)
		return 0;
	if (errno != EISDIR && errno != EPERM)
		return -1;
	if (fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : -1;
	if (!S_ISDIR(st.st_mode) || (dev && st.st_dev != dev)) {
		errno = S_ISDIR(st.st_mode) ? EXDEV : EPERM;
		return -1;
	}
	if ((st.st_mode & 0700) != 0700)
		fchmodat(dirfd, name, 0700, 0);
	fd = openat(dirfd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || remove_entries(fd, st.st_dev) < 0)
		return -1;
	return unlinkat(dirfd, name, AT_REMOVEDIR);
}

static int remove_entries(int dirfd, dev_t dev)
{
	int copy = fcntl(dirfd, F_DUPFD_CLOEXEC, 3);
	DIR *d = copy < 0 ? NULL : fdopendir(copy);
	struct dirent *e;
	int rc = 0, saved = 0;

	if (!d) {
		if (copy >= 0)
			close(copy);
		return -1;
	}
	while ((e = readdir(d))) {
		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
			continue;
		if (remove_at(dirfd, e->d_name, dev) < 0) {
			saved = errno;
			rc = -1;
		}
	}
	closedir(d);
	errno = saved;
	return rc;
}

int remove_tree(const char *path, struct err *err)
{
	if (remove_at(AT_FDCWD, path, 0) < 0)
		return err_errno(err, ERR_ENVIRONMENT, errno, "cannot remove %s", path);
	return 0;
}

bool path_exists(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0;
}

char *path_join(const char *dir, const char *name)
{
	size_t len = strlen(dir);

	return xasprintf("%s%s%s", dir, len && dir[len - 1] == '/' ? "" : "/", name);
}

const char *path_base(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

char *make_temp_dir(const char *dir, const char *prefix, struct err *err)
{
	CLEANUP_FREE char *path = xasprintf("%s/%s.XXXXXX", dir, prefix);

	if (!mkdtemp(path)) {
		err_errno(err, ERR_ENVIRONMENT, errno, "cannot make a directory in %s",
			  dir);
		return NULL;
	}
	return TAKE_PTR(path);
}

char *find_program(const char *name)
{
	const char *path = getenv("PATH");
	CLEANUP_FREE char *copy = NULL;
	char *save = NULL;

	if (strchr(name, '/'))
		return access(name, X_OK) == 0 ? xstrdup(name) : NULL;
	copy = xstrdup(path ? path : "/usr/local/bin:/usr/bin:/bin");
	for (char *d = strtok_r(copy, ":", &save); d; d = strtok_r(NULL, ":", &save)) {
		char *full = path_join(d, name);

		if (access(full, X_OK) == 0)
			return full;
		free(full);
	}
	return NULL;
}

const char *home_dir(void)
{
	const char *home = getenv("HOME");

	return home && home[0] == '/' && home[1] ? home : NULL;
}
