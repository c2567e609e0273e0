/*
 * Revisions: a git commit, or the working tree frozen into one, and a checkout of each
 * with its set-up done.
 *
 * The user's repository is only read: its index, HEAD, refs, stash, worktree list and
 * object store stay as they are, so a read-only repository and a kill at any moment are
 * harmless. Frozen commits live in a bare repository in our own store that borrows the
 * user's objects (objects/info/alternates); a checkout is a repository of its own that
 * borrows from both. git is called as a program, with the user's hooks, fsmonitor and
 * attributes' filters that would run code kept off where git allows it.
 */
#ifndef EXITPATH_REV_REV_H
#define EXITPATH_REV_REV_H

#include "base/buf.h"
#include "base/err.h"
#include "base/hash.h"
#include "model/result.h"
#include "model/run.h"

#define REV_WORKTREE "WORKTREE"

struct repo; /* an open repository and the store beside it */

/*
 * Finds the repository around dir. store NULL: "<common git dir>/exitpath". ERR_USAGE
 * with a hint outside a repository; ERR_ENVIRONMENT when the store cannot be written
 * (hint: --store DIR). Makes the store's directories and the bare repository.
 */
struct repo *repo_open(const char *dir, const char *store, struct err *err);
const char *repo_top(const struct repo *r);    /* of the working tree, absolute */
const char *repo_store(const struct repo *r);  /* absolute */
const char *repo_name(const struct repo *r);   /* file name of repo_top */
const char *repo_prefix(const struct repo *r); /* dir relative to top: "" or "sub/dir" */
void repo_close(struct repo *r);

/*
 * Resolves a revision, or freezes the working tree for REV_WORKTREE (tracked changes
 * and untracked files that are not ignored; submodules as they are recorded). Freezing
 * the same content twice gives the same commit. ERR_USAGE for an unknown revision, with
 * near names and, in a shallow clone, `git fetch --unshallow` as the hint.
 */
int rev_resolve(struct repo *r, const char *name, struct revision_info *ret,
		struct err *err);
/* The default base: merge-base of HEAD with origin/HEAD, main or master (in this
 * order), HEAD itself when the working tree is dirty and HEAD is that branch, else
 * HEAD's parent. */
int rev_default_base(struct repo *r, char **ret_name, struct err *err);
/* The content of a file in a revision; ret_found false when it is not there. */
int rev_read_file(struct repo *r, const char *commit, const char *path, struct buf *ret,
		  bool *ret_found, struct err *err);

/* Adds our environment to env, without what git sets for its hooks: a program that calls
 * git would work on the user's repository. */
void rev_clean_env(struct strv *env);

/* A checkout, locked (flock) for this process until checkout_release(). */
struct checkout {
	char *dir;	 /* absolute root of the checked out tree */
	char *key;	 /* tree and set-up digest */
	char *setup_log; /* absolute path; holds stdout and stderr of the set-up */
	bool setup_done; /* the set-up of this key has succeeded, now or earlier */
	/* Of one that is for the sandbox; else NULL and empty. */
	char *home;	    /* absolute: the home directory that its runs see */
	struct strv shared; /* mount points for what is shared; relative to dir and top */
	int lock_fd;
};
/*
 * Gives a checkout of the commit, reused when its tree and set-up digest were checked
 * out before and nothing tracked has changed since (otherwise it is restored).
 * share[]: repository-relative directories, linked to those of the working tree, or
 * for the sandbox made as mount points. The digest must tell both kinds apart.
 * Waits for another exitpath that uses it; on_wait (may be NULL) is called once then.
 */
int checkout_get(struct repo *r, const struct revision_info *rev,
		 const char setup_digest[SHA256_HEX], const struct strv *share,
		 bool sandboxed, void (*on_wait)(void *ctx, pid_t owner), void *ctx,
		 struct checkout *ret, struct err *err);
/*
 * Adds what a sandboxed run sees of the checkout: its files where the repository's are,
 * a home directory of its own, the shared directories, and the objects that it borrows.
 * Those lie below the user's .git, where the checkout's own is seen: they are shown
 * elsewhere, and so are lists of alternates that name them there.
 */
int checkout_views(struct repo *r, const struct checkout *c, struct sandbox *ret,
		   struct err *err);
/* Around the set-up: when it was begun and did not succeed (it failed, or we were
 * killed), what it left is not to be built upon, and the next checkout_get() makes the
 * checkout anew; when it succeeded, a later run skips it. */
int checkout_setup_begin(struct checkout *c, struct err *err);
int checkout_setup_done(struct checkout *c, struct err *err);
void checkout_release(struct checkout *c);

/* Where scratch directories go: $TMPDIR when it can be used, is short enough for the
 * paths of Unix sockets below it, and has no character that separates paths in
 * LD_PRELOAD or in a sanitizer's options; else /tmp. */
const char *scratch_parent(void);

/* A fresh scratch directory for one run, below <scratch_parent()>/exitpath-<uid> (mode
 * 0700; the store when that is not ours alone).
 * Removed by scratch_remove(); those of dead processes by repo_gc() and repo_open(). */
char *scratch_make(struct repo *r, struct err *err);
void scratch_remove(const char *dir);
/* The same without a repository; those of dead processes are removed first. */
char *scratch_make_alone(struct err *err);

/* Removes checkouts unused for max_age_days (0: all that are not locked), scratch
 * directories of dead processes and unreachable frozen commits. Counts what went. */
struct gc_stats {
	unsigned checkouts, scratch;
	uint64_t bytes;
};
int repo_gc(struct repo *r, unsigned max_age_days, struct gc_stats *ret, struct err *err);

#endif
