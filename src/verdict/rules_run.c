/* Rules about how the runs ended, without regard to what was held. */
#include "base/mem.h"
#include "verdict/exam.h"

#include <errno.h>
#include <string.h>

bool rule_base_missing(struct exam *e, struct check *ret)
{
	if (e->base.n)
		return false;
	return exam_decide(ret, OUTCOME_HARNESS_ERROR,
			   xasprintf("%s was not run on base: nothing was observed.",
				     e->in->lifecycle->name),
			   NULL);
}

bool rule_machinery_broken(struct exam *e, struct check *ret)
{
	const struct runs *s = e->base.broken ? &e->base : &e->candidate;
	CLEANUP_FREE char *how = NULL;

	if (!s->broken)
		return false;
	how = run_result_describe(&s->broken->run);
	if (s->broken->run.end == RUN_LOST)
		return exam_decide(
			ret, OUTCOME_HARNESS_ERROR,
			xasprintf("The supervisor of %s died on %s, and what it watched "
				  "is not known: something killed it.",
				  e->in->lifecycle->name, s->name),
			"see whether the command kills processes that are not its own");
	if (!strcmp(s->broken->run.step, "chdir"))
		return exam_decide(
			ret, OUTCOME_HARNESS_ERROR,
			xasprintf("%s could not be run on %s: its directory in the "
				  "checkout cannot be entered: %s.",
				  e->in->lifecycle->name, s->name,
				  strerror(s->broken->run.errnum)),
			"see whether the set-up or an earlier run removes the checkout; "
			"--fresh makes it anew");
	if (s->broken->run.end == RUN_SANDBOX_FAILED)
		return exam_decide(ret, OUTCOME_HARNESS_ERROR,
				   xasprintf("%s was not run on %s: %s.",
					     e->in->lifecycle->name, s->name, how),
				   "see what is missing: exitpath doctor; or go without: "
				   "--isolation none");
	if (s->broken->run.watch_failed)
		return exam_decide(
			ret, OUTCOME_HARNESS_ERROR,
			xasprintf("The exit watch could not be kept on %s: what %s held "
				  "at its end is not known.",
				  s->name, e->in->lifecycle->name),
			"see whether seccomp notifications work here: exitpath doctor");
	return exam_decide(ret, OUTCOME_HARNESS_ERROR,
			   xasprintf("%s could not be run on %s: %s.",
				     e->in->lifecycle->name, s->name, how),
			   "see what is missing on this machine: exitpath doctor");
}

bool rule_was_cancelled(struct exam *e, struct check *ret)
{
	const struct runs *s = e->base.cancelled ? &e->base : &e->candidate;

	if (!s->cancelled)
		return false;
	return exam_decide(
		ret, OUTCOME_INCONCLUSIVE,
		xasprintf("%s was cancelled on %s.", e->in->lifecycle->name, s->name),
		NULL);
}

/* EACCES, E2BIG and others mean that it is there. */
static const char *how_absent(const struct cycle *c)
{
	return c->run.errnum == ENOENT ? "was not found" : "cannot be run";
}

bool rule_base_not_found(struct exam *e, struct check *ret)
{
	if (!e->base.not_found)
		return false;
	return exam_decide(
		ret, OUTCOME_BASELINE_INVALID,
		xasprintf("The command of %s %s on base: %s.", e->in->lifecycle->name,
			  how_absent(e->base.not_found),
			  strerror(e->base.not_found->run.errnum)),
		"add or mend --setup CMD: it runs in a fresh checkout of each revision "
		"and must build the command there");
}

static const char *const wider_limits =
	"if it only needs more, raise `limits` in the contract";

/* 126 and 127 are the shell's: it found no command, or could not run it. */
static const char *base_hint(const struct cycle *c)
{
	if (run_result_over_limit(&c->run))
		return wider_limits;
	if (c->run.end == RUN_EXITED && (c->run.status == 127 || c->run.status == 126))
		return "add or mend --setup CMD: the shell could not run the command in "
		       "a "
		       "fresh checkout of base";
	return "make the command pass on base, or choose a base that does with --base "
	       "REV";
}

static const char *late_hint(const struct cycle *c, bool on_base)
{
	if (run_result_over_limit(&c->run))
		return wider_limits;
	return on_base ? "read hang.txt among base's artifacts; if it only needs longer, "
			 "raise --timeout"
		       : "read hang.txt among the artifacts; if it only needs longer, "
			 "raise --timeout";
}

static bool base_late(struct exam *e, struct check *ret)
{
	const struct runs *b = &e->base;
	bool always = b->failed + b->timed_out == b->n && !e->candidate.timed_out;
	CLEANUP_FREE char *how = describe_cycle(b->first_timed_out);

	if (always)
		return exam_decide(ret, OUTCOME_BASELINE_INVALID,
				   xasprintf("%s never ends well on base: it %s.",
					     e->in->lifecycle->name, how),
				   late_hint(b->first_timed_out, true));
	ret->retry = may_retry(e);
	return exam_decide(
		ret, OUTCOME_INCONCLUSIVE,
		xasprintf("%s %s on base in %zu of %zu cycles%s: no comparison is "
			  "possible.",
			  e->in->lifecycle->name, how, b->timed_out, b->n,
			  e->candidate.timed_out ? ", and on the candidate as well" : ""),
		late_hint(b->first_timed_out, false));
}

bool rule_base_failing(struct exam *e, struct check *ret)
{
	const struct runs *b = &e->base;
	CLEANUP_FREE char *how = NULL;

	if (b->timed_out)
		return base_late(e, ret);
	if (!b->failed)
		return false;
	how = describe_cycle(b->first_failed);
	if (b->failed == b->n) {
		ret->retry = failed_once(e, b->first_failed);
		return exam_decide(
			ret, OUTCOME_BASELINE_INVALID,
			xasprintf("%s fails on base in %zu of %zu cycles: %s. Nothing "
				  "can be blamed on the patch.",
				  e->in->lifecycle->name, b->failed, b->n, how),
			base_hint(b->first_failed));
	}
	ret->retry = may_retry(e);
	return exam_decide(
		ret, OUTCOME_INCONCLUSIVE,
		xasprintf("base is unstable: %s fails in %zu of %zu cycles: %s.",
			  e->in->lifecycle->name, b->failed, b->n, how),
		"make the command pass on base every time");
}

bool rule_candidate_missing(struct exam *e, struct check *ret)
{
	if (e->candidate.n)
		return false;
	return exam_decide(
		ret, OUTCOME_HARNESS_ERROR,
		xasprintf("%s was not run on the candidate: nothing was observed.",
			  e->in->lifecycle->name),
		NULL);
}

bool rule_candidate_not_found(struct exam *e, struct check *ret)
{
	if (!e->candidate.not_found)
		return false;
	return exam_decide(
		ret, OUTCOME_BEHAVIOR_FAILED,
		xasprintf("The command of %s runs on base and %s on the candidate: %s.",
			  e->in->lifecycle->name, how_absent(e->candidate.not_found),
			  strerror(e->candidate.not_found->run.errnum)),
		"make the candidate build the command, or name its new place after --");
}

static bool candidate_late(struct exam *e, struct check *ret)
{
	const struct runs *c = &e->candidate;
	CLEANUP_FREE char *how = describe_cycle(c->first_timed_out);
	bool cpu = run_result_over_limit(&c->first_timed_out->run);

	if (!cpu)
		strv_add(&ret->notes,
			 "hang.txt among the candidate's artifacts holds state, wait "
			 "channel and open handles of what hung");
	ret->retry = c->timed_out < c->n && may_retry(e);
	return exam_decide(
		ret, OUTCOME_INCONCLUSIVE,
		xasprintf("%s exits on base, and on the candidate it %s in %zu of %zu "
			  "cycles.",
			  e->in->lifecycle->name, how, c->timed_out, c->n),
		cpu ? wider_limits
		    : "read hang.txt among the candidate's artifacts: it shows where the "
		      "process stood");
}

bool rule_candidate_failing(struct exam *e, struct check *ret)
{
	const struct runs *c = &e->candidate;
	CLEANUP_FREE char *how = NULL, *next = NULL;

	if (c->timed_out)
		return candidate_late(e, ret);
	if (!c->failed)
		return false;
	how = describe_cycle(c->first_failed);
	if (c->failed == c->n) {
		ret->retry = failed_once(e, c->first_failed);
		return exam_decide(
			ret, OUTCOME_BEHAVIOR_FAILED,
			xasprintf("%s passes on base and fails on the candidate in %zu "
				  "of %zu cycles: %s.",
				  e->in->lifecycle->name, c->failed, c->n, how),
			run_result_over_limit(&c->first_failed->run)
				? "base keeps within the limits of the contract: see "
				  "what the candidate uses, and raise them only if it "
				  "has to have more"
				: "read the output among the candidate's artifacts");
	}
	next = more_cycles(e);
	ret->retry = may_retry(e);
	return exam_decide(
		ret, OUTCOME_INCONCLUSIVE,
		xasprintf("%s passes on base and fails on the candidate at times, in %zu "
			  "of %zu cycles: %s.",
			  e->in->lifecycle->name, c->failed, c->n, how),
		next);
}
