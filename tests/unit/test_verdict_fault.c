/* verdict_fault(): both sides in a few words, the check in a few words. */
#include "harness.h"

#include "base/mem.h"
#include "verdict/verdict.h"

#include <stdio.h>
#include <string.h>

/* "swallowed:fsync:save,main@10" adds a finding; at line 10 of the innermost frame. */
static void add_finding(struct fault_finding *f, const char *text, size_t len)
{
	CLEANUP_FREE char *copy = xstrndup(text, len);
	char *call = strchr(copy, ':'), *frames = strchr(call + 1, ':');
	char *at = strchr(frames, '@');
	unsigned line = at ? (unsigned)atoi(at + 1) : 0;

	*call++ = *frames++ = '\0';
	if (at)
		*at = '\0';
	assert_true(fault_defect_parse(copy, &f->defect));
	f->call = xstrdup(call);
	f->error = xstrdup("EIO");
	f->what = xstrdup("it is so");
	f->replay = xstrdup("exitpath fault");
	for (char *p = frames; *p;) {
		size_t n = strcspn(p, ",");
		struct frame *frame = leak_frame(&f->chain);

		frame->function = xstrndup(p, n);
		frame->module = xstrdup("app");
		frame->line = line;
		frame->project = true;
		line += line ? 100 : 0;
		p += n + (p[n] == ',');
	}
	fault_sign(f);
}

/* Findings, divided by blanks; with ~ in front: unsettled. "!outcome" instead: that. */
static void fill(struct fault_report *r, const char *text)
{
	r->points = r->chosen = r->explored = 5;
	r->outcome = OUTCOME_CLEAN;
	if (*text == '!') {
		assert_true(outcome_parse(text + 1, &r->outcome));
		r->why = xstrdup("so it is");
		return;
	}
	for (const char *p = text; *p;) {
		size_t n = strcspn(p, " ");

		if (*p == '-')
			r->explored = 0;
		else if (*p == '/')
			r->missed++;
		else if (*p == '~')
			add_finding(
				VEC_ADD(r->unsettled, r->nunsettled, r->unsettled_cap),
				p + 1, n - 1);
		else if (n)
			add_finding(fault_report_finding(r), p, n);
		p += n + (p[n] == ' ');
	}
}

#define A "swallowed:fsync:save,main"
#define B "leak:malloc:parse,main"

struct row {
	const char *base, *candidate;
	bool repairs;
	enum outcome outcome;
	const char *classes; /* one letter a fault: New, Inherited, Repaired,
				interMittent, Suppressed */
	const char *says;    /* part of the explanation */
};

static const struct row rows[] = {
	/* nothing */
	{"", "", false, OUTCOME_CLEAN, "", "survives 5 of 5"},
	{A, "", false, OUTCOME_CLEAN, "R", "survives"},
	{"", "-", false, OUTCOME_INCONCLUSIVE, "", "no call was made to fail"},
	{"", "/", false, OUTCOME_INCONCLUSIVE, "", "1 of 5 calls were not reached"},
	/* new ones */
	{"", A, false, OUTCOME_DEFECT, "N", "swallowed when fsync fails in save"},
	{"", A " " B, false, OUTCOME_DEFECT, "NN", "and 1 more; not on base"},
	{B, A, false, OUTCOME_DEFECT, "NR", "swallowed"},
	{"", "leak:fsync:save,main", false, OUTCOME_DEFECT, "N", "leak when fsync"},
	/* another defect, another call, another way there: not the same */
	{A, "leak:fsync:save,main", false, OUTCOME_DEFECT, "NR", "leak"},
	{A, "swallowed:close:save,main", false, OUTCOME_DEFECT, "NR", "close"},
	{A, "swallowed:fsync:save,flush,main", false, OUTCOME_DEFECT, "NR", "fsync"},
	/* inherited, whatever the lines */
	{A, A, false, OUTCOME_BASELINE_INVALID, "I", "and on base as well"},
	{A "@10", A "@25", false, OUTCOME_BASELINE_INVALID, "I", "on base as well"},
	{A, A " " B, false, OUTCOME_DEFECT, "NI", "leak when malloc"},
	{A " " B, A " " B, false, OUTCOME_BASELINE_INVALID, "II", "and 1 more"},
	/* one more of the same signature: that of base is the one at the same lines */
	{A "@20", A "@10 " A "@20", false, OUTCOME_DEFECT, "NI", "not on base"},
	{A "@10 " A "@20", A "@20", false, OUTCOME_BASELINE_INVALID, "IR", "on base"},
	/* at times */
	{"", "~" A, false, OUTCOME_INCONCLUSIVE, "M", "in some runs only"},
	{"~" A, A, false, OUTCOME_INCONCLUSIVE, "M", "in some runs only"},
	{"~" A, B, false, OUTCOME_DEFECT, "N", "leak"},
	{A, A " ~" B, false, OUTCOME_BASELINE_INVALID, "IM", "on base as well"},
	{"", B " ~" A, false, OUTCOME_DEFECT, "NM", "leak"},
	/* repairs */
	{A, "", true, OUTCOME_CLEAN, "R", "Repaired: on base t: swallowed"},
	{"", "", true, OUTCOME_BASELINE_INVALID, "", "proves nothing"},
	{A, A, true, OUTCOME_DEFECT, "I", "Not repaired"},
	{A " " B, B, true, OUTCOME_DEFECT, "IR", "Repaired in part"},
	{A, B, true, OUTCOME_DEFECT, "NR", "leak"},
	{A, "~" B, true, OUTCOME_INCONCLUSIVE, "MR", "not all of it"},
	/* one side shows nothing */
	{"!baseline_invalid", "", false, OUTCOME_BASELINE_INVALID, "", "on base: so it"},
	{"", "!baseline_invalid", false, OUTCOME_BEHAVIOR_FAILED, "", "passes on base"},
	{"!harness_error", A, false, OUTCOME_HARNESS_ERROR, "", "on base: so it is"},
	{A, "!harness_error", true, OUTCOME_HARNESS_ERROR, "", "on the candidate: so"},
	{"!baseline_invalid", "!harness_error", false, OUTCOME_BASELINE_INVALID, "",
	 "base"},
};

static void class_letters(const struct check *c, char *ret, size_t size)
{
	static const char letters[] = {
		[FINDING_NEW] = 'N',	    [FINDING_INHERITED] = 'I',
		[FINDING_LEARNED] = '?',    [FINDING_REPAIRED] = 'R',
		[FINDING_SUPPRESSED] = 'S', [FINDING_INTERMITTENT] = 'M'};

	assert_true(c->nfaults < size);
	for (size_t i = 0; i < c->nfaults; i++)
		ret[i] = letters[c->faults[i].class];
	ret[c->nfaults] = '\0';
}

static void test_outcomes(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct row *r = &rows[i];
		CLEANUP(fault_report) struct fault_report base = {0}, candidate = {0};
		CLEANUP(check) struct check c = {0};
		struct fault_case in = {.target = "t",
					.base = &base,
					.candidate = &candidate,
					.repairs = r->repairs};
		char classes[16];

		fill(&base, r->base);
		fill(&candidate, r->candidate);
		verdict_fault(&in, &c);
		class_letters(&c, classes, sizeof(classes));
		if (c.outcome != r->outcome || strcmp(classes, r->classes) != 0 ||
		    !strstr(c.explanation, r->says))
			fail_msg("row %zu: %s, %s: %s", i, outcome_name(c.outcome),
				 classes, c.explanation);
		assert_string_equal(c.detector, "fault");
		assert_string_equal(c.target, "t");
	}
}

static void test_a_side_that_was_not_run(void **state)
{
	CLEANUP(fault_report) struct fault_report r = {0};
	CLEANUP(check) struct check a = {0}, b = {0};
	struct fault_case in = {.target = "t", .candidate = &r};

	(void)state;
	verdict_fault(&in, &a);
	assert_int_equal(a.outcome, OUTCOME_HARNESS_ERROR);
	in = (struct fault_case){.target = "t", .base = &r};
	verdict_fault(&in, &b);
	assert_int_equal(b.outcome, OUTCOME_HARNESS_ERROR);
}

static void test_ignored(void **state)
{
	static char me[] = "@me", why[] = "a cache";
	static const struct {
		const char *match, *expires; /* NULL: never */
		const char *classes;
		enum outcome outcome;
	} cases[] = {
		{"swallowed:fsync:save", NULL, "S", OUTCOME_CLEAN},
		{"swallowed:fsync:sav*", "2027-01-01", "S", OUTCOME_CLEAN},
		{"swallowed:*:save", "2026-12-01", "S", OUTCOME_CLEAN},
		{"swallowed:fsync:save", "2026-11-30", "N", OUTCOME_DEFECT},
		{"swallowed:fsync:main", NULL, "N", OUTCOME_DEFECT}, /* is in all */
		{"swallowed:close:save", NULL, "N", OUTCOME_DEFECT},
		{"swallowed:fsyn:save", NULL, "N", OUTCOME_DEFECT},
		{"leak:fsync:save", NULL, "N", OUTCOME_DEFECT},
		{"swallowed:fsync:saves", NULL, "N", OUTCOME_DEFECT},
		{"swallow:fsync:save", NULL, "N", OUTCOME_DEFECT},
		{"save", NULL, "N", OUTCOME_DEFECT},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(fault_report) struct fault_report base = {0}, candidate = {0};
		CLEANUP(check) struct check c = {0};
		CLEANUP_FREE char *match = xstrdup(cases[i].match);
		CLEANUP_FREE char *expires = xstrdup(cases[i].expires);
		const struct suppression s = {match, why, me, expires, 1};
		struct fault_case in = {.target = "t",
					.base = &base,
					.candidate = &candidate,
					.ignore = &s,
					.nignore = 1,
					.today = "2026-12-01"};
		char classes[16];

		fill(&base, "");
		fill(&candidate, A);
		verdict_fault(&in, &c);
		class_letters(&c, classes, sizeof(classes));
		if (c.outcome != cases[i].outcome ||
		    strcmp(classes, cases[i].classes) != 0)
			fail_msg("%s: %s, %s", cases[i].match, outcome_name(c.outcome),
				 classes);
		if (*classes == 'S') {
			assert_string_equal(c.faults[0].fault.ignored_by, match);
			assert_string_equal(c.faults[0].fault.reason, "@me: a cache");
		}
	}
}

/* What is ignored does not make base bad either. */
static void test_ignored_on_base(void **state)
{
	static char match[] = "swallowed:fsync:save", me[] = "me", why[] = "w";
	const struct suppression s = {match, why, me, NULL, 1};
	CLEANUP(fault_report) struct fault_report base = {0}, candidate = {0};
	CLEANUP(check) struct check c = {0};
	struct fault_case in = {.target = "t",
				.base = &base,
				.candidate = &candidate,
				.ignore = &s,
				.nignore = 1,
				.repairs = true};

	(void)state;
	fill(&base, A);
	fill(&candidate, "");
	verdict_fault(&in, &c);
	assert_int_equal(c.outcome, OUTCOME_BASELINE_INVALID);
}

static void test_signatures(void **state)
{
	CLEANUP(fault_report) struct fault_report r = {0};
	struct fault_finding *f = fault_report_finding(&r);
	struct frame *frame;

	(void)state;
	add_finding(f, "leak:malloc:read_row.constprop.0,main@7",
		    strlen("leak:malloc:read_row.constprop.0,main@7"));
	assert_string_equal(f->signature, "leak|malloc|app!read_row<app!main");
	leak_release(&f->chain);
	frame = leak_frame(&f->chain); /* our own wrapper is no part of it */
	frame->module = xstrdup("exitpath-fault.so");
	frame = leak_frame(&f->chain);
	frame->function = xstrdup("f");
	frame->module = xstrdup("lib.so");
	fault_sign(f);
	assert_string_equal(f->signature, "leak|malloc|lib.so!f");
}

static void test_there_and_back(void **state)
{
	CLEANUP(result) struct result r = {0}, back = {0};
	struct check *c = result_check(&r);
	struct check_fault *f = VEC_ADD(c->faults, c->nfaults, c->faults_cap);
	struct err err = {0};
	CLEANUP_JSON json_t *j = NULL, *again = NULL;

	(void)state;
	c->target = xstrdup("t");
	c->outcome = OUTCOME_DEFECT;
	f->class = FINDING_SUPPRESSED;
	f->fault.ignored_by = xstrdup("leak:malloc:parse");
	f->fault.reason = xstrdup("me: why");
	add_finding(&f->fault, B "@12", strlen(B "@12"));
	strv_add(&f->fault.more, "more");
	f->fault.key = 0xfedcba9876543210;
	j = result_to_json(&r);
	assert_int_equal(result_from_json(j, &back, &err), 0);
	again = result_to_json(&back);
	assert_true(json_equal(j, again));
	assert_int_equal(back.checks[0].nfaults, 1);
	assert_true(back.checks[0].faults[0].fault.key == 0xfedcba9876543210);
}

static void test_malformed_findings(void **state)
{
	static const char *const texts[] = {
		"{}",
		"[]",
		"{\"defect\": \"none\", \"call\": \"c\", \"what\": \"w\", "
		"\"signature\": \"s\", \"key\": \"1\"}",
		"{\"defect\": \"leak\", \"what\": \"w\", \"signature\": \"s\"}",
		"{\"defect\": \"leak\", \"call\": \"c\", \"what\": \"w\", "
		"\"signature\": \"s\", \"key\": \"x\"}",
		"{\"defect\": \"leak\", \"call\": \"c\", \"what\": \"w\", "
		"\"signature\": \"s\", \"stack\": {}}",
		"{\"defect\": \"leak\", \"call\": \"c\", \"what\": \"w\", "
		"\"signature\": \"s\", \"more\": [1]}",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		CLEANUP_JSON json_t *j =
			json_parse(texts[i], strlen(texts[i]), "t", NULL);
		struct fault_finding f = {0};

		assert_non_null(j);
		if (fault_finding_from_json(j, &f) == 0)
			fail_msg("accepted: %s", texts[i]);
		assert_null(f.call);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		HARNESS_TEST(test_outcomes),
		HARNESS_TEST(test_a_side_that_was_not_run),
		HARNESS_TEST(test_ignored),
		HARNESS_TEST(test_ignored_on_base),
		HARNESS_TEST(test_signatures),
		HARNESS_TEST(test_there_and_back),
		HARNESS_TEST(test_malformed_findings),
	};

	return HARNESS_RUN(tests);
}
