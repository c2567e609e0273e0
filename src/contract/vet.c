#include "contract/vet.h"

#include "base/mem.h"
#include "contract/show.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_MUTANTS = 10000 };

/* From 0 to 1. The text was found to be a number. */
static int read_part(const struct reader *r, const struct key *k,
		     const struct yaml *value, void *into)
{
	double *part = (double *)((char *)into + k->offset);
	double number = 0;
	char shown[SHOW_MAX];

	if (value->type == YAML_INT || value->type == YAML_FLOAT)
		number = strtod(value->text, NULL);
	if ((value->type == YAML_INT || value->type == YAML_FLOAT) && number >= 0 &&
	    number <= 1) {
		*part = number;
		return 0;
	}
	show_text(value->text ? value->text : yaml_type_name(value->type), shown);
	yaml_error(value, r->name, r->err, "%s must be a number from 0 to 1, not %s",
		   k->name, shown);
	return -1;
}

static int read_target(const struct reader *r, const struct yaml *item, void *into)
{
	struct vet_contract *v = into;

	if (read_check(r, item, YAML_STRING, "a target") < 0)
		return -1;
	if (strv_contains(&v->target, item->text))
		return read_twice(r, item, "target");
	strv_add(&v->target, item->text);
	return 0;
}

static int read_targets(const struct reader *r, const struct key *k,
			const struct yaml *value, void *into)
{
	return read_each(r, k, value, into, read_target);
}

#define FIELD(member) offsetof(struct vet_contract, member)
static const struct key vet_keys[] = {
	{"target", read_targets},
	{"coverage", read_part, FIELD(settings.coverage)},
	{"kill_rate", read_part, FIELD(settings.kill_rate)},
	{"score", read_part, FIELD(settings.score)},
	{"limit", read_duration, FIELD(settings.limit_ms)},
	{"time", read_duration, FIELD(settings.time_ms)},
	{"mutants", read_unsigned, FIELD(settings.mutants), 1, MAX_MUTANTS},
	{"python", read_text, FIELD(python)},
};
#undef FIELD
const struct keys vet_table = {"vet", vet_keys, ARRAY_SIZE(vet_keys)};

int read_vet(const struct reader *r, const struct key *k, const struct yaml *value,
	     void *into)
{
	struct contract *c = into;
	const struct vet_settings defaults = VET_DEFAULTS;

	(void)k;
	c->vet.given = true;
	c->vet.settings = defaults;
	return read_map(r, &vet_table, value, &c->vet);
}

/* Thousandths: the same number is written in one way alone. */
static void put_part(json_t *j, const char *key, double part)
{
	json_put_int(j, key, (int64_t)(part * 1000 + 0.5));
}

json_t *vet_settings_json(const struct vet_contract *v)
{
	json_t *j = json_object(), *targets = json_array();

	for (size_t i = 0; i < v->target.n; i++)
		json_array_append_new(targets, json_text(v->target.v[i]));
	json_object_set_new(j, "target", targets);
	put_part(j, "coverage", v->settings.coverage);
	put_part(j, "kill_rate", v->settings.kill_rate);
	put_part(j, "score", v->settings.score);
	json_put_int(j, "limit_ms", (int64_t)v->settings.limit_ms);
	json_put_int(j, "time_ms", (int64_t)v->settings.time_ms);
	json_put_int(j, "mutants", v->settings.mutants);
	json_put(j, "python", v->python);
	return j;
}
