/*
 * The content of a checkout. Each is a repository of its own whose alternates name the
 * user's objects: nothing is copied, nothing of the user's is written, and `git
 * describe` works in it. Submodules get the same treatment, each from its own source.
 */
#include "rev/repo.h"

#include "base/fs.h"
#include "base/mem.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define MAX_DEPTH 32 /* of nested submodules: a chain that long is a loop */

struct layer {
	const struct repo *r;
	unsigned depth;
	const char *name; /* "" or the submodule's path, for messages */
};

static int tree_make_at(const struct layer *at, const struct tree_source *from,
			const char *commit, const char *dir, struct err *err);

/* "filter.lfs.clean\nvalue" as two lines of a config file. */
static void add_setting(struct buf *b, const char *setting)
{
	const char *value = strchr(setting, '\n'), *first, *last = NULL;
	size_t len = value ? (size_t)(value - setting) : strlen(setting);

	first = memchr(setting, '.', len);
	last = memrchr(setting, '.', len);
	if (!first)
		return;
	buf_addf(b, "[%.*s", (int)(first - setting), setting);
	if (last != first) {
		buf_adds(b, " \"");
		for (const char *p = first + 1; p < last; p++) {
			if (*p == '"' || *p == '\\')
				buf_addc(b, '\\');
			buf_addc(b, *p);
		}
		buf_addc(b, '"');
	}
	buf_addf(b, "]\n\t%.*s", (int)(setting + len - last - 1), last + 1);
	if (value) {
		buf_adds(b, " = \"");
		for (const char *p = value + 1; *p; p++) {
			if (*p == '\n') {
				buf_adds(b, "\\n");
				continue;
			}
			if (*p == '"' || *p == '\\')
				buf_addc(b, '\\');
			buf_addc(b, *p);
		}
		buf_addc(b, '"');
	}
	buf_addc(b, '\n');
}

static int copy_attributes(const struct tree_source *from, const char *git_dir,
			   struct err *err)
{
	CLEANUP_FREE char *theirs = path_join(from->common_dir, "info/attributes");
	CLEANUP_FREE char *info = path_join(git_dir, "info");
	CLEANUP_FREE char *ours = path_join(info, "attributes");
	CLEANUP(buf) struct buf b = {0};

	if (make_dirs(info, 0777, err) < 0)
		return -1;
	if (read_file(theirs, 0, &b, NULL) < 0)
		return 0;
	return write_file(ours, buf_str(&b), b.len, err);
}

static int init(const struct repo *r, const struct tree_source *from, const char *dir,
		const char *git_dir, struct err *err)
{
	struct git_call call = {.env = &r->env, .cwd = r->store};
	CLEANUP_FREE char *config = path_join(git_dir, "config");
	CLEANUP(buf) struct buf b = {0};

	if (path_exists(config))
		return 0;
	if (git_run(&call, NULL, err, "-c", "init.defaultBranch=none", "init", "-q",
		    "--template=", "--", dir, NULL) < 0 ||
	    read_file(config, 0, &b, err) < 0)
		return -1;
	/* What the tests do with git in here must not start maintenance. */
	buf_adds(&b, "[gc]\n\tauto = 0\n[maintenance]\n\tauto = false\n");
	for (size_t i = 0; i < r->attributes.n; i++)
		add_setting(&b, r->attributes.v[i]);
	if (write_file(config, buf_str(&b), b.len, err) < 0)
		return -1;
	return copy_attributes(from, git_dir, err);
}

/* For builds that ask `git describe` for their version. */
static int copy_tags(const struct repo *r, const char *git_dir, struct err *err)
{
	struct git_call call = {.env = &r->user_env, .cwd = r->top};
	CLEANUP_FREE char *path = path_join(git_dir, "packed-refs");
	CLEANUP(buf) struct buf out = {0};

	if (git_run(&call, &out, err, "for-each-ref", "--format=%(objectname) %(refname)",
		    "refs/tags", NULL) < 0)
		return -1;
	return out.len ? write_file(path, out.data, out.len, err) : 0;
}

/* The git dir that <dir>/.git is or points to, or NULL. */
static char *git_dir_at(const char *dir)
{
	CLEANUP_FREE char *dot_git = path_join(dir, ".git"), *joined = NULL;
	CLEANUP(buf) struct buf b = {0};
	const char *target;
	struct stat st;

	if (stat(dot_git, &st) < 0)
		return NULL;
	if (S_ISDIR(st.st_mode))
		return realpath(dot_git, NULL);
	if (read_file(dot_git, 65536, &b, NULL) < 0 ||
	    strncmp(buf_str(&b), "gitdir: ", 8) != 0)
		return NULL;
	while (b.data[b.len - 1] == '\n' || b.data[b.len - 1] == '\r')
		b.data[--b.len] = '\0';
	target = b.data + 8;
	if (*target != '/')
		joined = path_join(dir, target);
	return realpath(joined ? joined : target, NULL);
}

static bool has_dotdot(const char *path)
{
	for (const char *p = path; p; p = strchr(p, '/')) {
		p += *p == '/';
		if (!strncmp(p, "..", 2) && (p[2] == '/' || !p[2]))
			return true;
	}
	return false;
}

/* The name that .gitmodules gives to a path: "submodule.<name>.path\n<path>\0". */
static char *module_name(const struct repo *r, const char *dir, const char *path)
{
	CLEANUP_FREE char *file = path_join(dir, ".gitmodules");
	int status = 0;
	struct git_call call = {.env = &r->env, .cwd = dir, .ret_status = &status};
	CLEANUP(buf) struct buf out = {0};

	if (!path_exists(file) ||
	    git_run(&call, &out, NULL, "config", "-z", "-f", file, "--get-regexp",
		    "^submodule\\..*\\.path$", NULL) < 0)
		return NULL;
	for (char *p = out.data; p && p < out.data + out.len; p += strlen(p) + 1) {
		char *value = strchr(p, '\n');
		size_t prefix = strlen("submodule."), suffix = strlen(".path");

		if (!value || strcmp(value + 1, path) != 0 ||
		    (size_t)(value - p) < prefix + suffix)
			continue;
		return xstrndup(p + prefix, (size_t)(value - p) - prefix - suffix);
	}
	return NULL;
}

/* Where a submodule's objects are; NULL when the user never initialised it. */
static char *module_git_dir(const struct layer *at, const struct tree_source *from,
			    const char *dir, const char *path)
{
	CLEANUP_FREE char *theirs = from->top ? path_join(from->top, path) : NULL;
	CLEANUP_FREE char *name = NULL, *modules = NULL, *full = NULL;
	char *git_dir = theirs ? git_dir_at(theirs) : NULL;

	if (git_dir)
		return git_dir;
	/* An empty directory is what git leaves of one that is not wanted here. */
	if (theirs && path_exists(theirs))
		return NULL;
	name = module_name(at->r, dir, path);
	if (!name || !*name || has_dotdot(name))
		return NULL;
	modules = path_join(from->common_dir, "modules");
	full = path_join(modules, name);
	return realpath(full, NULL);
}

static int make_module(const struct layer *at, const struct tree_source *from,
		       const char *dir, const char *path, const char *commit,
		       struct err *err)
{
	CLEANUP_FREE char *git_dir = module_git_dir(at, from, dir, path);
	CLEANUP_FREE char *common = NULL, *theirs = NULL, *sub = NULL, *spec = NULL;
	CLEANUP_FREE char *option = NULL, *name = NULL;
	CLEANUP(strv) struct strv objects = {0};
	struct layer below = {.r = at->r, .depth = at->depth + 1};
	struct tree_source source = {.objects = &objects};
	int status = 0;
	struct git_call call = {.env = &at->r->env, .cwd = dir, .ret_status = &status};

	if (!git_dir)
		return 0;
	name = xasprintf("%s%s%s", at->name, *at->name ? "/" : "", path);
	if (below.depth > MAX_DEPTH)
		return err_set(err, ERR_USAGE, "submodule %s is nested too deeply", name);
	common = common_dir_of(git_dir);
	strv_take(&objects, path_join(common, "objects"));
	option = xasprintf("--git-dir=%s", git_dir);
	spec = xasprintf("%s^{commit}", commit);
	if (git_run(&call, NULL, err, option, "cat-file", "-e", spec, NULL) < 0)
		return -1;
	if (status != 0) {
		err_set(err, ERR_USAGE, "submodule %s: commit %.12s is not in %s", name,
			commit, git_dir);
		err_hint(err, "git submodule update --init --recursive, or "
			      "`git fetch` in the submodule");
		return -1;
	}
	theirs = from->top ? path_join(from->top, path) : NULL;
	below.name = name;
	source.top = theirs && path_exists(theirs) ? theirs : NULL;
	source.common_dir = common;
	sub = path_join(dir, path);
	return tree_make_at(&below, &source, commit, sub, err);
}

int tree_each_module(const struct repo *r, const char *dir,
		     int (*each)(void *ctx, const char *path, const char *commit,
				 struct err *err),
		     void *ctx, struct err *err)
{
	CLEANUP_FREE char *git_dir = path_join(dir, ".git");
	struct git_call call = {.env = &r->env, .cwd = dir, .git_dir = git_dir};
	CLEANUP(buf) struct buf out = {0};

	if (git_run(&call, &out, err, "ls-files", "-s", "-z", NULL) < 0)
		return -1;
	/* "160000 <oid> 0\t<path>\0" */
	for (char *p = out.data; p && p < out.data + out.len; p += strlen(p) + 1) {
		char *path = strchr(p, '\t'), *end;

		if (strncmp(p, "160000 ", 7) != 0 || !path)
			continue;
		end = strchr(p + 7, ' ');
		if (!end || end > path)
			continue;
		*end = '\0';
		if (each(ctx, path + 1, p + 7, err) < 0)
			return -1;
		*end = ' ';
	}
	return 0;
}

struct making {
	const struct layer *at;
	const struct tree_source *from;
	const char *dir;
};

static int make_one(void *ctx, const char *path, const char *commit, struct err *err)
{
	const struct making *m = ctx;

	return make_module(m->at, m->from, m->dir, path, commit, err);
}

static int tree_make_at(const struct layer *at, const struct tree_source *from,
			const char *commit, const char *dir, struct err *err)
{
	const struct repo *r = at->r;
	CLEANUP_FREE char *git_dir = path_join(dir, ".git");
	struct git_call call = {.env = &r->env, .cwd = dir, .git_dir = git_dir};
	CLEANUP_FREE char *lock = path_join(git_dir, "index.lock");

	if (make_dirs(dir, 0777, err) < 0 || init(r, from, dir, git_dir, err) < 0 ||
	    repo_borrow(git_dir, from->objects, from->common_dir, err) < 0 ||
	    (!at->depth && copy_tags(r, git_dir, err) < 0))
		return -1;
	/* Left by a killed git; ours is the only exitpath in here. */
	if (unlink(lock) < 0 && errno != ENOENT)
		return err_errno(err, ERR_ENVIRONMENT, errno, "cannot remove %s", lock);
	if (git_run(&call, NULL, err, "checkout", "-q", "-f", "--detach", commit, "--",
		    NULL) < 0)
		return err_prefix(err, "cannot check out %.12s%s%s", commit,
				  *at->name ? " of submodule " : "", at->name);
	return tree_each_module(r, dir, make_one,
				&(struct making){.at = at, .from = from, .dir = dir},
				err);
}

int tree_make(const struct repo *r, const struct tree_source *from, const char *commit,
	      const char *dir, struct err *err)
{
	struct layer top = {.r = r, .name = ""};

	return tree_make_at(&top, from, commit, dir, err);
}

bool tree_intact(const struct repo *r, const char *commit, const char *dir)
{
	CLEANUP_FREE char *git_dir = path_join(dir, ".git");
	struct git_call call = {.env = &r->env, .cwd = dir, .git_dir = git_dir};
	CLEANUP(buf) struct buf out = {0};
	CLEANUP_FREE char *oid = xasprintf("# branch.oid %s", commit);
	bool head = false;

	if (git_run(&call, &out, NULL, "status", "--porcelain=v2", "--branch", "-z",
		    "--untracked-files=no", "--ignore-submodules=untracked", NULL) < 0)
		return false;
	for (char *p = out.data; p && p < out.data + out.len; p += strlen(p) + 1) {
		if (p[0] != '#')
			return false;
		head |= !strcmp(p, oid);
	}
	return head;
}
