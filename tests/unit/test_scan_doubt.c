/* What speaks against a finding makes it a note and is said; without it, it is none. */
#include "contract/rules.h"
#include "harness.h"
#include "scan/scan.h"

#include <string.h>

static const struct {
	enum source_lang lang;
	const char *doubt; /* part of what is said */
	const char *code;  /* the doubtful one */
	const char *sure;  /* the same without what speaks against it */
} cases[] = {
	{LANG_C, "does not parse",
	 "int f(int n) { char *p = dup_it(n); if (n > 9) return -1; if (use(n,\n#ifdef "
	 "A\n"
	 " 1\n#else\n 2\n#endif\n )) n = 1; free(p); return 0; }",
	 "int f(int n) { char *p = dup_it(n); if (n > 9) return -1; if (use(n, 1)) n = "
	 "1; "
	 "free(p); return 0; }"},
	{LANG_PYTHON, "has it as an argument",
	 "def f(p):\n    s = open(p)\n    return index_it(s, 1) + 1\n",
	 "def f(p):\n    s = open(p)\n    return len(s.read()) + 1\n"},
	{LANG_C, "may have freed it",
	 "int f(char *s) { struct buf b; buf_open(&b); if (buf_addn(&b, s)) return -1; "
	 "buf_free(&b); return 0; }",
	 "int f(char *s) { struct buf b; buf_open(&b); if (look_at(&b, s)) return -1; "
	 "buf_free(&b); return 0; }"},
	{LANG_C, "several variables",
	 "int f(int n) { struct a *x; struct a *y; if (scan_all(&x, &y)) return -1; if "
	 "(n) "
	 "return 1; free(y); return 0; }",
	 "int f(int n) { struct a *y; if (scan_all(&y)) return -1; if (n) return 1; "
	 "free(y); return 0; }"},
	{LANG_C, "under a condition",
	 "int f(int a, int n) { char *p = NULL; if (a) { p = dup_it(n); if (!p) return "
	 "-1; "
	 "} if (a > 2) return n; free(p); return 0; }",
	 "int f(int a, int n) { char *p = NULL; if (a) { p = dup_it(n); if (!p) return "
	 "-1; "
	 "} if (!n) return n; free(p); return 0; }"},
	{LANG_C, "switch",
	 "int f(int n) { struct c *c; int st = c_open(&c); switch (st) { case 0: break; "
	 "default: return -1; } c_close(c); return 0; }",
	 "int f(int n) { struct c *c; int st = c_open(&c); switch (n) { case 0: break; "
	 "default: return -1; } c_close(c); return 0; }"},
	{LANG_PYTHON, "only failures",
	 "def f():\n    w = make_it()\n    try:\n        w.go()\n    except E:\n        "
	 "w.close()\n        raise\n    return 1\n",
	 "def f(x):\n    w = make_it()\n    if x:\n        return 0\n    w.close()\n    "
	 "return 1\n"},
	{LANG_GO, "cannot fail",
	 "package p\nfunc f(x int) error {\n w := NewW()\n if x > 1 {\n  return e\n }\n "
	 "return w.Close()\n}\n",
	 "package p\nfunc f(x int) error {\n w, err := NewW()\n if err != nil {\n  "
	 "return "
	 "err\n }\n if x > 1 {\n  return e\n }\n return w.Close()\n}\n"},
	{LANG_PYTHON, "a handler releases it",
	 "def f(a):\n    s = socket.socket()\n    try:\n        s.bind(a)\n    except "
	 "OSError:\n        s.close()\n        raise\n    s.close()\n",
	 "def f(a):\n    s = socket.socket()\n    s.bind(a)\n    s.close()\n"},
};

/* The findings of paths in a text. */
static void look(const char *code, enum source_lang lang, struct scan_findings *out)
{
	struct source_parser *p = source_parser_new();
	CLEANUP(source_tree) struct source_tree t = {0};
	CLEANUP(scan_rules) struct scan_rules rules = {0};
	struct err err = {0};
	struct scan_set *set;
	size_t ignored = 0;

	assert_int_equal(rules_builtin(&rules, &err), 0);
	set = scan_set_new(&rules, &err);
	assert_non_null(set);
	source_parse(p, lang, code, strlen(code), NULL, &t);
	assert_null(t.skipped);
	scan_file(set, &t, "src/x", out, &ignored);
	scan_set_free(set);
	source_parser_free(p);
}

static void test_doubts(void **state)
{
	unsigned wrong = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		CLEANUP(scan_findings) struct scan_findings doubtful = {0}, sure = {0};
		const struct scan_finding *f;

		look(cases[i].code, cases[i].lang, &doubtful);
		look(cases[i].sure, cases[i].lang, &sure);
		if (doubtful.n != 1 || sure.n != 1) {
			print_error("%s: %zu and %zu findings\n", cases[i].doubt,
				    doubtful.n, sure.n);
			wrong++;
			continue;
		}
		f = &doubtful.v[0];
		if (f->severity != SCAN_NOTE ||
		    !strstr(f->steps[f->nsteps - 1].text, cases[i].doubt))
			print_error("%s: not said\n", cases[i].doubt), wrong++;
		if (sure.v[0].severity != SCAN_WARNING)
			print_error("%s: said without cause\n", cases[i].doubt), wrong++;
	}
	assert_int_equal(wrong, 0);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		HARNESS_TEST(test_doubts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
