/* Pieces that the JSON forms of observations and results share. Private to model/. */
#ifndef EXITPATH_MODEL_CODEC_H
#define EXITPATH_MODEL_CODEC_H

#include "base/json.h"
#include "base/strv.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Values above INT64_MAX, JSON's largest integer, are written as that. */
void json_put_u64(json_t *obj, const char *key, uint64_t value);
/* A missing, mistyped or negative value is 0. */
uint64_t json_get_u64(const json_t *obj, const char *key);
unsigned json_get_unsigned(const json_t *obj, const char *key);
/* A copy that the caller frees; NULL when missing. */
char *json_get_dup(const json_t *obj, const char *key);

json_t *strv_to_json(const struct strv *s);
/* A missing key is an empty vector; false when it is no array of strings. */
bool strv_from_json(const json_t *obj, const char *key, struct strv *ret);

struct leak;
json_t *frames_to_json(const struct leak *l);
/* Adds frames to l; a missing list is none. false: malformed. */
bool frames_from_json(const json_t *list, struct leak *l);

json_t *series_to_json(const uint64_t *units, size_t n);
/* false when j is no array of non-negative integers. The caller frees *ret. */
bool series_from_json(const json_t *j, uint64_t **ret, size_t *ret_n);

#endif
