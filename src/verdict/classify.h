/* Compares the series of both sides, signature by signature. Private to verdict/. */
#ifndef EXITPATH_VERDICT_CLASSIFY_H
#define EXITPATH_VERDICT_CLASSIFY_H

#include "verdict/verdict.h"

struct tally {
	size_t blamed;	  /* NEW */
	size_t inherited; /* lasting, leaked by both */
	size_t fewer;	  /* of the inherited: fewer units than base in every cycle */
	size_t repaired;  /* leaked by base, or a handle it held; never the candidate */
	size_t lowered;	  /* a level: fewer than on base, or none */
	size_t foreign;	  /* lasting, as on base, and of code outside the repository */
	size_t kept;	  /* reachable memory that is more than base's, and no leak */
	size_t unsettled; /* the candidate's intermittent ones: measure again */
	size_t base_intermittent; /* sometimes on base, never on the candidate */
};

/*
 * Adds findings (new first, then by size) and notes to ret. Both observations must
 * have measured cycles.
 */
void classify(const struct leak_case *in, struct check *ret, struct tally *ret_tally);

#endif
