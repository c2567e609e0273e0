#include "contract/faults.h"

#include "base/mem.h"
#include "contract/show.h"
#include "contract/suppression.h"

#include <string.h>

static const char *const classes[] = {"memory", "file", "net", "process", "db", NULL};
static const char *const modes[] = {"once", "forever", NULL};

enum { ALL_CLASSES = (1 << 5) - 1, MAX_POINTS = 1 << 20 };

static int read_class(const struct reader *r, const struct yaml *item, void *into)
{
	struct fault_settings *f = into;
	size_t word;

	if (read_word(r, item, "classes", classes, &word) < 0)
		return -1;
	if (f->classes & 1U << word)
		return read_twice(r, item, "classes");
	f->classes |= 1U << word;
	return 0;
}

static int read_classes(const struct reader *r, const struct key *k,
			const struct yaml *value, void *into)
{
	if (read_each(r, k, value, into, read_class) < 0)
		return -1;
	if (value->nitems)
		return 0;
	yaml_error(value, r->name, r->err, "classes is an empty list");
	err_hint(r->err, "leave the key out for all classes");
	return -1;
}

static int read_mode(const struct reader *r, const struct key *k,
		     const struct yaml *value, void *into)
{
	struct fault_settings *f = into;
	size_t word;

	if (read_word(r, value, k->name, modes, &word) < 0)
		return -1;
	f->forever = word == 1;
	return 0;
}

static int read_target(const struct reader *r, const struct yaml *item, void *into)
{
	struct fault_settings *f = into;

	if (read_check_name(r, item, "a lifecycle") < 0)
		return -1;
	if (strv_contains(&f->lifecycles, item->text))
		return read_twice(r, item, "lifecycles");
	strv_add(&f->lifecycles, item->text);
	return 0;
}

static int read_targets(const struct reader *r, const struct key *k,
			const struct yaml *value, void *into)
{
	if (read_each(r, k, value, into, read_target) < 0)
		return -1;
	if (value->nitems)
		return 0;
	yaml_error(value, r->name, r->err, "lifecycles is an empty list");
	err_hint(r->err, "leave the key out for all lifecycles");
	return -1;
}

static int read_ignored(const struct reader *r, const struct key *k,
			const struct yaml *value, void *into)
{
	char shown[SHOW_MAX];
	const char *why;

	if (read_check(r, value, YAML_STRING, k->name) < 0)
		return -1;
	why = ignore_refused(value->text);
	if (!why)
		return read_text(r, k, value, into);
	show_text(value->text, shown);
	yaml_error(value, r->name, r->err, "match: %s %s", shown, why);
	err_hint(r->err, "name defect, call and one function of the chain: "
			 "swallowed:fsync:save_cache, leak:*:parse_header");
	return -1;
}

#define FIELD(member) offsetof(struct suppression, member)
static const struct key ignore_keys[] = {
	{"match", read_ignored, FIELD(match), .required = true},
	{"reason", read_text, FIELD(reason), .required = true},
	{"owner", read_text, FIELD(owner), .required = true},
	{"expires", read_date, FIELD(expires)},
};
#undef FIELD
const struct keys ignore_table = {"an ignored fault", ignore_keys,
				  ARRAY_SIZE(ignore_keys)};

static int read_one_ignored(const struct reader *r, const struct yaml *item, void *into)
{
	struct fault_settings *f = into;
	struct suppression *s = VEC_ADD(f->ignore, f->nignore, f->ignore_cap);

	s->line = item->line;
	if (read_map(r, &ignore_table, item, s) < 0)
		return -1;
	for (size_t i = 0; i + 1 < f->nignore; i++)
		if (!strcmp(f->ignore[i].match, s->match))
			return read_twice(r, yaml_get(item, "match"), "ignore");
	return 0;
}

static int read_ignore(const struct reader *r, const struct key *k,
		       const struct yaml *value, void *into)
{
	return read_each(r, k, value, into, read_one_ignored);
}

#define FIELD(member) offsetof(struct fault_settings, member)
static const struct key faults_keys[] = {
	{"classes", read_classes},
	{"mode", read_mode},
	{"layer", read_name, FIELD(layer)},
	{"points", read_unsigned, FIELD(points), 1, MAX_POINTS},
	{"time", read_duration, FIELD(time_ms)},
	{"lifecycles", read_targets},
	{"check", read_text, FIELD(check)},
	{"ignore", read_ignore},
};
#undef FIELD
const struct keys faults_table = {"faults", faults_keys, ARRAY_SIZE(faults_keys)};

int read_faults(const struct reader *r, const struct key *k, const struct yaml *value,
		void *into)
{
	struct contract *c = into;

	(void)k;
	c->faults.given = true;
	return read_map(r, &faults_table, value, &c->faults);
}

int check_faults(const struct reader *r, const struct yaml *root,
		 const struct contract *c)
{
	const struct yaml *faults = yaml_get(root, "faults");
	const struct yaml *names = faults ? yaml_get(faults, "lifecycles") : NULL;

	for (size_t i = 0; names && i < names->nitems; i++) {
		bool known = false;
		char shown[SHOW_MAX];

		for (size_t k = 0; k < c->nlifecycles; k++)
			known |= !strcmp(c->lifecycles[k].name, names->items[i].text);
		if (known)
			continue;
		show_text(names->items[i].text, shown);
		return yaml_error(&names->items[i], r->name, r->err,
				  "faults: there is no lifecycle %s", shown);
	}
	return 0;
}

json_t *faults_json(const struct fault_settings *f)
{
	json_t *j = json_object(), *list = json_array(), *ignore = json_array(),
	       *names = json_array();

	for (size_t i = 0; classes[i]; i++)
		if (!f->classes || f->classes & 1U << i)
			json_array_append_new(list, json_text(classes[i]));
	for (size_t i = 0; i < f->nignore; i++)
		json_array_append_new(ignore, suppression_json(&f->ignore[i]));
	for (size_t i = 0; i < f->lifecycles.n; i++)
		json_array_append_new(names, json_text(f->lifecycles.v[i]));
	json_object_set_new(j, "classes", list);
	json_put(j, "mode", modes[f->forever]);
	json_put(j, "layer", f->layer);
	json_put_int(j, "points", f->points);
	json_put_int(j, "time_ms", (int64_t)f->time_ms);
	json_object_set_new(j, "lifecycles", names);
	json_put(j, "check", f->check);
	json_object_set_new(j, "ignore", ignore);
	return j;
}
