/* The allowlisted summary of one check: these keys, nothing else (DESIGN §8). */
#include "store/internal.h"

#include "base/mem.h"

#include <string.h>

#define SCHEMA_VERSION "leak-evidence-v1"

static const char *const keys[] = {
	"schema_version",  "run_id",
	"revision",	   "test_target",
	"detector",	   "detector_version",
	"attempt",	   "outcome",
	"exit_code",	   "leak_kind",
	"leaked_units",	   "top_frame",
	"duration_ms",	   "baseline_artifact",
	"result_artifact", "config_digest",
	"isolation",	   "limit_tier",
};

static void put(json_t *j, const struct result *r, const char *key, const char *value)
{
	CLEANUP_FREE char *clean = evidence_value(value, r->repository, false);

	json_put(j, key, clean);
}

static void put_count(json_t *j, const char *key, uint64_t n)
{
	json_put_int(j, key, n > INT64_MAX ? INT64_MAX : (int64_t)n);
}

static const struct finding *first_new(const struct check *c)
{
	for (size_t i = 0; i < c->nfindings; i++)
		if (c->findings[i].class == FINDING_NEW)
			return &c->findings[i];
	return NULL;
}

/* Of all new findings together, in the measured cycle that has most. */
static uint64_t leaked_units(const struct check *c)
{
	uint64_t most = 0;
	size_t ncycles = 0;

	for (size_t i = 0; i < c->nfindings; i++)
		if (c->findings[i].ncycles > ncycles)
			ncycles = c->findings[i].ncycles;
	for (size_t cycle = 0; cycle < ncycles; cycle++) {
		uint64_t sum = 0;

		for (size_t i = 0; i < c->nfindings; i++) {
			const struct finding *f = &c->findings[i];

			if (f->class != FINDING_NEW || cycle >= f->ncycles)
				continue;
			if (__builtin_add_overflow(sum, f->leak.units[cycle], &sum))
				sum = UINT64_MAX;
		}
		if (sum > most)
			most = sum;
	}
	return most;
}

static const struct check_fault *first_new_fault(const struct check *c)
{
	for (size_t i = 0; i < c->nfaults; i++)
		if (c->faults[i].class == FINDING_NEW)
			return &c->faults[i];
	return NULL;
}

static uint64_t new_faults(const struct check *c)
{
	uint64_t n = 0;

	for (size_t i = 0; i < c->nfaults; i++)
		n += c->faults[i].class == FINDING_NEW;
	return n;
}

/* The function of the project that made the call. */
static char *fault_frame(const struct result *r, const struct check_fault *f)
{
	const struct frame *frame = leak_top_frame(&f->fault.chain);

	return evidence_value(frame ? frame->function : NULL, r->repository, false);
}

/* Those that block come first. */
static const struct remark *first_blocking(const struct check *c)
{
	return c->nremarks && c->remarks[0].blocks ? &c->remarks[0] : NULL;
}

static uint64_t blocking_remarks(const struct check *c)
{
	uint64_t n = 0;

	for (size_t i = 0; i < c->nremarks; i++)
		n += c->remarks[i].blocks;
	return n;
}

static const char *kind(const struct finding *f, const struct check_fault *fault,
			const struct remark *remark)
{
	if (remark)
		return remark->rule;
	if (fault)
		return fault_defect_name(fault->fault.defect);
	return f ? resource_name(f->leak.resource) : NULL;
}

static char *top_frame(const struct result *r, const struct finding *f)
{
	const struct frame *frame = f ? leak_top_frame(&f->leak) : NULL;

	if (frame && frame->function)
		return evidence_value(frame->function, r->repository, false);
	return evidence_value(f && !f->leak.nframes ? f->leak.what : NULL, r->repository,
			      true);
}

static const char *first(const struct strv *s)
{
	return s->n ? s->v[0] : NULL;
}

json_t *evidence_summary(const struct result *r, const struct check *c)
{
	const struct finding *f = first_new(c);
	const struct check_fault *fault = first_new_fault(c);
	const struct remark *remark = first_blocking(c);
	CLEANUP_FREE char *frame =
		remark	? evidence_value(remark->function, r->repository, false)
		: fault ? fault_frame(r, fault)
			: top_frame(r, f);
	CLEANUP_FREE char *revision =
		r->candidate.commit ? xstrndup(r->candidate.commit, SHORT_COMMIT) : NULL;
	json_t *j = json_object();

	json_put(j, "schema_version", SCHEMA_VERSION);
	put(j, r, "run_id", r->run_id);
	put(j, r, "revision", revision);
	put(j, r, "test_target", c->target);
	put(j, r, "detector", c->detector);
	put(j, r, "detector_version", c->version);
	put_count(j, "attempt", c->attempt ? c->attempt : 1);
	put(j, r, "outcome", outcome_name(c->outcome));
	json_put_int(j, "exit_code", outcome_exit_code(c->outcome));
	put(j, r, "leak_kind", kind(f, fault, remark));
	put_count(j, "leaked_units",
		  remark  ? blocking_remarks(c)
		  : fault ? new_faults(c)
			  : leaked_units(c));
	json_put(j, "top_frame", frame);
	put_count(j, "duration_ms", c->duration_us / 1000);
	put(j, r, "baseline_artifact", first(&c->base_artifacts));
	put(j, r, "result_artifact", first(&c->candidate_artifacts));
	put(j, r, "config_digest", r->config_digest);
	put(j, r, "isolation", r->isolation);
	put(j, r, "limit_tier", r->limit_tier);
	return j;
}

json_t *summary_ordered(const json_t *summary)
{
	json_t *j = json_object();

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		json_object_set(j, keys[i], json_object_get(summary, keys[i]));
	return j;
}

/* A summary that was edited in the database must not forge lines either. */
static void add_line(struct buf *b, const char *key, const char *value)
{
	buf_addf(b, "%s: ", key);
	for (const char *p = value; *p; p++) {
		if ((unsigned char)*p < 0x20 || *p == 0x7f)
			buf_addf(b, "\\x%02x", (unsigned)*p);
		else
			buf_addc(b, *p);
	}
	buf_addc(b, '\n');
}

char *evidence_text(const json_t *summary)
{
	struct buf b = {0};

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		const json_t *v = json_object_get(summary, keys[i]);

		if (json_is_integer(v))
			buf_addf(&b, "%s: %lld\n", keys[i],
				 (long long)json_integer_value(v));
		else
			add_line(&b, keys[i],
				 v && json_is_string(v) ? json_string_value(v) : "none");
	}
	return buf_detach(&b);
}
