/* A run that was cut short is gone on with: what it came to know of the points. */
#include "engine/fault_python_run.h"

#include "base/mem.h"
#include "engine/fault_memory.h"

#include <string.h>

json_t *sites_known(struct sites *s)
{
	struct fault_memory *m = s->opts->memory;
	json_t *keys, *known;

	/* Keys belong to the sources, which the memory's key has; what else is loaded the
	 * run must show. */
	fault_memory_begin(m, "");
	keys = fault_memory_keys(m);
	if (!keys)
		return NULL;
	known = json_object();
	json_put(known, "about", fault_memory_about(m));
	json_object_set_new(known, "keys", keys);
	return known;
}

bool sites_knows(const struct sites *s, uint64_t key)
{
	struct fault_finding f = {0};
	bool knows = s->nknown && fault_memory_get(s->opts->memory, key, &f);

	fault_finding_release(&f);
	return knows;
}

void sites_recall(struct sites *s)
{
	fault_memory_set_about(s->opts->memory, s->found.about ? s->found.about : "");
	for (size_t i = 0; i < s->found.npoints; i++) {
		struct fault_finding f = {0};
		uint64_t key = s->found.points[i].key;

		if (!fault_memory_get(s->opts->memory, key, &f))
			continue;
		s->nknown++;
		if (f.defect == DEFECT_NONE) {
			fault_finding_release(&f);
			continue;
		}
		free(f.replay);
		f.replay = site_replay(s, key);
		*fault_report_finding(s->report) = f;
	}
}

/* All its tests survived it. */
static bool is_survived(const struct sites *s, const struct site_point *p)
{
	size_t tried = 0, wanted = s->here && p->tests.n ? 1 : p->tests.n;
	bool fired = false, checked = false;

	for (size_t i = 0; i < s->found.ntrials; i++) {
		const struct site_trial *t = &s->found.trials[i];
		struct fault_finding f = {0};
		bool bad = t->key == p->key && site_judge(p, t, &f);

		fault_finding_release(&f);
		if (t->key != p->key)
			continue;
		if (bad)
			return false;
		fired |= t->fired;
		checked |= t->checked;
		tried += !t->checked;
	}
	return fired && tried >= wanted && (checked || !s->opts->check);
}

void sites_remember(struct sites *s)
{
	struct fault_memory *m = s->opts->memory;

	for (size_t i = 0; i < s->found.npoints; i++)
		if (is_survived(s, &s->found.points[i]))
			fault_memory_put(m, s->found.points[i].key, NULL);
	for (size_t i = 0; i < s->report->nfindings; i++) {
		fault_sign(&s->report->findings[i]);
		fault_memory_put(m, s->report->findings[i].key, &s->report->findings[i]);
	}
}
