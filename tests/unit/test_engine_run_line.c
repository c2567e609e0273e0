/* Lines of a batch: what is taken, what is refused and how that is said. */
#include "harness.h"

#include "base/base64.h"
#include "base/macros.h"
#include "base/mem.h"
#include "engine/run_line.h"
#include "engine/units.h"

#include <stdlib.h>
#include <string.h>

static void reads_all_keys(void **state)
{
	static const char text[] =
		"{\"id\": {\"a\": [1]}, \"cmd\": [\"sh\", \"-c\", \"\"], \"cwd\": \"x\", "
		"\"env\": {\"A\": \"1\", \"B\": \"\"}, \"network\": \"loopback\", "
		"\"discard\": true, \"wall\": \"2s\", \"cpu\": 1500, \"memory\": \"1G\", "
		"\"disk\": 0, \"output\": \"none\", \"pids\": null, \"files\": \"7\"}";
	CLEANUP(run_line) struct run_line l = {.limits = GENERATED_LIMITS};
	struct err err = {0};

	(void)state;
	if (run_line_parse(text, strlen(text), &l, &err) < 0)
		fail_msg("%s", err.message);
	assert_int_equal(json_object_size(l.id), 1);
	assert_int_equal(l.argv.n, 3);
	assert_string_equal(l.argv.v[2], "");
	assert_string_equal(l.cwd, "x");
	assert_string_equal(env_get(&l.env, "A"), "1");
	assert_string_equal(env_get(&l.env, "B"), "");
	assert_int_equal(l.network, NETWORK_LOOPBACK);
	assert_true(l.discard);
	assert_non_null(l.boxed);
	assert_int_equal(l.wall_ms, 2000);
	assert_int_equal(l.limits.cpu_ms, 1500);
	assert_true(l.limits.memory == UINT64_C(1) << 30);
	assert_int_equal(l.limits.disk, 0);
	assert_int_equal(l.limits.output, 0);
	assert_int_equal(l.limits.pids, 0);
	assert_int_equal(l.limits.files, 7);
}

static void keeps_defaults(void **state)
{
	static const char text[] = "{\"cmd\":[\"true\"],\"discard\":false}";
	const struct limits limits = GENERATED_LIMITS;
	CLEANUP(run_line) struct run_line l = {.wall_ms = 7, .limits = limits};

	(void)state;
	assert_int_equal(run_line_parse(text, strlen(text), &l, NULL), 0);
	assert_int_equal(l.wall_ms, 7);
	assert_memory_equal(&l.limits, &limits, sizeof(limits));
	assert_null(l.boxed);
	assert_null(l.id);
	assert_null(l.cwd);
}

static void refuses(void **state)
{
	static const struct {
		const char *text, *message;
	} cases[] = {
		{"", "not JSON"},
		{"nope", "not JSON"},
		{"{\"cmd\":[\"a\"]} x", "not JSON"},
		{"{\"cmd\":[\"a\"],\"cmd\":[\"b\"]}", "duplicate"},
		{"{\"cmd\":[\"a\\u0000b\"]}", "not JSON"},
		{"{\"cmd\":[\"\xff\"]}", "not JSON"},
		{"[]", "not an object"},
		{"{}", "no cmd"},
		{"{\"cmd\":\"true\"}", "cmd: must be a list"},
		{"{\"cmd\":[]}", "cmd: must be a list"},
		{"{\"cmd\":[1]}", "cmd: must be a list"},
		{"{\"cmd\":[\"\"]}", "cmd: must be a list that begins"},
		{"{\"cmd\":[\"a\"],\"stdin\":\"x\"}", "unknown key \"stdin\""},
		{"{\"cmd\":[\"a\"],\"Wall\":1}", "unknown key \"Wall\""},
		{"{\"cmd\":[\"a\"],\"cwd\":\"\"}", "cwd: must be"},
		{"{\"cmd\":[\"a\"],\"cwd\":1}", "cwd: must be"},
		{"{\"cmd\":[\"a\"],\"env\":[\"A=1\"]}", "env: must be"},
		{"{\"cmd\":[\"a\"],\"env\":{\"A\":1}}", "env: must be"},
		{"{\"cmd\":[\"a\"],\"env\":{\"\":\"1\"}}", "env: must be"},
		{"{\"cmd\":[\"a\"],\"env\":{\"A=B\":\"1\"}}", "env: must be"},
		{"{\"cmd\":[\"a\"],\"network\":\"host\"}", "network: must be"},
		{"{\"cmd\":[\"a\"],\"network\":true}", "network: must be"},
		{"{\"cmd\":[\"a\"],\"discard\":1}", "discard: must be"},
		{"{\"cmd\":[\"a\"],\"wall\":-1}", "wall: -1"},
		{"{\"cmd\":[\"a\"],\"wall\":1.5}", "wall: must be"},
		{"{\"cmd\":[\"a\"],\"wall\":\"5\"}", "wall: \"5\" is not a duration"},
		{"{\"cmd\":[\"a\"],\"wall\":\"25h\"}", "wall is more than 24h"},
		{"{\"cmd\":[\"a\"],\"wall\":86400001}", "wall: 86400001"},
		{"{\"cmd\":[\"a\"],\"memory\":\"lots\"}", "memory: \"lots\""},
		{"{\"cmd\":[\"a\"],\"memory\":[]}", "memory: must be"},
		{"{\"cmd\":[\"a\"],\"memory\":9223372036854775808}", "not JSON"},
		{"{\"cmd\":[\"a\"],\"pids\":\"6 4\"}", "pids: `6 4` is not a number"},
		{"{\"cmd\":[\"a\"],\"pids\":\"\"}", "pids: `` is not a number"},
		{"{\"cmd\":[\"a\"],\"files\":1000000001}", "files: 1000000001"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(run_line) struct run_line l = {0};
		struct err err = {0};

		assert_int_equal(
			run_line_parse(cases[i].text, strlen(cases[i].text), &l, &err),
			-1);
		assert_int_equal(err.kind, ERR_USAGE);
		if (!strstr(err.message, cases[i].message))
			fail_msg("%s: `%s` without `%s`", cases[i].text, err.message,
				 cases[i].message);
	}
}

static void keeps_the_id_of_what_it_refuses(void **state)
{
	static const char text[] = "{\"zzz\": 1, \"id\": \"seven\"}";
	CLEANUP(run_line) struct run_line l = {0};

	(void)state;
	assert_int_equal(run_line_parse(text, strlen(text), &l, NULL), -1);
	assert_string_equal(json_string_value(l.id), "seven");
}

/* The same lines, whatever the pieces they come in. */
static void cuts_lines(void **state)
{
	static const char text[] = "one\n\n  \t\r\ntwo\nthree is longer\n\nlast";
	static const struct {
		const char *text;
		uint64_t number;
	} expected[] = {{"one", 1}, {"two", 4}, {"three is longer", 5}, {"last", 7}};

	(void)state;
	for (size_t piece = 1; piece < sizeof(text); piece++) {
		CLEANUP(lines) struct lines l = {0};
		size_t at = 0, n = 0, len;
		const char *line;

		for (;;) {
			size_t left = sizeof(text) - 1 - at;

			while (lines_next(&l, &line, &len) == LINE_WHOLE) {
				assert_in_range(n, 0, ARRAY_SIZE(expected) - 1);
				assert_int_equal(len, strlen(expected[n].text));
				assert_memory_equal(line, expected[n].text, len);
				assert_int_equal(l.number, expected[n].number);
				n++;
			}
			if (l.ended)
				break;
			if (!left)
				lines_end(&l);
			lines_add(&l, text + at, left < piece ? left : piece);
			at += left < piece ? left : piece;
		}
		assert_int_equal(n, ARRAY_SIZE(expected));
	}
}

static void bounds_lines(void **state)
{
	const size_t sizes[] = {RUN_LINE_MAX, RUN_LINE_MAX + 1, 3 * RUN_LINE_MAX};
	char *big = xcalloc(1, 3 * RUN_LINE_MAX);

	(void)state;
	memset(big, 'x', 3 * RUN_LINE_MAX);
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		CLEANUP(lines) struct lines l = {0};
		unsigned whole = 0, too_long = 0;
		const char *line;
		size_t len;

		for (size_t at = 0; at <= sizes[i] + 3; at += 8192) {
			size_t n = at < sizes[i] ? sizes[i] - at : 0;
			enum line_kind kind;

			lines_add(&l, big, n < 8192 ? n : 8192);
			if (n <= 8192) {
				lines_add(&l, "\nok\n", 4);
				at = sizes[i] + 4;
			}
			while ((kind = lines_next(&l, &line, &len)) != LINE_NONE) {
				whole += kind == LINE_WHOLE;
				too_long += kind == LINE_TOO_LONG;
			}
			assert_in_range(l.text.len - l.at, 0, RUN_LINE_MAX);
		}
		assert_int_equal(whole, i == 0 ? 2 : 1);
		assert_int_equal(too_long, i == 0 ? 0 : 1);
		assert_int_equal(l.number, 2);
	}
	free(big);
}

static void a_long_last_line(void **state)
{
	CLEANUP(lines) struct lines l = {0};
	char *big = xcalloc(1, RUN_LINE_MAX + 2);
	const char *line;
	size_t len;

	(void)state;
	memset(big, 'x', RUN_LINE_MAX + 1);
	lines_add(&l, big, RUN_LINE_MAX + 1);
	lines_end(&l);
	assert_int_equal(lines_next(&l, &line, &len), LINE_TOO_LONG);
	assert_int_equal(lines_next(&l, &line, &len), LINE_NONE);
	assert_int_equal(l.at, l.text.len);
	free(big);
}

static void encodes_base64(void **state)
{
	static const char *const cases[][2] = {{"", ""},
					       {"f", "Zg=="},
					       {"fo", "Zm8="},
					       {"foo", "Zm9v"},
					       {"foob", "Zm9vYg=="},
					       {"fooba", "Zm9vYmE="},
					       {"foobar", "Zm9vYmFy"}};
	const size_t big = (4 << 20) + 1;
	char *data = xcalloc(1, big), *text;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP_FREE char *s = base64_encode(cases[i][0], strlen(cases[i][0]));

		assert_string_equal(s, cases[i][1]);
	}
	text = base64_encode(data, big);
	assert_int_equal(strlen(text), (big + 2) / 3 * 4);
	assert_int_equal(strspn(text, "A"), big * 4 / 3 + 1);
	free(text);
	free(data);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		HARNESS_TEST(reads_all_keys),
		HARNESS_TEST(keeps_defaults),
		HARNESS_TEST(refuses),
		HARNESS_TEST(keeps_the_id_of_what_it_refuses),
		HARNESS_TEST(cuts_lines),
		HARNESS_TEST(bounds_lines),
		HARNESS_TEST(a_long_last_line),
		HARNESS_TEST(encodes_base64),
	};

	return HARNESS_RUN(tests);
}
