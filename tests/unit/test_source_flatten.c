/* The flat tree is what a cursor of tree-sitter's own sees, node by node: on this very
 * repository's sources, on texts of every language, and on what is left of them when
 * bytes are cut out. */
#include "harness.h"

#include "base/fs.h"
#include "base/mem.h"
#include "source/source.h"

#include <tree_sitter/api.h>

static struct source_parser *parser;

static unsigned flags_of(TSNode node)
{
	return (ts_node_is_named(node) ? SOURCE_NAMED : 0u) |
	       (ts_node_is_error(node) ? SOURCE_ERROR : 0u) |
	       (ts_node_is_missing(node) ? SOURCE_MISSING : 0u) |
	       (ts_node_has_error(node) ? SOURCE_BROKEN : 0u) |
	       (ts_node_is_extra(node) ? SOURCE_EXTRA : 0u);
}

static void same_node(const struct source_tree *t, uint32_t n, const TSTreeCursor *cursor,
		      uint32_t parent)
{
	TSNode node = ts_tree_cursor_current_node(cursor);
	const struct source_node *is = &t->nodes[n];

	assert_true(n < t->n);
	assert_int_equal(is->start, ts_node_start_byte(node));
	assert_int_equal(is->end, ts_node_end_byte(node));
	assert_int_equal(is->row, ts_node_start_point(node).row);
	assert_int_equal(is->kind, ts_node_symbol(node));
	assert_int_equal(is->field, ts_tree_cursor_current_field_id(cursor));
	assert_int_equal(is->flags, flags_of(node));
	assert_int_equal(is->parent, parent);
}

static void same_tree(enum source_lang lang, const char *text, size_t len)
{
	struct source_tree t CLEANUP(source_tree) = {0};
	TSTreeCursor cursor;
	uint32_t n = 0, parent = SOURCE_NONE;
	bool more = true;

	source_parse(parser, lang, text, len, NULL, &t);
	assert_null(t.skipped);
	cursor = ts_tree_cursor_new(ts_tree_root_node(t.ts));
	while (more) {
		same_node(&t, n, &cursor, parent);
		if (ts_tree_cursor_goto_first_child(&cursor)) {
			parent = n++;
			continue;
		}
		assert_int_equal(t.nodes[n].after, n + 1);
		n++;
		while (!ts_tree_cursor_goto_next_sibling(&cursor)) {
			if (!ts_tree_cursor_goto_parent(&cursor)) {
				more = false;
				break;
			}
			assert_int_equal(t.nodes[parent].after, n);
			parent = t.nodes[parent].parent;
		}
	}
	assert_int_equal(n, t.n);
	ts_tree_cursor_delete(&cursor);
}

/* Whole, and with pieces cut out at many places. */
static void whole_and_cut(enum source_lang lang, const char *text, size_t len)
{
	same_tree(lang, text, len);
	for (size_t i = 1; i < 20; i++) {
		size_t at = len * i / 20, cut = i * 7 % 40 + 1;
		struct buf broken CLEANUP(buf) = {0};

		buf_add(&broken, text, at);
		if (at + cut < len)
			buf_add(&broken, text + at + cut, len - at - cut);
		if (broken.len > 0)
			same_tree(lang, broken.data, broken.len);
	}
}

static void test_real_files(void **state)
{
	static const char *const names[] = {
		"../../src/source/flatten.c", "../../src/source/source.h",
		"../../scripts/test",	      "../../adapters/python/pack",
		"../../src/cli/main.c",	      "../../shim/fault/decide.c",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		char *path CLEANUP_FREE = path_join(TEST_SOURCE_DIR, names[i]);
		struct buf text CLEANUP(buf) = {0};
		enum source_lang lang;

		if (read_file(path, 0, &text, NULL) < 0)
			continue;
		lang = source_lang_of(path, text.data, text.len);
		if (lang != LANG_NONE)
			whole_and_cut(lang, text.data, text.len);
	}
}

static const char *const texts[LANG_END] = {
	[LANG_C] = "\n\n#define A(x) x\n#ifdef B\nint a = A(1), *b[3] = {1, 2};\n#endif\n"
		   "int f(struct s *p) { goto out; out: return p->x ? (int)1 : -1; }\n",
	[LANG_CPP] =
		"template <typename T> class A : public B {\n  // c\n  A() : b{1} {}\n"
		"  auto f() -> int try { return R\"x(a)x\"_s; } catch (...) { throw; "
		"}\n};\n",
	[LANG_PYTHON] =
		"@d\nasync def f(a, *b: int, c=1, **k) -> None:\n    # c\n\n"
		"    with open(a) as x, y: yield f'{x!r:>{y}}'\n"
		"    try:\n        pass\n    except (A, B) as e:\n        raise C from "
		"e\n"
		"    else:\n        [i for i in x if i]\n    finally:\n        del a\n",
	[LANG_GO] =
		"package a\nimport (\n\t\"b\"\n)\nfunc (s *S) F(a, b int, c ...T) (x "
		"int, "
		"err error) {\n\tif v, err := g(); err != nil { return }\n\tdefer "
		"func() { recover() }()\n\tswitch x.(type) { case int: default: }\n}\n",
	[LANG_JAVASCRIPT] =
		"'use strict'\nclass A extends B { #x = 1; async *f({a, ...b}) "
		"{ await a?.b`c${d}`; } }\nexport default x => /a/g.test(x)\n",
	[LANG_TYPESCRIPT] =
		"abstract class A<T extends B> { constructor(private a?: string) "
		"{ super() } }\ntype X = { [k in keyof T]?: T[k] } | null;\n",
	[LANG_TSX] =
		"export const A = (p: P) => <B {...p} c='d'>{p.x ? <></> : 'y'} z</B>;\n",
	[LANG_JAVA] = "package a;\n/** d */\n@A(b = 1) class C<T> implements D {\n  int "
		      "f(int... "
		      "x) throws E { try (var r = g(); s) { return x -> 1; } "
		      "catch (A | B e) { } finally { } }\n}\n",
	[LANG_RUST] =
		"#[derive(A)]\nimpl<'a, T: B> C<'a> for D where T: E {\n    fn f(&mut "
		"self) "
		"-> Result<u8, F> { let Some(x) = g()? else { return Err(h!(1, 2)) }; "
		"match x { A { b, .. } | C => 1, _ if y => { loop { break } } } }\n}\n",
};

static void test_every_language(void **state)
{
	(void)state;
	for (enum source_lang l = LANG_NONE + 1; l < LANG_END; l++) {
		whole_and_cut(l, texts[l], strlen(texts[l]));
		for (enum source_lang other = LANG_NONE + 1; other < LANG_END; other++)
			same_tree(other, texts[l], strlen(texts[l]));
		same_tree(l, "", 0);
		same_tree(l, " \n\n ", 4);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		HARNESS_TEST(test_real_files),
		HARNESS_TEST(test_every_language),
	};
	int failed;

	parser = source_parser_new();
	failed = HARNESS_RUN(tests);
	source_parser_free(parser);
	return failed;
}
