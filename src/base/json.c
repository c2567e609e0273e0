#include "base/json.h"

#include "base/buf.h"
#include "base/mem.h"

#include <string.h>

static char *dump(const json_t *j, size_t flags)
{
	char *s = json_dumps(j, flags | JSON_ENCODE_ANY);

	return s ? s : xstrdup("null");
}

char *json_canonical(const json_t *j)
{
	return dump(j, JSON_COMPACT | JSON_SORT_KEYS);
}

char *json_pretty(const json_t *j)
{
	CLEANUP_FREE char *s = dump(j, JSON_INDENT(2));

	return xasprintf("%s\n", s);
}

json_t *json_parse(const char *text, size_t len, const char *name, struct err *err)
{
	json_error_t e;
	json_t *j = json_loadb(text, len, JSON_REJECT_DUPLICATES, &e);

	if (!j)
		err_set(err, ERR_ENVIRONMENT, "%s:%d:%d: not JSON: %s", name, e.line,
			e.column, e.text);
	return j;
}

size_t utf8_len(const char *text)
{
	const unsigned char *s = (const unsigned char *)text;
	size_t n = s[0] < 0x80	 ? 1
		   : s[0] < 0xc2 ? 0
		   : s[0] < 0xe0 ? 2
		   : s[0] < 0xf0 ? 3
		   : s[0] < 0xf5 ? 4
				 : 0;

	for (size_t i = 1; i < n; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	if (n == 3 && ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f)))
		return 0;
	if (n == 4 && ((s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f)))
		return 0;
	return n;
}

json_t *json_text(const char *value)
{
	json_t *j = json_string(value);

	if (!j) {
		CLEANUP(buf) struct buf b = {0};
		const char *p = value;

		while (*p) {
			size_t n = utf8_len(p);

			if (n)
				buf_add(&b, p, n);
			else
				buf_adds(&b, "\xef\xbf\xbd");
			p += n ? n : 1;
		}
		j = json_string(buf_str(&b));
	}
	return j;
}

void json_put(json_t *obj, const char *key, const char *value)
{
	if (value)
		json_object_set_new(obj, key, json_text(value));
}

void json_put_int(json_t *obj, const char *key, int64_t value)
{
	json_object_set_new(obj, key, json_integer(value));
}

void json_put_bool(json_t *obj, const char *key, bool value)
{
	json_object_set_new(obj, key, json_boolean(value));
}

const char *json_get(const json_t *obj, const char *key, const char *fallback)
{
	const char *s = json_string_value(json_object_get(obj, key));

	return s ? s : fallback;
}

int64_t json_get_int(const json_t *obj, const char *key, int64_t fallback)
{
	const json_t *j = json_object_get(obj, key);

	return json_is_integer(j) ? json_integer_value(j) : fallback;
}

bool json_get_bool(const json_t *obj, const char *key, bool fallback)
{
	const json_t *j = json_object_get(obj, key);

	return json_is_boolean(j) ? json_is_true(j) : fallback;
}
