/*
 * What the rules of leak.c share: the cycles of both sides counted, and the words for
 * them. Private to verdict/.
 */
#ifndef EXITPATH_VERDICT_EXAM_H
#define EXITPATH_VERDICT_EXAM_H

#include "verdict/classify.h"
#include "verdict/verdict.h"

/* The cycles of one side, counted by how they went; first of each kind. */
struct runs {
	const char *name;
	size_t n, measured, complete; /* complete: measured, and the probe is complete */
	size_t failed, timed_out;     /* failed: also over a limit, but for that of CPU
					 time, which counts as timed out */
	const struct cycle *first_failed, *first_timed_out;
	const struct cycle *not_found, *broken, *cancelled;
	const struct cycle *in_state[PROBE_INTERRUPTED + 1];
};

struct exam {
	const struct leak_case *in;
	struct runs base, candidate;
	bool comparable; /* both sides were observed in full: tally is filled */
	struct tally tally;
	bool skip;
};

void runs_init(struct runs *r, const char *name, const struct observation *o);
/* Every measured cycle that the contract asks for was observed in full. */
bool observed_in_full(const struct runs *r, const struct leak_case *in);

/* Takes explanation; copies next. Always true, so that a rule can return it. */
bool exam_decide(struct check *ret, enum outcome o, char *explanation, const char *next);

const char *detector_of(const struct exam *e);
bool may_retry(const struct exam *e);
/* The failure of a run that has all cycles in it may be a flaky test's: run it again. */
bool failed_once(const struct exam *e, const struct cycle *failed);
const struct finding *first_finding(const struct check *c, enum finding_class class);
/* Texts; the caller frees. */
char *more_cycles(const struct exam *e);
char *describe_cycle(const struct cycle *c); /* "heap-use-after-free (exit 1)" */
/* "1 allocation (40 bytes) per cycle in leak_here (src/worker.c:41)". */
char *describe_finding(const struct finding *f);
/* The same of base, which must have it: what it leaks may be fewer or smaller. */
char *describe_base(const struct finding *f);
/* "5 of 5 cycles on the candidate, 0 of 5 on base". */
char *describe_share(const struct exam *e, const struct finding *f);

/* The rules, in the order of examination; true when it decided. */
bool rule_base_missing(struct exam *e, struct check *ret);
bool rule_machinery_broken(struct exam *e, struct check *ret);
bool rule_was_cancelled(struct exam *e, struct check *ret);
bool rule_base_not_found(struct exam *e, struct check *ret);
bool rule_base_failing(struct exam *e, struct check *ret);
bool rule_candidate_missing(struct exam *e, struct check *ret);
bool rule_candidate_not_found(struct exam *e, struct check *ret);
bool rule_leak_shown(struct exam *e, struct check *ret);
bool rule_candidate_failing(struct exam *e, struct check *ret);
bool rule_not_fitting(struct exam *e, struct check *ret);
bool rule_detector_broken(struct exam *e, struct check *ret);
bool rule_forced_exit(struct exam *e, struct check *ret);
bool rule_not_observed(struct exam *e, struct check *ret);
bool rule_leaks_found(struct exam *e, struct check *ret);
bool rule_nothing_found(struct exam *e, struct check *ret);

#endif
