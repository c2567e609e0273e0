/* Rules about the detector: what it did not see is never clean. */
#include "base/mem.h"
#include "verdict/exam.h"

bool rule_not_fitting(struct exam *e, struct check *ret)
{
	const struct cycle *b = e->base.in_state[PROBE_NOT_FITTING],
			   *c = e->candidate.in_state[PROBE_NOT_FITTING];
	const char *why;

	if (!b && !c)
		return false;
	why = b && b->detail ? b->detail
	      : c && c->detail
		      ? c->detail
		      : "binary is not instrumented: build with -fsanitize=address, or "
			"use --detector valgrind";
	if (b && c && !e->in->required) {
		e->skip = true;
		return exam_decide(ret, OUTCOME_CLEAN,
				   xasprintf("%s does not fit: %s.", detector_of(e), why),
				   NULL);
	}
	return exam_decide(
		ret, OUTCOME_HARNESS_ERROR,
		xasprintf("%s cannot observe %s: %s.", detector_of(e),
			  b && c ? "either revision"
			  : b	 ? "base, although it observes the candidate"
				 : "the candidate, although it observes base",
			  why),
		b && c ? "build so that the detector fits, or choose another with "
			 "--detector NAME"
		       : "build both revisions with the same instrumentation");
}

bool rule_detector_broken(struct exam *e, struct check *ret)
{
	static const struct {
		enum probe_state state;
		const char *what;
	} kinds[] = {
		{PROBE_SILENT, "did not report"},
		{PROBE_UNPARSED, "gave a report that cannot be read"},
	};
	const struct runs *sides[] = {&e->base, &e->candidate};

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		for (size_t j = 0; j < ARRAY_SIZE(sides); j++) {
			const struct cycle *c = sides[j]->in_state[kinds[i].state];

			if (c)
				return exam_decide(
					ret, OUTCOME_HARNESS_ERROR,
					xasprintf("%s %s on %s: %s. A broken detector "
						  "is never a clean run.",
						  detector_of(e), kinds[i].what,
						  sides[j]->name,
						  c->detail ? c->detail
							    : "its canary is missing"),
					"prove the detector alone: exitpath doctor");
		}
	}
	return false;
}

bool rule_forced_exit(struct exam *e, struct check *ret)
{
	const struct cycle *b = e->base.in_state[PROBE_FORCED_EXIT],
			   *c = e->candidate.in_state[PROBE_FORCED_EXIT];
	const char *detail = b && b->detail ? b->detail : c ? c->detail : NULL;

	if (!b && !c)
		return false;
	if (b)
		return exam_decide(
			ret, OUTCOME_BASELINE_INVALID,
			xasprintf("base leaves through _exit %s, so nothing was "
				  "checked; nothing can be blamed on the patch%s%s.",
				  c ? "too" : "(the candidate does not)",
				  detail ? ": " : "", detail ? detail : ""),
			"let the command on base return from main, or choose a detector "
			"that needs no turn at exit: --detector ledger");
	return exam_decide(
		ret, OUTCOME_HARNESS_ERROR,
		xasprintf("The candidate leaves through _exit before %s had its turn, "
			  "and base does not%s%s.",
			  detector_of(e), detail ? ": " : "", detail ? detail : ""),
		"let the command return from main as it does on base");
}

bool rule_not_observed(struct exam *e, struct check *ret)
{
	const struct runs *sides[] = {&e->base, &e->candidate};

	for (size_t i = 0; i < ARRAY_SIZE(sides); i++) {
		const struct runs *s = sides[i];
		const struct cycle *c = s->in_state[PROBE_INTERRUPTED];

		if (c)
			return exam_decide(
				ret, OUTCOME_HARNESS_ERROR,
				xasprintf("%s was interrupted on %s: %s.", detector_of(e),
					  s->name,
					  c->detail ? c->detail
						    : "its report is not complete"),
				"prove the detector alone: exitpath doctor");
		if (!observed_in_full(s, e->in))
			return exam_decide(
				ret, OUTCOME_HARNESS_ERROR,
				xasprintf("%s was observed in %zu of %u cycles on %s.",
					  e->in->lifecycle->name, s->complete,
					  e->in->lifecycle->cycles, s->name),
				NULL);
	}
	return false;
}
