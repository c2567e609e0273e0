#include "base/mem.h"
#include "verdict/verdict.h"

#include <string.h>

/* The command itself could not be started: a matter of the revision, not of ours. */
static bool not_found(const struct run_result *r)
{
	return r->end == RUN_NOT_STARTED && !strcmp(r->step, "exec");
}

static bool machinery_failed(const struct run_result *r)
{
	return r->end == RUN_LOST || r->end == RUN_SANDBOX_FAILED || r->watch_failed ||
	       (r->end == RUN_NOT_STARTED && !not_found(r));
}

static void decide(struct check *ret, enum outcome o, char *explanation, const char *next)
{
	ret->outcome = o;
	ret->explanation = explanation;
	ret->next = xstrdup(next);
}

/* What ends both the set-up and the suite alike; true when it decided. */
static bool verdict_machinery(const char *what, const struct run_result *base,
			      const struct run_result *candidate, struct check *ret)
{
	const struct run_result *runs[] = {base, candidate};
	static const char *const names[] = {"base", "the candidate"};

	for (size_t i = 0; i < ARRAY_SIZE(runs); i++) {
		CLEANUP_FREE char *how = NULL;

		if (!runs[i])
			continue;
		how = run_result_describe(runs[i]);
		if (machinery_failed(runs[i])) {
			decide(ret, OUTCOME_HARNESS_ERROR,
			       xasprintf("The %s on %s could not be run: %s.", what,
					 names[i], how),
			       runs[i]->end == RUN_SANDBOX_FAILED
				       ? "see what is missing: exitpath doctor; or go "
					 "without: --isolation none"
				       : "see what is missing: exitpath doctor");
			return true;
		}
		if (runs[i]->end == RUN_CANCELLED) {
			decide(ret, OUTCOME_INCONCLUSIVE,
			       xasprintf("The %s on %s was cancelled.", what, names[i]),
			       NULL);
			return true;
		}
	}
	return false;
}

static void not_run(const char *what, struct check *ret)
{
	decide(ret, OUTCOME_HARNESS_ERROR,
	       xasprintf("The %s was not run on the candidate.", what), NULL);
}

void verdict_setup(const struct run_result *base, const struct run_result *candidate,
		   struct check *ret)
{
	ret->target = xstrdup("setup");
	if (verdict_machinery("set-up", base, candidate, ret))
		return;
	if (base && !run_result_passed(base)) {
		CLEANUP_FREE char *how = run_result_describe(base);

		decide(ret, OUTCOME_BASELINE_INVALID,
		       xasprintf("The set-up fails on base: %s. Nothing can be blamed on "
				 "the "
				 "patch.",
				 how),
		       run_result_late(base)
			       ? "give the set-up more time, or mend it with --setup CMD"
			       : "mend the command with --setup CMD, or choose a base "
				 "that "
				 "builds with --base REV");
	} else if (!candidate) {
		not_run("set-up", ret);
	} else if (run_result_late(candidate)) {
		CLEANUP_FREE char *how = run_result_describe(candidate);

		decide(ret, OUTCOME_INCONCLUSIVE,
		       xasprintf("The set-up passes on base, and on the candidate it %s.",
				 how),
		       "read hang.txt among the candidate's artifacts");
	} else if (!run_result_passed(candidate)) {
		CLEANUP_FREE char *how = run_result_describe(candidate);

		decide(ret, OUTCOME_BEHAVIOR_FAILED,
		       xasprintf("The set-up passes on base and fails on the candidate: "
				 "%s.",
				 how),
		       "make the candidate build; the output is among its artifacts");
	} else {
		decide(ret, OUTCOME_CLEAN,
		       xasprintf("The set-up passes on %s.",
				 base ? "both revisions" : "the candidate"),
		       NULL);
	}
}

static void suite_failed(const struct run_result *base,
			 const struct run_result *candidate, struct check *ret)
{
	CLEANUP_FREE char *how = run_result_describe(candidate);

	if (base && !run_result_passed(base)) {
		CLEANUP_FREE char *before = run_result_describe(base);

		decide(ret, OUTCOME_BASELINE_INVALID,
		       xasprintf("The suite fails on base (%s) and on the candidate "
				 "(%s): new "
				 "failures cannot be told from old ones.",
				 before, how),
		       "make the suite pass on base, or choose another with --suite CMD");
	} else {
		decide(ret, OUTCOME_BEHAVIOR_FAILED,
		       xasprintf(
			       "The suite passes on base and fails on the candidate: %s.",
			       how),
		       "read the failing test in the output among the candidate's "
		       "artifacts");
	}
}

void verdict_suite(const struct run_result *base, const struct run_result *candidate,
		   struct check *ret)
{
	bool base_late = base && run_result_late(base);

	ret->target = xstrdup("suite");
	if (verdict_machinery("suite", base, candidate, ret))
		return;
	if (!candidate) {
		not_run("suite", ret);
	} else if (base_late || run_result_late(candidate)) {
		CLEANUP_FREE char *how =
			run_result_describe(base_late ? base : candidate);
		bool both = base_late && run_result_late(candidate);

		decide(ret, OUTCOME_INCONCLUSIVE,
		       xasprintf("The suite on %s %s.",
				 both	     ? "both revisions"
				 : base_late ? "base"
					     : "the candidate",
				 how),
		       "read hang.txt among the artifacts; if the suite only needs "
		       "longer, "
		       "raise --timeout");
	} else if (!run_result_passed(candidate)) {
		suite_failed(base, candidate, ret);
	} else {
		decide(ret, OUTCOME_CLEAN,
		       xasprintf("The suite passes on %s.",
				 base && run_result_passed(base) ? "both revisions"
								 : "the candidate"),
		       NULL);
		if (base && !run_result_passed(base)) {
			CLEANUP_FREE char *how = run_result_describe(base);

			strv_addf(&ret->notes,
				  "the suite fails on base (%s) and passes on the "
				  "candidate",
				  how);
		}
	}
}

enum outcome verdict_overall(const struct check *checks, size_t n)
{
	enum outcome worst = n ? checks[0].outcome : OUTCOME_HARNESS_ERROR;

	for (size_t i = 1; i < n; i++)
		worst = outcome_worse(worst, checks[i].outcome);
	return worst;
}
