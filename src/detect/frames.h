/*
 * Stack frames as a runtime reports them, and how they become frames of the model:
 * functions that the runtime left out are looked up, paths become repository-relative.
 */
#ifndef EXITPATH_DETECT_FRAMES_H
#define EXITPATH_DETECT_FRAMES_H

#include "detect/symbolize.h"
#include "model/observation.h"

#include <stddef.h>
#include <stdint.h>

enum { FRAMES_MAX = 64 }; /* of one stack; the outer ones are dropped */

struct raw_frame {
	char *function, *module, *file; /* as reported: paths; NULL: unknown */
	uint64_t offset;		/* address in the module's file; 0: unknown */
	unsigned line;
};

struct raw_stack {
	struct raw_frame *frames;
	size_t n, cap;
};

/* The new frame, or NULL when the stack is full. */
struct raw_frame *raw_stack_add(struct raw_stack *s);
void raw_frame_release(struct raw_frame *f);
void raw_stack_release(struct raw_stack *s);

/* The checkout: as reports name it, and where it is on the machine. */
struct source_root {
	const char *seen, *path;
};

/* Adds s to l->frames. symbols NULL: nothing is looked up. */
void frames_fill(struct leak *l, const struct raw_stack *s,
		 const struct source_root *root, struct symbols *symbols);
/* "f (src/a.c:12)", of the first frame of the project, else of the first that is not
 * the runtime's; "" when none is known. The caller frees. */
char *frames_place(const struct raw_stack *s, const struct source_root *root,
		   struct symbols *symbols);

#endif
