#include "model/result.h"

#include "base/mem.h"

static const char *const class_names[] = {
	[FINDING_NEW] = "new",
	[FINDING_INHERITED] = "inherited",
	[FINDING_LEARNED] = "learned",
	[FINDING_REPAIRED] = "repaired",
	[FINDING_SUPPRESSED] = "suppressed",
	[FINDING_INTERMITTENT] = "intermittent",
};

const char *finding_class_name(enum finding_class c)
{
	return class_names[c];
}

struct finding *check_finding(struct check *c)
{
	return VEC_ADD(c->findings, c->nfindings, c->findings_cap);
}

struct remark *check_remark(struct check *c)
{
	return VEC_ADD(c->remarks, c->nremarks, c->remarks_cap);
}

struct check *result_check(struct result *r)
{
	return VEC_ADD(r->checks, r->nchecks, r->checks_cap);
}

void finding_release(struct finding *f)
{
	leak_release(&f->leak);
	free(f->base_units);
	free(f->base_bytes);
	free(f->suppressed_by);
	*f = (struct finding){0};
}

void check_release(struct check *c)
{
	for (size_t i = 0; i < c->nfindings; i++)
		finding_release(&c->findings[i]);
	for (size_t i = 0; i < c->nfaults; i++)
		fault_finding_release(&c->faults[i].fault);
	for (size_t i = 0; i < c->nremarks; i++)
		remark_release(&c->remarks[i]);
	free(c->remarks);
	free(c->findings);
	free(c->faults);
	free(c->target);
	free(c->detector);
	free(c->version);
	free(c->explanation);
	free(c->next);
	strv_release(&c->notes);
	strv_release(&c->command);
	strv_release(&c->base_artifacts);
	strv_release(&c->candidate_artifacts);
	*c = (struct check){0};
}

void revision_copy(struct revision_info *dst, const struct revision_info *src)
{
	dst->name = xstrdup(src->name);
	dst->commit = xstrdup(src->commit);
	dst->tree = xstrdup(src->tree);
	dst->subject = xstrdup(src->subject);
}

void revision_release(struct revision_info *r)
{
	free(r->name);
	free(r->commit);
	free(r->tree);
	free(r->subject);
}

void result_release(struct result *r)
{
	for (size_t i = 0; i < r->nchecks; i++)
		check_release(&r->checks[i]);
	free(r->checks);
	free(r->run_id);
	free(r->command);
	free(r->started);
	free(r->exitpath_version);
	free(r->config_digest);
	free(r->isolation);
	free(r->limit_tier);
	free(r->repository);
	revision_release(&r->base);
	revision_release(&r->candidate);
	free(r->setup);
	free(r->suite);
	free(r->reproduce);
	strv_release(&r->warnings);
	*r = (struct result){0};
}
