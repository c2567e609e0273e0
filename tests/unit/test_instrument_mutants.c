/* Mutants of C: which there are, and that the file which holds them all has its lines. */
#include "harness.h"

#include "base/mem.h"
#include "instrument/code_c.h"
#include "instrument/mutants_c.h"

#include <stdio.h>
#include <string.h>

static struct source_parser *parser;

static void find(const char *text, size_t len, struct source_tree *t, struct mutants *ret)
{
	CLEANUP(strv) struct strv macros = {0};
	CLEANUP_FREE uint8_t *code = NULL;

	source_parse(parser, LANG_C, text, len, NULL, t);
	code_c_macros(t, &macros);
	code = code_c_mark(t, &macros);
	mutants_c_find(t, code, ret);
}

/* "ROR a != b; ROR 0; …" */
static void names(const struct mutants *m, struct buf *out)
{
	for (size_t i = 0; i < m->n; i++)
		buf_addf(out, "%s%s %s", i ? "; " : "", m->v[i].operator_,
			 m->v[i].form == MUTANT_GONE ? "-" : m->v[i].text);
}

static void operators(void **state)
{
	static const struct {
		const char *body, *expected;
	} cases[] = {
		{"x = a < b;", "SDL -; ROR 0; ROR a != b; ROR a <= b"},
		{"x = a && b;", "SDL -; LCR a || b; COI !(a); COI !(b)"},
		{"x += a;", "SDL -; ASR x -= a"},
		{"i++;", "SDL -; UOI i--"},
		{"x = 0;", "SDL -; CRCR 1"},
		{"x = 7;", "SDL -; CRCR 0; CRCR 7 + 1"},
		{"x = 1.5;", "SDL -"},
		{"x = -a;", "SDL -; UOD a"},
		{"free(a);", "drop-release -"},
		{"s->buf_free(a);", "drop-release -"},
		{"freeze(a);", "SDL -"},
		{"if (!a) return;", "COD !!a; ignore-error 0"},
		{"if (a < 0) return;", "ROR 0; ROR a != 0; ROR a <= 0; CRCR 1"},
		{"return a;", "RVR 0"},
		{"for (;;) break;", "SDL -"},
		{"f(a, // why\n b);", "SDL -"},
		{"x = a /* why */ + // what\n b;", "SDL -; AOR a   -    b"},
		{"log_error(a + b);", ""},
		{"assert(a + b);", ""},
		{"static int x = 1 + 2;", ""},
		{"switch (x) { case 1 + 2: ; }", ""},
		{"int x[4];", ""},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP_FREE char *text = xasprintf("int f(void) {%s}", cases[i].body);
		struct source_tree t CLEANUP(source_tree) = {0};
		CLEANUP(mutants) struct mutants m = {0};
		CLEANUP(buf) struct buf said = {0};

		find(text, strlen(text), &t, &m);
		names(&m, &said);
		assert_string_equal(buf_str(&said), cases[i].expected);
	}
}

static void all_in_one_file(void **state)
{
	static const char text[] =
		"int f(int a) {\n\tif (a == 1)\n\t\tg();\n\treturn a;\n}\n";
	static const char expected[] =
		"int f(int a) {\n"
		"\tif ((ep_m_(5) ? (0) : ((ep_m_(6) ? ((a) * 1 <= (1) * 1) : "
		"((ep_m_(7) ? ((a) * 1 >= (1) * 1) : (a == (ep_m_(8) ? (0) : "
		"((ep_m_(9) ? (1 + 1) : (1)))))))))))\n"
		"\t\t{ if (!ep_m_(10)) g(); }\n"
		"\treturn (ep_m_(11) ? (0) : (a));\n}\n";
	struct source_tree t CLEANUP(source_tree) = {0};
	CLEANUP(mutants) struct mutants m = {0};
	CLEANUP(buf) struct buf out = {0};
	struct mutant_place places[16] = {{0}};
	uint8_t used[16];

	(void)state;
	find(text, strlen(text), &t, &m);
	assert_int_equal(m.n, 7);
	mutants_c_rewrite(&t, &m, NULL, 5, &out, places);
	assert_string_equal(buf_str(&out), expected);
	for (size_t i = 0; i < m.n; i++) {
		char call[16];

		snprintf(call, sizeof(call), "ep_m_(%zu)", 5 + i);
		assert_true(places[i].end > places[i].start);
		assert_true(strstr(out.data, call) >= out.data + places[i].start);
		assert_true(strstr(out.data, call) < out.data + places[i].end);
	}
	memset(used, 0, sizeof(used));
	buf_clear(&out);
	mutants_c_rewrite(&t, &m, used, 5, &out, NULL);
	assert_string_equal(buf_str(&out), text);
}

static void one_a_line(void **state)
{
	static const char text[] =
		"int f(int a) {\n\tfree(a + 1);\n\treturn a\n\t> 2;\n}\n";
	struct source_tree t CLEANUP(source_tree) = {0};
	CLEANUP(mutants) struct mutants m = {0};
	CLEANUP(buf) struct buf said = {0};

	(void)state;
	find(text, strlen(text), &t, &m);
	mutants_one_a_line(&m);
	names(&m, &said);
	assert_string_equal(buf_str(&said), "drop-release -; ROR a \t!= 2; CRCR 0");
}

static void broken_files_keep_their_lines(void **state)
{
	static const char text[] =
		"int f(int a) {\n\tif (a && (b ||\n /* c\n */ c)) {\n"
		"\t\tg(a + \\\n1);\n#if A\n\t\tx = a +\n#else\n\t\tx = b +\n"
		"#endif\n\t\tc;\n\t}\n\treturn a ? 1\n\t: 2;\n}\n";

	(void)state;
	for (size_t len = 0; len < sizeof(text); len++) {
		struct source_tree t CLEANUP(source_tree) = {0};
		CLEANUP(mutants) struct mutants m = {0};
		CLEANUP(buf) struct buf out = {0};
		size_t lines = 0;

		find(text, len, &t, &m);
		mutants_c_rewrite(&t, &m, NULL, 0, &out, NULL);
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
		HARNESS_TEST(operators),
		HARNESS_TEST(all_in_one_file),
		HARNESS_TEST(one_a_line),
		HARNESS_TEST(broken_files_keep_their_lines),
	};
	int failed;

	parser = source_parser_new();
	failed = HARNESS_RUN(tests);
	source_parser_free(parser);
	return failed;
}
