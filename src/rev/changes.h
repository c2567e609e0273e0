/* What a repository holds and what a patch changes, as texts. */
#ifndef EXITPATH_REV_CHANGES_H
#define EXITPATH_REV_CHANGES_H

#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

struct repo;

/*
 * The files at and below dir that git knows or would add (no ignored ones), each path
 * relative to dir and with a NUL behind it. ret_found false, and no error: dir is in no
 * repository of git. Needs no store and opens no repository.
 */
int rev_list_files(const char *dir, struct buf *ret_list, bool *ret_found,
		   struct err *err);

/* The same of a commit, from the top of the repository. */
int rev_tree_files(struct repo *r, const char *commit, struct buf *ret_list,
		   struct err *err);

/* Whether some line of some text file of the commit matches; POSIX extended. */
int rev_grep(struct repo *r, const char *commit, const char *expression, bool *ret_found,
	     struct err *err);

struct rev_change {
	/* 'A' added, 'D' deleted, 'M' modified (or its type: a link, an executable),
	 * 'R' renamed, and perhaps modified. */
	char status;
	char *old_path, *path;	   /* NULL where there is none */
	struct buf old_text, text; /* empty where there is none */
	bool is_text;	/* no NUL bytes, no link, no submodule: texts are here */
	bool too_large; /* one side is over max_bytes: no texts */
};
struct rev_changes {
	struct rev_change *v;
	size_t n, cap;
};
/*
 * What leads from base to candidate (names of commits, as rev_resolve() gives them), in
 * the order of paths. Reads all texts by two processes of git.
 */
int rev_changes(struct repo *r, const char *base, const char *candidate, size_t max_bytes,
		struct rev_changes *ret, struct err *err);
void rev_changes_release(struct rev_changes *c);
DEFINE_CLEANUP(rev_changes)

/* Lines of a file that belong to functions, or what git takes for such, that a patch
 * changes. */
struct rev_range {
	char *path;
	unsigned first, last; /* in the candidate, from 1; 0, 0: the file is only named */
};
struct rev_ranges {
	struct rev_range *v;
	size_t n, cap;
};
/* As rev_changes(), in the order of paths; a changed file has one range at least. Names
 * that git would quote (with control characters, quotes) are left out. */
int rev_changed_ranges(struct repo *r, const char *base, const char *candidate,
		       struct rev_ranges *ret, struct err *err);
/* The same of the changed lines alone. */
int rev_changed_lines(struct repo *r, const char *base, const char *candidate,
		      struct rev_ranges *ret, struct err *err);
/* Of the output of `git diff -W`; what is malformed is left out. */
void rev_ranges_parse(const char *text, size_t len, struct rev_ranges *ret);
void rev_ranges_release(struct rev_ranges *r);
DEFINE_CLEANUP(rev_ranges)

#endif
