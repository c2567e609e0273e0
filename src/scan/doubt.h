/*
 * What speaks against a way out that the search has found. The search says nothing of
 * values: a way that it takes may be none (two conditions that go together), and what a
 * function of another file does with its argument is not known. Where such a thing
 * decides, the finding is a note and says so.
 */
#ifndef EXITPATH_SCAN_DOUBT_H
#define EXITPATH_SCAN_DOUBT_H

#include "scan/effect.h"

struct scan_way {
	uint32_t exit; /* node of the return or raise; SOURCE_NONE: the end */
	uint32_t test; /* the last test on the way, or SOURCE_NONE */
	bool raises;   /* exit is a raise, or may raise */
	bool implicit; /* exit is what may raise */
	bool never;    /* no way out releases it */
};

/* For people, "the condition …"; NULL: nothing speaks against it. */
const char *scan_doubt(const struct scan_function *fn, const struct resource *r,
		       const struct scan_way *way);

#endif
