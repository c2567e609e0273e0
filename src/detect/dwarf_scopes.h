/*
 * Which functions are at an address, by DWARF: the function and those that the compiler
 * inlined there, each with its place in the source. The data are foreign: depth, time and
 * numbers are bounded.
 */
#ifndef EXITPATH_DETECT_DWARF_SCOPES_H
#define EXITPATH_DETECT_DWARF_SCOPES_H

#include "detect/effort.h"

#include <elfutils/libdw.h>
#include <stddef.h>

enum { DWARF_SCOPES_MAX = 32 }; /* of one address; the outermost ones are dropped */

struct dwarf_scope {
	const char *name; /* as linked ("_ZN1a1bEv") where known; NULL: not known */
	const char *file; /* NULL: not known */
	unsigned line;	  /* 0: not known */
};

struct dwarf_scopes; /* an index of one file */
struct dwarf_scopes *dwarf_scopes_new(Dwarf *dwarf, struct effort *effort);
void dwarf_scopes_free(struct dwarf_scopes *d); /* NULL is fine */

/*
 * Innermost first, as a symboliser prints them: the first has the line of the address,
 * each further one the line of the call. One without a name: only the line is known.
 * Strings belong to the Dwarf.
 */
size_t dwarf_scopes_find(struct dwarf_scopes *d, uint64_t address, struct effort *effort,
			 struct dwarf_scope ret[DWARF_SCOPES_MAX]);

#endif
