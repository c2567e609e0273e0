/*
 * A mutant is a place of the source and what stands there instead; the languages'
 * own files (mutants_c.h, mutants_python.h) find them in trees.
 */
#ifndef EXITPATH_INSTRUMENT_MUTANTS_H
#define EXITPATH_INSTRUMENT_MUTANTS_H

#include "base/buf.h"
#include "base/strv.h"
#include "source/source.h"

enum mutant_form {
	MUTANT_VALUE, /* an expression in place of another */
	MUTANT_TRUTH, /* the same, where only the truth counts */
	MUTANT_GONE,  /* a statement does not happen */
};

struct mutant {
	const char *operator_; /* "ROR"; static */
	uint32_t start, end;   /* bytes of what is changed */
	uint32_t node;
	unsigned line, column, end_line, end_column;
	enum mutant_form form;
	char *text; /* what stands there instead, on one line; "" of MUTANT_GONE */
	/* The same so that it compiles for numbers alone, NULL: it need not. Which of two
	 * addresses is the smaller one is up to the linker: no test could tell. */
	char *numbers;
};
struct mutants {
	struct mutant *v;
	size_t n, cap;
};

/* A mutant of [start, end), which lies within node n. text is taken. */
struct mutant *mutants_add(struct mutants *m, const struct source_tree *t, uint32_t n,
			   uint32_t start, uint32_t end, const char *name,
			   enum mutant_form form, char *text);
/* In the order of nodes, operators and texts. */
void mutants_sort(struct mutants *m);
/* Drops all but one of each line. */
void mutants_one_a_line(struct mutants *m);
void mutant_release(struct mutant *x);
void mutants_release(struct mutants *m);
DEFINE_CLEANUP(mutants)

#endif
