/*
 * Freezing: `git add -A` into a copy of the user's index, with new objects going to our
 * store; then a commit over that tree whose every byte follows from HEAD and the tree,
 * so that the same content gives the same commit. A kill leaves at most a scratch
 * directory and unreferenced objects of ours.
 */
#include "rev/repo.h"

#include "base/fs.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define SHOWN_PATHS 3 /* conflicts named in the message */

/*
 * The copy keeps the stat data, so that only changed files are read again; and the
 * skip-worktree bits, which keep a sparse checkout whole. It needs the time of the
 * original too: git reads a file again when it is not older than the index, since it may
 * have changed after it was added without a change of size or time.
 */
static int copy_index(const char *from, const char *to, struct err *err)
{
	CLEANUP_FD int in = open(from, O_RDONLY | O_CLOEXEC), out = -1;
	char chunk[65536];
	struct stat st;
	ssize_t n;

	if (in < 0 && errno == ENOENT)
		return 0; /* nothing was ever added */
	if (in < 0 || fstat(in, &st) < 0)
		return err_errno(err, ERR_ENVIRONMENT, errno, "cannot open %s", from);
	out = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (out < 0)
		return err_errno(err, ERR_ENVIRONMENT, errno, "cannot create %s", to);
	while ((n = read(in, chunk, sizeof(chunk))) > 0)
		if (write_all(out, chunk, (size_t)n) < 0)
			return err_errno(err, ERR_ENVIRONMENT, errno, "cannot write %s",
					 to);
	if (n < 0)
		return err_errno(err, ERR_ENVIRONMENT, errno, "cannot read %s", from);
	if (futimens(out, (struct timespec[]){st.st_atim, st.st_mtim}) < 0)
		return err_errno(err, ERR_ENVIRONMENT, errno, "cannot date %s", to);
	return 0;
}

static int check_conflicts(const struct git_call *call, struct err *err)
{
	CLEANUP(buf) struct buf out = {0};
	CLEANUP(strv) struct strv paths = {0};
	CLEANUP_FREE char *list = NULL;

	if (git_run(call, &out, err, "ls-files", "-u", "-z", NULL) < 0)
		return -1;
	for (char *p = out.data; p && p < out.data + out.len; p += strlen(p) + 1) {
		const char *tab = strchr(p, '\t');

		if (tab && paths.n < SHOWN_PATHS && !strv_contains(&paths, tab + 1))
			strv_add(&paths, tab + 1);
	}
	if (!paths.n)
		return 0;
	list = strv_join(&paths, ", ");
	err_set(err, ERR_USAGE, "the working tree has merge conflicts: %s%s", list,
		paths.n == SHOWN_PATHS ? ", …" : "");
	err_hint(err, "resolve them and `git add` the files, or `git merge --abort`");
	return -1;
}

static int add_all(const struct git_call *call, struct err *err)
{
	struct err own = {0}, *e = err ? err : &own;

	if (git_run(call, NULL, e, "add", "-A", "--", ".", NULL) == 0)
		return 0;
	/* Files outside of a sparse checkout's patterns; git before 2.34 takes them. */
	if (strstr(e->message, "advice.updateSparsePath") &&
	    git_run(call, NULL, e, "add", "-A", "--sparse", "--", ".", NULL) == 0)
		return 0;
	if (!err || err->kind == ERR_INTERRUPTED)
		return -1;
	err_prefix(err, "cannot freeze the working tree");
	if (!err->hint[0])
		err_hint(err, "`git add -A --dry-run` shows it; .gitignore what is not "
			      "part of the project");
	return -1;
}

/* Identity and time are fixed: the commit depends on nothing but HEAD and tree. */
static char *commit_tree(const struct repo *r, const struct strv *env, const char *tree,
			 const char *head, struct err *err)
{
	struct git_call call = {.env = env, .cwd = r->top};
	CLEANUP(strv) struct strv own = {0};
	CLEANUP_FREE char *message = xasprintf("working tree on top of %.12s\n", head);
	CLEANUP_FREE char *seconds = NULL, *date = NULL;

	seconds = git_line(&call, err, "log", "-1", "--format=%ct", head, "--", NULL);
	if (!seconds)
		return NULL;
	date = xasprintf("@%s +0000", seconds);
	strv_copy(&own, env->v);
	env_set(&own, "GIT_AUTHOR_NAME", "exitpath");
	env_set(&own, "GIT_AUTHOR_EMAIL", "exitpath@localhost");
	env_set(&own, "GIT_AUTHOR_DATE", date);
	env_set(&own, "GIT_COMMITTER_NAME", "exitpath");
	env_set(&own, "GIT_COMMITTER_EMAIL", "exitpath@localhost");
	env_set(&own, "GIT_COMMITTER_DATE", date);
	call.env = &own;
	call.input = message;
	return git_line(&call, err, "commit-tree", tree, "-p", head, NULL);
}

/* Written as a file: git's own lock would outlive a kill. */
static int keep_frozen(struct repo *r, const char *commit, struct err *err)
{
	CLEANUP_FREE char *dir = path_join(r->frozen, "refs/exitpath/frozen");
	CLEANUP_FREE char *ref = path_join(dir, commit);
	CLEANUP_FREE char *text = xasprintf("%s\n", commit);

	if (make_dirs(dir, 0777, err) < 0 || write_file(ref, text, strlen(text), err) < 0)
		return -1;
	if (!strv_contains(&r->kept, commit))
		strv_add(&r->kept, commit);
	return 0;
}

static int freeze_in(struct repo *r, const char *scratch, const char *head,
		     struct revision_info *ret, struct err *err)
{
	CLEANUP_FREE char *index = path_join(scratch, "index");
	CLEANUP_FREE char *objects = path_join(r->frozen, "objects");
	CLEANUP_FREE char *tree = NULL, *commit = NULL;
	CLEANUP(strv) struct strv env = {0};
	struct git_call call = {.env = &env, .cwd = r->top};
	struct revision_info at_head = {0};

	if (copy_index(r->index, index, err) < 0 ||
	    rev_describe(r, head, REV_WORKTREE, &at_head, err) < 0)
		return -1;
	strv_copy(&env, r->user_env.v);
	env_set(&env, "GIT_INDEX_FILE", index);
	env_set(&env, "GIT_OBJECT_DIRECTORY", objects);
	if (check_conflicts(&call, err) < 0 || add_all(&call, err) < 0 ||
	    !(tree = git_line(&call, err, "write-tree", NULL)))
		goto failed;
	if (!strcmp(tree, at_head.tree)) {
		*ret = at_head;
		return 0;
	}
	commit = commit_tree(r, &env, tree, head, err);
	if (!commit || keep_frozen(r, commit, err) < 0 ||
	    rev_describe(r, commit, REV_WORKTREE, ret, err) < 0)
		goto failed;
	revision_clear(&at_head);
	return 0;
failed:
	revision_clear(&at_head);
	return -1;
}

int rev_freeze(struct repo *r, struct revision_info *ret, struct err *err)
{
	int status = 0, rc;
	struct git_call call = {
		.env = &r->user_env, .cwd = r->top, .ret_status = &status};
	CLEANUP_FREE char *head = NULL, *scratch = NULL;

	if (r->bare) {
		err_set(err, ERR_USAGE, "%s is a bare repository: it has no working tree",
			r->top);
		err_hint(err, "name a commit: --candidate REV");
		return -1;
	}
	head = git_line(&call, err, "rev-parse", "--verify", "-q", "HEAD^{commit}", NULL);
	if (!head)
		return -1;
	if (status != 0 || !*head) {
		err_set(err, ERR_USAGE, "%s has no commits yet", r->top);
		err_hint(err, "git commit what the patch starts from");
		return -1;
	}
	scratch = scratch_make(r, err);
	if (!scratch)
		return -1;
	rc = freeze_in(r, scratch, head, ret, err);
	scratch_remove(scratch);
	return rc;
}
