#include "harness.h"

#include "base/buf.h"
#include "base/mem.h"
#include "fault/site.h"

#include <string.h>

#define TOKEN "t0"
#define KEY "00000000000000ab"

static void parse(const char *text, struct site_report *ret)
{
	site_report_parse(text, strlen(text), TOKEN, ret);
}

static void test_site_parse(void **state)
{
	CLEANUP(site_report) struct site_report r = {0};
	const struct site_point *p;

	(void)state;
	parse(TOKEN " {\"event\":\"start\",\"runner\":\"pytest 9\"}\n" TOKEN
		    " {\"event\":\"tests\",\"run\":3,\"skipped\":1}\n" TOKEN
		    " {\"event\":\"plan\",\"calls\":7,\"outside\":2}\n" TOKEN
		    " {\"event\":\"point\",\"key\":\"" KEY
		    "\",\"label\":\"open\",\"line\":4,"
		    "\"file\":\"a.py\",\"function\":\"f\",\"must\":true,\"tests\":[\"x\","
		    "5]}\n" TOKEN " {\"event\":\"trial\",\"key\":\"" KEY
		    "\",\"fired\":true,\"end\":\"hang\","
		    "\"seconds\":5,\"held\":[{\"resource\":\"fd\",\"units\":2,\"owned\":"
		    "true}]}\n" TOKEN " {\"event\":\"done\"}\n" TOKEN " {\"event\":\"exi",
	      &r);
	assert_null(r.malformed);
	assert_true(r.started && r.planned && r.done && !r.exited);
	assert_int_equal(r.tests, 3);
	assert_int_equal(r.calls, 7);
	p = site_report_point(&r, 0xab);
	assert_non_null(p);
	assert_int_equal(p->tests.n, 1);
	assert_int_equal(p->line, 4);
	assert_int_equal(r.ntrials, 1);
	assert_int_equal(r.trials[0].end, SITE_HANG);
	assert_int_equal(r.trials[0].held[0].leak.units[0], 2);
}

static void test_site_parse_malformed(void **state)
{
	static const char *const lines[] = {
		"{\"event\":\"done\"}\n",
		"other {\"event\":\"done\"}\n",
		TOKEN " []\n",
		TOKEN " {\"event\":\"nothing\"}\n",
		TOKEN " {\"event\":\"point\",\"key\":\"12\"}\n",
		TOKEN " {\"event\":\"trial\",\"key\":\"" KEY
		      "\",\"held\":[{\"resource\":\"paper\"}]}\n",
		TOKEN " {\n",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		CLEANUP(site_report) struct site_report r = {0};

		parse(lines[i], &r);
		assert_non_null(r.malformed);
		assert_false(r.done);
	}
}

static void test_site_judge(void **state)
{
#define FIRED "\"fired\":true,\"passed\":true"
#define HELD(resource, owned) \
	"{\"resource\":\"" resource "\",\"what\":\"w\",\"units\":1,\"owned\":" owned "}"
	static const struct {
		const char *trial;
		bool must;
		enum fault_defect defect;
		const char *what; /* begins so */
		size_t more;
	} rows[] = {
		{"\"fired\":false,\"end\":\"hang\"", true, DEFECT_NONE, NULL, 0},
		{FIRED ",\"same\":true", true, DEFECT_SWALLOWED, "nobody was told: T", 0},
		{FIRED ",\"same\":true", false, DEFECT_NONE, NULL, 0},
		{FIRED ",\"same\":false", true, DEFECT_NONE, NULL, 0},
		{FIRED ",\"same\":true,\"logged\":true", true, DEFECT_NONE, NULL, 0},
		{FIRED ",\"same\":true,\"told\":true", true, DEFECT_NONE, NULL, 0},
		{FIRED ",\"same\":true,\"repeated\":true", true, DEFECT_NONE, NULL, 0},
		{"\"fired\":true,\"passed\":false,\"same\":true", true, DEFECT_NONE, NULL,
		 0},
		{"\"fired\":true,\"end\":\"left\"", true, DEFECT_NONE, NULL, 0},
		{"\"fired\":true,\"end\":\"signal\",\"signal\":11,\"detail\":\"in f\"",
		 false, DEFECT_CRASH, "SIGSEGV in T, in f", 0},
		{"\"fired\":true,\"end\":\"hang\",\"seconds\":7", false, DEFECT_HANG,
		 "T had not ended after 7 s", 0},
		{"\"fired\":true,\"held\":[" HELD("fd", "true") "," HELD(
			 "pool_slot", "true") "," HELD("tempfile", "true") "]",
		 false, DEFECT_HELD, "w (pool_slot) still held after T", 2},
		{"\"fired\":true,\"held\":[" HELD("fd", "false") "]", false, DEFECT_NONE,
		 NULL, 0},
		{"\"fired\":true,\"held\":[" HELD("tempfile", "true") "]", false,
		 DEFECT_FILE, "w (tempfile) left behind after T", 0},
		{"\"fired\":true,\"held\":[" HELD("unclosed", "true") "]", false,
		 DEFECT_HELD, "w closed by its destructor alone after T", 0},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(site_report) struct site_report r = {0};
		CLEANUP_FREE char *line =
			xasprintf(TOKEN " {\"event\":\"trial\",\"key\":\"" KEY
					"\",\"test\":\"T\",%s}\n",
				  rows[i].trial);
		const struct site_point p = {.key = 0xab, .must = rows[i].must};
		struct fault_finding f = {0};

		parse(line, &r);
		assert_null(r.malformed);
		assert_int_equal(site_judge(&p, &r.trials[0], &f),
				 rows[i].defect != DEFECT_NONE);
		assert_int_equal(f.defect, rows[i].defect);
		assert_int_equal(f.more.n, rows[i].more);
		if (rows[i].what)
			assert_memory_equal(f.what, rows[i].what, strlen(rows[i].what));
		fault_finding_release(&f);
	}
}

static void test_site_judge_check(void **state)
{
	const struct site_point p = {.key = 1};
	struct site_trial t = {.fired = true, .checked = true, .check_status = 3};
	struct fault_finding f = {0};

	(void)state;
	assert_true(site_judge(&p, &t, &f));
	assert_int_equal(f.defect, DEFECT_CHECK);
	assert_string_equal(f.what, "the check fails with 3");
	fault_finding_release(&f);
	f = (struct fault_finding){0};
	t.check_status = 0;
	assert_false(site_judge(&p, &t, &f));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		HARNESS_TEST(test_site_parse),
		HARNESS_TEST(test_site_parse_malformed),
		HARNESS_TEST(test_site_judge),
		HARNESS_TEST(test_site_judge_check),
	};

	return HARNESS_RUN(tests);
}
