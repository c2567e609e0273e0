/* One lifecycle: which detectors fit, and which of them share runs. */
#include "engine/measure.h"

#include "base/mem.h"
#include "verdict/verdict.h"

#include <string.h>

/* Adds a detector to the group; one that is not on this machine becomes a check of its
 * own when the user named it, and is left out otherwise. */
static int group_add(struct session *s, const struct lifecycle *l, struct group *g,
		     const struct detector *d, bool *ret_added, struct err *err)
{
	struct err why = {0};
	struct check *c;

	*ret_added = false;
	if (g->n == MAX_GROUP)
		return err_set(err, ERR_INTERNAL, "too many detectors in one run");
	if (d->probe(&g->version[g->n], &why) == 0) {
		g->detector[g->n++] = d;
		*ret_added = true;
		return 0;
	}
	if (!g->required)
		return 0;
	c = result_check(s->result);
	c->target = xstrdup(l->name);
	c->detector = xstrdup(d->name);
	c->attempt = 1;
	c->outcome = OUTCOME_HARNESS_ERROR;
	c->explanation = xasprintf("detector %s does not work on this machine: %s",
				   d->name, why.message);
	c->next = xstrdup(*why.hint ? why.hint : d->install);
	return 0;
}

static void group_release(struct group *g)
{
	for (size_t i = 0; i < g->n; i++)
		free(g->version[i]);
	*g = (struct group){.required = g->required};
}

static int measure_named(struct session *s, const struct lifecycle *l, struct err *err)
{
	struct group shared = {.required = true};
	bool added, base_ok;
	int rc = 0;

	for (size_t i = 0; i < l->detectors.n && rc == 0; i++) {
		const struct detector *d = detector_find(l->detectors.v[i]);

		if (!d->wraps)
			rc = group_add(s, l, &shared, d, &added, err);
	}
	if (rc == 0 && shared.n)
		rc = measure_group(s, l, &shared, &base_ok, err);
	group_release(&shared);
	for (size_t i = 0; i < l->detectors.n && rc == 0; i++) {
		const struct detector *d = detector_find(l->detectors.v[i]);
		struct group own = {.required = true};

		if (!d->wraps)
			continue;
		rc = group_add(s, l, &own, d, &added, err);
		if (rc == 0 && added)
			rc = measure_group(s, l, &own, &base_ok, err);
		group_release(&own);
	}
	return rc;
}

static bool heap_checked(const struct session *s, const struct lifecycle *l)
{
	for (size_t i = 0; i < s->result->nchecks; i++) {
		const struct check *c = &s->result->checks[i];

		if (c->target && !strcmp(c->target, l->name) && c->detector &&
		    detector_find(c->detector)->heap)
			return true;
	}
	return false;
}

/*
 * Every detector that fits: those that share a run first; a wrapping one (valgrind)
 * only when no other saw the heap, since it costs fifty times as much.
 */
static int measure_fitting(struct session *s, const struct lifecycle *l, struct err *err)
{
	struct group shared = {0};
	bool added, base_ok = true;
	int rc = 0;

	for (size_t i = 0; detectors[i] && rc == 0; i++)
		if (!detectors[i]->wraps)
			rc = group_add(s, l, &shared, detectors[i], &added, err);
	if (rc == 0 && shared.n)
		rc = measure_group(s, l, &shared, &base_ok, err);
	group_release(&shared);
	/* A failed set-up or a failing base: nothing more is to be learned. */
	if (rc < 0 || !base_ok || heap_checked(s, l))
		return rc;
	for (size_t i = 0; detectors[i] && rc == 0; i++) {
		struct group own = {0};

		if (!detectors[i]->wraps)
			continue;
		rc = group_add(s, l, &own, detectors[i], &added, err);
		if (rc == 0 && added)
			rc = measure_group(s, l, &own, &base_ok, err);
		group_release(&own);
	}
	if (rc == 0 && !heap_checked(s, l))
		strv_addf(&s->result->warnings,
			  "%s: no detector watched the heap: build with "
			  "-fsanitize=address, or see whether valgrind works here: "
			  "exitpath doctor",
			  l->name);
	return rc;
}

/* A lifecycle without any check would be clean for want of an observer. */
static void add_unwatched(struct session *s, const struct lifecycle *l)
{
	struct check *c = result_check(s->result);

	c->target = xstrdup(l->name);
	c->attempt = 1;
	c->outcome = OUTCOME_HARNESS_ERROR;
	c->explanation = xstrdup("No detector works on this machine.");
	c->next = xstrdup("see why: exitpath doctor");
}

int session_measure(struct session *s, const struct lifecycle *l, struct err *err)
{
	size_t before = s->result->nchecks;
	int rc = l->detectors.n ? measure_named(s, l, err) : measure_fitting(s, l, err);

	if (rc == 0 && l->repairs)
		verdict_repairs(s->result->checks + before, s->result->nchecks - before);
	if (rc == 0 && s->result->nchecks == before && !s->side[SIDE_BASE].setup_failed &&
	    !s->side[SIDE_CANDIDATE].setup_failed)
		add_unwatched(s, l);
	return rc;
}
