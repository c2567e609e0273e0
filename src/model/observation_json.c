#include "base/mem.h"
#include "model/codec.h"
#include "model/observation.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#define OBSERVATION_SCHEMA "exitpath-observation-v1"

static json_t *frame_to_json(const struct frame *f)
{
	json_t *j = json_object();

	json_put(j, "function", f->function);
	json_put(j, "module", f->module);
	json_put(j, "file", f->file);
	if (f->line)
		json_put_int(j, "line", f->line);
	if (f->offset)
		json_put_u64(j, "offset", f->offset);
	if (f->project)
		json_put_bool(j, "project", true);
	return j;
}

static void frame_from_json(const json_t *j, struct frame *ret)
{
	ret->function = json_get_dup(j, "function");
	ret->module = json_get_dup(j, "module");
	ret->file = json_get_dup(j, "file");
	ret->line = json_get_unsigned(j, "line");
	ret->offset = json_get_u64(j, "offset");
	ret->project = json_get_bool(j, "project", false);
}

json_t *frames_to_json(const struct leak *l)
{
	json_t *frames = json_array();

	for (size_t i = 0; i < l->nframes; i++)
		json_array_append_new(frames, frame_to_json(&l->frames[i]));
	return frames;
}

json_t *leak_to_json(const struct leak *l, size_t ncycles)
{
	json_t *j = json_object();

	json_put(j, "resource", resource_name(l->resource));
	json_put(j, "signature", l->signature);
	json_put(j, "what", l->what);
	json_put(j, "process", l->process);
	if (l->growth)
		json_put_bool(j, "growth", true);
	if (l->released)
		json_put_bool(j, "released", true);
	json_object_set_new(j, "frames", frames_to_json(l));
	json_object_set_new(j, "units", series_to_json(l->units, ncycles));
	json_object_set_new(j, "bytes", series_to_json(l->bytes, ncycles));
	return j;
}

bool frames_from_json(const json_t *list, struct leak *l)
{
	const json_t *frame;
	size_t i;

	if (list && !json_is_array(list))
		return false;
	json_array_foreach (list, i, frame) {
		if (!json_is_object(frame))
			return false;
		frame_from_json(frame, leak_frame(l));
	}
	return true;
}

static bool read_leak(const json_t *j, struct leak *l, size_t *ret_ncycles)
{
	const char *resource = json_get(j, "resource", "");
	size_t nbytes;

	if (!resource_parse(resource, &l->resource))
		return false;
	if (!(l->signature = json_get_dup(j, "signature")))
		return false;
	l->what = json_get_dup(j, "what");
	l->process = json_get_dup(j, "process");
	l->growth = json_get_bool(j, "growth", false);
	l->released = json_get_bool(j, "released", false);
	return frames_from_json(json_object_get(j, "frames"), l) &&
	       series_from_json(json_object_get(j, "units"), &l->units, ret_ncycles) &&
	       series_from_json(json_object_get(j, "bytes"), &l->bytes, &nbytes) &&
	       nbytes == *ret_ncycles;
}

int leak_from_json(const json_t *j, struct leak *ret, size_t *ret_ncycles)
{
	struct leak l = {0};
	size_t ncycles;

	if (!read_leak(j, &l, &ncycles)) {
		leak_release(&l);
		return -1;
	}
	*ret = l;
	*ret_ncycles = ncycles;
	return 0;
}

static json_t *run_to_json(const struct run_result *r)
{
	json_t *j = json_object();

	json_put(j, "end", run_end_name(r->end));
	json_put_int(j, "status", r->status);
	json_put_int(j, "signal", r->signal);
	if (r->step[0])
		json_put(j, "step", r->step);
	json_put_int(j, "errnum", r->errnum);
	json_put_u64(j, "wall_us", r->wall_us);
	json_put_u64(j, "cpu_us", r->cpu_us);
	json_put_u64(j, "peak_kib", r->peak_kib);
	json_put_u64(j, "stdout_bytes", r->stdout_bytes);
	json_put_u64(j, "stderr_bytes", r->stderr_bytes);
	json_put_bool(j, "stdout_cut", r->stdout_cut);
	json_put_bool(j, "stderr_cut", r->stderr_cut);
	json_put_int(j, "left_behind", r->left_behind);
	json_put_bool(j, "watch_failed", r->watch_failed);
	json_put(j, "limit_tier", limit_tier_name(r->tier));
	return j;
}

static bool run_end_parse(const char *name, enum run_end *ret)
{
	for (int e = RUN_EXITED; e < RUN_ENDS; e++) {
		if (!strcmp(run_end_name((enum run_end)e), name)) {
			*ret = (enum run_end)e;
			return true;
		}
	}
	return false;
}

static int get_int(const json_t *obj, const char *key)
{
	int64_t v = json_get_int(obj, key, 0);

	return v < INT_MIN || v > INT_MAX ? 0 : (int)v;
}

static bool run_from_json(const json_t *j, struct run_result *ret)
{
	if (!run_end_parse(json_get(j, "end", ""), &ret->end))
		return false;
	ret->status = get_int(j, "status");
	ret->signal = get_int(j, "signal");
	snprintf(ret->step, sizeof(ret->step), "%s", json_get(j, "step", ""));
	ret->errnum = get_int(j, "errnum");
	ret->wall_us = json_get_u64(j, "wall_us");
	ret->cpu_us = json_get_u64(j, "cpu_us");
	ret->peak_kib = json_get_u64(j, "peak_kib");
	ret->stdout_bytes = json_get_u64(j, "stdout_bytes");
	ret->stderr_bytes = json_get_u64(j, "stderr_bytes");
	ret->stdout_cut = json_get_bool(j, "stdout_cut", false);
	ret->stderr_cut = json_get_bool(j, "stderr_cut", false);
	ret->left_behind = json_get_unsigned(j, "left_behind");
	ret->watch_failed = json_get_bool(j, "watch_failed", false);
	ret->tier = limit_tier_parse(json_get(j, "limit_tier", ""));
	return true;
}

static json_t *cycle_to_json(const struct cycle *c)
{
	json_t *j = json_object();

	json_put_bool(j, "measured", c->measured);
	json_put(j, "state", probe_state_name(c->state));
	json_put(j, "detail", c->detail);
	json_put_bool(j, "failed", c->failed);
	json_put(j, "failure", c->failure);
	json_put_bool(j, "passed", c->passed);
	json_object_set_new(j, "run", run_to_json(&c->run));
	return j;
}

static bool probe_state_parse(const char *name, enum probe_state *ret)
{
	for (int s = PROBE_COMPLETE; s <= PROBE_INTERRUPTED; s++) {
		if (!strcmp(probe_state_name((enum probe_state)s), name)) {
			*ret = (enum probe_state)s;
			return true;
		}
	}
	return false;
}

static bool cycle_from_json(const json_t *j, struct cycle *ret)
{
	if (!probe_state_parse(json_get(j, "state", ""), &ret->state) ||
	    !run_from_json(json_object_get(j, "run"), &ret->run))
		return false;
	ret->measured = json_get_bool(j, "measured", false);
	ret->detail = json_get_dup(j, "detail");
	ret->failed = json_get_bool(j, "failed", false);
	ret->failure = json_get_dup(j, "failure");
	ret->passed = json_get_bool(j, "passed", false);
	return true;
}

json_t *observation_to_json(const struct observation *o)
{
	json_t *j = json_object(), *cycles = json_array(), *leaks = json_array();

	json_put(j, "schema_version", OBSERVATION_SCHEMA);
	json_put(j, "detector", o->detector);
	json_put(j, "detector_version", o->version);
	json_put_bool(j, "reused", o->reused);
	for (size_t i = 0; i < o->ncycles; i++)
		json_array_append_new(cycles, cycle_to_json(&o->cycles[i]));
	json_object_set_new(j, "cycles", cycles);
	for (size_t i = 0; i < o->nleaks; i++)
		json_array_append_new(leaks, leak_to_json(&o->leaks[i], o->nmeasured));
	json_object_set_new(j, "leaks", leaks);
	json_object_set_new(j, "notes", strv_to_json(&o->notes));
	return j;
}

static bool read_cycles(const json_t *cycles, struct observation *o)
{
	const json_t *item;
	size_t i;

	if (!json_is_array(cycles))
		return false;
	json_array_foreach (cycles, i, item) {
		struct cycle *c = VEC_ADD(o->cycles, o->ncycles, o->cycles_cap);

		if (!cycle_from_json(item, c))
			return false;
		o->nmeasured += c->measured;
	}
	return true;
}

static bool read_leaks(const json_t *leaks, struct observation *o)
{
	const json_t *item;
	size_t i, ncycles;

	if (!json_is_array(leaks))
		return false;
	json_array_foreach (leaks, i, item) {
		struct leak l;

		if (leak_from_json(item, &l, &ncycles))
			return false;
		*VEC_ADD(o->leaks, o->nleaks, o->leaks_cap) = l;
		if (ncycles != o->nmeasured)
			return false;
	}
	return true;
}

int observation_from_json(const json_t *j, struct observation *ret, struct err *err)
{
	CLEANUP(observation) struct observation o = {0};
	const char *schema = json_get(j, "schema_version", "none");

	if (strcmp(schema, OBSERVATION_SCHEMA))
		return err_set(err, ERR_ENVIRONMENT,
			       "observation: schema_version is %s, not %s", schema,
			       OBSERVATION_SCHEMA);
	o.detector = json_get_dup(j, "detector");
	o.version = json_get_dup(j, "detector_version");
	o.reused = json_get_bool(j, "reused", false);
	if (!o.detector)
		return err_set(err, ERR_ENVIRONMENT, "observation: detector is missing");
	if (!read_cycles(json_object_get(j, "cycles"), &o))
		return err_set(err, ERR_ENVIRONMENT,
			       "observation: cycle %zu is malformed", o.ncycles);
	if (!read_leaks(json_object_get(j, "leaks"), &o))
		return err_set(err, ERR_ENVIRONMENT,
			       "observation: the leak after %zu others is malformed",
			       o.nleaks);
	if (!strv_from_json(j, "notes", &o.notes))
		return err_set(err, ERR_ENVIRONMENT, "observation: notes are malformed");
	*ret = o;
	o = (struct observation){0};
	return 0;
}
