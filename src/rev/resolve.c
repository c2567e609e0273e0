#include "rev/repo.h"

#include "base/mem.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define MAX_NEAR 3
#define MAX_NAME 200 /* longer names are not compared */

/* Optimal string alignment: insert, delete, replace, swap of neighbours. */
static size_t distance(const char *a, const char *b)
{
	size_t rows[3][MAX_NAME + 1];
	size_t *before = rows[0], *last = rows[1], *row = rows[2], *spare;
	size_t la = strlen(a), lb = strlen(b);

	if (la > MAX_NAME || lb > MAX_NAME)
		return MAX_NAME;
	for (size_t j = 0; j <= lb; j++)
		last[j] = j;
	for (size_t i = 1; i <= la; i++) {
		row[0] = i;
		for (size_t j = 1; j <= lb; j++) {
			size_t cost = last[j - 1] + (a[i - 1] != b[j - 1]);

			if (last[j] + 1 < cost)
				cost = last[j] + 1;
			if (row[j - 1] + 1 < cost)
				cost = row[j - 1] + 1;
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] &&
			    a[i - 2] == b[j - 1] && before[j - 2] + 1 < cost)
				cost = before[j - 2] + 1;
			row[j] = cost;
		}
		spare = before;
		before = last;
		last = row;
		row = spare;
	}
	return last[lb];
}

/* Branches and tags that differ from name by a slip of the keyboard, nearest first. */
static void near_names(const struct repo *r, const char *name, struct strv *ret)
{
	struct git_call call = {.env = &r->user_env, .cwd = r->top};
	CLEANUP(buf) struct buf out = {0};
	size_t limit = 1 + strlen(name) / 4;
	char *save = NULL, *ref;
	struct strv at[MAX_NEAR + 1] = {0};

	if (git_run(&call, &out, NULL, "for-each-ref", "--count=5000",
		    "--format=%(refname:short)", "refs/heads", "refs/tags",
		    "refs/remotes", NULL) < 0 ||
	    !out.len)
		return;
	for (ref = strtok_r(out.data, "\n", &save); ref;
	     ref = strtok_r(NULL, "\n", &save)) {
		size_t d = distance(name, ref);

		/* "feature" for "origin/feature" is a slip as well. */
		if (d > limit && strchr(ref, '/'))
			d = distance(name, strrchr(ref, '/') + 1);
		if (d <= limit && d <= MAX_NEAR && at[d].n < MAX_NEAR)
			strv_add(&at[d], ref);
	}
	for (size_t d = 0; d <= MAX_NEAR; d++) {
		for (size_t i = 0; i < at[d].n && ret->n < MAX_NEAR; i++)
			strv_add(ret, at[d].v[i]);
		strv_release(&at[d]);
	}
}

static bool looks_like_hash(const char *name)
{
	size_t len = strspn(name, "0123456789abcdefABCDEF");

	return len >= 4 && len <= 64 && !name[len];
}

static bool ambiguous(const struct repo *r, const char *name)
{
	struct git_call call = {.env = &r->user_env, .cwd = r->top};
	CLEANUP_FREE char *option = xasprintf("--disambiguate=%s", name);
	CLEANUP_FREE char *out = NULL;

	if (!looks_like_hash(name) || strlen(name) >= 40)
		return false;
	out = git_line(&call, NULL, "rev-parse", option, NULL);
	return out && strchr(out, '\n');
}

static int unknown(const struct repo *r, const char *name, struct err *err)
{
	struct git_call call = {.env = &r->user_env, .cwd = r->top};
	CLEANUP(strv) struct strv near = {0};
	CLEANUP_FREE char *list = NULL, *object = NULL;

	if (ambiguous(r, name)) {
		err_set(err, ERR_USAGE, "revision '%s' is ambiguous", name);
		err_hint(err, "git rev-parse --disambiguate=%s lists the candidates",
			 name);
		return -1;
	}
	if (*name != '-')
		object = git_line(&call, NULL, "rev-parse", "--verify", "-q", name, NULL);
	if (object && strlen(object) < 40)
		object[0] = '\0';
	if (object && *object && !looks_like_hash(name)) {
		CLEANUP_FREE char *type =
			git_line(&call, NULL, "cat-file", "-t", object, NULL);

		err_set(err, ERR_USAGE, "revision '%s' is a %s, not a commit", name,
			type ? type : "missing object");
		err_hint(err, "name a branch, a tag or a commit");
		return -1;
	}
	if (strstr(name, "..")) {
		err_set(err, ERR_USAGE, "'%s' is a range, not a revision", name);
		err_hint(err, "name its ends: --base REV --candidate REV");
		return -1;
	}
	if (!strcmp(name, "HEAD")) {
		err_set(err, ERR_USAGE, "%s has no commits yet", r->top);
		err_hint(err, "git commit what the patch starts from");
		return -1;
	}
	err_set(err, ERR_USAGE, "unknown revision '%s' in %s", name, r->top);
	near_names(r, name, &near);
	list = strv_join(&near, ", ");
	if (near.n)
		err_hint(err, "did you mean %s?%s", list,
			 r->shallow ? " This clone is shallow: git fetch --unshallow"
				    : "");
	else if (r->shallow)
		err_hint(err, "this clone is shallow: git fetch --unshallow");
	else
		err_hint(err, "git fetch, when it is on the remote; git branch -a lists "
			      "what is here");
	return -1;
}

void revision_clear(struct revision_info *rev)
{
	free(rev->name);
	free(rev->commit);
	free(rev->tree);
	free(rev->subject);
	*rev = (struct revision_info){0};
}

int rev_describe(const struct repo *r, const char *commit, const char *name,
		 struct revision_info *ret, struct err *err)
{
	struct git_call call = {.env = &r->user_env, .cwd = r->top};
	CLEANUP(buf) struct buf out = {0};
	const char *field[3];
	char *p;

	if (git_run(&call, &out, err, "log", "-1", "--no-color", "-z",
		    "--format=%H%x00%T%x00%s", commit, "--", NULL) < 0)
		return -1;
	p = out.data;
	for (size_t i = 0; i < ARRAY_SIZE(field); i++) {
		if (!p || p >= out.data + out.len)
			return err_set(err, ERR_INTERNAL, "git log says nothing about %s",
				       commit);
		field[i] = p;
		p += strlen(p) + 1;
	}
	*ret = (struct revision_info){.name = xstrdup(name),
				      .commit = xstrdup(field[0]),
				      .tree = xstrdup(field[1]),
				      .subject = xstrdup(field[2])};
	return 0;
}

/* The commit that name stands for, or NULL; *ret_failed when git could not be asked. */
static char *commit_of(const struct repo *r, const char *name, bool *ret_failed,
		       struct err *err)
{
	CLEANUP_FREE char *spec = xasprintf("%s^{commit}", name);
	int status = 0;
	struct git_call call = {
		.env = &r->user_env, .cwd = r->top, .ret_status = &status};
	CLEANUP_FREE char *commit = NULL;

	*ret_failed = false;
	if (name[0] == '-' || !name[0])
		return NULL;
	if (name[0] == ':') { /* in ":/text" a suffix would be part of the text */
		CLEANUP_FREE char *object =
			git_line(&call, NULL, "rev-parse", "--verify", "-q", name, NULL);

		if (!object || status != 0 || !*object)
			return NULL;
		free(spec);
		spec = xasprintf("%s^{commit}", object);
	}
	commit = git_line(&call, err, "rev-parse", "--verify", "-q", spec, NULL);
	if (!commit) {
		*ret_failed = true;
		return NULL;
	}
	return status == 0 && *commit ? TAKE_PTR(commit) : NULL;
}

int rev_resolve(struct repo *r, const char *name, struct revision_info *ret,
		struct err *err)
{
	CLEANUP_FREE char *commit = NULL;
	bool failed;

	if (!strcmp(name, REV_WORKTREE))
		return rev_freeze(r, ret, err);
	commit = commit_of(r, name, &failed, err);
	if (failed)
		return -1;
	if (!commit)
		return unknown(r, name, err);
	return rev_describe(r, commit, name, ret, err);
}

int worktree_dirty(const struct repo *r, bool *ret_dirty, struct err *err)
{
	struct git_call call = {.env = &r->user_env, .cwd = r->top};
	CLEANUP(buf) struct buf out = {0};

	if (!r->bare && git_run(&call, &out, err, "status", "--porcelain", "-z",
				"--ignore-submodules=dirty", NULL) < 0)
		return -1;
	*ret_dirty = out.len > 0;
	return 0;
}

/* HEAD has nothing of its own over the default branch: what is proposed is either not
 * committed yet, or the last commit. */
static int base_of_branch(const struct repo *r, char **ret_name, struct err *err)
{
	CLEANUP_FREE char *parent = NULL;
	bool dirty, failed;

	if (worktree_dirty(r, &dirty, err) < 0)
		return -1;
	if (dirty) {
		*ret_name = xstrdup("HEAD");
		return 0;
	}
	parent = commit_of(r, "HEAD^", &failed, err);
	if (failed)
		return -1;
	if (parent) {
		*ret_name = xstrdup("HEAD^");
		return 0;
	}
	err_set(err, ERR_USAGE, "nothing to compare with: HEAD has no parent%s",
		r->shallow ? " in this shallow clone" : "");
	err_hint(err, r->shallow ? "git fetch --deepen=50, or --base REV"
				 : "commit the patch, or give --base REV");
	return -1;
}

int rev_default_base(struct repo *r, char **ret_name, struct err *err)
{
	/* The last two are for CI, whose clones have a detached HEAD and no origin/HEAD.
	 */
	static const char *const branches[] = {
		"refs/remotes/origin/HEAD", "refs/heads/main", "refs/heads/master",
		"refs/remotes/origin/main", "refs/remotes/origin/master"};
	CLEANUP_FREE char *head = NULL;
	bool failed, unrelated = false;

	head = commit_of(r, "HEAD", &failed, err);
	if (failed)
		return -1;
	if (!head) {
		err_set(err, ERR_USAGE, "%s has no commits yet", r->top);
		err_hint(err, "git commit what the patch starts from");
		return -1;
	}
	for (size_t i = 0; i < ARRAY_SIZE(branches); i++) {
		CLEANUP_FREE char *tip = commit_of(r, branches[i], &failed, err);
		CLEANUP_FREE char *merge = NULL;
		int status = 0;
		struct git_call call = {
			.env = &r->user_env, .cwd = r->top, .ret_status = &status};

		if (failed)
			return -1;
		if (!tip)
			continue;
		merge = git_line(&call, err, "merge-base", head, tip, NULL);
		if (!merge)
			return -1;
		if (status != 0 || !*merge) {
			unrelated = true;
			continue;
		}
		if (!strcmp(merge, head))
			return base_of_branch(r, ret_name, err);
		/* A name is kinder to read than the commit it stands for. */
		*ret_name =
			strcmp(merge, tip) != 0
				? TAKE_PTR(merge)
				: xstrdup(strchr(branches[i] + strlen("refs/"), '/') + 1);
		return 0;
	}
	if (unrelated && r->shallow) {
		err_set(err, ERR_USAGE,
			"this shallow clone does not reach the commit "
			"where the branch starts");
		err_hint(err, "git fetch --unshallow, or --base REV");
		return -1;
	}
	return base_of_branch(r, ret_name, err);
}

int rev_read_file(struct repo *r, const char *commit, const char *path, struct buf *ret,
		  bool *ret_found, struct err *err)
{
	struct git_call call = {.env = &r->user_env, .cwd = r->top};
	CLEANUP(buf) struct buf out = {0};
	char *type, *oid, *end;

	/* --full-tree: the path is relative to the top, wherever cwd is. */
	if (git_run(&call, &out, err, "--literal-pathspecs", "ls-tree", "-z",
		    "--full-tree", commit, "--", path, NULL) < 0)
		return -1;
	/* "100644 blob <oid>\t<path>\0"; a path with '/' at its end lists a directory. */
	type = out.len ? strchr(out.data, ' ') : NULL;
	oid = type ? strchr(type + 1, ' ') : NULL;
	end = oid ? strchr(oid, '\t') : NULL;
	if (!end || strcmp(end + 1, path) != 0 || strncmp(type, " blob ", 6) != 0) {
		*ret_found = false;
		return 0;
	}
	if (!strncmp(out.data, "120000", 6))
		return err_set(err, ERR_USAGE, "%s is a symbolic link in %.12s", path,
			       commit);
	*end = '\0';
	if (git_run(&call, ret, err, "cat-file", "blob", oid + 1, NULL) < 0)
		return err_prefix(err, "cannot read %s in %.12s", path, commit);
	*ret_found = true;
	return 0;
}
