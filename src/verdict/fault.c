/*
 * Calls that were made to fail on both revisions: which of those that are not survived
 * are the candidate's own.
 */
#include "verdict/verdict.h"

#include "base/buf.h"
#include "base/mem.h"

#include <fnmatch.h>
#include <string.h>

/* ---- annotations ---- */

static bool chain_matches(const char *pattern, const struct leak *chain)
{
	bool inner = false;

	for (size_t i = 0; i < chain->nframes; i++) {
		const struct frame *f = &chain->frames[i];
		CLEANUP_FREE char *function = NULL;

		if (!f->function || module_is_detector(f->module))
			continue;
		function = normalize_function(f->function);
		if (!fnmatch(pattern, function, 0) &&
		    !(inner && !strcmp(function, "main")))
			return true;
		inner |= !function_is_runtime(f->function) && !module_is_libc(f->module);
	}
	return false;
}

bool ignore_matches(const struct suppression *s, const struct fault_finding *f)
{
	const char *defect = fault_defect_name(f->defect);
	const char *call = strchr(s->match, ':');
	const char *function = call ? strchr(call + 1, ':') : NULL;
	size_t n;

	if (!function || strlen(defect) != (size_t)(call - s->match) ||
	    strncmp(defect, s->match, (size_t)(call - s->match)) != 0)
		return false;
	n = (size_t)(function - ++call);
	if (!(n == 1 && *call == '*') &&
	    (!f->call || strlen(f->call) != n || strncmp(f->call, call, n) != 0))
		return false;
	return chain_matches(function + 1, &f->chain);
}

static bool is_expired(const struct fault_case *in, const struct suppression *s)
{
	return s->expires && in->today && strcmp(s->expires, in->today) < 0;
}

static const struct suppression *ignored_by(const struct fault_case *in,
					    const struct fault_finding *f)
{
	for (size_t i = 0; i < in->nignore; i++)
		if (!is_expired(in, &in->ignore[i]) && ignore_matches(&in->ignore[i], f))
			return &in->ignore[i];
	return NULL;
}

static void note_expired(const struct fault_case *in, struct check *ret)
{
	for (size_t i = 0; i < in->nignore; i++)
		if (is_expired(in, &in->ignore[i]))
			strv_addf(&ret->notes, "ignored fault %s expired on %s",
				  in->ignore[i].match, in->ignore[i].expires);
}

/* ---- pairs ---- */

static bool same_lines(const struct leak *a, const struct leak *b)
{
	if (a->nframes != b->nframes)
		return false;
	for (size_t i = 0; i < a->nframes; i++)
		if (a->frames[i].line != b->frames[i].line)
			return false;
	return true;
}

/* Of base, not taken yet; -1: none. */
static long partner(const struct fault_report *base, const bool *taken,
		    const struct fault_finding *f, bool exact)
{
	for (size_t i = 0; base && i < base->nfindings; i++)
		if (!taken[i] && !strcmp(base->findings[i].signature, f->signature) &&
		    (!exact || same_lines(&base->findings[i].chain, &f->chain)))
			return (long)i;
	return -1;
}

static bool unsettled_on(const struct fault_report *base, const char *signature)
{
	for (size_t i = 0; base && i < base->nunsettled; i++)
		if (!strcmp(base->unsettled[i].signature, signature))
			return true;
	return false;
}

static void mark_ignored(struct fault_finding *f, const struct suppression *by)
{
	free(f->ignored_by);
	free(f->reason);
	f->ignored_by = xstrdup(by->match);
	f->reason = xasprintf("%s: %s", by->owner, by->reason);
}

struct tally {
	size_t blamed, inherited, repaired, unsettled, ignored;
};

static void add(struct check *ret, enum finding_class class, struct fault_finding *f,
		const struct suppression *by)
{
	struct check_fault *c = VEC_ADD(ret->faults, ret->nfaults, ret->faults_cap);

	c->class = class;
	c->fault = *f;
	*f = (struct fault_finding){0};
	if (by)
		mark_ignored(&c->fault, by);
}

/* Which of the candidate's are inherited: the exact ones first. */
static void pair_up(const struct fault_case *in, bool *inherited, bool *taken)
{
	const struct fault_report *c = in->candidate;

	for (int exact = 1; exact >= 0; exact--)
		for (size_t i = 0; i < c->nfindings; i++) {
			long k = inherited[i] ? -1
					      : partner(in->base, taken, &c->findings[i],
							exact);

			if (k < 0)
				continue;
			inherited[i] = taken[k] = true;
		}
}

static enum finding_class class_of(const struct fault_case *in, bool inherited,
				   const struct fault_finding *f)
{
	if (inherited)
		return FINDING_INHERITED;
	return unsettled_on(in->base, f->signature) ? FINDING_INTERMITTENT : FINDING_NEW;
}

static void sort_out(struct fault_case *in, struct check *ret, struct tally *t)
{
	struct fault_report *c = in->candidate, *b = in->base;
	CLEANUP_FREE bool *inherited = xcalloc(c->nfindings + 1, sizeof(bool));
	CLEANUP_FREE bool *taken = xcalloc(b ? b->nfindings + 1 : 1, sizeof(bool));

	pair_up(in, inherited, taken);
	for (int class = FINDING_NEW; class <= FINDING_INTERMITTENT; class ++)
		for (size_t i = 0; i < c->nfindings; i++) {
			struct fault_finding *f = &c->findings[i];
			const struct suppression *by;
			enum finding_class own;

			if (!f->signature)
				continue; /* is taken */
			by = ignored_by(in, f);
			own = by ? FINDING_SUPPRESSED : class_of(in, inherited[i], f);
			if (own != (enum finding_class) class)
				continue;
			t->blamed += own == FINDING_NEW;
			t->inherited += own == FINDING_INHERITED;
			t->unsettled += own == FINDING_INTERMITTENT;
			t->ignored += own == FINDING_SUPPRESSED;
			add(ret, own, f, by);
		}
	for (size_t i = 0; i < c->nunsettled; i++) {
		if (ignored_by(in, &c->unsettled[i]))
			continue;
		t->unsettled++;
		add(ret, FINDING_INTERMITTENT, &c->unsettled[i], NULL);
	}
	for (size_t i = 0; b && i < b->nfindings; i++) {
		if (taken[i] || ignored_by(in, &b->findings[i]))
			continue;
		t->repaired++;
		add(ret, FINDING_REPAIRED, &b->findings[i], NULL);
	}
}

/* ---- the outcome ---- */

static void decide(struct check *ret, enum outcome o, char *explanation, const char *next)
{
	ret->outcome = o;
	ret->explanation = explanation;
	ret->next = xstrdup(next);
}

static const char *why(const struct fault_report *r)
{
	return r->why ? r->why : outcome_name(r->outcome);
}

/* One of the sides shows nothing. */
static bool cannot_compare(const struct fault_case *in, struct check *ret)
{
	const struct fault_report *c = in->candidate, *b = in->base;

	if (!c || !b) {
		decide(ret, OUTCOME_HARNESS_ERROR,
		       xasprintf("No call of %s was made to fail on %s.", in->target,
				 c ? "base" : "the candidate"),
		       NULL);
		return true;
	}
	if (b->outcome == OUTCOME_BASELINE_INVALID) {
		decide(ret, OUTCOME_BASELINE_INVALID,
		       xasprintf("%s on base: %s.", in->target, why(b)), b->hint);
		return true;
	}
	if (c->outcome == OUTCOME_BASELINE_INVALID) {
		decide(ret, OUTCOME_BEHAVIOR_FAILED,
		       xasprintf("%s passes on base, and on the candidate: %s.",
				 in->target, why(c)),
		       c->hint);
		return true;
	}
	if (b->outcome == OUTCOME_HARNESS_ERROR || c->outcome == OUTCOME_HARNESS_ERROR) {
		bool base = b->outcome == OUTCOME_HARNESS_ERROR;

		decide(ret, OUTCOME_HARNESS_ERROR,
		       xasprintf("%s on %s: %s.", in->target,
				 base ? "base" : "the candidate", why(base ? b : c)),
		       base ? b->hint : c->hint);
		return true;
	}
	return false;
}

static const struct check_fault *first_of(const struct check *c, enum finding_class class)
{
	for (size_t i = 0; i < c->nfaults; i++)
		if (c->faults[i].class == class)
			return &c->faults[i];
	return NULL;
}

/* "swallowed: fsync in save_cache (src/cache.c:41)", and how many more. */
static char *describe(const struct check *c, enum finding_class class, size_t n)
{
	const struct check_fault *f = first_of(c, class);
	const struct frame *top = f ? leak_top_frame(&f->fault.chain) : NULL;
	struct buf b = {0};

	if (!f)
		return buf_detach(&b);

	buf_addf(&b, "%s when %s fails", fault_defect_name(f->fault.defect),
		 f->fault.call);
	if (top && top->function)
		buf_addf(&b, " in %s", top->function);
	if (top && top->file && top->line)
		buf_addf(&b, " (%s:%u)", top->file, top->line);
	if (n > 1)
		buf_addf(&b, ", and %zu more", n - 1);
	return buf_detach(&b);
}

static void decide_repair(const struct fault_case *in, const struct tally *t,
			  struct check *ret)
{
	if (t->inherited) {
		CLEANUP_FREE char *what = describe(ret, FINDING_INHERITED, t->inherited);

		decide(ret, OUTCOME_DEFECT,
		       xasprintf("%s: %s: %s, as on base.",
				 t->repaired ? "Repaired in part" : "Not repaired",
				 in->target, what),
		       "repair what is left as well, then run the same command again");
	} else if (t->unsettled) {
		decide(ret, OUTCOME_INCONCLUSIVE,
		       xasprintf("%s: not all of it happens in every run.", in->target),
		       NULL);
	} else if (t->repaired) {
		CLEANUP_FREE char *what = describe(ret, FINDING_REPAIRED, t->repaired);

		decide(ret, OUTCOME_CLEAN,
		       xasprintf("Repaired: on base %s: %s; not on the candidate.",
				 in->target, what),
		       NULL);
	} else {
		decide(ret, OUTCOME_BASELINE_INVALID,
		       xasprintf("%s survives every call that fails on base, so this "
				 "proves nothing about the repair.",
				 in->target),
		       "leave --repairs out, or try what is bad on base: --classes, "
		       "--mode forever, another lifecycle");
	}
}

static void decide_clean(const struct fault_case *in, const struct tally *t,
			 struct check *ret)
{
	const struct fault_report *c = in->candidate;
	CLEANUP_FREE char *but =
		t->ignored ? xasprintf(", but for what is ignored (%zu)", t->ignored)
			   : xstrdup("");

	if (!c->explored || c->missed)
		decide(ret, OUTCOME_INCONCLUSIVE,
		       c->explored
			       ? xasprintf("%s: %zu of %zu calls were not reached "
					   "again: not all of it happens in every "
					   "run.",
					   in->target, c->missed, c->chosen)
			       : xasprintf("%s: no call was made to fail.", in->target),
		       c->explored ? NULL : "allow more --time");
	else
		decide(ret, OUTCOME_CLEAN,
		       xasprintf("%s survives %zu of %zu calls that were made to fail%s.",
				 in->target, c->explored, c->chosen, but),
		       NULL);
}

static void decide_found(const struct fault_case *in, const struct tally *t,
			 struct check *ret)
{
	CLEANUP_FREE char *what = NULL;

	if (t->blamed) {
		what = describe(ret, FINDING_NEW, t->blamed);
		decide(ret, OUTCOME_DEFECT,
		       xasprintf("%s: %s; not on base.", in->target, what),
		       "handle the failure on the way that the stack shows, then run its "
		       "replay; what is deliberate is for `ignore` of the contract, "
		       "reviewed and owned");
	} else if (in->repairs) {
		decide_repair(in, t, ret);
	} else if (t->inherited) {
		what = describe(ret, FINDING_INHERITED, t->inherited);
		decide(ret, OUTCOME_BASELINE_INVALID,
		       xasprintf("%s: %s, and on base as well. Nothing is blamed on the "
				 "patch.",
				 in->target, what),
		       "repair it on base first, checked with --repairs; or try "
		       "what the patch changes: --diff BASE --points N");
	} else if (t->unsettled) {
		what = describe(ret, FINDING_INTERMITTENT, t->unsettled);
		decide(ret, OUTCOME_INCONCLUSIVE,
		       xasprintf("%s: %s, in some runs only.", in->target, what), NULL);
	} else {
		decide_clean(in, t, ret);
	}
}

static void note_counts(const char *side, const struct fault_report *r, struct check *ret)
{
	if (r->explored < r->chosen)
		strv_addf(&ret->notes, "%zu of %zu points were tried on %s", r->explored,
			  r->chosen, side);
	if (r->known)
		strv_addf(&ret->notes,
			  "%zu of them in an earlier run, which was cut short", r->known);
	for (size_t i = 0; i < r->notes.n; i++)
		if (!strv_contains(&ret->notes, r->notes.v[i]))
			strv_add(&ret->notes, r->notes.v[i]);
}

void verdict_fault(struct fault_case *in, struct check *ret)
{
	struct tally t = {0};

	ret->target = xstrdup(in->target);
	ret->detector = xstrdup("fault");
	if (cannot_compare(in, ret))
		return;
	sort_out(in, ret, &t);
	decide_found(in, &t, ret);
	note_counts("the candidate", in->candidate, ret);
	note_expired(in, ret);
	if (in->candidate)
		ret->duration_us = in->candidate->wall_us;
}

/* ---- one revision alone ---- */

void verdict_fault_ignore(struct fault_report *r, const struct suppression *ignore,
			  size_t nignore, const char *today)
{
	const struct fault_case in = {
		.ignore = ignore, .nignore = nignore, .today = today};
	struct check expired = {0};
	size_t kept = 0;

	for (size_t i = 0; i < r->nfindings; i++) {
		const struct suppression *by = ignored_by(&in, &r->findings[i]);

		if (!by) {
			r->findings[kept++] = r->findings[i];
			continue;
		}
		mark_ignored(&r->findings[i], by);
		*VEC_ADD(r->ignored, r->nignored, r->ignored_cap) = r->findings[i];
	}
	r->nfindings = kept;
	if (r->outcome == OUTCOME_DEFECT && !kept)
		r->outcome = r->unconfirmed || r->missed ? OUTCOME_INCONCLUSIVE
							 : OUTCOME_CLEAN;
	note_expired(&in, &expired);
	strv_copy(&r->notes, expired.notes.v);
	strv_release(&expired.notes);
}

static void lend(struct check *c, enum finding_class class,
		 const struct fault_finding *list, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct check_fault *f = VEC_ADD(c->faults, c->nfaults, c->faults_cap);

		f->class = class;
		f->fault = list[i];
	}
}

void verdict_fault_alone(const struct fault_report *r, struct check *ret)
{
	ret->detector = xstrdup("fault");
	ret->outcome = r->outcome;
	ret->explanation = r->why ? xstrdup(r->why)
				  : xasprintf("%zu of %zu calls were made to fail, %zu "
					      "were not survived.",
					      r->explored, r->chosen, r->nfindings);
	ret->next = xstrdup(r->hint);
	ret->duration_us = r->wall_us;
	strv_copy(&ret->notes, r->notes.v);
	lend(ret, FINDING_NEW, r->findings, r->nfindings);
	lend(ret, FINDING_INTERMITTENT, r->unsettled, r->nunsettled);
	lend(ret, FINDING_SUPPRESSED, r->ignored, r->nignored);
}
