#include "harness.h"

#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"
#include "source/source.h"

static struct source_parser *parser;

static void parse(enum source_lang lang, const char *text, struct source_tree *ret)
{
	source_parse(parser, lang, text, strlen(text), NULL, ret);
}

static void test_languages(void **state)
{
	static const struct {
		const char *path, *text;
		enum source_lang lang;
	} cases[] = {
		{"a.c", "", LANG_C},
		{"a.h", "struct s { int class; };\n", LANG_C},
		{"a.h", "#pragma once\nnamespace a {\n}\n", LANG_CPP},
		{"a.H", "  class A {};\n", LANG_CPP},
		{"d.e/a.cc", "", LANG_CPP},
		{"a.hpp", "", LANG_CPP},
		{"a.py", "", LANG_PYTHON},
		{"a.pyi", "", LANG_PYTHON},
		{"a.go", "", LANG_GO},
		{"a.mjs", "", LANG_JAVASCRIPT},
		{"a.d.ts", "", LANG_TYPESCRIPT},
		{"a.tsx", "", LANG_TSX},
		{"a.java", "", LANG_JAVA},
		{"a.rs", "", LANG_RUST},
		{"a.txt", "#!/usr/bin/python3\n", LANG_NONE},
		{"d.py/a", "", LANG_NONE},
		{"tool", "#!/usr/bin/env -S python3.11 -E\n", LANG_PYTHON},
		{"tool", "#! /usr/bin/node\n", LANG_JAVASCRIPT},
		{"tool", "#!/bin/sh\npython\n", LANG_NONE},
		{"tool", "#!", LANG_NONE},
		{"tool", "", LANG_NONE},
		{".py", "", LANG_PYTHON},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_int_equal(source_lang_of(cases[i].path, cases[i].text,
						strlen(cases[i].text)),
				 cases[i].lang);
	for (enum source_lang l = LANG_NONE + 1; l < LANG_END; l++)
		assert_int_equal(source_lang_parse(source_lang_name(l)), l);
	assert_int_equal(source_lang_parse("cobol"), LANG_NONE);
}

/* Fields fit a byte, kinds a set. */
static void test_every_grammar_fits(void **state)
{
	static const char *const texts[LANG_END] = {
		[LANG_C] = "int f(void) { if (a) return 1; }\n",
		[LANG_CPP] = "class A { int f() { throw 1; } };\n",
		[LANG_PYTHON] =
			"def f():\n    try:\n        g()\n    finally:\n        h()\n",
		[LANG_GO] = "package a\nfunc f() { defer g() }\n",
		[LANG_JAVASCRIPT] = "async function f() { await g(); }\n",
		[LANG_TYPESCRIPT] = "function f(a: number): string { return `${a}`; }\n",
		[LANG_TSX] = "const a = <b c={1}>d</b>;\n",
		[LANG_JAVA] = "class A { void f() { try (B b = g()) { } } }\n",
		[LANG_RUST] = "fn f() -> Result<(), E> { g()?; Ok(()) }\n",
	};

	(void)state;
	for (enum source_lang l = LANG_NONE + 1; l < LANG_END; l++) {
		struct source_tree t CLEANUP(source_tree) = {0};

		parse(l, texts[l], &t);
		assert_null(t.skipped);
		assert_false(t.broken);
		assert_true(t.n > 8);
		assert_int_equal(t.nodes[0].after, t.n);
		assert_true(source_field(l, "body") != SOURCE_NO_FIELD || l == LANG_NONE);
		for (uint32_t n = 0; n < t.n; n++)
			assert_true(t.nodes[n].kind > 0 && t.nodes[n].kind < 1024);
		assert_string_equal(source_field_name(l, 255), "");
	}
}

static const char PYTHON[] = "import a\n"
			     "def f(x):\n"
			     "    # why\n"
			     "    if x == 1: g(x, y)\n"
			     "    return [x]\n";

static void test_shape(void **state)
{
	struct source_tree t CLEANUP(source_tree) = {0};
	struct buf out CLEANUP(buf) = {0};

	(void)state;
	parse(LANG_PYTHON, "f(x, *y)\n", &t);
	source_dump(&t, 0, 4096, &out);
	assert_string_equal(
		buf_str(&out),
		"(module (expression_statement (call function: (identifier) arguments: "
		"(argument_list \"(\" (identifier) \",\" (list_splat \"*\" (identifier)) "
		"\")\"))))");
}

static void test_walk_is_consistent(void **state)
{
	struct source_tree t CLEANUP(source_tree) = {0};

	(void)state;
	parse(LANG_PYTHON, PYTHON, &t);
	assert_int_equal(t.nodes[0].parent, SOURCE_NONE);
	for (uint32_t n = 0; n < t.n; n++) {
		uint32_t child, last = n;

		for (SOURCE_CHILDREN(&t, n, child)) {
			assert_int_equal(t.nodes[child].parent, n);
			assert_true(child > last);
			assert_true(t.nodes[child].start >= t.nodes[n].start &&
				    t.nodes[child].end <= t.nodes[n].end);
			assert_true(source_within(&t, child, n));
			last = child;
		}
		if (n > 0)
			assert_true(t.nodes[n].start >= t.nodes[n - 1].start);
	}
}

static uint32_t find(const struct source_tree *t, const char *kind)
{
	uint16_t want = source_kind(t->lang, kind);

	assert_int_not_equal(want, SOURCE_NO_KIND);
	for (uint32_t n = 0; n < t->n; n++)
		if (t->nodes[n].kind == want)
			return n;
	return SOURCE_NONE;
}

static void test_nodes(void **state)
{
	struct source_tree t CLEANUP(source_tree) = {0};
	struct source_kinds functions =
		source_kinds(LANG_PYTHON, "function_definition lambda x");
	uint32_t call, args;
	size_t len;
	char *text CLEANUP_FREE = NULL;

	(void)state;
	parse(LANG_PYTHON, PYTHON, &t);
	call = find(&t, "call");
	assert_int_equal(source_line(&t, call), 4);
	assert_int_equal(source_column(&t, call), 16);
	assert_true(source_text_is(&t, call, "g(x, y)"));
	args = source_child(&t, call, source_field(LANG_PYTHON, "arguments"));
	text = source_text_dup(&t, args);
	assert_string_equal(text, "(x, y)");
	assert_true(source_text_is(&t, source_named_child(&t, args, 1), "y"));
	assert_int_equal(source_named_child(&t, args, 2), SOURCE_NONE);
	assert_int_equal(source_child(&t, call, source_field(LANG_PYTHON, "body")),
			 SOURCE_NONE);
	assert_int_equal(source_above(&t, call, &functions),
			 find(&t, "function_definition"));
	assert_int_equal(source_above(&t, find(&t, "import_statement"), &functions),
			 SOURCE_NONE);
	assert_int_equal(source_end_line(&t, find(&t, "function_definition")), 5);
	assert_true(t.nodes[find(&t, "comment")].flags & SOURCE_EXTRA);
	assert_int_equal(source_at(&t, t.nodes[call].start, t.nodes[call].end), call);
	assert_memory_equal(source_line_at(&t, t.nodes[call].start, &len),
			    "    if x == 1", 13);
	assert_int_equal(len, strlen("    if x == 1: g(x, y)"));
	assert_int_not_equal(source_token(LANG_PYTHON, "=="), 0);
	assert_int_equal(source_kind(LANG_PYTHON, "no_such_kind"), 0);
	assert_int_equal(source_field(LANG_PYTHON, "no_such_field"), 0);
}

static void test_broken_and_empty(void **state)
{
	static const char *const texts[] = {
		"",    "\n",   "def", "def f(:\n  if", "((((((", "\xff\xfe\x80",
		"'''", "a = ", "}}}",
	};

	(void)state;
	for (enum source_lang l = LANG_NONE + 1; l < LANG_END; l++)
		for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
			struct source_tree t CLEANUP(source_tree) = {0};

			parse(l, texts[i], &t);
			assert_null(t.skipped);
			assert_true(t.n > 0);
		}
}

static void test_error_nodes(void **state)
{
	struct source_tree t CLEANUP(source_tree) = {0};
	bool error = false;

	(void)state;
	parse(LANG_C, "int f(void) { return 1 }\nint g(void) { ) ) return 2; }\n", &t);
	assert_true(t.broken);
	for (uint32_t n = 0; n < t.n; n++) {
		error |= (t.nodes[n].flags & (SOURCE_ERROR | SOURCE_MISSING)) != 0;
		if (t.nodes[n].flags & SOURCE_ERROR)
			assert_int_equal(t.nodes[n].kind, SOURCE_ERROR_KIND);
	}
	assert_true(error);
}

static void test_limits(void **state)
{
	struct source_limits limits = {.bytes = 10};
	struct source_tree t CLEANUP(source_tree) = {0};
	struct buf deep CLEANUP(buf) = {0};
	uint64_t start;

	(void)state;
	source_parse(parser, LANG_C, "int a, b, c;", 12, &limits, &t);
	assert_string_equal(t.skipped, "it is too large");
	assert_int_equal(t.n, 0);
	source_parse(parser, LANG_C, "a\0b", 3, NULL, &t);
	assert_non_null(strstr(t.skipped, "NUL"));
	limits = (struct source_limits){.max_nodes = 5};
	source_parse(parser, LANG_C, "int a, b, c;", 12, &limits, &t);
	assert_string_equal(t.skipped, "its tree is too large");
	assert_null(t.nodes);

	for (int i = 0; i < 200000; i++)
		buf_adds(&deep, "a[(");
	limits = (struct source_limits){.time_ms = 20};
	start = clock_us();
	source_parse(parser, LANG_CPP, deep.data, deep.len, &limits, &t);
	assert_string_equal(t.skipped, "parsing it takes too long");
	assert_true(clock_us() - start < 5000000);
	/* The parser is fit for the next file. */
	source_parse(parser, LANG_CPP, "int a;", 6, NULL, &t);
	assert_null(t.skipped);
	assert_false(t.broken);
}

static void test_deep_nesting(void **state)
{
	struct source_tree t CLEANUP(source_tree) = {0};
	struct buf text CLEANUP(buf) = {0};

	(void)state;
	for (int i = 0; i < 20000; i++)
		buf_addc(&text, '(');
	buf_addc(&text, '1');
	for (int i = 0; i < 20000; i++)
		buf_addc(&text, ')');
	buf_addc(&text, '\n');
	source_parse(parser, LANG_PYTHON, text.data, text.len, NULL, &t);
	assert_true(t.skipped || t.n > 20000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		HARNESS_TEST(test_languages),	 HARNESS_TEST(test_every_grammar_fits),
		HARNESS_TEST(test_shape),	 HARNESS_TEST(test_walk_is_consistent),
		HARNESS_TEST(test_nodes),	 HARNESS_TEST(test_broken_and_empty),
		HARNESS_TEST(test_error_nodes),	 HARNESS_TEST(test_limits),
		HARNESS_TEST(test_deep_nesting),
	};
	int failed;

	parser = source_parser_new();
	failed = HARNESS_RUN(tests);
	source_parser_free(parser);
	return failed;
}
