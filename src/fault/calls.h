/* The calls that the fault shim can make fail: abi/calls.def as a table. */
#ifndef EXITPATH_FAULT_CALLS_H
#define EXITPATH_FAULT_CALLS_H

#include "abi/fault.h"

#include <stdbool.h>
#include <stddef.h>

struct fault_call {
	const char *name;
	enum fault_class class;
	int errnos[3]; /* the first is what is tried; 0: none */
	bool reported; /* its failure must be told, see calls.def */
};

extern const struct fault_call fault_calls[];
extern const size_t fault_ncalls;

const char *fault_class_name(enum fault_class c); /* "memory", "file" … */
bool fault_class_parse(const char *name, enum fault_class *ret);
/* Does a user who says name mean this call? "open" is open64 and __open_2, too. */
bool fault_call_is(const struct fault_call *call, const char *name);
/* Is it there to remove a file? */
bool fault_call_removes(const struct fault_call *call);
bool fault_call_known(const char *name);
/* How a point fails: "ENOSPC", "EINTR", "one byte less", "SQLITE_IOERR", "NULL". errnum
 * 0: the call's first. As fault_errno_name(). */
const char *fault_error_name(const struct fault_point *p, int errnum);
/* "ENOMEM"; the number where the C library has no name. Static storage, for at least the
 * next call. */
const char *fault_errno_name(int errnum);

#endif
