#include "model/fault.h"

#include "base/mem.h"
#include "model/codec.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

const char *fault_defect_name(enum fault_defect d)
{
	static const char *const names[FAULT_DEFECTS] = {
		"none", "crash", "sanitizer", "hang",  "leak",
		"held", "file",	 "swallowed", "check",
	};

	return d < FAULT_DEFECTS ? names[d] : "?";
}

bool fault_defect_parse(const char *name, enum fault_defect *ret)
{
	for (int d = DEFECT_CRASH; d < FAULT_DEFECTS; d++) {
		if (strcmp(fault_defect_name((enum fault_defect)d), name) != 0)
			continue;
		*ret = (enum fault_defect)d;
		return true;
	}
	return false;
}

struct fault_finding *fault_report_finding(struct fault_report *r)
{
	return VEC_ADD(r->findings, r->nfindings, r->findings_cap);
}

char *fault_place_sign(const char *call, const struct leak *chain)
{
	CLEANUP_FREE char *frames = frames_sign(chain);

	return xasprintf("%s|%s", call ? call : "?", frames);
}

void fault_sign(struct fault_finding *f)
{
	CLEANUP_FREE char *place = fault_place_sign(f->call, &f->chain);

	free(f->signature);
	f->signature = xasprintf("%s|%s", fault_defect_name(f->defect), place);
}

void fault_finding_release(struct fault_finding *f)
{
	free(f->what);
	strv_release(&f->more);
	free(f->call);
	free(f->argument);
	free(f->error);
	free(f->replay);
	free(f->signature);
	free(f->ignored_by);
	free(f->reason);
	leak_release(&f->chain);
	leak_release(&f->held);
	*f = (struct fault_finding){0};
}

static void release_list(struct fault_finding *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		fault_finding_release(&list[i]);
	free(list);
}

void fault_report_release(struct fault_report *r)
{
	release_list(r->findings, r->nfindings);
	release_list(r->ignored, r->nignored);
	release_list(r->unsettled, r->nunsettled);
	free(r->why);
	free(r->hint);
	free(r->run_id);
	strv_release(&r->notes);
	*r = (struct fault_report){0};
}

json_t *fault_finding_to_json(const struct fault_finding *f)
{
	CLEANUP_FREE char *key = xasprintf("%016" PRIx64, f->key);
	json_t *j = json_object();

	json_put(j, "defect", fault_defect_name(f->defect));
	json_put(j, "call", f->call);
	json_put(j, "error", f->error);
	json_put(j, "argument", f->argument);
	json_put(j, "what", f->what);
	json_object_set_new(j, "more", strv_to_json(&f->more));
	json_object_set_new(j, "stack", frames_to_json(&f->chain));
	json_object_set_new(j, "acquired", frames_to_json(&f->held));
	json_put(j, "signature", f->signature);
	json_put(j, "ignored_by", f->ignored_by);
	json_put(j, "reason", f->reason);
	json_put(j, "key", key);
	json_put(j, "replay", f->replay);
	return j;
}

static bool read_finding(const json_t *j, struct fault_finding *f)
{
	const char *key = json_get(j, "key", "0");
	char *end;

	if (!fault_defect_parse(json_get(j, "defect", ""), &f->defect))
		return false;
	f->call = json_get_dup(j, "call");
	f->error = json_get_dup(j, "error");
	f->argument = json_get_dup(j, "argument");
	f->what = json_get_dup(j, "what");
	f->signature = json_get_dup(j, "signature");
	f->ignored_by = json_get_dup(j, "ignored_by");
	f->reason = json_get_dup(j, "reason");
	f->replay = json_get_dup(j, "replay");
	f->key = strtoull(key, &end, 16);
	return f->call && f->what && f->signature && !*end &&
	       strv_from_json(j, "more", &f->more) &&
	       frames_from_json(json_object_get(j, "stack"), &f->chain) &&
	       frames_from_json(json_object_get(j, "acquired"), &f->held);
}

int fault_finding_from_json(const json_t *j, struct fault_finding *ret)
{
	if (read_finding(j, ret))
		return 0;
	fault_finding_release(ret);
	return -1;
}

static json_t *list_to_json(const struct fault_finding *list, size_t n)
{
	json_t *j = json_array();

	for (size_t i = 0; i < n; i++)
		json_array_append_new(j, fault_finding_to_json(&list[i]));
	return j;
}

json_t *fault_report_to_json(const struct fault_report *r)
{
	json_t *j = json_object();

	json_put(j, "outcome", outcome_name(r->outcome));
	json_put(j, "why", r->why);
	json_put(j, "hint", r->hint);
	json_put_u64(j, "points", r->points);
	json_put_u64(j, "calls", r->calls);
	json_put_u64(j, "chosen", r->chosen);
	json_put_u64(j, "explored", r->explored);
	json_put_u64(j, "forked", r->forked);
	json_put_u64(j, "rerun", r->rerun);
	json_put_u64(j, "near", r->near);
	json_put_u64(j, "outside", r->outside);
	json_put_u64(j, "missed", r->missed);
	json_put_u64(j, "unconfirmed", r->unconfirmed);
	json_put_u64(j, "known", r->known);
	json_put_u64(j, "runs", r->runs);
	json_put_u64(j, "wall_ms", r->wall_us / 1000);
	json_put_u64(j, "cpu_ms", r->cpu_us / 1000);
	json_object_set_new(j, "notes", strv_to_json(&r->notes));
	json_object_set_new(j, "findings", list_to_json(r->findings, r->nfindings));
	json_object_set_new(j, "ignored", list_to_json(r->ignored, r->nignored));
	json_object_set_new(j, "unsettled", list_to_json(r->unsettled, r->nunsettled));
	json_put(j, "run_id", r->run_id);
	return j;
}
