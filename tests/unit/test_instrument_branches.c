/* Where probes of branches are put into C, and where they must not be. */
#include "harness.h"

#include "base/mem.h"
#include "instrument/branches.h"
#include "instrument/code_c.h"

#include <stdio.h>
#include <string.h>

static struct source_parser *parser;

/* The body of a function with probes; outcomes are counted. */
static char *rewrite(const char *top, const char *body, uint32_t *ret_outcomes)
{
	CLEANUP_FREE char *text = xasprintf("%svoid f(void) {%s}", top, body);
	size_t before = strlen(top) + strlen("void f(void) {");
	struct source_tree t CLEANUP(source_tree) = {0};
	CLEANUP(branches) struct branches b = {0};
	CLEANUP(strv) struct strv macros = {0};
	CLEANUP(buf) struct buf out = {0};
	CLEANUP_FREE uint8_t *code = NULL;

	source_parse(parser, LANG_C, text, strlen(text), NULL, &t);
	code_c_macros(&t, &macros);
	code = code_c_mark(&t, &macros);
	branches_find(&t, code, 0, &b);
	branches_c_rewrite(&t, &b, &out);
	*ret_outcomes = b.outcomes;
	assert_memory_equal(out.data, text, before);
	return xstrndup(out.data + before, out.len - before - 1);
}

static void probes_stand_where_outcomes_begin(void **state)
{
	static const struct {
		const char *body, *expected;
		uint32_t outcomes;
	} cases[] = {
		{"if (a) g();", "if (ep_b_(0,!!(a))) g();", 2},
		{"if (a && b) g();", "if (ep_b_(0,!!(a)) && ep_b_(2,!!(b))) g();", 4},
		{"if (!(a || !b)) g();", "if (!(ep_b_(0,!!(a)) || ep_b_(2,!!(!b)))) g();",
		 4},
		{"while ((c = next())) g();", "while ((ep_b_(0,!!(c = next())))) g();",
		 2},
		{"do g(); while (n--);", "do g(); while (ep_b_(0,!!(n--)));", 2},
		{"for (;;) g();", "for (;;) g();", 0},
		{"for (; i < 3;) g();", "for (; ep_b_(0,!!(i < 3));) g();", 2},
		{"while (1) g();", "while (1) g();", 0},
		{"x = a ? b : c;", "x = ep_b_(0,!!(a)) ? b : c;", 2},
		{"x = a && b;", "x = ep_b_(0,!!(a)) && ep_b_(2,!!(b));", 4},
		{"if (g(a || b)) ;",
		 "if (ep_b_(0,!!(g(ep_b_(2,!!(a)) || ep_b_(4,!!(b)))))) ;", 6},
		{"switch (x) { case 1: case 2: g(); default: h(); }",
		 "switch (__extension__({ __auto_type ep_0_ = (x) + 0; ep_chosen_ = 1; "
		 "ep_0_; })) { case 1: ep_case_(0); __attribute__((fallthrough)); "
		 "case 2: ep_case_(1); g(); default: ep_case_(2); h(); }",
		 3},
		{"switch (x) { case 1: g(); }",
		 "switch (__extension__({ __auto_type ep_0_ = (x) + 0; ep_chosen_ = 1; "
		 "ep_0_; })) { case 1: ep_case_(0); g(); break; default: ep_case_(1); }",
		 2},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		uint32_t outcomes;
		CLEANUP_FREE char *said = rewrite("", cases[i].body, &outcomes);

		/* Spaces are nobody's business but a reader's. */
		for (char *p = said; (p = strstr(p, "  ")) != NULL;)
			memmove(p, p + 1, strlen(p));
		assert_string_equal(said, cases[i].expected);
		assert_int_equal(outcomes, cases[i].outcomes);
	}
}

static void what_is_no_code_is_left_alone(void **state)
{
	static const char *const bodies[] = {
		"int a[N || 1];",
		"static int a = B ? 1 : 2;",
		"x = sizeof(a ? b : c);",
		"assert(a && b);",
		"CHECK(a && b);",
		"own(a && b);",
		"enum { A = B || 1 };",
		"struct s { int a : B ? 1 : 2; };",
		"_Static_assert(A || B, \"\");",
		"typeof(a ? b : c) x;",
		"int a[] = {[A ? 1 : 2] = 0};",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bodies); i++) {
		uint32_t outcomes;
		CLEANUP_FREE char *said = rewrite(
			"#define own(x) #x\nint a = B ? 1 : 2;\n", bodies[i], &outcomes);

		assert_string_equal(said, bodies[i]);
		assert_int_equal(outcomes, 0);
	}
}

static void javascript(void **state)
{
	static const struct {
		const char *text, *expected;
		uint32_t outcomes;
	} cases[] = {
		{"if (a && b) f();", "if (ep_t_(0,(a)) && ep_t_(2,(b))) f();", 4},
		{"x = a || b;", "x = ep_t_(0,(a)) || b;", 2},
		{"x = (a && b) || c;", "x = (ep_t_(0,(a)) && ep_t_(2,(b))) || c;", 4},
		{"x = a ?? b;", "x = ep_n_(0,(a)) ?? b;", 2},
		{"x = a ? 1 : 2;", "x = ep_t_(0,(a)) ? 1 : 2;", 2},
		{"while (true) f();", "while (true) f();", 0},
		{"for (;;) f();", "for (;;) f();", 0},
		{"assert.ok(a && b);", "assert.ok(a && b);", 0},
		{"try { f(); } catch { g(); }", "try { f(); } catch { ep_h_(0); g(); }",
		 1},
		{"o: for (x of y) for (z in x) { if (z) break o; }",
		 "{ let ep_0_ = 1; o: for (x of y) { ep_h_(0); { let ep_2_ = 1; for (z "
		 "in x) "
		 "{ ep_h_(2); if (ep_t_(4,(z))) { ep_0_ = 0; break o; } } "
		 "if (ep_2_) ep_h_(3); } } if (ep_0_) ep_h_(1); }",
		 6},
		{"for (x of y) { switch (x) { case 1: break; } }",
		 "{ let ep_0_ = 1; for (x of y) { ep_h_(0); switch (ep_2_ = 1, x) { case "
		 "1: "
		 "var ep_2_; if (ep_2_) { ep_2_ = 0; ep_h_(2); } break;  default: "
		 "var ep_2_; if (ep_2_) { ep_2_ = 0; ep_h_(3); } } } "
		 "if (ep_0_) ep_h_(1); }",
		 4},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		/* What a file begins with stands behind its directives. */
		CLEANUP_FREE char *text =
			xasprintf("'use strict'; begin; %s", cases[i].text);
		struct source_tree t CLEANUP(source_tree) = {0};
		CLEANUP(branches) struct branches b = {0};
		CLEANUP(buf) struct buf out = {0};
		const char *at;

		source_parse(parser, LANG_JAVASCRIPT, text, strlen(text), NULL, &t);
		branches_find(&t, NULL, 0, &b);
		branches_js_rewrite(&t, &b, "/map", &out);
		assert_int_equal(b.outcomes, cases[i].outcomes);
		at = strstr(buf_str(&out), "begin; ");
		assert_non_null(at);
		assert_string_equal(at + strlen("begin; "), cases[i].expected);
		assert_memory_equal(out.data, "'use strict'; ", strlen("'use strict'; "));
	}
}

/* A file that is cut anywhere has its lines where they were. */
static void broken_files_keep_their_lines(void **state)
{
	static const char text[] =
		"int f(int a) {\n\tif (a && (b ||\n c)) {\n\t\tswitch (a) {\n"
		"\t\tcase 1:\n\t\tcase 2: break;\n\t\t}\n\t}\n"
		"\treturn a ? 1\n\t: 2;\n}\n";

	(void)state;
	for (size_t len = 0; len < sizeof(text); len++) {
		struct source_tree t CLEANUP(source_tree) = {0};
		CLEANUP(branches) struct branches b = {0};
		CLEANUP(buf) struct buf out = {0};
		CLEANUP_FREE uint8_t *code = NULL;
		size_t lines = 0;

		source_parse(parser, LANG_C, text, len, NULL, &t);
		code = code_c_mark(&t, NULL);
		branches_find(&t, code, 0, &b);
		branches_c_rewrite(&t, &b, &out);
		for (size_t i = 0; i < len; i++)
			lines += text[i] == '\n';
		for (size_t i = 0; i < out.len; i++)
			lines -= out.data[i] == '\n';
		assert_int_equal(lines, 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		HARNESS_TEST(probes_stand_where_outcomes_begin),
		HARNESS_TEST(what_is_no_code_is_left_alone),
		HARNESS_TEST(javascript),
		HARNESS_TEST(broken_files_keep_their_lines),
	};
	int failed;

	parser = source_parser_new();
	failed = HARNESS_RUN(tests);
	source_parser_free(parser);
	return failed;
}
