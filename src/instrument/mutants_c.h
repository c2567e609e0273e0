/*
 * Mutants of C, all in one build: each place is written with and without its change, and
 * a byte says which holds (probes_c_mutants()). Types stay: both arms of a ?: have the
 * same operands. What still does not compile has to be found by compiling.
 */
#ifndef EXITPATH_INSTRUMENT_MUTANTS_C_H
#define EXITPATH_INSTRUMENT_MUTANTS_C_H

#include "base/buf.h"
#include "instrument/mutants.h"
#include "source/source.h"

/* In the order of the file. code: of code_c_mark(). */
void mutants_c_find(const struct source_tree *t, const uint8_t *code,
		    struct mutants *ret);

/* Where in the rewritten file the code of a mutant stands. */
struct mutant_place {
	size_t start, end;
};
/* Adds the file with those of its mutants that are used[], numbered from first on.
 * places (NULL: not wanted): of each mutant; 0, 0 of those that are not used. */
void mutants_c_rewrite(const struct source_tree *t, const struct mutants *m,
		       const uint8_t *used, uint32_t first, struct buf *out,
		       struct mutant_place *places);

/*
 * What a file begins with, so that it can stand alone: it maps `path`, which has the
 * layout of abi/mutants.h for n mutants. name: what the compiler calls the file from here
 * on. quiet: its warnings are the rewriter's fault, and not shown; the way to say so is
 * an extension that -pedantic-errors refuses.
 */
void probes_c_mutants(const char *path, uint32_t n, uint32_t wanted_at, const char *name,
		      bool quiet, struct buf *out);

#endif
