#include "contract/readings.h"

#include "base/mem.h"
#include "contract/show.h"
#include "contract/suppression.h"

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

static int read_allowed(const struct reader *r, const struct key *k,
			const struct yaml *value, void *into)
{
	char shown[SHOW_MAX];
	const char *why;

	if (read_check(r, value, YAML_STRING, k->name) < 0)
		return -1;
	why = allow_refused(value->text);
	if (!why)
		return read_text(r, k, value, into);
	show_text(value->text, shown);
	yaml_error(value, r->name, r->err, "match: %s %s", shown, why);
	err_hint(r->err, "name rule and file: test-deleted:tests/test_old.py");
	return -1;
}

#define FIELD(member) offsetof(struct suppression, member)
static const struct key allow_keys[] = {
	{"match", read_allowed, FIELD(match), .required = true},
	{"reason", read_text, FIELD(reason), .required = true},
	{"owner", read_text, FIELD(owner), .required = true},
	{"expires", read_date, FIELD(expires), .required = true},
};
#undef FIELD
const struct keys allow_table = {"what review allows", allow_keys,
				 ARRAY_SIZE(allow_keys)};

static int read_one_allowed(const struct reader *r, const struct yaml *item, void *into)
{
	struct review_settings *s = into;
	struct suppression *a = VEC_ADD(s->allow, s->nallow, s->allow_cap);

	a->line = item->line;
	if (read_map(r, &allow_table, item, a) < 0)
		return -1;
	for (size_t i = 0; i + 1 < s->nallow; i++)
		if (!strcmp(s->allow[i].match, a->match))
			return read_twice(r, yaml_get(item, "match"), "allow");
	return 0;
}

static int read_allow(const struct reader *r, const struct key *k,
		      const struct yaml *value, void *into)
{
	return read_each(r, k, value, into, read_one_allowed);
}

static const struct key review_keys[] = {
	{"allow", read_allow},
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
	json_t *j = json_object(), *allow = json_array();

	json_put_bool(j, "strict", r->strict);
	for (size_t i = 0; i < r->nallow; i++)
		json_array_append_new(allow, suppression_json(&r->allow[i]));
	if (r->nallow)
		json_object_set(j, "allow", allow);
	json_decref(allow);
	return j;
}
