/* Ignored directories of the working tree (node_modules, .venv) that a checkout reads. */
#include "rev/repo.h"

#include "base/fs.h"
#include "base/mem.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* Without empty and "." parts; NULL when it leads out of the tree or is all of it. */
static char *clean_path(const char *path)
{
	CLEANUP_FREE char *copy = xstrdup(path);
	CLEANUP(buf) struct buf b = {0};
	char *save = NULL;

	if (path[0] == '/')
		return NULL;
	for (char *p = strtok_r(copy, "/", &save); p; p = strtok_r(NULL, "/", &save)) {
		if (!strcmp(p, "."))
			continue;
		if (!strcmp(p, "..") || !strcasecmp(p, ".git"))
			return NULL;
		if (b.len)
			buf_addc(&b, '/');
		buf_adds(&b, p);
	}
	return b.len ? buf_detach(&b) : NULL;
}

int tree_check_share(const struct strv *share, struct err *err)
{
	for (size_t i = 0; share && i < share->n; i++) {
		CLEANUP_FREE char *path = clean_path(share->v[i]);

		if (path)
			continue;
		err_set(err, ERR_USAGE, "cannot share '%s' with the checkouts",
			share->v[i]);
		err_hint(err, "share names directories below the repository's top, "
			      "without '..'");
		return -1;
	}
	return 0;
}

/* Every directory on the way is a real one: a link that the project tracks could lead
 * back into the user's tree. */
static bool parents_are_real(const char *dir, const char *path)
{
	CLEANUP_FREE char *full = path_join(dir, path);
	struct stat st;

	for (char *p = full + strlen(dir) + 1; (p = strchr(p, '/')); p++) {
		bool ok;

		*p = '\0';
		ok = lstat(full, &st) == 0 ? S_ISDIR(st.st_mode) : errno == ENOENT;
		*p = '/';
		if (!ok)
			return false;
	}
	return true;
}

static int make_link(const char *target, const char *link, struct err *err)
{
	CLEANUP_FREE char *parent = xstrdup(link);

	*strrchr(parent, '/') = '\0';
	if (make_dirs(parent, 0777, err) < 0)
		return -1;
	if (symlink(target, link) < 0)
		return err_errno(err, ERR_ENVIRONMENT, errno, "cannot link %s", link);
	return 0;
}

/* A link that stands there already is ours when git does not track it. */
static int replace_link(const struct repo *r, const char *dir, const char *path,
			const char *target, bool wanted, struct err *err)
{
	CLEANUP_FREE char *git_dir = path_join(dir, ".git");
	struct git_call call = {.env = &r->env, .cwd = dir, .git_dir = git_dir};
	CLEANUP_FREE char *link = path_join(dir, path), *now = realpath(link, NULL);
	CLEANUP_FREE char *want = realpath(target, NULL);
	CLEANUP(buf) struct buf out = {0};

	if (wanted && now && want && !strcmp(now, want))
		return 0;
	if (git_run(&call, &out, err, "--literal-pathspecs", "ls-files", "-z", "--", path,
		    NULL) < 0)
		return -1;
	if (out.len)
		return 0;
	if (unlink(link) < 0)
		return err_errno(err, ERR_ENVIRONMENT, errno, "cannot remove %s", link);
	return wanted ? make_link(target, link, err) : 0;
}

static int share_one(const struct repo *r, const char *dir, const char *path,
		     struct err *err)
{
	CLEANUP_FREE char *target = path_join(r->top, path), *link = path_join(dir, path);
	struct stat there, here;
	bool wanted = stat(target, &there) == 0 && S_ISDIR(there.st_mode);

	if (!parents_are_real(dir, path))
		return 0;
	if (lstat(link, &here) == 0)
		return S_ISLNK(here.st_mode)
			       ? replace_link(r, dir, path, target, wanted, err)
			       : 0;
	return wanted ? make_link(target, link, err) : 0;
}

/* git tracks no empty directory: one that can be removed is no part of the revision. */
static int make_point(const struct repo *r, const char *dir, const char *path,
		      struct strv *points, struct err *err)
{
	CLEANUP_FREE char *target = path_join(r->top, path),
			  *point = path_join(dir, path);
	struct stat st;

	if (!parents_are_real(dir, path) || (rmdir(point) < 0 && errno != ENOENT) ||
	    stat(target, &st) < 0 || !S_ISDIR(st.st_mode))
		return 0;
	if (make_dirs(point, 0777, err) < 0)
		return -1;
	strv_add(points, path);
	return 0;
}

/* `node_modules/` in .gitignore does not match a link. */
static int exclude(const struct strv *share, const char *dir, struct err *err)
{
	CLEANUP_FREE char *file = path_join(dir, ".git/info/exclude");
	CLEANUP(buf) struct buf b = {0};

	for (size_t i = 0; i < share->n; i++) {
		CLEANUP_FREE char *path = clean_path(share->v[i]);

		buf_addc(&b, '/');
		for (const char *p = path; p && *p; p++) {
			if (strchr("*?[\\ ", *p))
				buf_addc(&b, '\\');
			buf_addc(&b, *p);
		}
		buf_addc(&b, '\n');
	}
	return write_file(file, buf_str(&b), b.len, err);
}

int tree_share(const struct repo *r, const struct strv *share, const char *dir,
	       struct strv *ret_points, struct err *err)
{
	if (!share || !share->n || r->bare)
		return 0;
	for (size_t i = 0; i < share->n; i++) {
		CLEANUP_FREE char *path = clean_path(share->v[i]);

		if (path && (ret_points ? make_point(r, dir, path, ret_points, err)
					: share_one(r, dir, path, err)) < 0)
			return -1;
	}
	return exclude(share, dir, err);
}
