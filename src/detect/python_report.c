#include "detect/python_report.h"

#include "base/buf.h"
#include "base/fs.h"
#include "base/json.h"
#include "base/mem.h"
#include "model/report_lines.h"

#include <string.h>

/* What each canary must have shown (adapters/python/exitpath_adapter.py). */
static const char *const planted[] = {"memory", "fd", "object", "frozen", "warning"};

static void add_frame(struct leak *l, const json_t *j)
{
	const char *file = json_get(j, "file", NULL);
	int64_t line = json_get_int(j, "line", 0);
	struct frame *f = leak_frame(l);

	f->function = xstrdup(json_get(j, "function", NULL));
	f->file = xstrdup(file);
	f->module = file ? xstrdup(path_base(file)) : NULL;
	f->line = line > 0 && line <= INT32_MAX ? (unsigned)line : 0;
	f->project = json_get_bool(j, "project", false);
}

static bool parse_units(const json_t *list, struct python_leak *l)
{
	size_t i, n = json_array_size(list);
	json_t *unit;

	if (!n || n > PYTHON_CYCLES_MAX)
		return false;
	l->units = xcalloc(n, sizeof(*l->units));
	l->nunits = n;
	json_array_foreach (list, i, unit) {
		if (!json_is_integer(unit) || json_integer_value(unit) < 0)
			return false;
		l->units[i] = (uint64_t)json_integer_value(unit);
	}
	return true;
}

/* For people; the signature has the plain name. */
static char *describe(const json_t *j)
{
	struct buf b = {0};
	const char *more = json_get(j, "more", NULL);

	buf_adds(&b, json_get(j, "what", "?"));
	if (more)
		buf_addf(&b, ": %s", more);
	if (json_get_bool(j, "released_by_gc", false))
		buf_adds(&b, ", released by the garbage collector alone");
	return buf_detach(&b);
}

static bool parse_leak(const json_t *j, struct python_report *r)
{
	struct python_leak *l;
	const json_t *frames = json_object_get(j, "frames");
	int64_t bytes = json_get_int(j, "bytes", 0);
	enum resource resource;
	json_t *frame;
	size_t i;

	if (!resource_parse(json_get(j, "resource", ""), &resource))
		return false;
	if (r->nleaks == PYTHON_LEAKS_MAX) {
		r->dropped++;
		return true;
	}
	l = VEC_ADD(r->leaks, r->nleaks, r->leaks_cap);
	l->leak.resource = resource;
	l->leak.growth = json_get_bool(j, "growth", false);
	l->leak.process = xstrdup("python");
	l->leak.what = xstrdup(json_get(j, "what", "?"));
	l->bytes = bytes > 0 ? (uint64_t)bytes : 0;
	json_array_foreach (frames, i, frame)
		add_frame(&l->leak, frame);
	leak_sign(&l->leak);
	free(l->leak.what);
	l->leak.what = describe(j);
	return parse_units(json_object_get(j, "units"), l);
}

static bool seen(const json_t *list, const char *word)
{
	size_t i;
	json_t *item;

	json_array_foreach (list, i, item)
		if (json_is_string(item) && !strcmp(json_string_value(item), word))
			return true;
	return false;
}

static void parse_canary(const json_t *j, struct python_report *r)
{
	const json_t *list = json_object_get(j, "seen");

	for (size_t i = 0; i < ARRAY_SIZE(planted); i++)
		if (!seen(list, planted[i]) && !r->missed)
			r->missed = xasprintf("the planted %s was not seen %s the cycles",
					      planted[i], json_get(j, "when", "?"));
	if (seen(list, "still there") && !r->missed)
		r->missed = xstrdup("what was planted is seen although it is gone");
	r->canary |= !strcmp(json_get(j, "when", ""), "after");
}

static void set_once(char **dst, const char *value)
{
	if (!*dst)
		*dst = xstrdup(value);
}

static bool parse_event(const json_t *j, struct python_report *r)
{
	const char *event = json_get(j, "event", ""), *text = json_get(j, "text", "?");
	int64_t run = json_get_int(j, "run", 0), skipped = json_get_int(j, "skipped", 0);

	if (!strcmp(event, "start")) {
		r->started = true;
		set_once(&r->runner, json_get(j, "runner", "?"));
		set_once(&r->python, json_get(j, "python", "?"));
	} else if (!strcmp(event, "note")) {
		strv_add(&r->notes, text);
	} else if (!strcmp(event, "refused")) {
		set_once(&r->refused, text);
	} else if (!strcmp(event, "failed")) {
		set_once(&r->failed, text);
	} else if (!strcmp(event, "tests")) {
		r->counted = true;
		r->tests += run > 0 ? (uint64_t)run : 0;
		r->skipped += skipped > 0 ? (uint64_t)skipped : 0;
	} else if (!strcmp(event, "canary")) {
		parse_canary(j, r);
	} else if (!strcmp(event, "leak")) {
		return parse_leak(j, r);
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

void python_report_parse(const char *text, size_t len, const char *token,
			 struct python_report *ret)
{
	report_lines_parse(text, len, token, take_event, ret, &ret->malformed);
}

void python_report_release(struct python_report *r)
{
	for (size_t i = 0; i < r->nleaks; i++) {
		leak_release(&r->leaks[i].leak);
		free(r->leaks[i].units);
	}
	free(r->leaks);
	free(r->missed);
	free(r->runner);
	free(r->python);
	free(r->refused);
	free(r->failed);
	free(r->malformed);
	strv_release(&r->notes);
	*r = (struct python_report){0};
}
