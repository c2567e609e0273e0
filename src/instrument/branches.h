/* Decisions of a file and the outcomes that they have, as docs/COVERAGE.md defines them.
 */
#ifndef EXITPATH_INSTRUMENT_BRANCHES_H
#define EXITPATH_INSTRUMENT_BRANCHES_H

#include "base/buf.h"
#include "base/strv.h"
#include "source/source.h"

enum branch_kind {
#define BRANCH(id, name, first, second) BRANCH_##id,
#include "instrument/branch.def"
#undef BRANCH
};

struct branch {
	enum branch_kind kind;
	uint32_t node;	/* the condition or operand without parentheses; the switch */
	uint32_t first; /* number of its first outcome */
	uint32_t n;	/* of a switch: its labels in order, then none of them */
	uint32_t label, nlabels; /* of a switch: its labels in branches.labels */
};
struct branches {
	struct branch *v;
	size_t n, cap;
	uint32_t *labels; /* nodes of case labels */
	size_t nlabels, labels_cap;
	uint32_t first, outcomes; /* numbers are first … first + outcomes - 1 */
};

const char *branch_kind_name(enum branch_kind k);
/* "true"; of a switch "case" or "none". */
const char *branch_outcome_name(const struct branch *b, uint32_t outcome);

/* In C and JavaScript. code: in C that of code_c_mark(), else NULL. first: the number of
 * the first outcome. */
void branches_find(const struct source_tree *t, const uint8_t *code, uint32_t first,
		   struct branches *ret);
void branches_release(struct branches *b);
DEFINE_CLEANUP(branches)

/* branches_js.c: the file with probes, complete, a CommonJS or an ES module; `path` is
 * the file of outcomes, of which a byte becomes 1 when its outcome is taken. */
void branches_js_rewrite(const struct source_tree *t, const struct branches *b,
			 const char *path, struct buf *out);

/* branches_c.c: the file with probes, which call what probes_c_branches() declares. */
void branches_c_rewrite(const struct source_tree *t, const struct branches *b,
			struct buf *out);

/*
 * probes_c.c: what a file begins with, so that it can stand alone: it maps `path` (as
 * programs see it; a file of `outcomes` bytes), and a byte becomes 1 when its outcome is
 * taken, in whatever process. May be included twice. Ends with a #line.
 */
void probes_c_branches(const char *path, uint32_t outcomes, struct buf *out);
/* A string literal. */
void probes_c_quote(const char *text, struct buf *out);

#endif
