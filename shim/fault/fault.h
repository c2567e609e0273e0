/* Inside of the fault library: what wrappers ask, and what they work on. */
#ifndef SHIM_FAULT_H
#define SHIM_FAULT_H

#include "abi/fault.h"

#include <stdint.h>
#include <stdio.h>

enum {
#define CALL(name, ...) CALL_##name,
#include "abi/calls.def"
#undef CALL
	CALLS,
};

enum subject_kind {
	SUBJECT_NOTHING,
	SUBJECT_PATH,
	SUBJECT_FD,
	SUBJECT_STREAM,
	SUBJECT_STATEMENT, /* path: its text */
	SUBJECT_PREPARED,
};

struct subject {
	enum subject_kind kind;
	const char *path;
	int fd;
	FILE *stream;
	void *prepared; /* sqlite3_stmt */
	int partly;	/* FAULT_SHORT is possible */
};

#define FAULT_PART (-1)

extern __thread int fault_within; /* libc is in a call of ours: no points */

/* The errno that this call shall fail with; 0: it goes on; FAULT_PART: with less to do.
 * Keeps errno. */
int fault_decide(uint32_t call, const struct subject *s, const void *frame);

/* The function that a call of this library stands before. */
void *fault_next(int call);
/* The text of an sqlite3_stmt, or NULL. */
const char *fault_statement(void *prepared);

/* A number that differs between most stacks, and is the same for the same one: of the
 * frame's place and of what looks like return addresses in the 96 words above it. */
uint64_t fault_glance(const void *frame);
/* The objects that are loaded now; before the first glance. */
void fault_list_objects(void);
/* The stack above the library: addresses within calls, innermost first. */
uint32_t fault_unwind(uintptr_t *ret, uint32_t max);
/* The object that holds the address, and the offset in it; *ret_path is cut to
 * FAULT_PATH. 0: none does. */
int fault_module_of(uintptr_t address, char *ret_path, uint64_t *ret_offset);

#endif
