/* Mutants of Python: each is a text that stands in place of another; the lines of the
 * rest stay. Whether one compiles, and to other code, is the interpreter's to say. */
#ifndef EXITPATH_INSTRUMENT_MUTANTS_PYTHON_H
#define EXITPATH_INSTRUMENT_MUTANTS_PYTHON_H

#include "instrument/mutants.h"

/* In the order of the file. None in what only logs, asserts or annotates. */
void mutants_python_find(const struct source_tree *t, struct mutants *ret);
/* The first line of the statement, or the clause of one, that a mutant is in: one of
 * the lines from there to its last one is run when it is. */
unsigned mutants_python_first_line(const struct source_tree *t, const struct mutant *x);

#endif
