#include "model/codec.h"

#include "base/mem.h"

#include <limits.h>

static json_int_t clamp(uint64_t value)
{
	return value > INT64_MAX ? INT64_MAX : (json_int_t)value;
}

void json_put_u64(json_t *obj, const char *key, uint64_t value)
{
	json_object_set_new(obj, key, json_integer(clamp(value)));
}

uint64_t json_get_u64(const json_t *obj, const char *key)
{
	int64_t v = json_get_int(obj, key, 0);

	return v < 0 ? 0 : (uint64_t)v;
}

unsigned json_get_unsigned(const json_t *obj, const char *key)
{
	uint64_t v = json_get_u64(obj, key);

	return v > UINT_MAX ? UINT_MAX : (unsigned)v;
}

char *json_get_dup(const json_t *obj, const char *key)
{
	return xstrdup(json_get(obj, key, NULL));
}

json_t *strv_to_json(const struct strv *s)
{
	json_t *j = json_array();

	for (size_t i = 0; i < s->n; i++)
		json_array_append_new(j, json_text(s->v[i]));
	return j;
}

bool strv_from_json(const json_t *obj, const char *key, struct strv *ret)
{
	const json_t *j = json_object_get(obj, key), *item;
	size_t i;

	if (!j)
		return true;
	if (!json_is_array(j))
		return false;
	json_array_foreach (j, i, item) {
		if (!json_is_string(item))
			return false;
		strv_add(ret, json_string_value(item));
	}
	return true;
}

json_t *series_to_json(const uint64_t *units, size_t n)
{
	json_t *j = json_array();

	for (size_t i = 0; i < n; i++)
		json_array_append_new(j, json_integer(units ? clamp(units[i]) : 0));
	return j;
}

bool series_from_json(const json_t *j, uint64_t **ret, size_t *ret_n)
{
	CLEANUP_FREE uint64_t *units = NULL;
	const json_t *item;
	size_t i;

	if (!json_is_array(j))
		return false;
	units = xcalloc(json_array_size(j), sizeof(*units));
	json_array_foreach (j, i, item) {
		if (!json_is_integer(item) || json_integer_value(item) < 0)
			return false;
		units[i] = (uint64_t)json_integer_value(item);
	}
	*ret = TAKE_PTR(units);
	*ret_n = json_array_size(j);
	return true;
}
