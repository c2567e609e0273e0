/*
 * The git directories of a sandboxed checkout.
 *
 * A run may write to its checkout, and so to .git: a filter or a monitor that it
 * configures there would be run by the git that we call on the checkout later, outside
 * of the sandbox. So a copy of each, of the submodules too, is kept where no run sees it,
 * made before the first run, and takes the place of what a run has left before git is
 * called. Where a run put a repository that was none, it is removed.
 */
#include "rev/repo.h"

#include "base/fs.h"
#include "base/mem.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#define LIST "list"
enum { MAX_DEPTH = 32, LIST_CAP = 16 << 20 };

static int copy_file(int from_dir, int to_dir, const char *name, const struct stat *st)
{
	CLEANUP_FD int from = openat(from_dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	CLEANUP_FD int to =
		from < 0 ? -1
			 : openat(to_dir, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
				  st->st_mode & 0777);
	CLEANUP(buf) struct buf text = {0};
	/* git takes a file that is as old as the index for one that may have changed. */
	const struct timespec times[2] = {st->st_atim, st->st_mtim};

	if (to < 0 || read_fd(from, 0, &text) < 0 ||
	    write_all(to, buf_str(&text), text.len) < 0)
		return -1;
	return futimens(to, times);
}

static int copy_dir(int from_dir, int to_dir, const char *from_name, const char *to_name,
		    unsigned depth);

static int copy_entry(int from, int to, const char *name, unsigned depth)
{
	struct stat st;

	if (!strcmp(name, ".") || !strcmp(name, ".."))
		return 0;
	if (fstatat(from, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return -1;
	if (S_ISDIR(st.st_mode))
		return copy_dir(from, to, name, name, depth + 1);
	return S_ISREG(st.st_mode) ? copy_file(from, to, name, &st) : 0;
}

/* Both names are relative to their directories, or absolute. 0, or -1 with errno. */
static int copy_dir(int from_dir, int to_dir, const char *from_name, const char *to_name,
		    unsigned depth)
{
	const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
	CLEANUP_FD int to = -1;
	int from = depth > MAX_DEPTH ? -1 : openat(from_dir, from_name, flags), rc = 0;
	DIR *dir = from < 0 ? NULL : fdopendir(from);
	struct dirent *e;

	if (!dir) {
		fd_cleanup(&from);
		return -1;
	}
	if (mkdirat(to_dir, to_name, 0777) < 0 ||
	    (to = openat(to_dir, to_name, flags)) < 0)
		rc = -1;
	while (rc == 0 && (e = readdir(dir)))
		rc = copy_entry(from, to, e->d_name, depth);
	closedir(dir);
	return rc;
}

/* "" or "path/of/submodule", and the .git in there. */
static char *git_in(const char *src, const char *rel)
{
	return xasprintf("%s/%s%s.git", src, rel, *rel ? "/" : "");
}

struct saving {
	const struct repo *r;
	const char *src, *dir;
	struct buf list; /* for each: '+' or '-', path, NUL */
	unsigned n;
};

struct saving_layer {
	struct saving *s;
	const char *rel;
	unsigned depth;
};

static int save_layer(struct saving *s, const char *rel, unsigned depth, struct err *err);

static int save_module(void *ctx, const char *path, const char *commit, struct err *err)
{
	const struct saving_layer *up = ctx;
	CLEANUP_FREE char *rel = *up->rel ? path_join(up->rel, path) : xstrdup(path);
	CLEANUP_FREE char *git = git_in(up->s->src, rel);
	struct stat st;

	(void)commit;
	if (lstat(git, &st) == 0)
		return save_layer(up->s, rel, up->depth + 1, err);
	buf_addc(&up->s->list, '-');
	buf_add(&up->s->list, rel, strlen(rel) + 1);
	return 0;
}

static int save_layer(struct saving *s, const char *rel, unsigned depth, struct err *err)
{
	CLEANUP_FREE char *git = git_in(s->src, rel);
	CLEANUP_FREE char *copy = xasprintf("%s/%u", s->dir, s->n++);
	CLEANUP_FREE char *work = *rel ? path_join(s->src, rel) : xstrdup(s->src);
	struct saving_layer layer = {.s = s, .rel = rel, .depth = depth};

	if (depth > MAX_DEPTH)
		return err_set(err, ERR_USAGE, "submodule %s is nested too deeply", rel);
	if (copy_dir(AT_FDCWD, AT_FDCWD, git, copy, 0) < 0)
		return err_errno(err, ERR_ENVIRONMENT, errno, "cannot copy %s", git);
	buf_addc(&s->list, '+');
	buf_add(&s->list, rel, strlen(rel) + 1);
	return tree_each_module(s->r, work, save_module, &layer, err);
}

int gitdirs_save(const struct repo *r, const char *src, const char *dir, struct err *err)
{
	struct saving s = {.r = r, .src = src, .dir = dir};
	CLEANUP_FREE char *list = path_join(dir, LIST);
	int rc = remove_tree(dir, err);

	if (rc == 0)
		rc = make_dirs(dir, 0700, err);
	if (rc == 0)
		rc = save_layer(&s, "", 0, err);
	if (rc == 0)
		rc = write_file(list, buf_str(&s.list), s.list.len, err);
	buf_release(&s.list);
	return rc;
}

/* A link on the way would lead out of the checkout. ret_there: all of it exists. */
static bool real_directory(const char *src, const char *rel, bool *ret_there)
{
	CLEANUP_FREE char *full = *rel ? path_join(src, rel) : xstrdup(src);
	struct stat st;

	*ret_there = true;
	for (char *p = full + strlen(src); p; p = strchr(p + 1, '/')) {
		const char kept = *p;

		*p = '\0';
		if (lstat(full, &st) < 0) {
			*ret_there = false;
			return errno == ENOENT;
		}
		*p = kept;
		if (!S_ISDIR(st.st_mode))
			return false;
		if (!kept)
			return true;
	}
	return lstat(full, &st) == 0 && S_ISDIR(st.st_mode);
}

static bool restore_one(const char *src, const char *rel, const char *copy)
{
	CLEANUP_FREE char *git = git_in(src, rel);
	bool there;

	if (!real_directory(src, rel, &there))
		return false;
	if (!there)
		return !copy;
	if (remove_tree(git, NULL) < 0)
		return false;
	return !copy || copy_dir(AT_FDCWD, AT_FDCWD, copy, git, 0) == 0;
}

bool gitdirs_restore(const char *src, const char *dir)
{
	CLEANUP_FREE char *file = path_join(dir, LIST);
	CLEANUP(buf) struct buf list = {0};
	unsigned n = 0;

	if (read_file(file, LIST_CAP, &list, NULL) < 0 || !list.len ||
	    list.data[list.len - 1])
		return false;
	for (const char *p = list.data; p < list.data + list.len; p += strlen(p) + 1) {
		CLEANUP_FREE char *copy = *p == '+' ? xasprintf("%s/%u", dir, n++) : NULL;

		if (!*p || !restore_one(src, p + 1, copy))
			return false;
	}
	return true;
}
