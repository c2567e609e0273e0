/*
 * Scratch directories: short paths (a Unix socket's holds 107 bytes) in a directory that
 * is this user's alone. Each is locked by the process that made it and by what it
 * forked; whoever gets the lock knows that its owners are dead, in any pid namespace.
 */
#include "rev/repo.h"

#include "base/fs.h"
#include "base/mem.h"
#include "model/sandbox.h" /* path_is_below() */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

/* "/exitpath-UID/r.XXXXXX/candidate-1000/tmp/worker.sock" takes 51 of a socket's 107. */
enum { MAX_PARENT = 56 };
/* What LD_PRELOAD and the options of sanitizers cannot hold. */
static const char separators[] = " \t\r\n\v\f:;,$%\"'\\";

/* flock belongs to the process, so its list does too. */
static struct held {
	char *dir;
	int fd;
} * held;
static size_t n_held, held_cap;

static bool private_dir(const char *path)
{
	struct stat st;

	if (mkdir(path, 0700) < 0 && errno != EEXIST)
		return false;
	return lstat(path, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == geteuid() &&
	       (st.st_mode & 0777) == 0700 && access(path, W_OK | X_OK) == 0;
}

const char *scratch_parent(void)
{
	const char *tmp = getenv("TMPDIR");

	if (!tmp || tmp[0] != '/' || strlen(tmp) > MAX_PARENT ||
	    tmp[strcspn(tmp, separators)] || access(tmp, W_OK | X_OK) < 0)
		return "/tmp";
	return tmp;
}

static char *own_root(void)
{
	return xasprintf("%s/exitpath-%lu", scratch_parent(), (unsigned long)geteuid());
}

char *scratch_root(const char *store, struct err *err)
{
	CLEANUP_FREE char *path = own_root();

	if (private_dir(path))
		return TAKE_PTR(path);
	free(path);
	path = path_join(store, "scratch");
	if (make_dirs(path, 0700, err) < 0)
		return NULL;
	return TAKE_PTR(path);
}

/* The directory's lock, or -1 when somebody has it or the directory is gone. */
static int lock_dir(const char *dir)
{
	CLEANUP_FD int fd = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat by_fd, by_path;
	int ret;

	if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) < 0)
		return -1;
	if (fstat(fd, &by_fd) < 0 || stat(dir, &by_path) < 0 ||
	    by_fd.st_ino != by_path.st_ino)
		return -1;
	ret = fd;
	fd = -1;
	return ret;
}

/* A directory below root, locked. */
static char *make_locked(const char *root_dir, struct err *err)
{
	/* The cleaner of another process may take a directory before it is locked. */
	for (int attempt = 0; attempt < 100; attempt++) {
		/* The last exitpath to leave removes the root as well. */
		bool root = private_dir(root_dir);
		CLEANUP_FREE char *dir = make_temp_dir(root_dir, "r", err);
		struct held *h;
		int fd;

		if (!dir && root && !path_exists(root_dir))
			continue;
		if (!dir)
			return NULL;
		fd = lock_dir(dir);
		if (fd < 0)
			continue;
		h = VEC_ADD(held, n_held, held_cap);
		h->dir = xstrdup(dir);
		h->fd = fd;
		return TAKE_PTR(dir);
	}
	err_set(err, ERR_ENVIRONMENT, "cannot lock a directory in %s", root_dir);
	err_hint(err, "set TMPDIR to a directory on a local file system");
	return NULL;
}

char *scratch_make(struct repo *r, struct err *err)
{
	return make_locked(r->scratch, err);
}

char *scratch_make_alone(struct err *err)
{
	CLEANUP_FREE char *root = own_root();

	if (!private_dir(root)) {
		err_set(err, ERR_ENVIRONMENT, "%s is not a directory of this user's own",
			root);
		err_hint(err, "remove it, or set TMPDIR to another directory");
		return NULL;
	}
	scratch_clean(root, NULL);
	return make_locked(root, err);
}

/* Unless another exitpath, or a repository of this one, has something there. */
static void remove_root(const char *dir)
{
	CLEANUP_FREE char *root = own_root();

	if (path_is_below(dir, root))
		rmdir(root);
}

void scratch_remove(const char *dir)
{
	if (!dir)
		return;
	for (size_t i = 0; i < n_held; i++) {
		if (strcmp(held[i].dir, dir) != 0)
			continue;
		remove_tree(dir, NULL); /* what stays is the next cleaner's */
		close(held[i].fd);
		remove_root(held[i].dir);
		free(held[i].dir);
		held[i] = held[--n_held];
		break;
	}
	if (!n_held) {
		free(held);
		held = NULL;
		held_cap = 0;
	}
}

uint64_t disk_usage(const char *path)
{
	CLEANUP_FREE char *copy = xstrdup(path);
	char *const roots[] = {copy, NULL};
	FTS *fts = fts_open(roots, FTS_PHYSICAL | FTS_XDEV | FTS_NOCHDIR, NULL);
	uint64_t blocks = 0;
	FTSENT *e;

	while (fts && (e = fts_read(fts)))
		if (e->fts_info != FTS_DP && e->fts_info != FTS_NS && e->fts_statp)
			blocks += (uint64_t)e->fts_statp->st_blocks;
	if (fts)
		fts_close(fts);
	return blocks * 512;
}

unsigned scratch_clean(const char *root, uint64_t *bytes)
{
	DIR *d = opendir(root);
	unsigned removed = 0;
	struct dirent *e;

	while (d && (e = readdir(d))) {
		CLEANUP_FREE char *dir = path_join(root, e->d_name);
		CLEANUP_FD int fd = -1;
		uint64_t size;

		if (strncmp(e->d_name, "r.", 2) != 0)
			continue;
		fd = lock_dir(dir);
		if (fd < 0)
			continue;
		size = bytes ? disk_usage(dir) : 0;
		if (remove_tree(dir, NULL) < 0)
			continue;
		removed++;
		if (bytes)
			*bytes += size;
	}
	if (d)
		closedir(d);
	return removed;
}
