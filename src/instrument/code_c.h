/* Which parts of a C file are code that runs, and may be rewritten. */
#ifndef EXITPATH_INSTRUMENT_CODE_C_H
#define EXITPATH_INSTRUMENT_CODE_C_H

#include "base/strv.h"
#include "source/source.h"

/*
 * A byte for each node, 1: it is code, in the body of a function. Left out are constant
 * expressions (case labels, sizes of arrays, static initialisers, enumerators), what is
 * not evaluated (sizeof, typeof), the preprocessor's lines, what does not parse, and the
 * arguments of macros, which may be counted, pasted, quoted or declared: of assert(), of
 * names in capitals and of those in `macros`. The caller frees.
 */
uint8_t *code_c_mark(const struct source_tree *t, const struct strv *macros);
/* Adds the names of function-like macros that a file defines. */
void code_c_macros(const struct source_tree *t, struct strv *macros);

#endif
