#include "harness.h"

#include "base/json.h"

#include <string.h>

static void test_canonical_form(void **state)
{
	static const char a[] = "{\"b\": 1, \"a\": {\"z\": [1, 2], \"y\": null}}";
	static const char b[] = "{\"a\":{\"y\":null,\"z\":[1,2]},\n\"b\":1}";
	CLEANUP_JSON json_t *ja = json_parse(a, sizeof(a) - 1, "a", NULL);
	CLEANUP_JSON json_t *jb = json_parse(b, sizeof(b) - 1, "b", NULL);
	CLEANUP_FREE char *ca = json_canonical(ja), *cb = json_canonical(jb);
	CLEANUP_FREE char *pretty = json_pretty(jb);

	(void)state;
	assert_string_equal(ca, "{\"a\":{\"y\":null,\"z\":[1,2]},\"b\":1}");
	assert_string_equal(ca, cb);
	assert_int_equal(pretty[strlen(pretty) - 1], '\n');
}

static void test_texts_that_are_not_json(void **state)
{
	static const struct {
		const char *text, *message;
	} rows[] = {
		{"", "log:1:0: not JSON: '[' or '{' expected near end of file"},
		{"{\"a\": 1,\n]", "log:2:1: not JSON: string or '}' expected near ']'"},
		{"{\"a\": 1, \"a\": 2}",
		 "log:1:12: not JSON: duplicate object key near '\"a\"'"},
		{"[1] x", "log:1:5: not JSON: end of file expected near 'x'"},
	};
	struct err err;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		err = (struct err){0};
		assert_null(json_parse(rows[i].text, strlen(rows[i].text), "log", &err));
		assert_string_equal(err.message, rows[i].message);
		assert_int_equal(err.kind, ERR_ENVIRONMENT);
	}
}

static void test_setters_and_getters(void **state)
{
	CLEANUP_JSON json_t *j = json_object();

	(void)state;
	json_put(j, "none", NULL);
	assert_null(json_object_get(j, "none"));
	json_put(j, "text", "a\xff\xc3(\xe2\x82é\xed\xa0\x80");
	assert_string_equal(json_get(j, "text", NULL),
			    "a\xef\xbf\xbd\xef\xbf\xbd(\xef\xbf\xbd\xef\xbf\xbdé"
			    "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
	json_put_int(j, "int", INT64_MIN);
	json_put_bool(j, "bool", true);
	assert_true(json_get_int(j, "int", 0) == INT64_MIN);
	assert_true(json_get_bool(j, "bool", false));
	assert_string_equal(json_get(j, "int", "other type"), "other type");
	assert_int_equal(json_get_int(j, "missing", 7), 7);
	assert_true(json_get_bool(j, "text", true));
	assert_string_equal(json_get(NULL, "text", "no object"), "no object");
}

static void test_utf8_len(void **state)
{
	static const struct {
		const char *text;
		size_t len;
	} rows[] = {
		{"a", 1},
		{"", 1},
		{"é", 2},
		{"€", 3},
		{"\xf0\x9f\x98\x80", 4},
		{"\x80", 0}, /* continuation alone */
		{"\xc3", 0}, /* cut */
		{"\xe2\x82", 0},
		{"\xf0\x9f\x98", 0},
		{"\xc0\xaf", 0}, /* overlong */
		{"\xe0\x80\xaf", 0},
		{"\xf0\x80\x80\xaf", 0},
		{"\xed\xa0\x80", 0},	 /* surrogate */
		{"\xf4\x90\x80\x80", 0}, /* above U+10FFFF */
		{"\xff", 0},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_int_equal(utf8_len(rows[i].text), rows[i].len);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		HARNESS_TEST(test_canonical_form),
		HARNESS_TEST(test_texts_that_are_not_json),
		HARNESS_TEST(test_setters_and_getters),
		HARNESS_TEST(test_utf8_len),
	};

	return HARNESS_RUN(tests);
}
