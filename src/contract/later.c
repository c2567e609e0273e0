#include "contract/later.h"

#include "base/json.h"

#include <ctype.h>
#include <string.h>

static const char *const classes[] = {"memory", "file", "net", "process", "db", NULL};
static const char *const modes[] = {"once", "forever", NULL};

enum { ALL_CLASSES = 1 << 5 }; /* one bit a class */

struct faults {
	unsigned classes; /* bits; 0: all */
	size_t mode;
};

static int read_class(const struct reader *r, const struct yaml *item, void *into)
{
	struct faults *f = into;
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
	struct faults *f = into;

	return read_word(r, value, k->name, modes, &f->mode);
}

static int parse_faults(const struct reader *r, const struct yaml *value,
			struct faults *ret)
{
	static const struct key keys[] = {
		{"classes", read_classes},
		{"mode", read_mode},
	};
	static const struct keys table = {"faults", keys, ARRAY_SIZE(keys)};

	return read_map(r, &table, value, ret);
}

int read_faults(const struct reader *r, const struct key *k, const struct yaml *value,
		void *into)
{
	struct faults ignored = {0};

	(void)k;
	(void)into;
	return parse_faults(r, value, &ignored);
}

static int read_variable(const struct reader *r, const struct yaml *name,
			 const struct yaml *value)
{
	const char *p = name->text;

	while (*p == '_' || isalpha((unsigned char)*p) ||
	       (p != name->text && isdigit((unsigned char)*p)))
		p++;
	if (*p || p == name->text)
		return yaml_error(name, r->name, r->err,
				  "not a name of an environment variable");
	if (value->type == YAML_STRING)
		return 0; /* an empty value is one, too */
	return read_check(r, value, YAML_STRING, name->text);
}

int read_worlds(const struct reader *r, const struct key *k, const struct yaml *value,
		void *into)
{
	(void)into;
	if (read_check(r, value, YAML_MAP, k->name) < 0)
		return -1;
	for (size_t i = 0; i < value->nitems; i += 2) {
		const struct yaml *world = &value->items[i + 1];

		if (read_check_name(r, &value->items[i], "a world") < 0 ||
		    read_check(r, world, YAML_MAP, "a world") < 0)
			return -1;
		for (size_t j = 0; j < world->nitems; j += 2)
			if (read_variable(r, &world->items[j], &world->items[j + 1]) < 0)
				return -1;
	}
	return 0;
}

static json_t *faults_json(const struct faults *f)
{
	json_t *j = json_object(), *list = json_array();

	for (size_t i = 0; classes[i]; i++)
		if (!f->classes || f->classes & 1U << i)
			json_array_append_new(list, json_text(classes[i]));
	json_object_set_new(j, "classes", list);
	json_put(j, "mode", modes[f->mode]);
	return j;
}

static json_t *worlds_json(const struct yaml *worlds)
{
	json_t *j = json_object();

	for (size_t i = 0; worlds && i < worlds->nitems; i += 2) {
		const struct yaml *world = &worlds->items[i + 1];
		json_t *env = json_object();

		for (size_t k = 0; k < world->nitems; k += 2)
			json_put(env, world->items[k].text, world->items[k + 1].text);
		json_object_set_new(j, worlds->items[i].text, env);
	}
	return j;
}

char *later_canonical(const struct yaml *contract)
{
	const struct yaml *faults = yaml_get(contract, "faults");
	const struct yaml *worlds = yaml_get(contract, "worlds");
	const struct reader r = {.name = ""};
	CLEANUP_JSON json_t *j = NULL;
	struct faults f = {0};

	if (faults)
		parse_faults(&r, faults, &f);
	if ((!f.classes || f.classes == ALL_CLASSES - 1) && !f.mode &&
	    (!worlds || !worlds->nitems))
		return NULL;
	j = json_object();
	json_object_set_new(j, "faults", faults_json(&f));
	json_object_set_new(j, "worlds", worlds_json(worlds));
	return json_canonical(j);
}
