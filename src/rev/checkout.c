/*
 * A checkout is <store>/trees/<key>/{src/,lock,state.json,setup.log}. Whoever holds the
 * lock owns the directory. state.json is written when src is whole: without it src is
 * the work of a process that died, and is made anew. gc renames the directory away
 * under its lock, so a lock counts only while it is still the one at its path.
 */
#include "rev/repo.h"

#include "base/fs.h"
#include "base/json.h"
#include "base/mem.h"
#include "proc/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>

#define KEY_DIGITS 16
#define POLL_MS 100 /* between two tries for a lock */

/* flock belongs to the process, so its list does too: a second request for a checkout
 * that we hold ourselves would wait for ever. */
static struct strv held;

static char *make_key(const struct revision_info *rev, const char *setup_digest,
		      const struct strv *share)
{
	struct sha256 *h = sha256_new();
	char hex[SHA256_HEX];

	sha256_add_field(h, rev->tree);
	sha256_add_field(h, setup_digest);
	for (size_t i = 0; share && i < share->n; i++)
		sha256_add_field(h, share->v[i]);
	sha256_finish(h, hex);
	return xstrndup(hex, KEY_DIGITS);
}

static bool still_at(int fd, const char *path)
{
	struct stat by_fd, by_path;

	return fstat(fd, &by_fd) == 0 && stat(path, &by_path) == 0 &&
	       by_fd.st_dev == by_path.st_dev && by_fd.st_ino == by_path.st_ino;
}

int lock_try(const char *dir, struct err *err)
{
	CLEANUP_FREE char *path = path_join(dir, LOCK_FILE);
	CLEANUP_FD int fd = -1;
	char pid[24];
	int len, ret;

	if (err)
		err->kind = ERR_NONE;
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
	if (fd < 0 && errno == ENOENT)
		return -1; /* removed since we made it */
	if (fd < 0)
		return err_errno(err, ERR_ENVIRONMENT, errno, "cannot open %s", path);
	if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
		if (errno == EWOULDBLOCK || errno == EINTR)
			return -1;
		return err_errno(err, ERR_ENVIRONMENT, errno, "cannot lock %s", path);
	}
	if (!still_at(fd, path))
		return -1;
	len = snprintf(pid, sizeof(pid), "%ld\n", (long)getpid());
	if (ftruncate(fd, 0) < 0 || pwrite(fd, pid, (size_t)len, 0) < 0)
		return err_errno(err, ERR_ENVIRONMENT, errno, "cannot write %s", path);
	ret = fd;
	fd = -1;
	return ret;
}

static pid_t lock_owner(const char *dir)
{
	CLEANUP_FREE char *path = path_join(dir, LOCK_FILE);
	CLEANUP(buf) struct buf b = {0};

	if (read_file(path, 32, &b, NULL) < 0)
		return 0;
	return (pid_t)strtol(buf_str(&b), NULL, 10);
}

static int lock_wait(const char *dir, void (*on_wait)(void *ctx, pid_t owner), void *ctx,
		     struct err *err)
{
	struct err own = {0}, *e = err ? err : &own;

	if (strv_contains(&held, dir))
		return err_set(err, ERR_INTERNAL, "checkout %s asked for twice", dir);
	for (;;) {
		struct pollfd interrupt = {.fd = proc_interrupt_fd(), .events = POLLIN};
		int fd;

		if (make_dirs(dir, 0777, err) < 0)
			return -1;
		fd = lock_try(dir, e);
		if (fd >= 0 || e->kind != ERR_NONE)
			return fd;
		if (on_wait)
			on_wait(ctx, lock_owner(dir));
		on_wait = NULL;
		poll(&interrupt, 1, POLL_MS);
		if (proc_interrupted())
			return err_set(err, ERR_INTERRUPTED, "interrupted");
	}
}

static json_t *load_state(const char *dir)
{
	CLEANUP_FREE char *path = path_join(dir, STATE_FILE);
	CLEANUP(buf) struct buf b = {0};

	if (read_file(path, 65536, &b, NULL) < 0)
		return NULL;
	return json_parse(buf_str(&b), b.len, path, NULL);
}

static int save_state(const char *dir, json_t *state, struct err *err)
{
	CLEANUP_FREE char *path = path_join(dir, STATE_FILE), *text = NULL;

	json_put_int(state, "last_used", (int64_t)time(NULL));
	text = json_pretty(state);
	return write_file(path, text, strlen(text), err);
}

static int make_source(const struct repo *r, const char *commit, const char *src,
		       struct err *err)
{
	CLEANUP(strv) struct strv objects = {0};
	struct tree_source from = {.top = r->bare ? NULL : r->top,
				   .common_dir = r->common_dir,
				   .objects = &objects};

	strv_copy(&objects, r->objects.v);
	strv_take(&objects, path_join(r->frozen, "objects"));
	if (repo_fetch_missing(r, commit, err) < 0)
		return -1;
	return tree_make(r, &from, commit, src, err);
}

static int make_new(const struct repo *r, const char *commit, const char *dir,
		    const char *src, struct err *err)
{
	CLEANUP_FREE char *state = path_join(dir, STATE_FILE);
	CLEANUP_FREE char *home = path_join(dir, "home");

	if (unlink(state) < 0 && errno != ENOENT)
		return err_errno(err, ERR_ENVIRONMENT, errno, "cannot remove %s", state);
	if (remove_tree(src, err) < 0 || remove_tree(home, err) < 0)
		return -1;
	if (make_source(r, commit, src, err) == 0)
		return 0;
	remove_tree(src, NULL); /* a full disk needs the room */
	return -1;
}

/* Brings src to the commit. *ret_kept: what was built there before may be relied on;
 * *ret_same: nothing was done. */
static int bring_up(const struct repo *r, const struct revision_info *rev,
		    const char *dir, const char *src, json_t *state, bool *ret_kept,
		    bool *ret_same, struct err *err)
{
	const char *commit = json_get(state, "commit", "");
	struct err ignored = {0};

	*ret_kept = *ret_same = false;
	if (!strcmp(json_get(state, "tree", ""), rev->tree)) {
		*ret_kept = tree_intact(r, commit, src);
		/* Also for another commit with the same tree: HEAD must name it. */
		*ret_same = *ret_kept && !strcmp(commit, rev->commit);
		if (*ret_same)
			return 0;
		json_put_bool(state, "setup_done",
			      *ret_kept && json_get_bool(state, "setup_done", false));
		if (save_state(dir, state, err) < 0)
			return -1;
		if (make_source(r, rev->commit, src, &ignored) == 0)
			return 0;
		if (ignored.kind == ERR_INTERRUPTED)
			return err_set(err, ERR_INTERRUPTED, "interrupted");
		*ret_kept = false;
	}
	return make_new(r, rev->commit, dir, src, err);
}

static int fill(const struct repo *r, const struct revision_info *rev,
		const struct strv *share, const char *dir, struct checkout *c,
		struct err *err)
{
	CLEANUP_JSON json_t *state = load_state(dir);
	CLEANUP_FREE char *git = path_join(dir, "git");
	bool kept, same;

	if (!json_is_object(state)) {
		json_decref(state);
		state = json_object();
	}
	if (json_get_bool(state, "setup_begun", false) ||
	    (c->home && !gitdirs_restore(c->dir, git)))
		json_object_clear(state);
	if (bring_up(r, rev, dir, c->dir, state, &kept, &same, err) < 0 ||
	    tree_share(r, share, c->dir, c->home ? &c->shared : NULL, err) < 0 ||
	    (c->home && make_dirs(c->home, 0700, err) < 0) ||
	    (c->home && !same && gitdirs_save(r, c->dir, git, err) < 0))
		return -1;
	c->setup_done = kept && json_get_bool(state, "setup_done", false);
	json_put(state, "tree", rev->tree);
	json_put(state, "commit", rev->commit);
	json_put_bool(state, "setup_done", c->setup_done);
	return save_state(dir, state, err);
}

int checkout_get(struct repo *r, const struct revision_info *rev,
		 const char setup_digest[SHA256_HEX], const struct strv *share,
		 bool sandboxed, void (*on_wait)(void *ctx, pid_t owner), void *ctx,
		 struct checkout *ret, struct err *err)
{
	struct checkout c = {.lock_fd = -1};
	CLEANUP_FREE char *dir = NULL;

	if (tree_check_share(share, err) < 0)
		return -1;
	c.key = make_key(rev, setup_digest, share);
	dir = path_join(r->trees, c.key);
	c.dir = path_join(dir, "src");
	c.setup_log = path_join(dir, "setup.log");
	c.home = sandboxed ? path_join(dir, "home") : NULL;
	c.lock_fd = lock_wait(dir, on_wait, ctx, err);
	if (c.lock_fd < 0) {
		checkout_release(&c);
		return -1;
	}
	strv_add(&held, dir);
	if (fill(r, rev, share, dir, &c, err) < 0) {
		checkout_release(&c);
		return -1;
	}
	*ret = c;
	return 0;
}

static char *dir_of(const struct checkout *c)
{
	return xstrndup(c->dir, strlen(c->dir) - strlen("/src"));
}

static int note_setup(struct checkout *c, bool done, struct err *err)
{
	CLEANUP_FREE char *dir = dir_of(c);
	CLEANUP_JSON json_t *state = load_state(dir);

	if (!json_is_object(state))
		return err_set(err, ERR_ENVIRONMENT, "%s/%s was removed or damaged", dir,
			       STATE_FILE);
	json_put_bool(state, "setup_begun", !done);
	json_put_bool(state, "setup_done", done);
	if (save_state(dir, state, err) < 0)
		return -1;
	c->setup_done = done;
	return 0;
}

int checkout_setup_begin(struct checkout *c, struct err *err)
{
	return note_setup(c, false, err);
}

int checkout_setup_done(struct checkout *c, struct err *err)
{
	return note_setup(c, true, err);
}

void checkout_release(struct checkout *c)
{
	CLEANUP_FREE char *dir = c->dir ? dir_of(c) : NULL;

	for (size_t i = 0; dir && c->lock_fd >= 0 && i < held.n; i++) {
		if (strcmp(held.v[i], dir) != 0)
			continue;
		free(held.v[i]);
		held.v[i] = held.v[--held.n];
		held.v[held.n] = NULL;
		break;
	}
	if (!held.n)
		strv_release(&held);
	fd_cleanup(&c->lock_fd);
	free(c->dir);
	free(c->key);
	free(c->setup_log);
	free(c->home);
	strv_release(&c->shared);
	*c = (struct checkout){.lock_fd = -1};
}
