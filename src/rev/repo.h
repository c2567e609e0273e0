/* Inside of rev/: an open repository, and how git is run in it and in ours. */
#ifndef EXITPATH_REV_REPO_H
#define EXITPATH_REV_REPO_H

#include "base/buf.h"
#include "base/err.h"
#include "base/strv.h"
#include "rev/rev.h"

#include <stdbool.h>

struct repo {
	char *top;	  /* of the working tree; of a bare repository its git dir */
	char *prefix;	  /* where the caller stood, relative to top */
	char *git_dir;	  /* of this working tree */
	char *common_dir; /* differs from git_dir in a linked worktree */
	char *index;	  /* of the user; a hook's GIT_INDEX_FILE */
	char *format;	  /* of object names: "sha1" or "sha256" */
	bool bare, shallow;
	char *promisor; /* the remote of a partial clone; NULL: all objects are here */
	char *store;	/* holds lock, git, trees; all absolute */
	char *frozen;	/* <store>/git: bare, holds the frozen commits */
	char *trees;	/* <store>/trees: the checkouts */
	char *scratch;	/* parent of the scratch directories */
	struct strv objects;	/* object directories of the user, to borrow from */
	struct strv env;	/* for git in repositories of ours */
	struct strv user_env;	/* for git in the user's repository, read only */
	struct strv attributes; /* local settings that shape a checkout: "key\nvalue" */
	struct strv kept;	/* frozen through this handle: gc leaves them */
	int lock_fd; /* <store>/lock, shared: gc prunes only when nobody else is here */
};

/* git.c */
struct git_call {
	const struct strv *env;
	const char *cwd;
	const char *input;
	int *ret_status;     /* NULL: a nonzero exit is an error */
	const char *git_dir; /* with cwd as its working tree; NULL: env says, or none */
	bool discover;	     /* a repository not known yet: git checks who owns it */
};
/* Runs git with everything off that would run foreign code or start maintenance. out
 * may be NULL. The arguments end with NULL. */
int git_run(const struct git_call *call, struct buf *out, struct err *err, ...)
	__attribute__((sentinel));
/* As git_run(); the output is one line, returned without its newline. */
char *git_line(const struct git_call *call, struct err *err, ...)
	__attribute__((sentinel));
/* rev_clean_env() and what makes git's answers the same everywhere. */
void git_clean_env(struct strv *env);
/* A path as git reads it in an alternates list: C-quoted where it must be. */
void git_quote_path(struct buf *out, const char *path);

/* repo.c */
/* Makes a repository of ours that borrows objects from dirs[]; with `shallow` the
 * boundary of the clone that common_dir belongs to. Repeating it repairs. */
int repo_borrow(const char *git_dir, const struct strv *dirs, const char *common_dir,
		struct err *err);
int repo_make_frozen(const struct repo *r, struct err *err);
char *common_dir_of(const char *git_dir);

/* partial.c: before a checkout, what a partial clone lacks of the commit. */
int repo_fetch_missing(const struct repo *r, const char *commit, struct err *err);

/* freeze.c */
int rev_freeze(struct repo *r, struct revision_info *ret, struct err *err);
/* resolve.c */
int rev_describe(const struct repo *r, const char *commit, const char *name,
		 struct revision_info *ret, struct err *err);
void revision_clear(struct revision_info *rev);
int worktree_dirty(const struct repo *r, bool *ret_dirty, struct err *err);

/* tree.c: the checked out content of a commit and its submodules. */
struct tree_source {
	const char *top;	/* of the working tree; NULL when there is none */
	const char *common_dir; /* holds modules/, shallow, info/attributes */
	const struct strv *objects;
};
int tree_make(const struct repo *r, const struct tree_source *from, const char *commit,
	      const char *dir, struct err *err);
/* False when a tracked file or HEAD is not as the commit says, or git cannot tell. */
bool tree_intact(const struct repo *r, const char *commit, const char *dir);
/* Calls each() for every submodule that the index of dir has. */
int tree_each_module(const struct repo *r, const char *dir,
		     int (*each)(void *ctx, const char *path, const char *commit,
				 struct err *err),
		     void *ctx, struct err *err);
/* Links directories of the working tree that the commit does not track; or, with
 * ret_points, makes empty directories for them to be mounted on, and lists those. */
int tree_check_share(const struct strv *share, struct err *err);
int tree_share(const struct repo *r, const struct strv *share, const char *dir,
	       struct strv *ret_points, struct err *err);

/* gitdirs.c: copies of the git directories of the checkout src, in dir; and back, in
 * place of whatever is there now. False: it cannot be, and src is not to be trusted. */
int gitdirs_save(const struct repo *r, const char *src, const char *dir, struct err *err);
bool gitdirs_restore(const char *src, const char *dir);

/* checkout.c */
#define STATE_FILE "state.json"
#define LOCK_FILE "lock"
/* The lock of <dir>/lock: an fd; -1 with err kind ERR_NONE when it is taken. */
int lock_try(const char *dir, struct err *err);

/* scratch.c */
char *scratch_root(const char *store, struct err *err);
unsigned scratch_clean(const char *root, uint64_t *bytes);
uint64_t disk_usage(const char *path);

#endif
