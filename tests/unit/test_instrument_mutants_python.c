/* Mutants of Python: which there are. */
#include "harness.h"

#include "base/mem.h"
#include "instrument/mutants_python.h"

#include <string.h>

/* "ROR a != b; …", without those of whole bodies. */
static char *names(struct source_parser *parser, const char *text)
{
	CLEANUP(source_tree) struct source_tree t = {0};
	CLEANUP(mutants) struct mutants m = {0};
	struct buf out = {0};

	source_parse(parser, LANG_PYTHON, text, strlen(text), NULL, &t);
	mutants_python_find(&t, &m);
	for (size_t i = 0; i < m.n; i++)
		buf_addf(&out, "%s%s %.*s → %s", i ? "; " : "", m.v[i].operator_,
			 (int)(m.v[i].end - m.v[i].start), text + m.v[i].start,
			 m.v[i].text);
	buf_addc(&out, '\0');
	return buf_detach(&out);
}

static void operators(void **state)
{
	static const struct {
		const char *text, *expected;
	} cases[] = {
		{"x = a < b", "ROR a < b → False; ROR < → !=; ROR < → <="},
		{"x = a >= b", "ROR a >= b → True; ROR >= → ==; ROR >= → >"},
		{"x = a == b", "ROR == → !="},
		{"x = a is  not b", "ROR is  not → is"},
		{"x = a not in b", "ROR not in → in"},
		{"x = a < b < c", ""},
		{"x = a and b", "LCR and → or"},
		{"x = a + b", "AOR + → -"},
		{"x = a // b", "AOR // → *"},
		{"x = 'a' + b", "CRCR 'a' → \"\""},
		{"x = a << b", "SOR << → >>"},
		{"x |= a", "ASR |= → &="},
		{"x = not a", "COD not a → (a)"},
		{"x = -a", "UOD -a → (a)"},
		{"x = 7", "CRCR 7 → (7 + 1); CRCR 7 → 0"},
		{"x = True", "CRCR True → False"},
		{"x = b''", "CRCR b'' → b\"~\""},
		{"x = f'a'", ""},
		{"x: int = None", ""},
		{"if a: pass", "COI a → (not a)"},
		{"x = a if b() else c", "COI b() → (not b())"},
		{"self.x = a", "SDL self.x = a → pass"},
		{"f(a)", "VMC f(a) → pass"},
		{"self.f.close()", "drop-release self.f.close() → pass"},
		{"session.rollback()", "drop-rollback session.rollback() → pass"},
		{"for a in b: break", "LCO break → continue"},
		{"try: f()\nexcept E as e: raise",
		 "VMC f() → pass; EHC E → (); swallow-exception raise → pass"},
		{"if a < b: raise E('no')", "ROR a < b → False; ROR < → !=; ROR < → <=; "
					    "ignore-error raise E('no') → "
					    "pass"},
		{"def f(a=1): return a", "CRCR 1 → (1 + 1); CRCR 1 → 0; RVR a → None"},
		{"def f():\n \"\"\"Why.\"\"\"\n f()\n return a\nx = b",
		 "VMC f() → pass; XMT f()\n return a → return None\n; RVR a → None"},
		{"log.info(a + b)", ""},
		{"assert a < b", ""},
		{"T = TypeVar('T')", ""},
		{"if __name__ == '__main__': f()", ""},
		{"@d(1)\ndef f(): pass", ""},
		{"x = (a <", ""},
	};
	struct source_parser *parser = source_parser_new();

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP_FREE char *found = names(parser, cases[i].text);

		assert_string_equal(found, cases[i].expected);
	}
	source_parser_free(parser);
}

static void places(void **state)
{
	const char *text = "def f():\n  if (a and\n      b < 1):\n    x = 2\n";
	struct source_parser *parser = source_parser_new();
	CLEANUP(source_tree) struct source_tree t = {0};
	CLEANUP(mutants) struct mutants m = {0};

	(void)state;
	source_parse(parser, LANG_PYTHON, text, strlen(text), NULL, &t);
	mutants_python_find(&t, &m);
	for (size_t i = 0; i < m.n; i++) {
		struct mutant *x = &m.v[i];
		char *body = strstr(text, "x = 2");
		bool inside = x->start >= (uint32_t)(body - text);

		assert_int_equal(mutants_python_first_line(&t, x), inside ? 4 : 2);
		if (!strcmp(x->text, "<=")) {
			assert_int_equal(x->line, 3);
			assert_int_equal(x->column, 9);
			assert_int_equal(x->end_column, 10);
		}
	}
	mutants_one_a_line(&m);
	assert_int_equal(m.n, 3);
	source_parser_free(parser);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		HARNESS_TEST(operators),
		HARNESS_TEST(places),
	};

	return HARNESS_RUN(tests);
}
