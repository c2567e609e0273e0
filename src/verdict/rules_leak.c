/* Rules about what is held: new, inherited, repaired, at times. */
#include "base/mem.h"
#include "model/phrase.h"
#include "verdict/exam.h"

#include <inttypes.h>
#include <string.h>

/* " And 2 more leaks of base.": what "new " and " of base" say about them. */
static char *and_more(size_t n, const char *before, const char *after)
{
	if (n < 2)
		return xstrdup("");
	return xasprintf(" And %zu more %sleak%s%s.", n - 1, before, n == 2 ? "" : "s",
			 after);
}

static void note_other_failure(const struct exam *e, struct check *ret)
{
	const struct runs *c = &e->candidate;
	const struct cycle *first =
		c->first_failed ? c->first_failed : c->first_timed_out;
	CLEANUP_FREE char *how = NULL;

	if (!first)
		return;
	how = describe_cycle(first);
	strv_addf(&ret->notes, "the candidate also fails in %zu of %zu cycles: %s",
		  c->failed + c->timed_out, c->n, how);
}

/* Is this target, as it stands in a signature, a pattern that a contract may hold: with
 * three characters that are literal, and no bracket? */
static bool is_narrow(const char *target)
{
	size_t literal = 0;

	for (const char *p = target; *p; p++)
		literal += *p != '*' && *p != '?';
	return literal >= 3 && !strpbrk(target, "[\\\"\n");
}

/* What to do about a new leak. The stable target is a pattern that matches it. */
static char *remedy(const struct leak *l)
{
	static const char release[] =
		"release it on every path out, then run the same command again";
	const char *target = strchr(l->signature, '|');

	target = target ? strchr(target + 1, '|') : NULL;
	if (leak_lasting(l) || l->nframes || !target || !is_narrow(target + 1))
		return xstrdup(release);
	return xasprintf("%s; what is held on purpose needs a suppression in the "
			 "contract, reviewed and owned: %s:%s",
			 release, resource_name(l->resource), target + 1);
}

bool rule_leak_shown(struct exam *e, struct check *ret)
{
	const struct finding *f = first_finding(ret, FINDING_NEW);
	CLEANUP_FREE char *what = NULL, *share = NULL, *more = NULL, *next = NULL;

	if (!e->comparable || !f)
		return false;
	next = remedy(&f->leak);
	what = describe_finding(f);
	share = describe_share(e, f);
	more = and_more(e->tally.blamed, "new ", "");
	note_other_failure(e, ret);
	if (f->base_units)
		return exam_decide(
			ret, OUTCOME_LEAK,
			xasprintf("%s leaks %s, where base has at most %" PRIu64
				  ": %s.%s",
				  e->in->lifecycle->name, what,
				  series_max(f->base_units, f->nbase), share, more),
			next);
	return exam_decide(ret, OUTCOME_LEAK,
			   xasprintf("%s leaks %s: %s.%s", e->in->lifecycle->name, what,
				     share, more),
			   next);
}

static bool unsettled(struct exam *e, struct check *ret)
{
	const struct finding *f = first_finding(ret, FINDING_INTERMITTENT);
	CLEANUP_FREE char *what = NULL, *share = NULL, *next = more_cycles(e);

	what = describe_finding(f);
	share = describe_share(e, f);
	ret->retry = may_retry(e);
	return exam_decide(ret, OUTCOME_INCONCLUSIVE,
			   xasprintf("%s holds %s at times, after %u attempt%s: %s.",
				     e->in->lifecycle->name, what, e->in->attempt,
				     e->in->attempt == 1 ? "" : "s", share),
			   next);
}

/* A patch that is meant to repair: base must leak, and the candidate must not. */
static bool judge_repair(struct exam *e, struct check *ret)
{
	const struct finding *left = first_finding(ret, FINDING_INHERITED), *gone;
	CLEANUP_FREE char *what = NULL, *share = NULL, *next = NULL;

	if (!e->in->lifecycle->repairs)
		return false;
	if (e->tally.inherited && left) {
		what = describe_finding(left);
		share = describe_share(e, left);
		return exam_decide(
			ret, OUTCOME_LEAK,
			xasprintf("%s: %s still leaks %s: %s.",
				  e->tally.fewer || e->tally.repaired ? "Repaired in part"
								      : "Not repaired",
				  e->in->lifecycle->name, what, share),
			"release what is left as well, then run the same command again");
	}
	if (e->tally.unsettled)
		return unsettled(e, ret);
	gone = first_finding(ret, FINDING_REPAIRED);
	if (gone || e->tally.lowered) {
		what = gone ? describe_finding(gone) : xstrdup("more than the candidate");
		return exam_decide(
			ret, OUTCOME_CLEAN,
			xasprintf("Repaired: base leaks %s, the candidate does not in "
				  "%zu of %zu cycles.",
				  what, e->candidate.measured, e->candidate.measured),
			NULL);
	}
	next = more_cycles(e);
	if (e->tally.base_intermittent) {
		ret->retry = may_retry(e);
		return exam_decide(
			ret, OUTCOME_INCONCLUSIVE,
			xasprintf("%s leaks on base at times only, and not on the "
				  "candidate: the repair is not shown.",
				  e->in->lifecycle->name),
			next);
	}
	ret->unproven = true;
	return exam_decide(
		ret, OUTCOME_BASELINE_INVALID,
		xasprintf("base does not leak in %s under %s, so this proves nothing "
			  "about the repair.",
			  e->in->lifecycle->name, detector_of(e)),
		"name a lifecycle that leaks on base, or leave --repairs out");
}

static bool base_leaks(struct exam *e, struct check *ret)
{
	const struct finding *f = first_finding(ret, FINDING_INHERITED);
	bool less = e->tally.fewer || e->tally.repaired;
	CLEANUP_FREE char *what = NULL, *share = NULL, *more = NULL;

	if (!e->tally.inherited && !e->tally.repaired)
		return false;
	/* Inherited, but at times with more units than on base. */
	if (!f && e->tally.inherited)
		f = first_finding(ret, FINDING_INTERMITTENT);
	if (!f)
		f = first_finding(ret, FINDING_REPAIRED);
	ret->retry = e->tally.unsettled && may_retry(e);
	what = describe_base(f);
	share = f->class == FINDING_REPAIRED
			? xasprintf(
				  "%zu of %zu cycles on base, 0 of %zu on the candidate",
				  f->nbase, f->nbase, e->candidate.measured)
			: describe_share(e, f);
	more = and_more(e->tally.inherited + e->tally.repaired, "", " of base");
	return exam_decide(
		ret, OUTCOME_BASELINE_INVALID,
		xasprintf("base itself leaks %s: %s. Nothing is blamed on the patch.%s",
			  what, share, more),
		less ? "if this patch is meant to repair the leak, say so: --repairs"
		     : "repair the leak on base first; a patch that does so is checked "
		       "with --repairs");
}

bool rule_leaks_found(struct exam *e, struct check *ret)
{
	if (judge_repair(e, ret) || base_leaks(e, ret))
		return true;
	return e->tally.unsettled && unsettled(e, ret);
}

bool rule_nothing_found(struct exam *e, struct check *ret)
{
	CLEANUP_FREE char *but = NULL;
	size_t suppressed = 0;

	for (size_t i = 0; i < ret->nfindings; i++)
		suppressed += ret->findings[i].class == FINDING_SUPPRESSED;
	but = suppressed ? xasprintf(", but for what is suppressed (%zu)", suppressed)
			 : xstrdup("");
	return exam_decide(ret, OUTCOME_CLEAN,
			   xasprintf("%s holds nothing that base does not%s: %zu of %zu "
				     "cycles.",
				     e->in->lifecycle->name, but, e->candidate.complete,
				     e->candidate.measured),
			   NULL);
}
