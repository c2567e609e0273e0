#include "verdict/classify.h"

#include "base/mem.h"
#include "model/phrase.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

bool series_leaks(const uint64_t *units, size_t n, bool *ret_intermittent)
{
	size_t holding = series_holding(units, n);

	*ret_intermittent = holding > 0 && holding < n;
	return n > 0 && holding == n;
}

/* One signature on both sides; a side that never had it has units == NULL. */
struct pair {
	const struct leak *base, *candidate;
	size_t nbase, ncandidate;
	bool base_leaks, base_sometimes, candidate_leaks, candidate_sometimes;
	uint64_t base_min, base_max; /* units */
	uint64_t candidate_min, candidate_max;
};

static const struct leak *find_leak(const struct observation *o, const char *signature)
{
	for (size_t i = 0; i < o->nleaks; i++)
		if (!strcmp(o->leaks[i].signature, signature))
			return &o->leaks[i];
	return NULL;
}

static void pair_init(struct pair *p, const struct leak_case *in, const char *signature)
{
	*p = (struct pair){
		.base = find_leak(in->base, signature),
		.candidate = find_leak(in->candidate, signature),
		.nbase = in->base->nmeasured,
		.ncandidate = in->candidate->nmeasured,
	};
	if (p->base) {
		const uint64_t *units = p->base->units;

		p->base_leaks = series_leaks(units, p->nbase, &p->base_sometimes);
		p->base_min = series_min(units, p->nbase);
		p->base_max = series_max(units, p->nbase);
	}
	if (p->candidate) {
		const uint64_t *units = p->candidate->units;

		p->candidate_leaks =
			series_leaks(units, p->ncandidate, &p->candidate_sometimes);
		p->candidate_min = series_min(units, p->ncandidate);
		p->candidate_max = series_max(units, p->ncandidate);
	}
}

static uint64_t *copy_series(const uint64_t *v, size_t n)
{
	uint64_t *copy = xcalloc(n, sizeof(*copy));

	memcpy(copy, v, n * sizeof(*copy));
	return copy;
}

static void add_finding(struct check *ret, const struct pair *p, enum finding_class class,
			const char *suppressed_by)
{
	struct finding *f = check_finding(ret);
	bool of_base = !p->candidate || class == FINDING_REPAIRED;

	f->class = class;
	f->ncycles = of_base ? p->nbase : p->ncandidate;
	leak_copy(&f->leak, of_base ? p->base : p->candidate, f->ncycles);
	f->suppressed_by = xstrdup(suppressed_by);
	if (p->base && p->base_max) {
		f->nbase = p->nbase;
		f->base_units = copy_series(p->base->units, p->nbase);
		if (p->base->resource == RESOURCE_HEAP ||
		    p->base->resource == RESOURCE_REACHABLE)
			f->base_bytes = copy_series(p->base->bytes, p->nbase);
	}
}

/* "base holds 1 descriptor (x) in 2 of 5 cycles, …". */
static void add_note(struct check *ret, const struct leak *l, size_t n, const char *who,
		     const char *then)
{
	CLEANUP_FREE char *units = phrase_units(l, n), *place = phrase_place(l),
			  *share = phrase_share(l->units, n);

	strv_addf(&ret->notes, "%s holds %s%s in %s%s", who, units, place, share, then);
}

/* More than base in every cycle, by count or by size. */
static bool has_grown(const struct pair *p)
{
	return p->base_max && (p->candidate_min > p->base_max ||
			       series_min(p->candidate->bytes, p->ncandidate) >
				       series_max(p->base->bytes, p->nbase));
}

/* Where growth decides nothing: the leak is base's, or suppressed. */
static void note_growth(struct check *ret, const struct pair *p, const char *what)
{
	CLEANUP_FREE char *now = NULL, *before = NULL, *place = NULL;

	if (!p->candidate || !has_grown(p))
		return;
	now = phrase_units(p->candidate, p->ncandidate);
	before = phrase_units(p->base, p->nbase);
	place = phrase_place(p->candidate);
	strv_addf(&ret->notes, "%s has grown%s: base %s, the candidate %s", what, place,
		  before, now);
}

/*
 * A level without a fixed number, as a runtime's pool of threads: it varies on both
 * sides, or it is below base's in one cycle and above in another.
 */
static bool level_varies(const struct pair *p)
{
	bool candidate = p->candidate_min < p->candidate_max;

	return candidate && (p->base_min < p->base_max ||
			     (p->base_max && p->candidate_min < p->base_min));
}

static void note_range(struct check *ret, const struct pair *p)
{
	CLEANUP_FREE char *units = phrase_units(p->candidate, p->ncandidate);

	strv_addf(&ret->notes,
		  "the candidate holds %s, base %" PRIu64 " to %" PRIu64
		  ": the number varies, and is taken for normal",
		  units, p->base_min, p->base_max);
}

/*
 * What code opens and closes. A candidate that never holds what base holds in every
 * cycle proves that base could have let go of it: base leaked. A runtime's threads and
 * zombies, and a library's memory, come and go with less than that.
 */
static bool is_handle(enum resource r)
{
	return r == RESOURCE_FD || r == RESOURCE_SOCKET || r == RESOURCE_LOCK ||
	       r == RESOURCE_DB_CONNECTION || r == RESOURCE_POOL_SLOT ||
	       r == RESOURCE_PG_SESSION || r == RESOURCE_PG_TRANSACTION ||
	       r == RESOURCE_SESSION || r == RESOURCE_EVENT_LOOP ||
	       r == RESOURCE_UNCLOSED;
}

/*
 * What a process may hold at its end, and what code outside the repository leaks: the
 * level is what base holds at most, and only what is above it in every cycle is the
 * candidate's.
 */
static void classify_level(const struct pair *p, struct check *ret, struct tally *t)
{
	bool varies = level_varies(p);

	if (p->candidate_min > p->base_max) {
		add_finding(ret, p, FINDING_NEW, NULL);
		t->blamed++;
	} else if (p->candidate_max > p->base_max && !varies) {
		add_finding(ret, p, FINDING_INTERMITTENT, NULL);
		t->unsettled++;
	} else if (p->candidate_max) {
		add_finding(ret, p, FINDING_LEARNED, NULL);
		if (p->base_sometimes && p->candidate_sometimes)
			add_note(ret, p->candidate, p->ncandidate, "the candidate",
				 ", as base does at times");
		else if (varies && p->candidate_max > p->base_max)
			note_range(ret, p);
		if (p->candidate_max < p->base_min) {
			t->lowered++;
			add_note(ret, p->candidate, p->ncandidate, "the candidate",
				 ", fewer than base; the rest is taken for normal");
		}
	} else if (p->base_leaks) {
		bool proof = is_handle(p->base->resource) && p->base_min == p->base_max;

		add_finding(ret, p, FINDING_REPAIRED, NULL);
		t->repaired += proof;
		t->lowered += !proof;
	} else if (p->base_sometimes) {
		t->base_intermittent++;
		add_note(ret, p->base, p->nbase, "base", ", the candidate never does");
	}
}

enum { KEPT_NOTES = 5 };

/*
 * Memory that something still points to at exit is held on purpose as often as not: a
 * cache, a table of options. It is a leak where base shows that it can be given back,
 * and gives all of it back; else it is told.
 */
static void classify_reachable(const struct pair *p, struct check *ret, struct tally *t)
{
	if ((p->base && p->base->released && !p->base_max) ||
	    p->candidate_max <= p->base_max) {
		classify_level(p, ret, t);
		return;
	}
	add_finding(ret, p, FINDING_LEARNED, NULL);
	if (t->kept++ < KEPT_NOTES)
		add_note(
			ret, p->candidate, p->ncandidate, "the candidate",
			", which something points to still: more than base, and no leak");
}

/* Lost memory and what outlives the process: one unit is one too many. */
static void classify_lasting(const struct pair *p, bool repairs, struct check *ret,
			     struct tally *t)
{
	if (p->candidate_leaks && p->candidate_min > p->base_max) {
		add_finding(ret, p, FINDING_NEW, NULL);
		t->blamed++;
	} else if (p->base_leaks && p->candidate_max) {
		/* Sometimes more than base, or not yet repaired for sure. */
		bool unsettled = p->candidate_max > p->base_max ||
				 (repairs && p->candidate_sometimes);

		add_finding(ret, p, unsettled ? FINDING_INTERMITTENT : FINDING_INHERITED,
			    NULL);
		note_growth(ret, p, "what base leaks");
		t->unsettled += unsettled;
		t->inherited += !(repairs && p->candidate_sometimes);
		t->fewer += p->candidate_max < p->base_min;
	} else if (p->base_leaks) {
		add_finding(ret, p, FINDING_REPAIRED, NULL);
		t->repaired++;
	} else if (p->base_sometimes && p->candidate_sometimes &&
		   p->candidate_max <= p->base_max) {
		add_finding(ret, p, FINDING_INTERMITTENT, NULL);
		add_note(ret, p->candidate, p->ncandidate, "the candidate",
			 ", as base does at times: not blamed");
	} else if (p->candidate_max) {
		add_finding(ret, p, FINDING_INTERMITTENT, NULL);
		t->unsettled++;
	} else if (p->base_sometimes) {
		t->base_intermittent++;
		add_note(ret, p->base, p->nbase, "base", ", the candidate never does");
	}
}

static const char *suppressed_by(const struct leak_case *in, const struct leak *l,
				 struct check *ret)
{
	for (size_t i = 0; i < in->nsuppressions; i++) {
		const struct suppression *s = &in->suppressions[i];
		CLEANUP_FREE char *note = NULL;

		if (!suppression_matches(s, l))
			continue;
		/* It holds through its last day; ISO dates sort as text. */
		if (!s->expires || !in->today || strcmp(s->expires, in->today) >= 0)
			return s->match;
		note = xasprintf("the suppression %s expired on %s and no longer applies",
				 s->match, s->expires);
		if (!strv_contains(&ret->notes, note))
			strv_add(&ret->notes, note);
	}
	return NULL;
}

/* The outermost frame starts a program or a thread: the unwinder did not lose its way. */
static bool stack_is_whole(const struct leak *l)
{
	static const char *const starts[] = {
		"main",
		"(below main)",
		"_start",
		"__libc_start_main",
		"__libc_start_main_impl",
		"__libc_start_call_main",
		"start_thread",
		"clone",
		"clone3",
		"__clone",
		"__clone3",
	};
	const struct frame *last = l->nframes ? &l->frames[l->nframes - 1] : NULL;
	const char *outermost = last ? last->function : NULL;

	/* The loader runs constructors and destructors; its own names are stripped. */
	if (last && last->module && !strncmp(last->module, "ld-", 3))
		return true;
	for (size_t i = 0; outermost && i < ARRAY_SIZE(starts); i++)
		if (!strcmp(outermost, starts[i]))
			return true;
	return false;
}

/*
 * A leak of an interpreter, of a shell or of a library: no code of the repository is in
 * its whole stack. What base leaks there is nobody's patch to repair; more of it is.
 */
static bool is_foreign(const struct leak *l)
{
	for (size_t i = 0; i < l->nframes; i++)
		if (l->frames[i].project)
			return false;
	return l->resource == RESOURCE_HEAP && stack_is_whole(l);
}

static void classify_one(const struct leak_case *in, const char *signature,
			 struct check *ret, struct tally *t)
{
	const struct leak *l;
	const char *match;
	struct pair p;

	pair_init(&p, in, signature);
	if (!p.base_max && !p.candidate_max)
		return;
	l = p.candidate ? p.candidate : p.base;
	match = suppressed_by(in, l, ret);
	if (match) {
		CLEANUP_FREE char *what = xasprintf("what %s suppresses", match);

		add_finding(ret, &p, FINDING_SUPPRESSED, match);
		note_growth(ret, &p, what);
	} else if (l->resource == RESOURCE_REACHABLE) {
		classify_reachable(&p, ret, t);
	} else if (leak_lasting(l) && !is_foreign(l)) {
		classify_lasting(&p, in->lifecycle->repairs, ret, t);
	} else {
		size_t before = ret->nfindings;

		classify_level(&p, ret, t);
		if (is_foreign(l) && ret->nfindings > before &&
		    ret->findings[before].class == FINDING_LEARNED)
			t->foreign++;
	}
}

static int class_order(enum finding_class c)
{
	static const int order[] = {
		[FINDING_NEW] = 0,	  [FINDING_INTERMITTENT] = 1,
		[FINDING_INHERITED] = 2,  [FINDING_REPAIRED] = 3,
		[FINDING_SUPPRESSED] = 4, [FINDING_LEARNED] = 5,
	};

	return order[c];
}

static int compare_u64(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

/* By class, then what holds most, then by name: the same input gives the same order. */
static int compare_findings(const void *pa, const void *pb)
{
	const struct finding *a = pa, *b = pb;
	int d = class_order(a->class) - class_order(b->class);

	if (!d)
		d = compare_u64(series_max(b->leak.bytes, b->ncycles),
				series_max(a->leak.bytes, a->ncycles));
	if (!d)
		d = compare_u64(series_max(b->leak.units, b->ncycles),
				series_max(a->leak.units, a->ncycles));
	return d ? d : strcmp(a->leak.signature, b->leak.signature);
}

void classify(const struct leak_case *in, struct check *ret, struct tally *ret_tally)
{
	struct tally t = {0};

	for (size_t i = 0; i < in->candidate->nleaks; i++)
		classify_one(in, in->candidate->leaks[i].signature, ret, &t);
	for (size_t i = 0; i < in->base->nleaks; i++)
		if (!find_leak(in->candidate, in->base->leaks[i].signature))
			classify_one(in, in->base->leaks[i].signature, ret, &t);
	if (t.kept > KEPT_NOTES)
		strv_addf(&ret->notes,
			  "so it does with what %zu more stacks have allocated",
			  t.kept - KEPT_NOTES);
	if (ret->nfindings)
		qsort(ret->findings, ret->nfindings, sizeof(*ret->findings),
		      compare_findings);
	if (t.foreign)
		strv_addf(
			&ret->notes,
			"%zu leak%s on both revisions with no code of the repository in "
			"the stack: of an interpreter or a library, and not blamed",
			t.foreign, t.foreign == 1 ? "" : "s");
	*ret_tally = t;
}
