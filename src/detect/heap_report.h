/*
 * The record of one process under the heap library (abi/heap.h). Pure; the file is
 * foreign and may be hostile: nothing in it is trusted, and what is kept is bounded by
 * its length.
 */
#ifndef EXITPATH_DETECT_HEAP_REPORT_H
#define EXITPATH_DETECT_HEAP_REPORT_H

#include "abi/heap.h"

#include <stdbool.h>
#include <stddef.h>

struct heap_report {
	struct heap_header header;   /* exe ends in a NUL */
	struct heap_module *modules; /* paths end in a NUL */
	struct heap_stack *stacks;   /* their frames lie within frames */
	struct heap_frame *frames;   /* modules are below nmodules, or UINT32_MAX */
};

/* NULL, or what is wrong with it, a constant. Without a whole report (state other than
 * HEAP_ENDED) there are no modules, stacks and frames. */
const char *heap_report_parse(const void *data, size_t len, struct heap_report *ret);
const char *heap_report_module(const struct heap_report *r, const struct heap_frame *f);
void heap_report_release(struct heap_report *r);

#endif
