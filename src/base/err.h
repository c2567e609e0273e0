/*
 * The one error contract: a function that can fail takes `struct err *err` last,
 * returns 0 or -1 (or a pointer or NULL), fills err where it knows most, and leaves
 * its ret_* parameters alone on failure. Only cli/ prints.
 */
#ifndef EXITPATH_BASE_ERR_H
#define EXITPATH_BASE_ERR_H

#include "base/macros.h"

enum err_kind {
	ERR_NONE,
	ERR_USAGE,	 /* bad flags, contract or revision: exit 2 */
	ERR_ENVIRONMENT, /* the machine refuses: tool missing, disk full: exit 50 */
	ERR_INTERRUPTED, /* SIGINT or SIGTERM: exit 128 + signal */
	ERR_INTERNAL,	 /* a bug in exitpath: exit 70 */
};

struct err {
	enum err_kind kind;
	char message[1024]; /* what happened, where, why */
	char hint[512];	    /* the next step; empty when there is none */
};

/* Each returns -1, so that a caller can `return err_set(…)`. err may be NULL. */
int err_set(struct err *err, enum err_kind kind, const char *fmt, ...) PRINTF(3, 4);
/* Appends ": strerror(errnum)". */
int err_errno(struct err *err, enum err_kind kind, int errnum, const char *fmt, ...)
	PRINTF(4, 5);
int err_prefix(struct err *err, const char *fmt, ...) PRINTF(2, 3);
void err_hint(struct err *err, const char *fmt, ...) PRINTF(2, 3);

#endif
