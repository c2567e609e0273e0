/*
 * Opening: git finds the repository (from a hook, the one that the hook is about); from
 * then on it is named to git by GIT_DIR and GIT_WORK_TREE, and commands that could write
 * get an index and an object directory of ours.
 */
#include "rev/repo.h"

#include "base/fs.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

static char *absolute(const char *dir, const char *path)
{
	CLEANUP_FREE char *joined = path[0] == '/' ? xstrdup(path) : path_join(dir, path);
	char *real = realpath(joined, NULL);

	return real ? real : TAKE_PTR(joined);
}

char *common_dir_of(const char *git_dir)
{
	CLEANUP_FREE char *file = path_join(git_dir, "commondir");
	CLEANUP(buf) struct buf b = {0};

	if (read_file(file, PATH_MAX, &b, NULL) < 0)
		return xstrdup(git_dir);
	while (b.len && b.data[b.len - 1] == '\n')
		b.data[--b.len] = '\0';
	return absolute(git_dir, buf_str(&b));
}

/* The lines of out; false when there are not n of them. Paths that hold a newline
 * make more. */
static bool split_lines(struct buf *out, char *lines[], size_t n)
{
	char *p = out->data;

	for (size_t i = 0; i < n; i++) {
		char *end = p ? strchr(p, '\n') : NULL;

		if (!end)
			return false;
		*end = '\0';
		lines[i] = p;
		p = end + 1;
	}
	return *p == '\0';
}

static int newline_refused(struct err *err, const char *dir)
{
	err_set(err, ERR_USAGE, "a newline in the path of %s", dir);
	err_hint(err, "rename the directory: git and make cannot work in it either");
	return -1;
}

static int set_top(struct repo *r, const char *dir, const struct strv *env,
		   struct err *err)
{
	struct git_call call = {.env = env, .cwd = dir, .discover = true};
	CLEANUP(buf) struct buf out = {0};
	char *lines[2];

	if (git_run(&call, &out, err, "rev-parse", "--show-toplevel", "--show-prefix",
		    NULL) < 0)
		return -1;
	if (!split_lines(&out, lines, 2))
		return newline_refused(err, dir);
	r->top = absolute(dir, lines[0]);
	if (*lines[1] && lines[1][strlen(lines[1]) - 1] == '/')
		lines[1][strlen(lines[1]) - 1] = '\0';
	r->prefix = xstrdup(lines[1]);
	return 0;
}

static bool same_path(const char *a, const char *b)
{
	struct stat sa, sb;

	return stat(a, &sa) == 0 && stat(b, &sb) == 0 && sa.st_dev == sb.st_dev &&
	       sa.st_ino == sb.st_ino;
}

static void forget(struct repo *r)
{
	free(r->top);
	free(r->prefix);
	free(r->git_dir);
	free(r->format);
	r->top = r->prefix = r->git_dir = r->format = NULL;
}

/* git dir, working tree and format of the repository that git finds from dir. */
static int discover(struct repo *r, const char *dir, const struct strv *env,
		    struct err *err)
{
	struct git_call call = {.env = env, .cwd = dir, .discover = true};
	CLEANUP(buf) struct buf out = {0};
	CLEANUP_FREE char *parent = NULL;
	char *lines[4];

	if (git_run(&call, &out, err, "rev-parse", "--is-inside-work-tree",
		    "--is-shallow-repository", "--show-object-format",
		    "--absolute-git-dir", NULL) < 0)
		return -1;
	if (!split_lines(&out, lines, 4))
		return newline_refused(err, dir);
	r->shallow = !strcmp(lines[1], "true");
	/* git older than 2.28 repeats an option that it does not know. */
	r->format = xstrdup(lines[2][0] == '-' ? "sha1" : lines[2]);
	r->git_dir = absolute(dir, lines[3]);
	if (!strcmp(lines[0], "true"))
		return set_top(r, dir, env, err);
	/* Inside .git, where the hooks of a push run, the working tree is beside it. */
	if (!strcmp(path_base(r->git_dir), ".git")) {
		parent = xstrndup(r->git_dir, strlen(r->git_dir) - strlen("/.git"));
		if (set_top(r, *parent ? parent : "/", env, NULL) == 0) {
			free(r->prefix);
			r->prefix = xstrdup("");
			return 0;
		}
	}
	r->bare = true;
	r->top = xstrdup(r->git_dir);
	r->prefix = xstrdup("");
	return 0;
}

static void pass(struct strv *env, const char *name)
{
	env_set(env, name, getenv(name));
}

/* What a hook is told about its repository holds for the directory it started us in. */
static int find_repository(struct repo *r, const char *dir, struct err *err)
{
	const char *git_dir = getenv("GIT_DIR"), *var;
	bool hook = git_dir && same_path(dir, ".");
	CLEANUP(strv) struct strv env = {0};
	CLEANUP_FREE char *cwd = realpath(dir, NULL);
	int rc = -1;

	strv_copy(&env, r->env.v);
	/* Without GIT_WORK_TREE git takes the current directory for the whole tree,
	 * which is wrong below its top; what it finds by itself is not. */
	if (!hook || !getenv("GIT_WORK_TREE"))
		rc = discover(r, dir, &env, hook ? NULL : err);
	if (hook && (rc < 0 || !same_path(git_dir, r->git_dir))) {
		forget(r);
		pass(&env, "GIT_DIR");
		pass(&env, "GIT_WORK_TREE");
		pass(&env, "GIT_COMMON_DIR");
		rc = discover(r, dir, &env, err);
	}
	if (rc < 0)
		return -1;
	r->common_dir = common_dir_of(r->git_dir);
	r->index = path_join(r->git_dir, "index");
	strv_take(&r->objects, path_join(r->common_dir, "objects"));
	strv_copy(&r->user_env, r->env.v);
	if (hook && (var = getenv("GIT_INDEX_FILE"))) {
		free(r->index);
		r->index = absolute(cwd, var);
	}
	/* A push in progress keeps its objects in quarantine. */
	if (hook && (var = getenv("GIT_OBJECT_DIRECTORY")))
		strv_take(&r->objects, absolute(cwd, var));
	return 0;
}

static int explain_not_found(struct err *err, const char *dir)
{
	if (!err || err->kind == ERR_INTERRUPTED || err->kind == ERR_USAGE)
		return -1;
	if (strstr(err->message, "safe.directory") || strstr(err->message, "dubious")) {
		err_set(err, ERR_USAGE, "the repository at %s belongs to another user",
			dir);
		err_hint(err,
			 "when you trust it, with DIRECTORY its top: git config --global "
			 "--add safe.directory DIRECTORY");
	} else if (strstr(err->message, "not a git repository")) {
		err_set(err, ERR_USAGE, "%s is not inside a git repository", dir);
		err_hint(err, "run exitpath in a clone, or `git init` and commit first");
	}
	return -1;
}

static void append(struct buf *b, const struct strv *paths, char sep)
{
	for (size_t i = 0; i < paths->n; i++) {
		git_quote_path(b, paths->v[i]);
		buf_addc(b, sep);
	}
}

/* From here on git reads the user's repository under its name, plus our frozen commits.
 */
static int set_user_env(struct repo *r, struct err *err)
{
	struct git_call call = {.env = &r->user_env, .cwd = r->top};
	CLEANUP_FREE char *own = path_join(r->frozen, "objects");
	CLEANUP(buf) struct buf alternates = {0}, out = {0};
	int status = 0;

	env_set(&r->user_env, "GIT_DIR", r->git_dir);
	if (!r->bare) {
		env_set(&r->user_env, "GIT_WORK_TREE", r->top);
		env_set(&r->user_env, "GIT_INDEX_FILE", r->index);
	}
	append(&alternates, &r->objects, ':');
	git_quote_path(&alternates, own);
	env_set(&r->user_env, "GIT_ALTERNATE_OBJECT_DIRECTORIES", buf_str(&alternates));
	call.ret_status = &status; /* 1: none is set */
	if (git_run(&call, &out, err, "config", "--local", "-z", "--get-regexp",
		    "^(core\\.(autocrlf|eol|attributesfile)|filter\\..*|"
		    "remote\\..*\\.promisor)$",
		    NULL) < 0)
		return -1;
	for (char *p = out.data; p && p < out.data + out.len; p += strlen(p) + 1) {
		if (strncmp(p, "remote.", 7) != 0) {
			strv_add(&r->attributes, p);
			continue;
		}
		free(r->promisor);
		r->promisor = xstrndup(p + 7, (size_t)(strstr(p, ".promisor") - p - 7));
	}
	return 0;
}

static int write_if_changed(const char *path, const struct buf *b, struct err *err)
{
	CLEANUP(buf) struct buf old = {0};

	if (read_file(path, 0, &old, NULL) == 0 && old.len == b->len &&
	    (!b->len || !memcmp(old.data, b->data, b->len)))
		return 0;
	return write_file(path, buf_str(b), b->len, err);
}

int repo_borrow(const char *git_dir, const struct strv *dirs, const char *common_dir,
		struct err *err)
{
	CLEANUP_FREE char *info = path_join(git_dir, "objects/info");
	CLEANUP_FREE char *alternates = path_join(info, "alternates");
	CLEANUP_FREE char *shallow = path_join(git_dir, "shallow");
	CLEANUP_FREE char *theirs = path_join(common_dir, "shallow");
	CLEANUP(buf) struct buf list = {0}, boundary = {0};

	append(&list, dirs, '\n');
	if (make_dirs(info, 0777, err) < 0 ||
	    write_if_changed(alternates, &list, err) < 0)
		return -1;
	if (read_file(theirs, 0, &boundary, NULL) == 0)
		return write_if_changed(shallow, &boundary, err);
	if (unlink(shallow) < 0 && errno != ENOENT)
		return err_errno(err, ERR_ENVIRONMENT, errno, "cannot remove %s",
				 shallow);
	return 0;
}

int repo_make_frozen(const struct repo *r, struct err *err)
{
	struct git_call call = {.env = &r->env, .cwd = r->store};
	CLEANUP_FREE char *alternates = path_join(r->frozen, "objects/info/alternates");
	CLEANUP_FREE char *lock = path_join(r->store, "init.lock");
	CLEANUP_FD int fd = open(lock, O_RDWR | O_CREAT | O_CLOEXEC, 0666);

	/* Of two that start together one waits for the other's git init. */
	if (fd < 0 || flock(fd, LOCK_EX) < 0)
		return err_errno(err, ERR_ENVIRONMENT, errno, "cannot lock %s", lock);
	/* The alternates come last: without them git init was killed. */
	if (!path_exists(alternates) &&
	    (remove_tree(r->frozen, err) < 0 ||
	     git_run(&call, NULL, err, "-c", "init.defaultBranch=none", "init", "-q",
		     "--bare", "--template=", "--", r->frozen, NULL) < 0))
		return -1;
	return repo_borrow(r->frozen, &r->objects, r->common_dir, err);
}

static int store_refused(struct err *err, const char *store)
{
	err_prefix(err, "the store %s cannot be used", store);
	if (err) {
		err->kind = ERR_ENVIRONMENT;
		err_hint(err, "give a writable directory with --store DIR");
	}
	return -1;
}

/* A store inside the working tree must not become part of what is frozen. */
static int hide_store(const struct repo *r, struct err *err)
{
	CLEANUP_FREE char *ignore = path_join(r->store, ".gitignore");
	size_t len = strlen(r->top);

	if (r->bare || strncmp(r->store, r->top, len) != 0 || r->store[len] != '/' ||
	    path_exists(ignore) || !strncmp(r->store + len, "/.git/", 6))
		return 0;
	return write_file(ignore, "*\n", 2, err);
}

static int open_store(struct repo *r, const char *store, struct err *err)
{
	CLEANUP_FREE char *path =
		store ? xstrdup(store) : path_join(r->common_dir, "exitpath");
	CLEANUP_FREE char *lock = NULL;

	if (make_dirs(path, 0777, err) < 0)
		return store_refused(err, path);
	r->store = realpath(path, NULL);
	if (!r->store || access(r->store, W_OK | X_OK) < 0) {
		err_errno(err, ERR_ENVIRONMENT, errno, "cannot write");
		return store_refused(err, path);
	}
	r->frozen = path_join(r->store, "git");
	r->trees = path_join(r->store, "trees");
	lock = path_join(r->store, LOCK_FILE);
	r->lock_fd = open(lock, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
	if (r->lock_fd < 0 || flock(r->lock_fd, LOCK_SH) < 0) {
		err_errno(err, ERR_ENVIRONMENT, errno, "cannot lock %s", lock);
		return store_refused(err, path);
	}
	if (make_dirs(r->trees, 0777, err) < 0 || hide_store(r, err) < 0 ||
	    repo_make_frozen(r, err) < 0)
		return store_refused(err, path);
	r->scratch = scratch_root(r->store, err);
	if (!r->scratch)
		return store_refused(err, path);
	scratch_clean(r->scratch, NULL);
	return 0;
}

struct repo *repo_open(const char *dir, const char *store, struct err *err)
{
	struct repo *r = xcalloc(1, sizeof(*r));
	CLEANUP_FREE char *git = find_program("git"), *real = realpath(dir, NULL);

	r->lock_fd = -1;
	if (!git) {
		err_set(err, ERR_ENVIRONMENT, "git was not found in PATH");
		err_hint(err, "apt install git");
		goto failed;
	}
	/* realpath() fails in a directory that was removed, access() does not. */
	if (!real || access(dir, X_OK) < 0) {
		err_errno(err, ERR_USAGE, errno, "cannot enter %s", dir);
		goto failed;
	}
	git_clean_env(&r->env);
	if (find_repository(r, dir, err) < 0) {
		explain_not_found(err, real);
		goto failed;
	}
	env_set(&r->env, "GIT_DEFAULT_HASH", r->format); /* for git init */
	if (open_store(r, store, err) < 0 || set_user_env(r, err) < 0)
		goto failed;
	return r;
failed:
	repo_close(r);
	return NULL;
}

const char *repo_top(const struct repo *r)
{
	return r->top;
}

const char *repo_store(const struct repo *r)
{
	return r->store;
}

const char *repo_name(const struct repo *r)
{
	return path_base(r->top);
}

const char *repo_prefix(const struct repo *r)
{
	return r->prefix;
}

void repo_close(struct repo *r)
{
	if (!r)
		return;
	forget(r);
	free(r->common_dir);
	free(r->promisor);
	free(r->index);
	free(r->store);
	free(r->frozen);
	free(r->trees);
	if (r->scratch)
		rmdir(r->scratch); /* unless another exitpath has something there */
	free(r->scratch);
	strv_release(&r->objects);
	strv_release(&r->env);
	strv_release(&r->user_env);
	strv_release(&r->attributes);
	strv_release(&r->kept);
	fd_cleanup(&r->lock_fd);
	free(r);
}
