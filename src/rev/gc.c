/*
 * A checkout is renamed under its lock before it is removed: a process that waited for
 * the lock sees that and makes a new one, and a killed gc leaves only a name that the
 * next one removes. Frozen commits go only when no other exitpath has the store open.
 */
#include "rev/repo.h"

#include "base/fs.h"
#include "base/json.h"
#include "base/mem.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>

#define TRASH "trash."

static time_t last_used(const char *dir, struct buf *ret_commit)
{
	CLEANUP_FREE char *path = path_join(dir, STATE_FILE);
	CLEANUP_JSON json_t *state = NULL;
	CLEANUP(buf) struct buf b = {0};
	struct stat st;

	buf_clear(ret_commit);
	if (read_file(path, 65536, &b, NULL) == 0)
		state = json_parse(buf_str(&b), b.len, path, NULL);
	if (state) {
		buf_adds(ret_commit, json_get(state, "commit", ""));
		return (time_t)json_get_int(state, "last_used", 0);
	}
	return stat(dir, &st) == 0 ? st.st_mtime : 0;
}

static int discard(const char *dir, struct gc_stats *stats, struct err *err)
{
	uint64_t bytes = disk_usage(dir);

	if (remove_tree(dir, err) < 0)
		return -1;
	stats->checkouts++;
	stats->bytes += bytes;
	return 0;
}

/* One entry of trees/; the commits of checkouts that stay are added to used. */
static int sweep(const struct repo *r, const char *name, time_t limit, struct strv *used,
		 struct gc_stats *stats, struct err *err)
{
	CLEANUP_FREE char *dir = path_join(r->trees, name), *trash = NULL;
	CLEANUP(buf) struct buf commit = {0};
	CLEANUP_FD int lock = -1;
	struct err own = {0};

	if (!strncmp(name, TRASH, strlen(TRASH)))
		return discard(dir, stats, err);
	lock = lock_try(dir, &own);
	if (lock < 0 && own.kind != ERR_NONE) {
		if (err)
			*err = own;
		return -1;
	}
	if (lock < 0 || last_used(dir, &commit) > limit) {
		if (lock < 0)
			last_used(dir, &commit);
		if (commit.len)
			strv_add(used, commit.data);
		return 0;
	}
	trash = xasprintf("%s/%s%s.%ld", r->trees, TRASH, name, (long)getpid());
	if (rename(dir, trash) < 0)
		return err_errno(err, ERR_ENVIRONMENT, errno, "cannot rename %s", dir);
	return discard(trash, stats, err);
}

static int sweep_all(const struct repo *r, time_t limit, struct strv *used,
		     struct gc_stats *stats, struct err *err)
{
	CLEANUP(strv) struct strv names = {0};
	DIR *d = opendir(r->trees);
	struct dirent *e;
	int rc = 0;

	if (!d)
		return err_errno(err, ERR_ENVIRONMENT, errno, "cannot read %s", r->trees);
	while ((e = readdir(d)))
		if (e->d_name[0] != '.')
			strv_add(&names, e->d_name);
	closedir(d);
	/* One that cannot be removed does not protect the others. */
	for (size_t i = 0; i < names.n; i++)
		if (sweep(r, names.v[i], limit, used, stats, rc ? NULL : err) < 0)
			rc = -1;
	return rc;
}

static int drop_ref(const struct repo *r, const char *option, const char *commit,
		    struct err *err)
{
	struct git_call call = {.env = &r->env, .cwd = r->store};
	CLEANUP_FREE char *ref = xasprintf("refs/exitpath/frozen/%s", commit);

	return git_run(&call, NULL, err, option, "update-ref", "-d", ref, NULL);
}

static time_t frozen_at(const struct repo *r, const char *commit)
{
	CLEANUP_FREE char *ref =
		xasprintf("%s/refs/exitpath/frozen/%s", r->frozen, commit);
	struct stat st;

	return stat(ref, &st) == 0 ? st.st_mtime : 0;
}

static int prune(struct repo *r, time_t limit, const struct strv *used, struct err *err)
{
	struct git_call call = {.env = &r->env, .cwd = r->store};
	CLEANUP_FREE char *option = xasprintf("--git-dir=%s", r->frozen);
	CLEANUP(buf) struct buf out = {0};
	size_t kept = 0;
	char *save = NULL;

	if (git_run(&call, &out, err, option, "for-each-ref", "--format=%(objectname)",
		    "refs/exitpath/frozen", NULL) < 0)
		return -1;
	for (char *c = out.len ? strtok_r(out.data, "\n", &save) : NULL; c;
	     c = strtok_r(NULL, "\n", &save)) {
		if (strv_contains(used, c) || strv_contains(&r->kept, c) ||
		    frozen_at(r, c) > limit)
			kept++;
		else if (drop_ref(r, option, c, err) < 0)
			return -1;
	}
	if (kept)
		return git_run(&call, NULL, err, option, "prune", "--expire=now", NULL);
	/* Nothing to walk: also when the user's own gc took what we borrowed. */
	if (remove_tree(r->frozen, err) < 0)
		return -1;
	return repo_make_frozen(r, err);
}

int repo_gc(struct repo *r, unsigned max_age_days, struct gc_stats *ret, struct err *err)
{
	time_t limit = time(NULL) - (time_t)max_age_days * 86400;
	CLEANUP(strv) struct strv used = {0};
	struct gc_stats stats = {0};
	uint64_t before, after;
	int rc;

	rc = sweep_all(r, limit, &used, &stats, err);
	stats.scratch = scratch_clean(r->scratch, &stats.bytes);
	if (rc == 0 && flock(r->lock_fd, LOCK_EX | LOCK_NB) == 0) {
		before = disk_usage(r->frozen);
		rc = prune(r, limit, &used, err);
		after = disk_usage(r->frozen);
		stats.bytes += after < before ? before - after : 0;
	}
	/* A failed conversion loses the lock that we had. */
	if (flock(r->lock_fd, LOCK_SH) < 0 && rc == 0)
		rc = err_errno(err, ERR_ENVIRONMENT, errno, "cannot lock the store");
	*ret = stats;
	return rc;
}
