#ifndef EXITPATH_MODEL_RESOURCE_H
#define EXITPATH_MODEL_RESOURCE_H

#include <stdbool.h>

enum resource {
#define RESOURCE(id, name, unit, lasting, meaning) RESOURCE_##id,
#include "model/resource.def"
#undef RESOURCE
};

const char *resource_name(enum resource r);
const char *resource_unit(enum resource r); /* singular: "allocation" */
const char *resource_meaning(enum resource r);
bool resource_lasting(enum resource r);
bool resource_parse(const char *name, enum resource *ret_resource);

#endif
