/*
 * What looking up names may cost. Files of the program under test are foreign: their
 * debugging information may be huge, or made to be slow. When the time is up, nothing
 * more is looked up.
 */
#ifndef EXITPATH_DETECT_EFFORT_H
#define EXITPATH_DETECT_EFFORT_H

#include "base/clock.h"

#include <stdbool.h>
#include <stdint.h>

enum { EFFORT_US = 5000000, EFFORT_STEPS = 64 /* between two looks at the clock */ };

struct effort {
	uint64_t used_us, since; /* since: clock_us() of effort_begin() */
	unsigned steps;
	bool spent; /* for good */
};

static inline void effort_begin(struct effort *e)
{
	e->since = clock_us();
}

static inline void effort_end(struct effort *e)
{
	e->used_us += clock_us() - e->since;
	e->spent |= e->used_us > EFFORT_US;
}

/* Before each step of a loop over foreign data. false: give up. */
static inline bool effort_step(struct effort *e)
{
	if (++e->steps % EFFORT_STEPS == 0)
		e->spent |= e->used_us + (clock_us() - e->since) > EFFORT_US;
	return !e->spent;
}

#endif
