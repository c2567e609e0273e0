/* Inside of review/. */
#ifndef EXITPATH_REVIEW_INTERNAL_H
#define EXITPATH_REVIEW_INTERNAL_H

#include "base/strv.h"
#include "review/review.h"
#include "source/source.h"

/* ---- paths.c: what a file is, by its path ---- */

enum file_class {
	FILE_TEST = 1,
	FILE_CI = 2,	      /* what runs checks: workflows, Makefile, scripts */
	FILE_CONFIG = 4,      /* of tools: pyproject.toml, jest.config.js, codecov.yml */
	FILE_SUPPRESSION = 8, /* a list of what is not to be reported */
	FILE_SNAPSHOT = 16,
	FILE_SOURCE = 32, /* of a language that is parsed */
};
unsigned file_class(const char *path);
/* Its name is one that runners look for, such as test_a.py. */
bool file_is_collected(const char *path);

/* ---- assertions.c ---- */

enum strength {
	STRENGTH_UNKNOWN = -1,
	STRENGTH_NONE,	  /* cannot fail */
	STRENGTH_TRUTH,	  /* there, true, not null */
	STRENGTH_PARTIAL, /* contains, is less, matches, is of a type */
	STRENGTH_EXACT,	  /* equals */
};

struct assertion {
	uint32_t node;
	unsigned line;
	char *text;	  /* its tokens with spaces between */
	char *shown;	  /* as it is written, for people; white space is one space */
	char *matcher;	  /* "toBe", "assertEqual", "==": what is compared how */
	struct strv args; /* operands; tokens with spaces between */
	int strength;
	bool conjunct, disjunct; /* the condition has && or || at its top */
	unsigned guards;	 /* conditions and handlers around it, within its unit */
	bool in_loop;
	bool paired; /* in compare.c: its like was found on the other side */
};

/* When an assertion begins at n: true, with its parts in ret. */
bool assertion_at(const struct source_tree *t, uint32_t n, struct assertion *ret);
void assertion_release(struct assertion *a);
/* A literal of the language: a number, a string, true, null, a list of these. */
bool is_literal(const char *tokens);
char *tokens_of(const struct source_tree *t, uint32_t n); /* the caller frees */

/* ---- units.c: tests and the functions that help them ---- */

enum unit_kind { UNIT_FILE, UNIT_SUITE, UNIT_TEST, UNIT_HELPER };

struct unit {
	enum unit_kind kind;
	char *name; /* "Suite > name"; "" of the file */
	uint32_t node, after;
	size_t parent;
	unsigned line;
	char *body; /* tokens */
	unsigned skip_line;
	char *skip; /* how it is skipped, unconditionally; NULL: it is not */
	unsigned skip_if_line;
	char *skip_if;	       /* the same under a condition */
	unsigned focus_line;   /* 0: not focused */
	unsigned early_return; /* line of a return in front of an assertion; 0: none */
	bool parametrized;
	struct assertion *v;
	size_t n, cap;
	bool matched;
};

struct units {
	const char *path;
	struct source_tree tree;
	struct unit *v;
	size_t n, cap;
	bool present; /* there is such a side, and it was parsed */
};
/* The tests of one side. len 0, or no language: none. */
void units_read(struct source_parser *p, const char *path, const char *text, size_t len,
		struct units *ret);
void units_release(struct units *u);

/* unit_kinds.c: what a node is, by language; fills name and marks of `ret`. */
bool unit_at(const struct source_tree *t, uint32_t n, struct unit *ret);
/* A call that skips the test it is in: its text, or NULL. The caller frees. */
char *skip_call_at(const struct source_tree *t, uint32_t n);

/* ---- loosened.c ---- */

/* x < 10 became x < 1000; seven places became one. */
bool bound_widened(const struct assertion *a, const struct assertion *b);
/* raises(ValueError, match="…") became raises(Exception). */
bool exception_widened(const struct assertion *a, const struct assertion *b);
/* expected = f(x); assert f(x) == expected: what is compared is the code with itself. */
bool compares_itself(const struct units *in, const struct unit *u,
		     const struct assertion *a);

/* ---- compare.c ---- */

struct test_pair {
	struct units old, now;
};
/* gone: names of functions that the patch removes with their definition. */
void compare_tests(struct test_pair *pairs, size_t n, const struct strv *gone,
		   struct review_items *out);

/* ---- diff.c ---- */

struct line {
	const char *text; /* without indentation and what is blank at its end */
	size_t len;
	unsigned number;
};
struct lines {
	struct line *v;
	size_t n;
};
struct line_diff {
	struct lines added, removed;
};
/* Lines of one text that the other does not have, or has less often. */
void line_diff(const struct review_file *f, struct line_diff *ret);
void line_diff_release(struct line_diff *d);
/* An owner, a date and a reason in the comment at, or right above a line: the text. */
char *justification_at(const char *text, size_t len, unsigned line);

bool is_comment(const char *line, size_t len);

/* ---- lines.c: what line changes say, in files of any kind ---- */

void review_lines(const struct review_patch *patch, struct review_items *out);

/* ---- exits.c, mocks.c, related.c: on trees ---- */

void review_exits(const struct source_tree *old, const struct source_tree *now,
		  const char *path, unsigned class, struct review_items *out);
void review_mocks(const struct review_patch *patch, const struct source_tree *old,
		  const struct source_tree *now, const char *path,
		  struct review_items *out);
/* Names that files define: of functions, classes, methods. */
void definitions(const struct source_tree *t, struct strv *ret);

char *dup_line(const char *text, size_t len); /* trimmed; the caller frees */
void set_excerpt(struct review_item *i, const struct source_tree *t, uint32_t n);

#endif
