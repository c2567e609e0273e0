/* From what the adapter says to a verdict; tests compared; the fewest of them. */
#include "harness.h"

#include "base/buf.h"
#include "base/mem.h"
#include "vet/judge.h"
#include "vet/subset.h"

#include <string.h>

static const struct vet_settings settings = VET_DEFAULTS;

/* ---- one test ---- */

#define RUN "\"run\": {\"end\": \"passed\", \"ms_test\": 1}"
#define ASSERT                                                                \
	"\"asserts\": [{\"line\": 3, \"text\": \"a == b\", \"executed\": 1, " \
	"\"constant\": null, \"perturb\": \"failed\"}]"
#define REST                                                                         \
	"\"repeats\": [{\"name\": \"place\", \"end\": \"passed\"}], \"reordered\": " \
	"{\"end\": \"passed\"}"
#define COVERAGE                                                            \
	"\"coverage\": {\"functions\": [\"f\"], \"taken\": 3, \"all\": 4, " \
	"\"missing\": [[\"m.py\", 7, \"f\", \"`x` is never true\"]], "      \
	"\"branches\": [1, 2, 3]}"
#define MUTANT(end)                                                           \
	"{\"key\": \"m:1\", \"file\": \"m.py\", \"line\": 1, \"in\": \"f\", " \
	"\"text\": \"`1` became `2`\", \"end\": \"" end "\"}"
#define MUTANTS "\"mutants\": [" MUTANT("killed") "]"
#define GOOD RUN "," ASSERT "," REST "," COVERAGE "," MUTANTS

static void say(struct vet_sight *s, const char *seen, enum run_end end, int status)
{
	const struct run_result run = {.end = end, .status = status, .signal = 9};
	CLEANUP_FREE char *text =
		seen ? xasprintf("{\"stage\": \"run\"}\n{\"seen\": {%s}}\n", seen)
		     : xstrdup("{\"stage\": \"run\"}\n");

	s->asked = true;
	vet_sight_take(s, &run, text, strlen(text), "");
}

static void release(struct vet_sights *s)
{
	vet_sight_release(&s->judge);
	vet_sight_release(&s->again);
	vet_sight_release(&s->buggy);
}

/* "accepted", or the verdict and the stage of the first reason. */
static void expect(const char *judge, const char *again, const char *buggy,
		   const char *expected)
{
	CLEANUP(vet_test) struct vet_test t = {0};
	CLEANUP_FREE char *got = NULL;
	struct vet_sights s = {0};

	say(&s.judge, judge, RUN_EXITED, 0);
	if (again)
		say(&s.again, again, RUN_EXITED, 0);
	if (buggy)
		say(&s.buggy, buggy, RUN_EXITED, 0);
	vet_judge(&s, &settings, &t);
	got = t.reasons.n ? xasprintf("%s %s", vet_verdict_name(t.verdict),
				      vet_stage_name(t.reasons.v[0].stage))
			  : xstrdup(vet_verdict_name(t.verdict));
	assert_string_equal(got, expected);
	/* What is accepted has no reason, what is not has one. */
	assert_true((t.verdict == VET_ACCEPTED) == (t.reasons.n == 0));
	release(&s);
}

static void test_stages(void **state)
{
	(void)state;
	expect(GOOD, NULL, NULL, "accepted");
	expect(GOOD, "\"run\": {\"end\": \"passed\"}", "\"run\": {\"end\": \"failed\"}",
	       "accepted");
	expect("\"syntax\": {\"line\": 2, \"text\": \"no\"}", NULL, NULL,
	       "rejected syntax");
	expect(RUN, NULL, NULL, "rejected runs"); /* no assertion */
	expect("\"run\": {\"end\": \"skipped\"}", NULL, NULL, "rejected runs");
	expect("\"run\": {\"end\": \"error\", \"where\": \"import\"}", NULL, NULL,
	       "rejected runs");
	expect("\"run\": {\"end\": \"failed\"}", NULL, NULL, "rejected passes");
	expect("\"run\": {\"end\": \"exited\", \"status\": 0}", NULL, NULL,
	       "rejected clean");
	expect("\"run\": {\"end\": \"timeout\"}", NULL, NULL, "rejected cost");
	expect("\"run\": {\"end\": \"passed\", \"ms_test\": 2001}," ASSERT "," REST, NULL,
	       NULL, "rejected cost");
	expect("\"run\": {\"end\": \"passed\", \"left\": [[\"file\", \"/x\"]]}," ASSERT,
	       NULL, NULL, "rejected clean");
	expect("\"run\": {\"end\": \"passed\", \"network\": [\"h:1\"]}," ASSERT, NULL,
	       NULL, "rejected clean");
	expect(RUN "," ASSERT "," COVERAGE
		   ", \"repeats\": [{\"name\": \"time\", \"end\": "
		   "\"failed\", \"causes\": [\"time zone\"]}]",
	       NULL, NULL, "rejected repeatable");
	expect(GOOD, "\"run\": {\"end\": \"failed\"}", NULL, "rejected repeatable");
	expect(RUN "," ASSERT "," COVERAGE ", \"repeats\": [{\"end\": \"passed\"}], "
		   "\"reordered\": {\"end\": \"failed\"}",
	       NULL, NULL, "rejected over-constrained");
	expect(RUN ", \"asserts\": [{\"executed\": 1, \"perturb\": \"passed\"}]," REST
		   "," COVERAGE,
	       NULL, NULL, "rejected asserts");
	expect(RUN "," ASSERT "," REST, NULL, NULL, "rejected coverage");
	expect(RUN "," ASSERT "," REST "," COVERAGE, NULL, NULL, "rejected kills");
	expect(GOOD, "\"run\": {\"end\": \"passed\"}", "\"run\": {\"end\": \"passed\"}",
	       "rejected buggy");
	expect(GOOD, NULL, "\"run\": {\"end\": \"error\", \"where\": \"import\"}",
	       "rejected buggy");
}

/* A report without what must be there is no report of a good test. */
static void test_less_is_never_accepted(void **state)
{
	static const char *const parts[] = {RUN, ASSERT, REST, COVERAGE, MUTANTS};

	(void)state;
	for (size_t out = 0; out < ARRAY_SIZE(parts); out++) {
		CLEANUP(buf) struct buf text = {0};
		CLEANUP(vet_test) struct vet_test t = {0};
		struct vet_sights s = {0};

		for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
			if (i != out)
				buf_addf(&text, "%s%s", text.len ? "," : "", parts[i]);
		say(&s.judge, buf_str(&text), RUN_EXITED, 0);
		vet_judge(&s, &settings, &t);
		assert_int_not_equal(t.verdict, VET_ACCEPTED);
		release(&s);
	}
	expect("\"run\": []", NULL, NULL, "error runs");
	expect("\"run\": {\"end\": 1}," ASSERT, NULL, NULL, "rejected passes");
}

static void test_ends(void **state)
{
	static const struct {
		enum run_end end;
		const char *expected;
	} ends[] = {
		{RUN_SIGNALED, "rejected clean"},   {RUN_TIMED_OUT, "rejected cost"},
		{RUN_OVER_MEMORY, "rejected cost"}, {RUN_OVER_PIDS, "rejected cost"},
		{RUN_EXITED, "rejected clean"},	    {RUN_LOST, "error runs"},
		{RUN_SANDBOX_FAILED, "error runs"}, {RUN_NOT_STARTED, "error runs"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
		CLEANUP(vet_test) struct vet_test t = {0};
		CLEANUP_FREE char *got = NULL;
		struct vet_sights s = {0};

		say(&s.judge, NULL, ends[i].end, 1);
		vet_judge(&s, &settings, &t);
		got = xasprintf("%s %s", vet_verdict_name(t.verdict),
				vet_stage_name(t.reasons.v[0].stage));
		assert_string_equal(got, ends[i].expected);
		release(&s);
	}
}

/* It said all, and then ended otherwise than it should: that it said may be a lie. */
static void test_a_report_needs_a_good_end(void **state)
{
	CLEANUP(vet_test) struct vet_test t = {0};
	struct vet_sights s = {0};

	(void)state;
	say(&s.judge, GOOD, RUN_EXITED, 1);
	vet_judge(&s, &settings, &t);
	assert_int_equal(t.verdict, VET_REJECTED);
	release(&s);
}

static void test_feedback(void **state)
{
	CLEANUP(vet_test) struct vet_test t = {0};
	struct vet_sights s = {0};

	(void)state;
	say(&s.judge, GOOD, RUN_EXITED, 0);
	vet_judge(&s, &settings, &t);
	assert_int_equal(t.feedback.n, 1);
	assert_string_equal(t.feedback.v[0].text, "m.py:7, in f: `x` is never true");
	assert_true(t.coverage > 0.749 && t.coverage < 0.751);
	assert_int_equal(t.branches.n, 3);
	release(&s);
}

/* Coverage is 3 of 4 in all of them. */
static void kills(const char *mutants, double rate, double score, bool accepted)
{
	CLEANUP_FREE char *text = xasprintf(
		RUN "," ASSERT "," REST "," COVERAGE ", \"mutants\": [%s]", mutants);
	CLEANUP(vet_test) struct vet_test t = {0};
	struct vet_sights s = {0};

	say(&s.judge, text, RUN_EXITED, 0);
	vet_judge(&s, &settings, &t);
	assert_true(t.kill_rate > rate - 0.001 && t.kill_rate < rate + 0.001);
	assert_true(t.score > score - 0.001 && t.score < score + 0.001);
	assert_int_equal(t.verdict == VET_ACCEPTED, accepted);
	release(&s);
}

#define KILLED MUTANT("killed")
#define LIVES MUTANT("survived")
#define UNDECIDED MUTANT("undecided")

static void test_kills(void **state)
{
	(void)state;
	kills(KILLED, 1, 0.9, true);
	kills(KILLED "," LIVES, 0.5, 0.6, true);
	kills(KILLED "," LIVES "," LIVES, 1.0 / 3, 0.5, true);
	kills(KILLED "," LIVES "," LIVES "," LIVES, 0.25, 0.45, false);
	kills(LIVES, 0, 0.3, false);
	/* What is undecided is no kill, and caps the score. */
	kills(KILLED "," UNDECIDED, 1, 0.5, true);
	kills(KILLED "," UNDECIDED "," UNDECIDED, 1, 1.0 / 3, false);
	kills(UNDECIDED, 0, 0, false);
	kills("{\"end\": 7}", 0, 0.3, false);
}

static void test_score(void **state)
{
	(void)state;
	assert_true(vet_score(1, 1, 0) == 1);
	assert_true(vet_score(1, 1, 9) == 0);
	assert_true(vet_score(0, 0, 0) == 0);
	assert_true(vet_score(0.5, 0.5, 0) > 0.499 && vet_score(0.5, 0.5, 0) < 0.501);
	assert_true(vet_score(1, 0.5, 1) > 0.499 && vet_score(1, 0.5, 1) < 0.501);
}

/* ---- several ---- */

static struct vet_test made(const char *shape, const char *kills, const char *branches)
{
	struct vet_test t = {.shape = xstrdup(shape), .ms = 1};

	for (; *kills; kills++)
		strv_addf(&t.kills, "%c", *kills);
	for (; *branches; branches++)
		strv_addf(&t.branches, "%c", *branches);
	return t;
}

static bool same(struct vet_test a, struct vet_test b)
{
	bool found = vet_same(&a, &b);

	assert_true(vet_same(&b, &a) == found);
	vet_test_release(&a);
	vet_test_release(&b);
	return found;
}

static void test_duplicates(void **state)
{
	(void)state;
	assert_true(same(made("x", "", ""), made("x", "ab", "1")));
	assert_true(same(made("x", "ab", "12"), made("y", "bab", "21")));
	assert_false(same(made("x", "ab", "12"), made("y", "a", "12")));
	assert_false(same(made("x", "ab", "12"), made("y", "ab", "1")));
	/* Who kills nothing, or was not asked, is no duplicate for that. */
	assert_false(same(made("x", "", "12"), made("y", "", "12")));
	assert_false(same(made(NULL, "", ""), made(NULL, "", "")));
}

/* kills of each, divided by blanks; in: one digit each. */
static void subset(const char *kills, const char *in)
{
	struct vet_test tests[8];
	bool got[8];
	size_t n = 0, count = 0;

	for (const char *p = kills; *p;) {
		size_t len = strcspn(p, " ");
		CLEANUP_FREE char *one = xstrndup(p, len);

		tests[n++] = made("", strcmp(one, "-") ? one : "", "");
		p += len + (p[len] == ' ');
	}
	for (size_t i = 0; i < n; i++)
		count += in[i] == '1';
	assert_int_equal(vet_subset(tests, n, got), count);
	for (size_t i = 0; i < n; i++) {
		assert_int_equal(got[i], in[i] == '1');
		vet_test_release(&tests[i]);
	}
}

static void test_subset(void **state)
{
	(void)state;
	subset("abc ab bc", "100");
	subset("ab bc cd abcd", "0001");
	subset("ab cd -", "110");
	subset("a a a", "100");
	subset("- -", "00");
	subset("", "");
	subset("aab abcde fg f", "0110");
}

static void test_subset_takes_the_cheaper(void **state)
{
	struct vet_test tests[] = {made("", "ab", ""), made("", "ba", "")};
	bool in[2];

	(void)state;
	tests[0].ms = 5;
	assert_int_equal(vet_subset(tests, 2, in), 1);
	assert_true(!in[0] && in[1]);
	vet_test_release(&tests[0]);
	vet_test_release(&tests[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		HARNESS_TEST(test_stages),   HARNESS_TEST(test_less_is_never_accepted),
		HARNESS_TEST(test_ends),     HARNESS_TEST(test_a_report_needs_a_good_end),
		HARNESS_TEST(test_feedback), HARNESS_TEST(test_kills),
		HARNESS_TEST(test_score),    HARNESS_TEST(test_duplicates),
		HARNESS_TEST(test_subset),   HARNESS_TEST(test_subset_takes_the_cheaper),
	};

	return HARNESS_RUN(tests);
}
