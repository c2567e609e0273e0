#include "contract/later.h"

#include "base/json.h"

#include <ctype.h>
#include <string.h>

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
	const struct yaml *worlds = yaml_get(contract, "worlds");
	CLEANUP_JSON json_t *j = NULL;

	if (!worlds || !worlds->nitems)
		return NULL;
	j = worlds_json(worlds);
	return json_canonical(j);
}
