#include "verdict/exam.h"

#include "base/mem.h"
#include "model/phrase.h"

#include <string.h>

static bool is_not_found(const struct run_result *r)
{
	return r->end == RUN_NOT_STARTED && !strcmp(r->step, "exec");
}

static bool is_broken(const struct run_result *r)
{
	return r->end == RUN_LOST || r->end == RUN_SANDBOX_FAILED || r->watch_failed ||
	       (r->end == RUN_NOT_STARTED && !is_not_found(r));
}

static bool is_failed(const struct cycle *c)
{
	return c->run.end == RUN_SIGNALED ||
	       (run_result_over_limit(&c->run) && !run_result_late(&c->run)) ||
	       (c->run.end == RUN_EXITED &&
		((c->run.status != 0 && !c->passed) || c->failed));
}

static void note_first(const struct cycle **first, const struct cycle *c, bool is)
{
	if (is && !*first)
		*first = c;
}

void runs_init(struct runs *s, const char *name, const struct observation *o)
{
	*s = (struct runs){.name = name};
	if (!o)
		return;
	s->n = o->ncycles;
	s->measured = o->nmeasured;
	for (size_t i = 0; i < o->ncycles; i++) {
		const struct cycle *c = &o->cycles[i];
		bool late = run_result_late(&c->run);

		s->complete += c->measured && c->state == PROBE_COMPLETE;
		s->failed += is_failed(c);
		s->timed_out += late;
		note_first(&s->first_failed, c, is_failed(c));
		note_first(&s->first_timed_out, c, late);
		note_first(&s->not_found, c, is_not_found(&c->run));
		note_first(&s->broken, c, is_broken(&c->run));
		note_first(&s->cancelled, c, c->run.end == RUN_CANCELLED);
		note_first(&s->in_state[c->state], c, true);
	}
}

bool observed_in_full(const struct runs *s, const struct leak_case *in)
{
	return s->measured > 0 && s->measured >= in->lifecycle->cycles &&
	       s->complete == s->measured;
}

bool exam_decide(struct check *ret, enum outcome o, char *explanation, const char *next)
{
	ret->outcome = o;
	ret->explanation = explanation;
	ret->next = xstrdup(next);
	return true;
}

char *describe_cycle(const struct cycle *c)
{
	char *how = run_result_describe(&c->run), *both;

	if (!c->failed || !c->failure)
		return how;
	both = xasprintf("%s (%s)", c->failure, how);
	free(how);
	return both;
}

const char *detector_of(const struct exam *e)
{
	const struct observation *o = e->in->base ? e->in->base : e->in->candidate;

	return o && o->detector ? o->detector : "the detector";
}

bool may_retry(const struct exam *e)
{
	return e->in->attempt < e->in->max_attempts;
}

bool failed_once(const struct exam *e, const struct cycle *failed)
{
	return e->in->inside && e->in->attempt == 1 && may_retry(e) &&
	       !run_result_over_limit(&failed->run);
}

char *more_cycles(const struct exam *e)
{
	return xasprintf("run more cycles to see how often: --cycles %u",
			 e->in->lifecycle->cycles ? 4 * e->in->lifecycle->cycles : 20);
}

const struct finding *first_finding(const struct check *c, enum finding_class class)
{
	for (size_t i = 0; i < c->nfindings; i++)
		if (c->findings[i].class == class)
			return &c->findings[i];
	return NULL;
}

char *describe_finding(const struct finding *f)
{
	CLEANUP_FREE char *units = phrase_units(&f->leak, f->ncycles),
			  *place = phrase_place(&f->leak);

	return xasprintf("%s per cycle%s", units, place);
}

char *describe_base(const struct finding *f)
{
	struct leak l = f->leak;
	CLEANUP_FREE char *units = NULL, *place = phrase_place(&f->leak);
	CLEANUP_FREE uint64_t *none = xcalloc(f->nbase, sizeof(*none));

	l.units = f->base_units;
	l.bytes = f->base_bytes ? f->base_bytes : none;
	units = phrase_units(&l, f->nbase);
	return xasprintf("%s per cycle%s", units, place);
}

char *describe_share(const struct exam *e, const struct finding *f)
{
	CLEANUP_FREE char *share = phrase_share(f->leak.units, f->ncycles);
	size_t base = f->base_units ? series_holding(f->base_units, f->nbase) : 0;

	return xasprintf("%s on the candidate, %zu of %zu on base", share, base,
			 e->base.measured);
}
