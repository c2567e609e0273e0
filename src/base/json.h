/*
 * Small helpers over jansson. The canonical form of a value is its compact dump with
 * sorted keys: digests and the hash chain are taken over that.
 */
#ifndef EXITPATH_BASE_JSON_H
#define EXITPATH_BASE_JSON_H

#include "base/err.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

static inline void json_cleanup(json_t **j)
{
	json_decref(*j);
}
#define CLEANUP_JSON __attribute__((cleanup(json_cleanup)))

char *json_canonical(const json_t *j); /* the caller frees */
char *json_pretty(const json_t *j);    /* indented, keys in insertion order, with '\n' */
json_t *json_parse(const char *text, size_t len, const char *name, struct err *err);

/* The length of the UTF-8 sequence at text (RFC 3629), or 0 where there is none. */
size_t utf8_len(const char *text);

/* Setters that drop NULL strings, and replace bytes that are not UTF-8 by U+FFFD. */
void json_put(json_t *obj, const char *key, const char *value);
void json_put_int(json_t *obj, const char *key, int64_t value);
void json_put_bool(json_t *obj, const char *key, bool value);
json_t *json_text(const char *value); /* a string value as json_put() makes it */

/* Getters with a fallback: a missing or mistyped key gives it. */
const char *json_get(const json_t *obj, const char *key, const char *fallback);
int64_t json_get_int(const json_t *obj, const char *key, int64_t fallback);
bool json_get_bool(const json_t *obj, const char *key, bool fallback);

#endif
