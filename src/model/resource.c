#include "model/resource.h"

#include "base/macros.h"

#include <stddef.h>
#include <string.h>

static const struct {
	const char *name, *unit, *meaning;
	bool lasting;
} table[] = {
#define RESOURCE(id, name, unit, lasting, meaning) \
	[RESOURCE_##id] = {name, unit, meaning, lasting},
#include "model/resource.def"
#undef RESOURCE
};

const char *resource_name(enum resource r)
{
	return table[r].name;
}

const char *resource_unit(enum resource r)
{
	return table[r].unit;
}

const char *resource_meaning(enum resource r)
{
	return table[r].meaning;
}

bool resource_lasting(enum resource r)
{
	return table[r].lasting;
}

bool resource_parse(const char *name, enum resource *ret_resource)
{
	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		if (!strcmp(table[i].name, name)) {
			*ret_resource = (enum resource)i;
			return true;
		}
	}
	return false;
}
