/* Tests compared by what they do: the branches that they take and the mutants that they
 * kill, as keys. */
#ifndef EXITPATH_VET_SUBSET_H
#define EXITPATH_VET_SUBSET_H

#include "model/vet.h"

/*
 * Does a say or do the same as b? The same words but for names and comments, or the same
 * branches and the same kills. What kills nothing is not compared by what it kills.
 */
bool vet_same(const struct vet_test *a, const struct vet_test *b);

/*
 * The fewest tests that together kill what all do, found greedily: next is always that
 * which kills most that is not killed yet; of several the cheapest, then the first. Sets
 * ret_in[i], n of them, and returns how many are in. A test that kills nothing is out.
 */
size_t vet_subset(const struct vet_test *tests, size_t n, bool *ret_in);

#endif
