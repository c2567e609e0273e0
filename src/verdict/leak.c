/*
 * One lifecycle under one detector. The rules are examined in the order of rules[]
 * below; the first that decides ends it. What can be blamed on nobody (a broken
 * harness, a broken base) comes before what is blamed on the candidate, and a leak that
 * was shown in full comes before the candidate's other failures.
 */
#include "base/mem.h"
#include "verdict/exam.h"

static bool (*const rules[])(struct exam *e, struct check *ret) = {
	rule_base_missing,
	rule_machinery_broken,
	rule_was_cancelled,
	/* A runtime that dies before main also fails the command: name the cause. */
	rule_detector_broken,
	rule_base_not_found,
	rule_base_failing,
	rule_candidate_missing,
	rule_candidate_not_found,
	rule_leak_shown,
	rule_candidate_failing,
	rule_not_fitting,
	rule_forced_exit,
	rule_not_observed,
	rule_leaks_found,
	rule_nothing_found,
};

/* Notes of both sides; the same note on both is said once. */
static void add_notes(const struct exam *e, struct check *ret)
{
	const struct observation *b = e->in->base, *c = e->in->candidate;

	for (size_t i = 0; b && i < b->notes.n; i++) {
		bool both = c && strv_contains(&c->notes, b->notes.v[i]);

		strv_addf(&ret->notes, "%s%s", both ? "" : "base: ", b->notes.v[i]);
	}
	for (size_t i = 0; c && i < c->notes.n; i++)
		if (!b || !strv_contains(&b->notes, c->notes.v[i]))
			strv_addf(&ret->notes, "candidate: %s", c->notes.v[i]);
}

/* What was checked, by what, how often. */
static void identify(const struct exam *e, struct check *ret)
{
	const struct observation *c = e->in->candidate, *any = c ? c : e->in->base;

	ret->target = xstrdup(e->in->lifecycle->name);
	ret->detector = any ? xstrdup(any->detector) : NULL;
	ret->version = any ? xstrdup(any->version) : NULL;
	ret->attempt = e->in->attempt;
	ret->warmup = e->in->lifecycle->warmup;
	ret->base_cycles = e->base.measured;
	ret->candidate_cycles = e->candidate.measured;
	ret->base_reused = e->in->base && e->in->base->reused;
	for (size_t i = 0; c && i < c->ncycles; i++)
		ret->duration_us += c->cycles[i].run.wall_us;
}

const char *verdict_unsettled(const struct check *c)
{
	if (c->outcome != OUTCOME_INCONCLUSIVE)
		return NULL;
	for (size_t i = 0; i < c->nfindings; i++)
		if (c->findings[i].class == FINDING_INTERMITTENT &&
		    leak_lasting(&c->findings[i].leak))
			return c->explanation;
	return NULL;
}

/* It leaked in an earlier attempt, and not in this one. */
static void remember_earlier(const struct exam *e, struct check *ret)
{
	CLEANUP_FREE char *now = NULL, *next = NULL;

	if (!e->in->earlier || ret->outcome != OUTCOME_CLEAN || e->skip)
		return;
	now = TAKE_PTR(ret->explanation);
	next = more_cycles(e);
	free(TAKE_PTR(ret->next));
	exam_decide(ret, OUTCOME_INCONCLUSIVE,
		    xasprintf("It leaks at times. Before: %s In attempt %u: %s",
			      e->in->earlier, e->in->attempt, now),
		    next);
}

void verdict_repairs(struct check *checks, size_t n)
{
	const struct check *shown = NULL;

	for (size_t i = 0; i < n && !shown; i++)
		if (checks[i].outcome == OUTCOME_CLEAN && !checks[i].unproven)
			shown = &checks[i];
	for (size_t i = 0; i < n && shown; i++) {
		struct check *c = &checks[i];

		if (!c->unproven)
			continue;
		c->outcome = OUTCOME_CLEAN;
		free(c->explanation);
		c->explanation = xasprintf("Base does not leak under %s; %s shows what "
					   "is repaired.",
					   c->detector, shown->detector);
		free(TAKE_PTR(c->next));
	}
}

void verdict_leak(const struct leak_case *in, struct check *ret, bool *ret_skip)
{
	struct exam e = {.in = in};

	runs_init(&e.base, "base", in->base);
	runs_init(&e.candidate, "the candidate", in->candidate);
	identify(&e, ret);
	e.comparable =
		observed_in_full(&e.base, in) && observed_in_full(&e.candidate, in);
	if (e.comparable)
		classify(in, ret, &e.tally);
	for (size_t i = 0; i < ARRAY_SIZE(rules); i++)
		if (rules[i](&e, ret))
			break;
	remember_earlier(&e, ret);
	add_notes(&e, ret);
	/* Something may have changed since that no digest knows. */
	if (ret->base_reused && ret->outcome != OUTCOME_CLEAN)
		ret->retry = may_retry(&e);
	*ret_skip = e.skip;
}
