/* Which points of a recorded run are tried, and in which order. */
#ifndef EXITPATH_FAULT_PLAN_H
#define EXITPATH_FAULT_PLAN_H

#include "fault/map.h"

#include <stdbool.h>

struct fault_choice {
	const char *project; /* directory; absolute */
	const char *call;    /* name; NULL: all */
	const char *path;    /* a glob for what the calls work on; NULL: all */
	uint64_t key;	     /* only this one; 0: all */
	size_t most;	     /* 0: all */
	uint64_t least;	     /* only what is reached as often */
	bool inside;	     /* none, when none is below the project */
};

struct fault_plan {
	const struct fault_point **points; /* of the record */
	size_t n;
	size_t outside; /* not tried: no frame of their stacks is the project's */
	size_t left;	/* not tried: more than `most` */
};

/*
 * The points of programs and libraries below the project; all, when none is: then the
 * command is not built there. Calls whose failure loses data come first, then those that
 * are reached most rarely: they are the least tested.
 */
void fault_plan_make(const struct fault_record *r, const struct fault_choice *c,
		     struct fault_plan *ret);
void fault_plan_release(struct fault_plan *p);
DEFINE_CLEANUP(fault_plan)

/* "1f0c…" of 16 digits, as `--replay` takes it. */
bool fault_key_parse(const char *text, uint64_t *ret);

#endif
