#include "model/vet.h"

#include "base/buf.h"
#include "base/mem.h"

#include <stdarg.h>
#include <stdio.h>

static const char *const stages[] = {
#define STAGE(id, name, what) name,
#include "model/vet_stage.def"
#undef STAGE
};

const char *vet_stage_name(enum vet_stage s)
{
	return stages[s];
}

const char *vet_verdict_name(enum vet_verdict v)
{
	static const char *const names[] = {"accepted", "rejected", "error"};

	return names[v];
}

void vet_reason_add(struct vet_reasons *r, enum vet_stage stage, unsigned line,
		    const char *fmt, ...)
{
	struct vet_reason *one = VEC_ADD(r->v, r->n, r->cap);
	va_list args;

	one->stage = stage;
	one->line = line;
	va_start(args, fmt);
	if (vasprintf(&one->text, fmt, args) < 0)
		out_of_memory();
	va_end(args);
}

void vet_reasons_release(struct vet_reasons *r)
{
	for (size_t i = 0; i < r->n; i++)
		free(r->v[i].text);
	free(r->v);
	*r = (struct vet_reasons){0};
}

void vet_test_release(struct vet_test *t)
{
	free(t->name);
	free(t->path);
	free(t->shape);
	free(t->source);
	vet_reasons_release(&t->reasons);
	vet_reasons_release(&t->feedback);
	strv_release(&t->kills);
	strv_release(&t->branches);
	*t = (struct vet_test){0};
}

static json_t *reasons_json(const struct vet_reasons *r)
{
	json_t *all = json_array();

	for (size_t i = 0; i < r->n; i++) {
		json_t *one = json_object();

		json_put(one, "stage", vet_stage_name(r->v[i].stage));
		if (r->v[i].line)
			json_put_int(one, "line", r->v[i].line);
		json_put(one, "text", r->v[i].text);
		json_array_append_new(all, one);
	}
	return all;
}

/* Three places are enough for a reader, and the same everywhere. */
static json_t *measure(double value)
{
	return value < 0 ? json_null()
			 : json_real((double)(int64_t)(value * 1000 + 0.5) / 1000);
}

json_t *vet_test_json(const struct vet_test *t)
{
	json_t *j = json_object();

	json_put(j, "test", t->name);
	json_put(j, "verdict", vet_verdict_name(t->verdict));
	json_object_set_new(j, "score", measure(t->score));
	json_object_set_new(j, "coverage", measure(t->coverage));
	json_object_set_new(j, "kill_rate", measure(t->kill_rate));
	json_object_set_new(j, "reasons", reasons_json(&t->reasons));
	json_object_set_new(j, "feedback", reasons_json(&t->feedback));
	json_put(j, "path", t->path);
	json_put_int(j, "assertions", t->asserts);
	json_put_int(j, "executions", t->executions);
	json_object_set_new(j, "ms", measure(t->ms));
	return j;
}
