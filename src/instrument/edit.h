/*
 * Edits of a text: something is put around or in front of parts of it. Nothing that is
 * put in has a newline, so lines stay where they are.
 */
#ifndef EXITPATH_INSTRUMENT_EDIT_H
#define EXITPATH_INSTRUMENT_EDIT_H

#include "base/buf.h"

#include <stdbool.h>
#include <stdint.h>

struct edit {
	uint32_t at, seq;
	bool closes; /* the end of a wrap: before what is opened at the same place */
	char *text;
	uint32_t tag; /* the caller's */
	size_t put;   /* by edits_apply(): where text begins in what came out */
};
struct edits {
	struct edit *v;
	size_t n, cap;
};

/* Around [start, end). Of wraps that begin or end together, the one that was added first
 * is the outer one: add them in the order of a tree, from above. Returns what is put
 * before it, until more is added. */
struct edit *edits_wrap(struct edits *e, uint32_t start, uint32_t end, const char *before,
			const char *after);
void edits_insert(struct edits *e, uint32_t at, const char *text);
/* Sorts e. */
void edits_apply(struct edits *e, const char *text, size_t len, struct buf *out);
void edits_release(struct edits *e);
DEFINE_CLEANUP(edits)

#endif
