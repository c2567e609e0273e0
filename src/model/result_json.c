#include "base/mem.h"
#include "model/codec.h"
#include "model/result.h"

#include <string.h>

#define RESULT_SCHEMA "exitpath-result-v1"

static json_t *revision_to_json(const struct revision_info *r)
{
	json_t *j = json_object();

	json_put(j, "name", r->name);
	json_put(j, "commit", r->commit);
	json_put(j, "tree", r->tree);
	json_put(j, "subject", r->subject);
	return j;
}

static void revision_from_json(const json_t *j, struct revision_info *ret)
{
	ret->name = json_get_dup(j, "name");
	ret->commit = json_get_dup(j, "commit");
	ret->tree = json_get_dup(j, "tree");
	ret->subject = json_get_dup(j, "subject");
}

static json_t *finding_to_json(const struct finding *f)
{
	json_t *j = json_object();

	json_put(j, "class", finding_class_name(f->class));
	json_put(j, "suppressed_by", f->suppressed_by);
	if (f->base_units)
		json_object_set_new(j, "base_units",
				    series_to_json(f->base_units, f->nbase));
	if (f->base_bytes)
		json_object_set_new(j, "base_bytes",
				    series_to_json(f->base_bytes, f->nbase));
	json_object_set_new(j, "leak", leak_to_json(&f->leak, f->ncycles));
	return j;
}

static bool class_parse(const char *name, enum finding_class *ret)
{
	for (int c = FINDING_NEW; c <= FINDING_INTERMITTENT; c++) {
		if (!strcmp(finding_class_name((enum finding_class)c), name)) {
			*ret = (enum finding_class)c;
			return true;
		}
	}
	return false;
}

static bool finding_from_json(const json_t *j, struct finding *ret)
{
	const json_t *base = json_object_get(j, "base_units");
	const json_t *bytes = json_object_get(j, "base_bytes");
	size_t nbytes = 0;

	if (!class_parse(json_get(j, "class", ""), &ret->class))
		return false;
	ret->suppressed_by = json_get_dup(j, "suppressed_by");
	if (base && !series_from_json(base, &ret->base_units, &ret->nbase))
		return false;
	if (bytes &&
	    (!series_from_json(bytes, &ret->base_bytes, &nbytes) || nbytes != ret->nbase))
		return false;
	return !leak_from_json(json_object_get(j, "leak"), &ret->leak, &ret->ncycles);
}

static json_t *fault_to_json(const struct check_fault *f)
{
	json_t *j = json_object();

	json_put(j, "class", finding_class_name(f->class));
	json_object_set_new(j, "fault", fault_finding_to_json(&f->fault));
	return j;
}

static bool faults_from_json(const json_t *faults, struct check *ret)
{
	const json_t *item;
	size_t i;

	if (faults && !json_is_array(faults))
		return false;
	json_array_foreach (faults, i, item) {
		struct check_fault *f =
			VEC_ADD(ret->faults, ret->nfaults, ret->faults_cap);

		if (!class_parse(json_get(item, "class", ""), &f->class) ||
		    fault_finding_from_json(json_object_get(item, "fault"), &f->fault) <
			    0)
			return false;
	}
	return true;
}

static json_t *remarks_to_json(const struct check *c)
{
	json_t *list = json_array();

	for (size_t i = 0; i < c->nremarks; i++)
		json_array_append_new(list, remark_to_json(&c->remarks[i]));
	return list;
}

static bool remarks_from_json(const json_t *remarks, struct check *ret)
{
	const json_t *item;
	size_t i;

	if (remarks && !json_is_array(remarks))
		return false;
	json_array_foreach (remarks, i, item)
		if (!remark_from_json(item, check_remark(ret)))
			return false;
	return true;
}

static json_t *check_to_json(const struct check *c)
{
	json_t *j = json_object(), *findings = json_array(), *faults = json_array();

	json_put(j, "target", c->target);
	json_put(j, "detector", c->detector);
	json_put(j, "detector_version", c->version);
	json_put(j, "outcome", outcome_name(c->outcome));
	json_put(j, "explanation", c->explanation);
	json_put(j, "next", c->next);
	json_put_int(j, "attempt", c->attempt);
	json_put_int(j, "warmup", c->warmup);
	json_put_u64(j, "base_cycles", c->base_cycles);
	json_put_u64(j, "candidate_cycles", c->candidate_cycles);
	json_put_bool(j, "base_reused", c->base_reused);
	json_put_bool(j, "retry", c->retry);
	json_put_u64(j, "duration_us", c->duration_us);
	for (size_t i = 0; i < c->nfindings; i++)
		json_array_append_new(findings, finding_to_json(&c->findings[i]));
	json_object_set_new(j, "findings", findings);
	for (size_t i = 0; i < c->nfaults; i++)
		json_array_append_new(faults, fault_to_json(&c->faults[i]));
	if (c->nfaults)
		json_object_set(j, "faults", faults);
	json_decref(faults);
	if (c->nremarks)
		json_object_set_new(j, "remarks", remarks_to_json(c));
	json_object_set_new(j, "notes", strv_to_json(&c->notes));
	json_object_set_new(j, "command", strv_to_json(&c->command));
	json_object_set_new(j, "base_artifacts", strv_to_json(&c->base_artifacts));
	json_object_set_new(j, "candidate_artifacts",
			    strv_to_json(&c->candidate_artifacts));
	return j;
}

static bool findings_from_json(const json_t *findings, struct check *ret)
{
	const json_t *item;
	size_t i;

	if (findings && !json_is_array(findings))
		return false;
	json_array_foreach (findings, i, item)
		if (!finding_from_json(item, check_finding(ret)))
			return false;
	return true;
}

static bool check_from_json(const json_t *j, struct check *ret)
{
	if (!outcome_parse(json_get(j, "outcome", ""), &ret->outcome))
		return false;
	ret->target = json_get_dup(j, "target");
	ret->detector = json_get_dup(j, "detector");
	ret->version = json_get_dup(j, "detector_version");
	ret->explanation = json_get_dup(j, "explanation");
	ret->next = json_get_dup(j, "next");
	ret->attempt = json_get_unsigned(j, "attempt");
	ret->warmup = json_get_unsigned(j, "warmup");
	ret->base_cycles = json_get_u64(j, "base_cycles");
	ret->candidate_cycles = json_get_u64(j, "candidate_cycles");
	ret->base_reused = json_get_bool(j, "base_reused", false);
	ret->retry = json_get_bool(j, "retry", false);
	ret->duration_us = json_get_u64(j, "duration_us");
	return findings_from_json(json_object_get(j, "findings"), ret) &&
	       faults_from_json(json_object_get(j, "faults"), ret) &&
	       remarks_from_json(json_object_get(j, "remarks"), ret) &&
	       strv_from_json(j, "notes", &ret->notes) &&
	       strv_from_json(j, "command", &ret->command) &&
	       strv_from_json(j, "base_artifacts", &ret->base_artifacts) &&
	       strv_from_json(j, "candidate_artifacts", &ret->candidate_artifacts);
}

json_t *result_to_json(const struct result *r)
{
	json_t *j = json_object(), *checks = json_array();

	json_put(j, "schema_version", RESULT_SCHEMA);
	json_put(j, "run_id", r->run_id);
	json_put(j, "command", r->command);
	json_put(j, "outcome", outcome_name(r->outcome));
	json_put_int(j, "exit_code", outcome_exit_code(r->outcome));
	json_put(j, "started", r->started);
	json_put_u64(j, "duration_us", r->duration_us);
	json_put(j, "exitpath_version", r->exitpath_version);
	json_put(j, "config_digest", r->config_digest);
	json_put(j, "isolation", r->isolation);
	json_put(j, "limit_tier", r->limit_tier);
	json_put(j, "repository", r->repository);
	json_object_set_new(j, "base", revision_to_json(&r->base));
	json_object_set_new(j, "candidate", revision_to_json(&r->candidate));
	json_put(j, "setup", r->setup);
	json_put(j, "suite", r->suite);
	for (size_t i = 0; i < r->nchecks; i++)
		json_array_append_new(checks, check_to_json(&r->checks[i]));
	json_object_set_new(j, "checks", checks);
	json_object_set_new(j, "warnings", strv_to_json(&r->warnings));
	json_put(j, "reproduce", r->reproduce);
	return j;
}

static void read_header(const json_t *j, struct result *r)
{
	r->run_id = json_get_dup(j, "run_id");
	r->command = json_get_dup(j, "command");
	r->started = json_get_dup(j, "started");
	r->duration_us = json_get_u64(j, "duration_us");
	r->exitpath_version = json_get_dup(j, "exitpath_version");
	r->config_digest = json_get_dup(j, "config_digest");
	r->isolation = json_get_dup(j, "isolation");
	r->limit_tier = json_get_dup(j, "limit_tier");
	r->repository = json_get_dup(j, "repository");
	revision_from_json(json_object_get(j, "base"), &r->base);
	revision_from_json(json_object_get(j, "candidate"), &r->candidate);
	r->setup = json_get_dup(j, "setup");
	r->suite = json_get_dup(j, "suite");
	r->reproduce = json_get_dup(j, "reproduce");
}

int result_from_json(const json_t *j, struct result *ret, struct err *err)
{
	CLEANUP(result) struct result r = {0};
	const json_t *checks = json_object_get(j, "checks"), *item;
	const char *schema = json_get(j, "schema_version", "none");
	size_t i;

	if (strcmp(schema, RESULT_SCHEMA))
		return err_set(err, ERR_ENVIRONMENT,
			       "result: schema_version is %s, not %s", schema,
			       RESULT_SCHEMA);
	if (!outcome_parse(json_get(j, "outcome", ""), &r.outcome))
		return err_set(err, ERR_ENVIRONMENT, "result: unknown outcome %s",
			       json_get(j, "outcome", "(none)"));
	if (!json_is_array(checks) || !strv_from_json(j, "warnings", &r.warnings))
		return err_set(err, ERR_ENVIRONMENT,
			       "result: checks or warnings are malformed");
	read_header(j, &r);
	json_array_foreach (checks, i, item)
		if (!check_from_json(item, result_check(&r)))
			return err_set(err, ERR_ENVIRONMENT,
				       "result: check %zu is malformed", i + 1);
	*ret = r;
	r = (struct result){0};
	return 0;
}
