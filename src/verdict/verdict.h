/*
 * The rules of DESIGN §5 as pure functions: observations in, checks out, no I/O.
 */
#ifndef EXITPATH_VERDICT_VERDICT_H
#define EXITPATH_VERDICT_VERDICT_H

#include "model/contract.h"
#include "model/result.h"
#include "model/review.h"
#include "model/scan.h"

struct leak_case {
	const struct lifecycle *lifecycle;
	const struct observation *base, *candidate; /* of one detector */
	const struct suppression *suppressions;
	size_t nsuppressions;
	const char *today; /* YYYY-MM-DD: suppressions that expired before are ignored */
	unsigned attempt, max_attempts;
	bool required; /* the detector was named by the user: not fitting is an error */
	/* All cycles pass in one run: when it fails, that was seen once, not n times. */
	bool inside;
	/* What verdict_unsettled() said of an earlier attempt, or NULL: such a case does
	 * not become clean because the leak did not show in the next one. */
	const char *earlier;
};
/*
 * Fills ret (zeroed): target, detector, version, the numbers of cycles, outcome,
 * explanation, next, findings, notes, retry; command and artifacts are the engine's.
 * retry is true when the case is intermittent, or not clean against a base that was
 * measured earlier, or one run that holds all cycles failed for the first time, and
 * attempt < max_attempts: the engine then measures both sides.
 * A detector that was not required and fits neither revision gives ret->outcome CLEAN
 * with `*ret_skip` true: no check at all; the engine must keep at least one check.
 */
void verdict_leak(const struct leak_case *in, struct check *ret, bool *ret_skip);

/* The explanation of a check that saw memory, or what outlives a process, leak in some
 * cycles of the candidate only; NULL for any other. Borrowed from c. */
const char *verdict_unsettled(const struct check *c);

/*
 * The checks of one lifecycle that is meant to be repaired, one for each detector: a
 * leak of memory shows under lsan and not under the ledger. Where one check shows the
 * repair, those under which base does not leak are clean.
 */
void verdict_repairs(struct check *checks, size_t n);

struct fault_case {
	const char *target; /* name of the lifecycle */
	/* What `fault` found on either side; the findings are taken out of them. On base
	 * those points may be all that was tried that are bad on the candidate. NULL: not
	 * run */
	struct fault_report *base, *candidate;
	const struct suppression *ignore; /* faults.ignore of the contract */
	size_t nignore;
	const char *today; /* YYYY-MM-DD: those that expired before do not count */
	bool repairs;	   /* base must be bad somewhere, and the candidate nowhere */
};
/*
 * Fills ret (zeroed): target, detector, outcome, explanation, next, faults, notes. Two
 * findings are the same when their signatures are; of several with one signature as many
 * are inherited as base has, those first whose stacks have the same lines.
 */
void verdict_fault(struct fault_case *in, struct check *ret);
/* One revision alone: takes what the annotations match out of the findings; what is left
 * decides about the outcome. Notes those that have expired. */
void verdict_fault_ignore(struct fault_report *r, const struct suppression *ignore,
			  size_t nignore, const char *today);
/* The check of it: all but the target. Its findings are borrowed from r: the caller
 * zeroes them before it releases one of the two. */
void verdict_fault_alone(const struct fault_report *r, struct check *ret);
/* Does an annotation (DEFECT:CALL:FUNCTION) match? A function anywhere in the chain, main
 * only if it made the call. */
bool ignore_matches(const struct suppression *s, const struct fault_finding *f);

/* One command on both sides: the set-up, or the suite. base NULL: not run (reused). */
void verdict_setup(const struct run_result *base, const struct run_result *candidate,
		   struct check *ret);
void verdict_suite(const struct run_result *base, const struct run_result *candidate,
		   struct check *ret);

/* What `scan` found in the patch; with `notes`, those block as well. Fills ret (zeroed).
 */
void verdict_scan(const struct scan_findings *found, bool notes, struct check *ret);
/* What `review` says of the patch. Fills ret (zeroed). */
void verdict_review(const struct review_items *items, bool strict, struct check *ret);

/* Of all checks; an empty list is a harness error, never clean. */
enum outcome verdict_overall(const struct check *checks, size_t n);

/* Does the series leak: every measured cycle has at least one unit? Some but not all:
 * ret_intermittent. */
bool series_leaks(const uint64_t *units, size_t n, bool *ret_intermittent);
/* Does the suppression ("leak:FUNC", "fd:TARGET") match this leak? fnmatch patterns. */
bool suppression_matches(const struct suppression *s, const struct leak *l);

#endif
