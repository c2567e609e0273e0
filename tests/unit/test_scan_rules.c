/* The examples of every rule: what is bad is found by that rule, what is good is not. */
#include "base/mem.h"
#include "contract/rules.h"
#include "harness.h"
#include "scan/scan.h"

#include <stdio.h>
#include <string.h>

static struct scan_rules rules;
static struct scan_set *set;

static int setup(void **state)
{
	struct err err = {0};

	(void)state;
	if (rules_builtin(&rules, &err) < 0) {
		print_error("%s\n", err.message);
		return -1;
	}
	/* All queries now, for every language: a built-in one that does not fit is not
	 * looked for otherwise. */
	for (size_t i = 0; i < rules.n; i++)
		rules.v[i].builtin = false;
	set = scan_set_new(&rules, &err);
	if (!set)
		print_error("%s\n", err.message);
	return set ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	scan_set_free(set);
	scan_rules_release(&rules);
	return 0;
}

/* How often a rule reports of an example; other rules' findings are counted apart. */
static size_t found(const struct scan_rule *r, const struct rule_example *e,
		    size_t *ret_others)
{
	struct source_parser *p = source_parser_new();
	CLEANUP(source_tree) struct source_tree t = {0};
	CLEANUP(scan_findings) struct scan_findings f = {0};
	size_t n = 0, ignored = 0;

	source_parse(p, source_lang_parse(e->language), e->code, strlen(e->code), NULL,
		     &t);
	assert_null(t.skipped);
	assert_false(t.broken);
	scan_file(set, &t, strv_contains(&r->where, "in-test") ? "tests/x" : "src/x", &f,
		  &ignored);
	for (size_t i = 0; i < f.n; i++)
		n += !strcmp(f.v[i].rule, r->id);
	*ret_others = f.n - n;
	source_parser_free(p);
	return n;
}

static void test_examples(void **state)
{
	size_t others, wrong = 0;

	(void)state;
	assert_true(rules.n >= 20);
	for (size_t i = 0; i < rules.n; i++) {
		const struct scan_rule *r = &rules.v[i];

		assert_true(r->nbad > 0 && r->ngood > 0);
		for (size_t j = 0; j < r->nbad; j++)
			if (!found(r, &r->bad[j], &others)) {
				print_error("%s:%u: not found\n", r->file,
					    r->bad[j].line);
				wrong++;
			}
		for (size_t j = 0; j < r->ngood; j++)
			if (found(r, &r->good[j], &others) || others) {
				print_error("%s:%u: found\n", r->file, r->good[j].line);
				wrong++;
			}
	}
	assert_int_equal(wrong, 0);
}

/* Whatever an analysis reports has a rule, which explains it. */
static void test_ids(void **state)
{
	static const char *const ids[] = {
		"cleanup-skipped",    "never-released",	      "release-not-protected",
		"early-exit",	      "exit-skips-label",     "body-not-closed",
		"defer-before-check", "ignore-without-reason"};

	(void)state;
	for (size_t i = 0; i < sizeof(ids) / sizeof(*ids); i++)
		assert_non_null(scan_set_rule(set, ids[i]));
}

static void test_refused(void **state)
{
	static const char head[] = "id: x\nshape: D\nlanguages: [python]\nexplain: e\n"
				   "fix: f\nbad: []\ngood: []\n";
	static const struct {
		const char *text, *why;
	} rows[] = {
		{"message: m\nquery: (call) @here\nwhere: [in-space]\n",
		 "is no condition"},
		{"message: m\nquery: (call) @here\nwhere: [\"empty:body\"]\n",
		 "names a capture that the query does not have"},
		{"message: m\nquery: (call) @there\n", "has no @here"},
		{"message: m\nquery: (cal) @here\n", "x.yaml:"},
		{"query: (call) @here\n", "needs a message"},
		{"colour: red\n", "colour"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		CLEANUP(scan_rules) struct scan_rules own = {0};
		CLEANUP_FREE char *text = xasprintf("%s%s", head, rows[i].text);
		struct scan_set *s = NULL;
		struct err err = {0};

		if (rule_parse(text, strlen(text), "x.yaml", &own, &err) == 0)
			s = scan_set_new(&own, &err);
		assert_null(s);
		assert_non_null(strstr(err.message, rows[i].why));
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		HARNESS_TEST(test_examples),
		HARNESS_TEST(test_ids),
		HARNESS_TEST(test_refused),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
