#include "contract/readings.h"

#include "base/mem.h"

#include <string.h>

static const char *const severities[] = {"warning", "note", NULL};

static int read_severity(const struct reader *r, const struct key *k,
			 const struct yaml *value, void *into)
{
	struct scan_settings *s = into;
	size_t word;

	if (read_word(r, value, k->name, severities, &word) < 0)
		return -1;
	s->notes = word == 1;
	return 0;
}

static const struct key scan_keys[] = {
	{"severity", read_severity},
};
const struct keys scan_table = {"scan", scan_keys, ARRAY_SIZE(scan_keys)};

static const struct key review_keys[] = {
	{"strict", read_bool, offsetof(struct review_settings, strict)},
};
const struct keys review_table = {"review", review_keys, ARRAY_SIZE(review_keys)};

/* `true`, `false`, or a map, which means true. */
static int read_switch(const struct reader *r, const struct key *k,
		       const struct yaml *value, const struct keys *table, void *settings,
		       bool *wanted)
{
	const struct key as_bool = {.name = k->name};

	*wanted = true;
	if (value->type == YAML_MAP)
		return read_map(r, table, value, settings);
	if (value->type == YAML_BOOL)
		return read_bool(r, &as_bool, value, wanted);
	yaml_error(value, r->name, r->err, "%s must be true, false or a map, not %s",
		   k->name, yaml_type_name(value->type));
	return -1;
}

int read_scan(const struct reader *r, const struct key *k, const struct yaml *value,
	      void *into)
{
	struct contract *c = into;

	return read_switch(r, k, value, &scan_table, &c->scan, &c->scan.wanted);
}

int read_review(const struct reader *r, const struct key *k, const struct yaml *value,
		void *into)
{
	struct contract *c = into;

	return read_switch(r, k, value, &review_table, &c->review, &c->review.wanted);
}

json_t *scan_settings_json(const struct scan_settings *s)
{
	json_t *j = json_object();

	json_put(j, "severity", severities[s->notes]);
	return j;
}

json_t *review_settings_json(const struct review_settings *r)
{
	json_t *j = json_object();

	json_put_bool(j, "strict", r->strict);
	return j;
}
