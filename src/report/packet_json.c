/* The packet as data: what an agent's hook feeds back to it. */
#include "base/mem.h"
#include "model/phrase.h"
#include "report/formats.h"
#include "report/unchanged.h"

#define PACKET_SCHEMA "exitpath-packet-v1"

static json_t *revision(const struct revision_info *rev)
{
	json_t *j = json_object();

	json_put(j, "name", rev->name);
	json_put(j, "commit", rev->commit);
	json_put(j, "subject", rev->subject);
	return j;
}

static json_t *series(const uint64_t *units, size_t n)
{
	json_t *j = json_array();

	for (size_t i = 0; i < n; i++)
		json_array_append_new(j, json_integer(!units || units[i] > INT64_MAX
							      ? (units ? INT64_MAX : 0)
							      : (json_int_t)units[i]));
	return j;
}

static json_t *frames(const struct leak *l)
{
	json_t *list = json_array();

	for (size_t i = 0; i < l->nframes; i++) {
		const struct frame *f = &l->frames[i];
		json_t *j = json_object();

		json_put(j, "function", f->function);
		json_put(j, "file", f->file);
		if (f->line)
			json_put_int(j, "line", f->line);
		json_put(j, "module", f->module);
		json_put_bool(j, "project", f->project);
		json_array_append_new(list, j);
	}
	return list;
}

static json_t *finding(const struct check *c, const struct finding *f)
{
	json_t *j = json_object();
	CLEANUP_FREE char *units = phrase_units(&f->leak, f->ncycles);
	bool gone = f->class == FINDING_REPAIRED;

	json_put(j, "class", finding_class_name(f->class));
	json_put(j, "kind", resource_name(f->leak.resource));
	json_put(j, "what", units);
	json_put(j, "process", f->leak.process);
	json_put(j, "signature", f->leak.signature);
	json_object_set_new(
		j, "base_units",
		series(f->base_units, f->base_units ? f->nbase : c->base_cycles));
	json_object_set_new(j, "candidate_units",
			    series(gone ? NULL : f->leak.units,
				   gone ? c->candidate_cycles : f->ncycles));
	json_object_set_new(j, "frames", frames(&f->leak));
	return j;
}

static json_t *fault(const struct check_fault *f)
{
	json_t *j = json_object();

	json_put(j, "class", finding_class_name(f->class));
	json_object_set_new(j, "fault", fault_finding_to_json(&f->fault));
	return j;
}

static json_t *strings(const struct strv *s)
{
	json_t *j = json_array();

	for (size_t i = 0; i < s->n; i++)
		json_array_append_new(j, json_text(s->v[i]));
	return j;
}

static json_t *check(const struct check *c)
{
	json_t *j = json_object(), *list = json_array(), *cycles = json_object();
	json_t *faults = json_array();

	json_put(j, "target", c->target);
	json_put(j, "detector", c->detector);
	json_put(j, "detector_version", c->version);
	json_put(j, "outcome", outcome_name(c->outcome));
	json_put(j, "explanation", c->explanation);
	json_put(j, "next", c->next);
	json_put_int(j, "attempt", c->attempt);
	json_put_int(cycles, "warmup", c->warmup);
	json_put_int(cycles, "base", (int64_t)c->base_cycles);
	json_put_int(cycles, "candidate", (int64_t)c->candidate_cycles);
	json_object_set_new(j, "cycles", cycles);
	json_object_set_new(j, "command", strings(&c->command));
	for (size_t i = 0; i < c->nfindings; i++)
		if (c->findings[i].class != FINDING_LEARNED)
			json_array_append_new(list, finding(c, &c->findings[i]));
	for (size_t i = 0; i < c->nfaults; i++)
		json_array_append_new(faults, fault(&c->faults[i]));
	json_object_set_new(j, "findings", list);
	if (c->nfaults)
		json_object_set_new(j, "faults", faults);
	else
		json_decref(faults);
	if (c->nremarks) {
		json_t *remarks = json_array();

		for (size_t i = 0; i < c->nremarks; i++)
			json_array_append_new(remarks, remark_to_json(&c->remarks[i]));
		json_object_set_new(j, "remarks", remarks);
	}
	json_object_set_new(j, "notes", strings(&c->notes));
	json_object_set_new(j, "base_artifacts", strings(&c->base_artifacts));
	json_object_set_new(j, "candidate_artifacts", strings(&c->candidate_artifacts));
	return j;
}

static json_t *unchanged(const struct result *r)
{
	json_t *j = json_object(), *rules = json_array();

	json_put(j, "suite", r->suite);
	json_put(j, "setup", r->setup);
	json_put(j, "config_digest", r->config_digest);
	for (size_t i = 0; packet_rules[i]; i++)
		json_array_append_new(rules, json_text(packet_rules[i]));
	json_object_set_new(j, "rules", rules);
	return j;
}

static void write_packet_json(const struct result *r, const struct report_opts *opts,
			      struct buf *out)
{
	CLEANUP_JSON json_t *j = json_object();
	CLEANUP_FREE char *text = NULL;
	json_t *checks = json_array();

	(void)opts;
	json_put(j, "schema_version", PACKET_SCHEMA);
	json_put(j, "outcome", outcome_name(r->outcome));
	json_put_int(j, "exit_code", outcome_exit_code(r->outcome));
	json_put(j, "meaning", outcome_meaning(r->outcome));
	json_put(j, "run_id", r->run_id);
	json_put(j, "exitpath_version", r->exitpath_version);
	json_object_set_new(j, "base", revision(&r->base));
	json_object_set_new(j, "candidate", revision(&r->candidate));
	json_put(j, "reproduce", r->reproduce);
	for (size_t i = 0; i < r->nchecks; i++)
		json_array_append_new(checks, check(&r->checks[i]));
	json_object_set_new(j, "checks", checks);
	json_object_set_new(j, "warnings", strings(&r->warnings));
	json_object_set_new(j, "unchanged", unchanged(r));
	text = json_pretty(j);
	buf_adds(out, text);
}

const struct report_format report_packet_json = {
	.name = "packet-json",
	.summary = "the repair packet as data (exitpath-packet-v1)",
	.write = write_packet_json,
};
