/*
 * A YAML document as a small tree, strict: one document, no anchors, aliases or tags,
 * no duplicate keys, UTF-8 only. Errors are ERR_USAGE, "NAME:LINE:COLUMN: what".
 * The only code that knows libfyaml.
 */
#ifndef EXITPATH_CONTRACT_YAML_H
#define EXITPATH_CONTRACT_YAML_H

#include "base/err.h"

#include <stddef.h>

enum {
	YAML_MAX_DEPTH = 16,   /* the contract needs 4 */
	YAML_MAX_ITEMS = 1000, /* of one list or map */
};

/* A plain scalar has the type that the YAML 1.2 core schema gives it, a quoted or block
 * scalar is a string. */
enum yaml_type {
	YAML_NULL,
	YAML_BOOL,
	YAML_INT,
	YAML_FLOAT,
	YAML_STRING,
	YAML_LIST,
	YAML_MAP,
};

struct yaml {
	enum yaml_type type;
	enum yaml_type plain;  /* of a scalar: what it would be without quotes */
	unsigned line, column; /* 1-based */
	char *text;	       /* of a scalar, never NULL there: "" for an empty null */
	struct yaml *items;    /* of a list; of a map: key, value, key, value … */
	size_t nitems, items_cap;
};

/* ret is zeroed or untouched on failure; text needs no NUL at its end. */
int yaml_parse(const char *text, size_t len, const char *name, struct yaml *ret,
	       struct err *err);
const char *yaml_type_name(enum yaml_type type);		      /* "a list" */
const struct yaml *yaml_get(const struct yaml *map, const char *key); /* or NULL */
/* Sets ERR_USAGE with the place of node in front; returns -1. */
int yaml_error(const struct yaml *node, const char *name, struct err *err,
	       const char *fmt, ...) PRINTF(4, 5);

void yaml_release(struct yaml *y);
DEFINE_CLEANUP(yaml)

#endif
