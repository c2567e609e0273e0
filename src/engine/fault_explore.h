/* What the files of the libc layer share: one exploration. Internal to engine/fault*.c.
 */
#ifndef EXITPATH_ENGINE_FAULT_EXPLORE_H
#define EXITPATH_ENGINE_FAULT_EXPLORE_H

#include "detect/symbolize.h"
#include "engine/fault_run.h"
#include "fault/plan.h"

/* What is known about one point. */
struct trial {
	unsigned tries;
	bool fired, clean, confirmed;
	bool forked;		/* … in a fork: no run of its own */
	bool known;		/* … in an earlier run */
	struct fault_seen seen; /* of the first run that had a defect */
	struct fault_judgement judgement;
	struct fault_finding finding; /* once it is confirmed */
};

struct explore {
	struct fault_session session;
	struct symbols *symbols; /* opened when they are asked for */
	const struct fault_opts *opts;
	struct fault_seen base;
	struct fault_record record;
	enum fault_compare compare;
	struct fault_plan plan;
	struct trial *trials; /* one per point of the plan */
	size_t at;	      /* of the plan, in this pass */
	size_t *again;	      /* points with a defect that is not confirmed yet */
	size_t nagain, again_cap;
	size_t begun; /* runs, for progress */
	uint64_t start_us;
	struct fault_report *report;
};

/* why is taken. */
void fault_end_with(struct fault_report *r, enum outcome outcome, char *why,
		    const char *hint);

/* The command line that makes that point fail again. classes: it depends on them, where
 * all that follows fails as well. The caller frees. */
char *fault_replay(const struct fault_opts *o, char *const *argv, uint64_t key,
		   bool classes);

/* fault_choose.c: the plan, of the record. */
void fault_choose(struct explore *x);
void fault_fill_chain(struct explore *x, const struct fault_point *p, struct leak *chain);

/* fault_found.c */
/* What an earlier run came to know of the points of the plan. */
void fault_recall(struct explore *x);
/* The point is clean, or its defect is confirmed. */
void fault_settle(struct explore *x, size_t point);
/* Fills the report, when no more runs will be. */
void fault_conclude(struct explore *x);

#endif
