#include "fault/site.h"

#include "base/buf.h"
#include "base/fs.h"
#include "base/json.h"
#include "base/mem.h"
#include "fault/plan.h"
#include "model/report_lines.h"

#include <string.h>

static void add_frames(struct leak *l, const json_t *list)
{
	json_t *j;
	size_t i;

	json_array_foreach (list, i, j) {
		const char *file = json_get(j, "file", NULL);
		int64_t line = json_get_int(j, "line", 0);
		struct frame *f = leak_frame(l);

		f->function = xstrdup(json_get(j, "function", NULL));
		f->file = xstrdup(file);
		f->module = file ? xstrdup(path_base(file)) : NULL;
		f->line = line > 0 && line <= INT32_MAX ? (unsigned)line : 0;
		f->project = json_get_bool(j, "project", false);
	}
}

static uint64_t positive(const json_t *j, const char *key)
{
	int64_t n = json_get_int(j, key, 0);

	return n > 0 ? (uint64_t)n : 0;
}

static bool parse_point(const json_t *j, struct site_report *r)
{
	const json_t *tests = json_object_get(j, "tests");
	struct site_point *p;
	uint64_t key, line = positive(j, "line");
	json_t *test;
	size_t i;

	if (!fault_key_parse(json_get(j, "key", ""), &key) ||
	    r->npoints == SITE_POINTS_MAX)
		return false;
	p = VEC_ADD(r->points, r->npoints, r->points_cap);
	p->key = key;
	p->label = xstrdup(json_get(j, "label", "?"));
	p->file = xstrdup(json_get(j, "file", "?"));
	p->function = xstrdup(json_get(j, "function", "?"));
	p->variant = xstrdup(json_get(j, "variant", "before"));
	p->phase = xstrdup(json_get(j, "phase", "call"));
	p->line = line <= INT32_MAX ? (unsigned)line : 0;
	p->must = json_get_bool(j, "must", false);
	json_array_foreach (tests, i, test)
		if (json_is_string(test))
			strv_add(&p->tests, json_string_value(test));
	return true;
}

static bool parse_held(const json_t *j, struct site_trial *t)
{
	struct site_held *h;
	enum resource resource;

	if (!resource_parse(json_get(j, "resource", ""), &resource))
		return false;
	if (t->nheld == SITE_HELD_MAX)
		return true;
	h = VEC_ADD(t->held, t->nheld, t->held_cap);
	h->leak.resource = resource;
	h->leak.what = xstrdup(json_get(j, "what", "?"));
	h->leak.units = xcalloc(1, sizeof(*h->leak.units));
	h->leak.units[0] = positive(j, "units");
	h->gc = json_get_bool(j, "released_by_gc", false);
	h->owned = json_get_bool(j, "owned", false);
	add_frames(&h->leak, json_object_get(j, "frames"));
	return true;
}

static enum site_end parse_end(const char *name)
{
	if (!strcmp(name, "hang"))
		return SITE_HANG;
	if (!strcmp(name, "signal"))
		return SITE_SIGNAL;
	return strcmp(name, "left") ? SITE_DONE : SITE_LEFT;
}

static bool fill_trial(const json_t *j, struct site_trial *t)
{
	const json_t *held = json_object_get(j, "held"),
		     *seconds = json_object_get(j, "seconds");
	uint64_t signal = positive(j, "signal");
	json_t *item;
	size_t i;

	t->test = xstrdup(json_get(j, "test", "?"));
	t->fired = json_get_bool(j, "fired", false);
	t->again = json_get_bool(j, "again", false);
	t->passed = json_get_bool(j, "passed", false);
	t->end = parse_end(json_get(j, "end", ""));
	t->signal = signal < 128 ? (int)signal : 0;
	t->seconds = json_is_number(seconds) ? json_number_value(seconds) : 0;
	t->detail = xstrdup(json_get(j, "detail", NULL));
	t->error = xstrdup(json_get(j, "error", NULL));
	t->why = xstrdup(json_get(j, "why", NULL));
	t->same = json_get_bool(j, "same", false);
	t->repeated = json_get_bool(j, "repeated", false);
	t->logged = json_get_bool(j, "logged", false);
	t->told = json_get_bool(j, "told", false);
	add_frames(&t->chain, json_object_get(j, "stack"));
	json_array_foreach (held, i, item)
		if (!parse_held(item, t))
			return false;
	return true;
}

static bool parse_trial(const json_t *j, struct site_report *r)
{
	struct site_trial *t;
	uint64_t key;

	if (!fault_key_parse(json_get(j, "key", ""), &key))
		return false;
	t = VEC_ADD(r->trials, r->ntrials, r->trials_cap);
	t->key = key;
	return fill_trial(j, t);
}

static void release_trial(struct site_trial *t)
{
	for (size_t i = 0; i < t->nheld; i++)
		leak_release(&t->held[i].leak);
	free(t->held);
	leak_release(&t->chain);
	free(t->test);
	free(t->detail);
	free(t->error);
	free(t->why);
	free(t->check_said);
	*t = (struct site_trial){0};
}

static void set_once(char **dst, const char *value)
{
	if (!*dst)
		*dst = xstrdup(value);
}

static bool parse_event(const json_t *j, struct site_report *r)
{
	const char *event = json_get(j, "event", ""), *text = json_get(j, "text", "?");

	if (!strcmp(event, "start")) {
		r->started = true;
		set_once(&r->runner, json_get(j, "runner", "?"));
	} else if (!strcmp(event, "note")) {
		strv_add(&r->notes, text);
	} else if (!strcmp(event, "refused")) {
		set_once(&r->refused, text);
	} else if (!strcmp(event, "failed")) {
		set_once(&r->failed, text);
	} else if (!strcmp(event, "unsafe")) {
		set_once(&r->unsafe, text);
	} else if (!strcmp(event, "tests")) {
		r->counted = true;
		r->tests += positive(j, "run");
		r->skipped += positive(j, "skipped");
	} else if (!strcmp(event, "plan")) {
		r->planned = true;
		r->calls += positive(j, "calls");
		r->outside += positive(j, "outside");
		r->left += positive(j, "left");
		r->near += positive(j, "near");
		set_once(&r->about, json_get(j, "about", ""));
	} else if (!strcmp(event, "point")) {
		return parse_point(j, r);
	} else if (!strcmp(event, "fired")) {
		release_trial(&r->fired);
		return fill_trial(j, &r->fired);
	} else if (!strcmp(event, "trial")) {
		return parse_trial(j, r);
	} else if (!strcmp(event, "done")) {
		r->done = true;
	} else if (!strcmp(event, "exit")) {
		r->exited = true;
	} else {
		return false;
	}
	return true;
}

static bool take_event(void *ctx, const json_t *j)
{
	return parse_event(j, ctx);
}

void site_report_parse(const char *text, size_t len, const char *token,
		       struct site_report *ret)
{
	report_lines_parse(text, len, token, take_event, ret, &ret->malformed);
}

const struct site_point *site_report_point(const struct site_report *r, uint64_t key)
{
	for (size_t i = 0; i < r->npoints; i++)
		if (r->points[i].key == key)
			return &r->points[i];
	return NULL;
}

void site_report_release(struct site_report *r)
{
	for (size_t i = 0; i < r->npoints; i++) {
		struct site_point *p = &r->points[i];

		free(p->label);
		free(p->file);
		free(p->function);
		free(p->variant);
		free(p->phase);
		strv_release(&p->tests);
	}
	free(r->points);
	for (size_t i = 0; i < r->ntrials; i++)
		release_trial(&r->trials[i]);
	free(r->trials);
	release_trial(&r->fired);
	free(r->runner);
	free(r->refused);
	free(r->failed);
	free(r->unsafe);
	free(r->about);
	free(r->malformed);
	strv_release(&r->notes);
	*r = (struct site_report){0};
}
