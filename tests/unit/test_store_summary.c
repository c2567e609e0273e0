#include "store_fixture.h"

#include "store/internal.h"

static const struct {
	const char *in, *out;
	bool free_text;
} values[] = {
	{NULL, "none", false},
	{"", "none", false},
	{"   ", "none", false},
	{"worker_loop", "worker_loop", false},
	{"ns::T::operator/(int)", "ns::T::operator/(int)", false},
	{"github.com/a/b.(*T).loop", "github.com/a/b.(*T).loop", false},
	{"a\nb", "a\\nb", false},
	{"a\tb\r\x1b[1m", "a\\tb\\x0d\\x1b[1m", false},
	{"a\xff"
	 "b",
	 "a\\xffb", false},
	{"a\xe2\x80\xae"
	 "b",
	 "a\\u{202e}b", false},
	{"a\xc2\x85"
	 "b",
	 "a\\x85b", false},
	{"caf\xc3\xa9", "caf\xc3\xa9", false},
	{"\xed\xa0\x80", "\\xed\\xa0\\x80", false},
	{"a\\b", "a\\\\b", false},
	{"fd -> data/log.txt", "fd -> data/log.txt", true},
	{"fd -> /home/ann/project/data/log.txt", "fd -> data/log.txt", true},
	{"fd -> /home/ann/other/log.txt", "fd -> log.txt", true},
	{"/home/ann/project/../../bob/x", "x", true},
	{"/home/ann/project", "project", true},
	{"/home/ann/project/", "project", true},
	{"/home/ann/", "ann", true},
	{"(/home/ann/a.js:3:1)", "(a.js:3:1)", false},
	{"Object.<anonymous> (/home/ann/project/a.js:3:1)",
	 "Object.<anonymous> (a.js:3:1)", false},
	{"/a/b:/home/ann/c", "b:c", false},
	{"cc -I/usr/include/x", "cc -Ix", false},
	{"../../home/ann/x", "x", false},
	{"~/x/y and ~ann/z", "y and z", false},
	{"a ~ b", "a ~ b", false},
	{"C:\\Users\\ann\\x.c", "x.c", false},
	{"_/home/ann/p.TestX", "_p.TestX", false},
	{"file:///home/ann/x", "file://", false},
	{"socket -> postgres://ann:pw@db:5432/x?sslkey=1", "socket -> postgres://db:5432",
	 true},
	{"socket 10.0.0.1:80 -> [::1]:443", "socket 10.0.0.1:80 -> [::1]:443", true},
	{"sleep PASSWORD=hunter2 5", "sleep PASSWORD=*** 5", true},
	{"app --password hunter2 -v", "app --password *** -v", true},
	{"curl -H Authorization: Bearer abc", "curl -H Authorization: *** ***", true},
	{"ann:pw@host", "***", true},
	{"x 0123456789abcdef0123456789abcdef y", "x *** y", true},
	{"_ZN12very_long_name_of_a_function34with_digits",
	 "_ZN12very_long_name_of_a_function34"
	 "with_digits",
	 false},
};

static void values_are_clean(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
		CLEANUP_FREE char *out =
			evidence_value(values[i].in, "project", values[i].free_text);

		assert_string_equal(out, values[i].out);
	}
}

static void long_values_end_at_a_character(void **state)
{
	(void)state;
	for (size_t pad = 0; pad < 8; pad++) {
		CLEANUP(buf) struct buf b = {0};
		CLEANUP_FREE char *out = NULL;
		CLEANUP_JSON json_t *j = NULL;

		for (size_t i = 0; i < pad; i++)
			buf_addc(&b, 'a');
		while (b.len < 400)
			buf_adds(&b, b.len % 3 ? "\xe2\x82\xac" : "\n");
		out = evidence_value(buf_str(&b), NULL, false);
		assert_in_range(strlen(out), 190, EVIDENCE_VALUE_MAX);
		assert_string_equal(out + strlen(out) - 3, "...");
		j = json_string(out); /* NULL for what is not UTF-8 */
		assert_non_null(j);
	}
}

static void exactly_fitting_values_are_whole(void **state)
{
	char text[EVIDENCE_VALUE_MAX + 1];
	CLEANUP_FREE char *out = NULL;

	(void)state;
	memset(text, 'x', EVIDENCE_VALUE_MAX);
	text[EVIDENCE_VALUE_MAX] = '\0';
	out = evidence_value(text, NULL, false);
	assert_string_equal(out, text);
}

static void text_has_the_designed_form(void **state)
{
	CLEANUP(result) struct result r = {0};
	CLEANUP_JSON json_t *j = NULL;
	CLEANUP_FREE char *text = NULL;

	(void)state;
	fixture_result(&r, xstrdup("run-1042"));
	j = evidence_summary(&r, &r.checks[0]);
	text = evidence_text(j);
	assert_string_equal(
		text, "schema_version: leak-evidence-v1\n"
		      "run_id: run-1042\n"
		      "revision: b1b2c3d\n"
		      "test_target: worker_shutdown\n"
		      "detector: lsan\n"
		      "detector_version: 12.2.0\n"
		      "attempt: 1\n"
		      "outcome: leak\n"
		      "exit_code: 20\n"
		      "leak_kind: heap\n"
		      "leaked_units: 3\n"
		      "top_frame: worker_loop\n"
		      "duration_ms: 842\n"
		      "baseline_artifact: artifacts/worker_shutdown/lsan/base.json\n"
		      "result_artifact: " ARTIFACT "\n"
		      "config_digest: " DIGEST "\n"
		      "isolation: sandbox\n"
		      "limit_tier: cgroup v2\n");
	assert_int_equal(json_object_size(j), 18);
}

static void absent_values_are_none(void **state)
{
	CLEANUP(result) struct result r = {0};
	CLEANUP_JSON json_t *j = NULL;

	(void)state;
	result_check(&r)->target = xstrdup("setup");
	j = evidence_summary(&r, &r.checks[0]);
	assert_string_equal(json_get(j, "detector", ""), "none");
	assert_string_equal(json_get(j, "leak_kind", ""), "none");
	assert_string_equal(json_get(j, "top_frame", ""), "none");
	assert_string_equal(json_get(j, "revision", ""), "none");
	assert_string_equal(json_get(j, "result_artifact", ""), "none");
	assert_int_equal(json_get_int(j, "leaked_units", -1), 0);
	assert_int_equal(json_get_int(j, "exit_code", -1), 0);
}

/* Inherited findings do not count; a resource without frames shows what is held. */
static void only_new_findings_count(void **state)
{
	CLEANUP(result) struct result r = {0};
	CLEANUP_JSON json_t *j = NULL;
	struct finding *f;

	(void)state;
	fixture_result(&r, xstrdup("run-1"));
	r.checks[0].findings[0].class = FINDING_INHERITED;
	f = check_finding(&r.checks[0]);
	f->class = FINDING_NEW;
	f->leak.resource = RESOURCE_FD;
	f->leak.what = xstrdup("fd -> /srv/project/log/a.txt?token=x");
	f->ncycles = 1;
	f->leak.units = xcalloc(1, sizeof(uint64_t));
	f->leak.bytes = xcalloc(1, sizeof(uint64_t));
	f->leak.units[0] = UINT64_MAX;
	j = evidence_summary(&r, &r.checks[0]);
	assert_string_equal(json_get(j, "leak_kind", ""), "fd");
	assert_int_equal(json_get_int(j, "leaked_units", 0), INT64_MAX);
	assert_string_equal(json_get(j, "top_frame", ""), "fd -> ***");
}

/* Names from a patch cannot forge lines of the record. */
static void names_cannot_forge_lines(void **state)
{
	CLEANUP(result) struct result r = {0};
	CLEANUP_JSON json_t *j = NULL;
	CLEANUP_FREE char *text = NULL, *edited = NULL;

	(void)state;
	fixture_result(&r, xstrdup("run-1"));
	free(r.checks[0].target);
	r.checks[0].target = xstrdup("t\noutcome: clean");
	j = evidence_summary(&r, &r.checks[0]);
	text = evidence_text(j);
	assert_null(strstr(text, "\noutcome: clean"));
	json_put(j, "test_target", "t\noutcome: clean");
	edited = evidence_text(j);
	assert_null(strstr(edited, "\noutcome: clean"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		HARNESS_TEST(values_are_clean),
		HARNESS_TEST(long_values_end_at_a_character),
		HARNESS_TEST(exactly_fitting_values_are_whole),
		HARNESS_TEST(text_has_the_designed_form),
		HARNESS_TEST(absent_values_are_none),
		HARNESS_TEST(only_new_findings_count),
		HARNESS_TEST(names_cannot_forge_lines),
	};

	return HARNESS_RUN(tests);
}
