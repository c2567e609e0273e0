/* `exitpath fault -- CMD`: the working tree as it is, recorded where there is a store. */
#ifndef EXITPATH_ENGINE_FAULT_TREE_H
#define EXITPATH_ENGINE_FAULT_TREE_H

#include "engine/fault.h"
#include "engine/gate.h"

/*
 * flags: as for `fault` on revisions; their `fault` says the rest. Outside of a
 * repository nothing is recorded, unless the flags name a store, a contract or --diff,
 * which need one. The contract's `faults` hold where no flag says otherwise.
 */
int engine_fault_tree(const struct gate_opts *flags, char *const *argv,
		      struct fault_report *ret, struct err *err);

#endif
