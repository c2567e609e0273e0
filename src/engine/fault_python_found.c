/* Findings of the Python layer: judged, confirmed, counted. */
#include "engine/fault_python_run.h"

#include "base/mem.h"
#include "engine/fault_explore.h"
#include "engine/fault_memory.h"

#include <inttypes.h>
#include <string.h>

/* ---- findings ---- */

char *site_replay(const struct sites *s, uint64_t key)
{
	return fault_replay(s->opts, s->argv, key, false);
}

/* The same call, before and after its effect, or in several tests: one finding. */
static bool is_known(const struct sites *s, const struct site_point *p,
		     enum fault_defect d, const struct fault_finding *list, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct site_point *q = site_report_point(&s->found, list[i].key);

		if (list[i].defect == d && q && q->line == p->line &&
		    !strcmp(q->file, p->file) && !strcmp(q->label, p->label))
			return true;
	}
	return false;
}

static void fill_finding(const struct sites *s, const struct site_point *p,
			 const struct site_trial *t, struct fault_finding *f)
{
	f->call = xstrdup(p->label);
	f->error = !strcmp(p->variant, "after")
			   ? xasprintf("%s after its effect", t->error ? t->error : "?")
			   : xstrdup(t->error ? t->error : "?");
	f->key = p->key;
	f->replay = site_replay(s, p->key);
	leak_copy(&f->chain, &t->chain, 0);
}

/* The trials that show a defect, one per call and defect. */
static void collect(const struct sites *s, struct fault_report *into)
{
	for (size_t i = 0; i < s->found.ntrials; i++) {
		const struct site_trial *t = &s->found.trials[i];
		const struct site_point *p = site_report_point(&s->found, t->key);
		struct fault_finding f = {0};

		if (!p || !site_judge(p, t, &f) ||
		    is_known(s, p, f.defect, into->findings, into->nfindings) ||
		    is_known(s, p, f.defect, s->report->findings, s->report->nfindings)) {
			fault_finding_release(&f);
			continue;
		}
		fill_finding(s, p, t, &f);
		*fault_report_finding(into) = f;
	}
}

static bool was_found(const struct sites *s, const struct site_report *again,
		      const struct fault_finding *f)
{
	for (size_t i = 0; i < again->ntrials; i++) {
		const struct site_trial *t = &again->trials[i];
		const struct site_point *p = site_report_point(&s->found, t->key);
		struct fault_finding g = {0};
		bool same = p && t->key == f->key && site_judge(p, t, &g) &&
			    g.defect == f->defect;

		fault_finding_release(&g);
		if (same)
			return true;
	}
	return false;
}

static void add_once(json_t *list, const char *text)
{
	size_t i;
	json_t *item;

	json_array_foreach (list, i, item)
		if (!strcmp(json_string_value(item), text))
			return;
	json_array_append_new(list, json_text(text));
}

/* How the candidates are tried once more, in a new process. */
enum confirm_by {
	CONFIRM_TESTS,
	CONFIRM_ALL,
	CONFIRM_FIRST,
	CONFIRM_CHECK,
	CONFIRM_WAYS
};

static int check_again(struct sites *s, const struct fault_report *candidates,
		       struct site_report *ret, struct err *err)
{
	for (size_t i = 0; i < candidates->nfindings; i++) {
		const struct site_point *p =
			site_report_point(&s->found, candidates->findings[i].key);

		if (p && sites_check(s, p, ret, err) < 0)
			return -1;
	}
	return 0;
}

/* Not all ways make sense for all that was found. */
static bool is_way(const struct sites *s, const struct fault_report *candidates,
		   enum confirm_by by)
{
	bool check = by == CONFIRM_CHECK, other = false, checks = false;

	for (size_t i = 0; i < candidates->nfindings; i++)
		*(candidates->findings[i].defect == DEFECT_CHECK ? &checks : &other) =
			true;
	return check ? checks : other && (by != CONFIRM_FIRST || s->first);
}

static int run_again(struct sites *s, const struct fault_report *candidates,
		     enum confirm_by by, struct site_report *ret, struct err *err)
{
	CLEANUP_JSON json_t *keys = json_array(), *tests = json_array(),
			    *first = json_array();
	struct site_ask ask = {
		.keys = keys,
		.tests = by == CONFIRM_TESTS ? tests : NULL,
		.here = s->here,
		.timeout_ms = SITE_TIMEOUT_MS,
	};
	struct run_result result;

	for (size_t i = 0; i < candidates->nfindings; i++) {
		const struct fault_finding *f = &candidates->findings[i];
		const struct site_point *p = site_report_point(&s->found, f->key);
		CLEANUP_FREE char *key = xasprintf("%016" PRIx64, f->key);

		add_once(keys, key);
		for (size_t k = 0; p && k < p->tests.n; k++)
			add_once(tests, p->tests.v[k]);
		if (p)
			json_array_append_new(first, site_first_json(p));
	}
	if (by == CONFIRM_CHECK)
		return check_again(s, candidates, ret, err);
	if (by == CONFIRM_FIRST)
		return sites_explore_first(s, first, ret, err);
	if (sites_run(s, &ask, &result, ret, err) < 0)
		return -1;
	site_take_death(ret, &result);
	return 0;
}

/* What is seen again becomes a finding. */
static int confirm(struct sites *s, struct fault_report *candidates, enum confirm_by by,
		   struct err *err)
{
	CLEANUP(site_report) struct site_report again = {0};
	size_t left = 0;

	if (run_again(s, candidates, by, &again, err) < 0)
		return -1;
	for (size_t i = 0; i < candidates->nfindings; i++) {
		struct fault_finding *f = &candidates->findings[i];

		if (was_found(s, &again, f))
			*fault_report_finding(s->report) = *f;
		else
			candidates->findings[left++] = *f;
	}
	candidates->nfindings = left;
	return 0;
}

static int confirm_all(struct sites *s, struct err *err)
{
	CLEANUP(fault_report) struct fault_report candidates = {0};

	collect(s, &candidates);
	for (int by = 0; by < CONFIRM_WAYS && candidates.nfindings; by++)
		if (is_way(s, &candidates, (enum confirm_by)by) &&
		    confirm(s, &candidates, (enum confirm_by)by, err) < 0)
			return -1;
	for (size_t i = 0; i < candidates.nfindings; i++)
		*VEC_ADD(s->report->unsettled, s->report->nunsettled,
			 s->report->unsettled_cap) = candidates.findings[i];
	s->report->unconfirmed = candidates.nfindings;
	candidates.nfindings = 0;
	return 0;
}

/* ---- the outcome ---- */

static void count_trials(struct sites *s)
{
	struct fault_report *r = s->report;
	size_t again = 0;

	for (size_t i = 0; i < s->found.npoints; i++) {
		const struct site_point *p = &s->found.points[i];
		bool fired = sites_knows(s, p->key), tried = false, not_again = false;

		for (size_t k = 0; k < s->found.ntrials; k++) {
			const struct site_trial *t = &s->found.trials[k];

			fired |= t->key == p->key && t->fired;
			tried |= t->key == p->key && !t->again;
			not_again |= t->key == p->key && t->again;
		}
		r->explored += fired;
		r->missed += tried && !fired;
		again += not_again && !fired;
	}
	r->known = s->nknown;
	*(s->here ? &r->rerun : &r->forked) = r->explored + r->missed - r->known;
	if (again)
		strv_addf(&r->notes,
			  "%zu points are reached by tests alone that cannot be "
			  "repeated: not tried",
			  again);
	if (s->found.outside)
		strv_addf(&r->notes,
			  "%zu calls are made outside of tests that pass: not tried",
			  s->found.outside);
	if (s->found.unsafe)
		strv_addf(&r->notes, "no forks, one run for each point: %s",
			  s->found.unsafe);
}

int sites_conclude(struct sites *s, struct err *err)
{
	struct fault_report *r = s->report;

	if (confirm_all(s, err) < 0)
		return -1;
	count_trials(s);
	if (r->explored + r->missed == r->chosen && !sites_late(s))
		fault_memory_done(s->opts->memory);
	if (r->nfindings)
		fault_end_with(r, OUTCOME_DEFECT, NULL, NULL);
	else if (!r->explored && !s->opts->only)
		fault_end_with(r, OUTCOME_INCONCLUSIVE,
			       xstrdup("no call was made to fail"),
			       s->opts->time_ms ? "allow more --time" : NULL);
	else if (r->unconfirmed || r->missed)
		fault_end_with(r, OUTCOME_INCONCLUSIVE,
			       xstrdup("not all of it happens in every run"), NULL);
	else
		fault_end_with(r, OUTCOME_CLEAN, NULL, NULL);
	return 0;
}
