/*
 * One run that explores many points: the shim forks at each (shim/fault/fork.c). Internal
 * to engine/fault*.c.
 */
#ifndef EXITPATH_ENGINE_FAULT_FORK_H
#define EXITPATH_ENGINE_FAULT_FORK_H

#include "engine/fault_run.h"
#include "fault/plan.h"

struct fault_fork {
	const struct fault_seen *base; /* without a fault */
	enum fault_compare compare;
	const struct fault_plan *plan;
	uint64_t time_ms; /* the run may take; 0: as long as it needs */
	/* What is asked of the point i of the plan. */
	void (*expect)(void *ctx, size_t i, struct fault_expect *ret);
	void *ctx;
};

struct fault_forked {
	bool *clean;	/* of each point of the plan: it failed, and that was survived */
	size_t nclean;	/* these need no run of their own */
	size_t nforked; /* and those that do, since they do not look clean */
	struct run_result run;
	bool ran;
	char *why; /* for people: why the others need one; NULL: all are clean */
};
/*
 * What cannot be told to be clean is not: the caller runs those points one by one. So is
 * everything when the detectors see more than a fork's end shows (memory of the heap), or
 * the run itself does not end like the one without a fault.
 */
int fault_fork_explore(struct fault_session *s, const struct fault_fork *f,
		       struct fault_forked *ret, struct err *err);
void fault_forked_release(struct fault_forked *f);
DEFINE_CLEANUP(fault_forked)

#endif
