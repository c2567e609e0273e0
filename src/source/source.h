/*
 * Source files as trees: the only door to tree-sitter.
 *
 * A parser turns a text into a *flat tree*: one array of nodes in document order
 * (preorder), made by one walk over tree-sitter's tree. An analysis is a loop over the
 * array: the subtree of node n is [n, nodes[n].after), so "skip it" is n = after, and "is
 * b inside a" two comparisons. Node 0 is the root. Kinds and fields are small numbers
 * that mean something within one language; look them up once, not in the loop:
 *
 *	struct source_kinds loops = source_kinds(lang, "for_statement while_statement");
 *	for (uint32_t n = 0; n < t->n; n = source_has(&loops, t->nodes[n].kind)
 *				? t->nodes[n].after : n + 1)
 *
 * Anonymous tokens ("if", "(", "==") are nodes, too, without SOURCE_NAMED.
 *
 * Threads: a parser is used by one thread at a time; a tree, once made, and a query are
 * only read, by any number of threads.
 */
#ifndef EXITPATH_SOURCE_SOURCE_H
#define EXITPATH_SOURCE_SOURCE_H

#include "base/buf.h"
#include "base/err.h"
#include "base/strv.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* ---- languages (language.c) ---- */

enum source_lang {
	LANG_NONE,
#define LANGUAGE(id, name, function, extensions) LANG_##id,
#include "source/language.def"
#undef LANGUAGE
	LANG_END
};

const char *source_lang_name(enum source_lang lang);  /* "cpp"; "" of LANG_NONE */
enum source_lang source_lang_parse(const char *name); /* LANG_NONE: there is none */
/* By the path's extension alone; LANG_NONE when there is none that is known. */
enum source_lang source_lang_of_path(const char *path);
/* By extension; without one by the shebang ("#!/usr/bin/env python3"); C++ for a .h
 * whose text has classes, namespaces or templates. */
enum source_lang source_lang_of(const char *path, const char *text, size_t len);

#define SOURCE_NO_KIND 0	/* never the kind of a node */
#define SOURCE_NO_FIELD 0	/* of a node that has none in its parent */
#define SOURCE_ERROR_KIND 65535 /* "ERROR": text that does not parse */

/* A named kind ("try_statement"), an anonymous one ("=="), a field ("body"); 0 when the
 * grammar has no such name: a misspelt name never matches, so test for it. */
uint16_t source_kind(enum source_lang lang, const char *name);
uint16_t source_token(enum source_lang lang, const char *text);
uint8_t source_field(enum source_lang lang, const char *name);
const char *source_kind_name(enum source_lang lang, uint16_t kind);
const char *source_field_name(enum source_lang lang, uint8_t field); /* "" of none */

/* A set of kinds. */
struct source_kinds {
	uint64_t bits[16];
};
/* From named kinds separated by spaces. Names that the grammar does not have are left
 * out, so one list may serve several languages. */
struct source_kinds source_kinds(enum source_lang lang, const char *names);
static inline bool source_has(const struct source_kinds *set, uint16_t kind)
{
	return kind < 1024 && (set->bits[kind / 64] >> (kind % 64) & 1);
}

/* ---- flat trees (tree.c) ---- */

#define SOURCE_NONE UINT32_MAX /* no such node */

enum source_flags {
	SOURCE_NAMED = 1,   /* a named node, not a token such as "if" */
	SOURCE_ERROR = 2,   /* this node is an ERROR */
	SOURCE_MISSING = 4, /* inserted by the parser: the text has no such token */
	SOURCE_BROKEN = 8,  /* there is an ERROR or a missing token in it or below it */
	SOURCE_EXTRA = 16,  /* may stand anywhere: a comment */
};

struct source_node {
	uint32_t start, end; /* bytes */
	uint32_t row;	     /* of start, from 0 */
	uint32_t parent;     /* SOURCE_NONE of the root */
	uint32_t after;	     /* the first node in document order that is not below */
	uint16_t kind;
	uint8_t field; /* in its parent; SOURCE_NO_FIELD */
	uint8_t flags; /* enum source_flags */
};

struct source_tree {
	enum source_lang lang;
	const char *text; /* borrowed: outlives the tree */
	size_t len;
	struct source_node *nodes; /* n ≥ 1 unless skipped */
	uint32_t n, cap;
	const char *skipped; /* why it was not parsed (static); NULL: it was. See below */
	bool broken;	     /* some of it does not parse; the rest is as good as ever */
	void *ts;	     /* tree-sitter's own tree, for queries */
};

static inline uint32_t source_first(const struct source_tree *t, uint32_t n)
{
	return t->nodes[n].after > n + 1 ? n + 1 : SOURCE_NONE;
}
static inline uint32_t source_next(const struct source_tree *t, uint32_t n)
{
	uint32_t after = t->nodes[n].after, parent = t->nodes[n].parent;

	return parent != SOURCE_NONE && after < t->nodes[parent].after ? after
								       : SOURCE_NONE;
}
/* `for (SOURCE_CHILDREN(t, parent, child))` with a `uint32_t child` of your own. */
#define SOURCE_CHILDREN(t, parent, child)    \
	child = source_first((t), (parent)); \
	(child) != SOURCE_NONE;              \
	child = source_next((t), (child))

static inline bool source_within(const struct source_tree *t, uint32_t n, uint32_t outer)
{
	return n >= outer && n < t->nodes[outer].after;
}
static inline bool source_named(const struct source_tree *t, uint32_t n)
{
	return t->nodes[n].flags & SOURCE_NAMED;
}
/* The first child in a field, the i-th named child (comments not counted), or NONE. */
uint32_t source_child(const struct source_tree *t, uint32_t n, uint8_t field);
uint32_t source_named_child(const struct source_tree *t, uint32_t n, unsigned i);
/* The nearest node above n (not n itself) whose kind is in the set, or SOURCE_NONE. */
uint32_t source_above(const struct source_tree *t, uint32_t n,
		      const struct source_kinds *set);
/* The smallest named node that covers the bytes [start, end). */
uint32_t source_at(const struct source_tree *t, uint32_t start, uint32_t end);

/* Text: not NUL-terminated. */
static inline const char *source_text(const struct source_tree *t, uint32_t n,
				      size_t *ret_len)
{
	*ret_len = t->nodes[n].end - t->nodes[n].start;
	return t->text + t->nodes[n].start;
}
bool source_text_is(const struct source_tree *t, uint32_t n, const char *text);
bool source_text_equal(const struct source_tree *a, uint32_t n,
		       const struct source_tree *b, uint32_t m);
char *source_text_dup(const struct source_tree *t, uint32_t n);	   /* the caller frees */
unsigned source_line(const struct source_tree *t, uint32_t n);	   /* of start, from 1 */
unsigned source_end_line(const struct source_tree *t, uint32_t n); /* of the last byte */
unsigned source_column(const struct source_tree *t, uint32_t n);   /* bytes, from 1 */
/* The line that a byte is on, without its newline. */
const char *source_line_at(const struct source_tree *t, uint32_t byte, size_t *ret_len);
/* As an S-expression with fields, for tests and for authors of rules; at most max bytes.
 */
void source_dump(const struct source_tree *t, uint32_t n, size_t max, struct buf *out);

/* ---- parsing (parse.c) ---- */

struct source_limits {
	size_t bytes;	    /* 0: SOURCE_MAX_BYTES */
	unsigned time_ms;   /* CPU-bound time of one parse; 0: SOURCE_MAX_MS */
	uint32_t max_nodes; /* 0: SOURCE_MAX_NODES */
};
enum {
	SOURCE_MAX_BYTES = 4 << 20, /* larger files of source are generated or data */
	SOURCE_MAX_MS = 5000,
	SOURCE_MAX_NODES = 8 << 20,
};

struct source_parser;
struct source_parser *source_parser_new(void);
void source_parser_free(struct source_parser *p);

/*
 * Parses text[len], which must outlive ret, as lang. It never fails on foreign text:
 * what does not parse becomes ERROR nodes, and a text that is no source (NUL bytes) or
 * is over a limit gives a tree without nodes whose `skipped` says why, to be said to the
 * user. limits NULL: the defaults. ret is released by its owner.
 */
void source_parse(struct source_parser *p, enum source_lang lang, const char *text,
		  size_t len, const struct source_limits *limits,
		  struct source_tree *ret);
void source_tree_release(struct source_tree *t);
/* Releases t; its memory serves the parser's next tree. For loops over many files. */
void source_tree_recycle(struct source_tree *t, struct source_parser *p);
DEFINE_CLEANUP(source_tree)

/* ---- queries (query.c): rules as data ---- */

/*
 * A pattern in tree-sitter's query language, with #eq? #not-eq? #any-of? #not-any-of?
 * #match? and #not-match? (POSIX extended regular expressions). Other predicates are an
 * error. ERR_USAGE says "line:column: what" counted within the text.
 */
struct source_query;
struct source_query *source_query_new(enum source_lang lang, const char *text,
				      struct err *err);
void source_query_free(struct source_query *q);
unsigned source_query_captures(const struct source_query *q);
const char *source_query_capture_name(const struct source_query *q, unsigned capture);
/* The number of the capture @name, or -1. */
int source_query_capture(const struct source_query *q, const char *name);

struct source_capture {
	unsigned capture;
	uint32_t node;
};
struct source_match {
	unsigned pattern; /* which of the text's patterns, from 0 */
	unsigned n;
	const struct source_capture *captures;
};
/* The node of the first such capture, or SOURCE_NONE. */
uint32_t source_match_node(const struct source_match *m, int capture);
/*
 * Calls each() for every match that begins in the subtree of `root` (0: the whole file),
 * in document order; stops when it returns false. Returns false when tree-sitter gave
 * up some matches, as it does where very many are open at once.
 */
bool source_query_run(const struct source_query *q, const struct source_tree *t,
		      uint32_t root,
		      bool (*each)(void *ctx, const struct source_match *m), void *ctx);

/* ---- files (files.c, each.c) ---- */

struct source_file {
	char *path; /* as it is opened; what users are shown */
	enum source_lang lang;
};
struct source_files {
	struct source_file *v;
	size_t n, cap;
	unsigned generated, vendored; /* left out */
};
/* Adds a file if its language is known and it is not vendored (a directory vendor,
 * node_modules, third_party … in `path` below the first `skip` bytes). Opens it only
 * when it has no extension. Symbolic links and what is no file are left out. */
void source_files_add(struct source_files *f, const char *path, size_t skip);
/* The output of `git ls-files -z` run in dir: paths relative to it, NUL after each.
 * dir "" or ".": they stay as they are. */
void source_files_add_git(struct source_files *f, const char *dir, const char *list,
			  size_t len);
/* A file (whatever directory it is in), or all below a directory that is in no git
 * repository: .gitignore files are followed, hidden directories left out. */
int source_files_walk(struct source_files *f, const char *path, struct err *err);
void source_files_sort(struct source_files *f); /* by path; drops doubles */
void source_files_release(struct source_files *f);
DEFINE_CLEANUP(source_files)

/* A file that a person does not edit: "Code generated … DO NOT EDIT", "@generated",
 * minified text, *.min.js, *_pb2.py, *.pb.go … */
bool source_is_generated(const char *path, const char *text, size_t len);
bool source_is_vendored(const char *path);

/*
 * Reads and parses all files on `jobs` threads (0: one per processor) and calls each()
 * for every one, generated ones left out and counted, from whichever thread has it:
 * `worker` (< jobs) and `index` (of files->v) let results be kept without a lock and put
 * in order afterwards. The tree and its text are gone when each() returns. A file that
 * cannot be read has skipped set to why. each() must not fail.
 */
void source_each(struct source_files *files, unsigned jobs,
		 const struct source_limits *limits,
		 void (*each)(void *ctx, unsigned worker, size_t index,
			      const struct source_tree *t),
		 void *ctx);
unsigned source_jobs(unsigned jobs); /* what `jobs` comes to: processors, at most 16 */

#endif
