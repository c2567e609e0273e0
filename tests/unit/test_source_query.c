#include "harness.h"

#include "base/mem.h"
#include "source/source.h"

static const char TEXT[] = "f = open(a)\n"
			   "f.close()\n"
			   "g.close()\n"
			   "def h():\n"
			   "    f.close()\n"
			   "    f.read()\n";

struct seen {
	const struct source_tree *t;
	struct buf text;
	int capture;
	unsigned stop_after;
};

static bool collect(void *ctx, const struct source_match *m)
{
	struct seen *s = ctx;
	uint32_t node = source_match_node(m, s->capture);
	size_t len;
	const char *text = source_text(s->t, node, &len);

	buf_addf(&s->text, "%u:%.*s ", m->pattern, (int)len, text);
	return s->stop_after == 0 || --s->stop_after > 0;
}

/* What the capture @x of every match is, each after its pattern's number. */
static void expect(const char *query, unsigned stop_after, const char *root_kind,
		   const char *expected)
{
	struct err err = {0};
	struct source_query *q = source_query_new(LANG_PYTHON, query, &err);
	struct source_parser *p = source_parser_new();
	struct source_tree t CLEANUP(source_tree) = {0};
	struct seen seen = {.t = &t, .stop_after = stop_after};
	uint32_t root = 0;

	if (!q)
		fail_msg("%s", err.message);
	source_parse(p, LANG_PYTHON, TEXT, strlen(TEXT), NULL, &t);
	while (root_kind && t.nodes[root].kind != source_kind(LANG_PYTHON, root_kind))
		root++;
	seen.capture = source_query_capture(q, "x");
	assert_true(source_query_run(q, &t, root, collect, &seen));
	assert_string_equal(buf_str(&seen.text), expected);
	buf_release(&seen.text);
	source_query_free(q);
	source_parser_free(p);
}

#define CLOSE "(call function: (attribute object: (_) @x attribute: (identifier) @name)"

static void test_matches(void **state)
{
	(void)state;
	expect("(call) @x", 0, NULL,
	       "0:open(a) 0:f.close() 0:g.close() 0:f.close() 0:f.read() ");
	expect("(" CLOSE ") (#eq? @name \"close\"))", 0, NULL, "0:f 0:g 0:f ");
	expect("(" CLOSE ") (#not-eq? @name \"close\"))", 0, NULL, "0:f ");
	expect("(" CLOSE ") (#any-of? @name \"read\" \"write\"))", 0, NULL, "0:f ");
	expect("(" CLOSE ") (#not-any-of? @name \"read\" \"close\"))", 0, NULL, "");
	expect("(" CLOSE ") (#match? @name \"^cl\"))", 0, NULL, "0:f 0:g 0:f ");
	expect("(" CLOSE ") (#not-match? @name \"e$\"))", 0, NULL, "0:f ");
	expect("(" CLOSE ") (#match? @x \"^f$\") (#eq? @name \"close\"))", 0, NULL,
	       "0:f 0:f ");
	expect("(assignment left: (_) @x) (" CLOSE ") (#eq? @name \"read\"))", 0, NULL,
	       "0:f 1:f ");
	expect("(function_definition name: (_) @x)", 0, NULL, "0:h ");
	expect("(call) @x", 2, NULL, "0:open(a) 0:f.close() ");
	expect("(call) @x", 0, "function_definition", "0:f.close() 0:f.read() ");
	expect("((call function: (_) @a arguments: (argument_list (_) @x)) (#eq? @a @a))",
	       0, NULL, "0:a ");
	expect("((call function: (_) @a arguments: (argument_list (_) @x)) (#eq? @a @x))",
	       0, NULL, "");
}

/* A literal says where to search: whatever the number of places, the same is found. */
static void test_places(void **state)
{
	(void)state;
	expect("(" CLOSE ") (#eq? @name \"absent\"))", 0, NULL, "");
	expect("(" CLOSE ") (#any-of? @name \"close\" \"read\"))", 2, NULL, "0:f 0:g ");
	/* Both captures of a match are such words; so are a node and its only child. */
	expect("((call function: (attribute object: (_) @x) @name) "
	       "(#any-of? @name \"f\" \"f.close\" \"g.close\"))",
	       0, NULL, "0:f 0:g 0:f ");
	expect("((expression_statement (call) @name) @x (#eq? @name \"g.close()\"))", 0,
	       NULL, "0:g.close() ");
	/* One pattern has a literal, the other has none. */
	expect("(" CLOSE ") (#eq? @name \"read\")) (function_definition name: (_) @x)", 0,
	       NULL, "1:h 0:f ");
	/* No match needs the capture. */
	expect("((argument_list (identifier)? @name) @x (#eq? @name \"b\"))", 0, NULL,
	       "0:() 0:() 0:() 0:() ");
	/* So often that one search over all of them is made. */
	expect("((identifier) @x (#any-of? @x \"f\" \"g\" \"h\" \"a\" \"open\" "
	       "\"close\" \"read\"))",
	       0, NULL,
	       "0:f 0:open 0:a 0:f 0:close 0:g 0:close 0:h 0:f 0:close 0:f "
	       "0:read ");
	expect("(module (expression_statement (call function: (attribute attribute: "
	       "(identifier) @x) (#eq? @x \"close\"))))",
	       0, NULL, "0:close 0:close ");
}

static void test_errors_have_a_place(void **state)
{
	static const struct {
		const char *query, *message;
	} cases[] = {
		{"(call", "1:6: not the syntax of a query"},
		{"(call)\n  (cal) @x", "2:4: the language has no such kind of node"},
		{"(call nofield: (_))", "1:7: the language has no such field"},
		{"((call) @x (#eq? @y \"a\"))", "1:19: no such capture"},
		{"(call) @a\n((call) @x (#is-not? @x \"a\"))",
		 "2:1: an unknown predicate"},
		{"((call) @x (#eq? @x))", "1:1: a predicate takes a capture"},
		{"((call) @x (#eq? \"a\" @x))", "1:1: a predicate takes a capture"},
		{"((call) @x (#match? @x \"(\"))", "1:1: not a POSIX extended"},
		{"((call) @x (#match? @x @x))", "1:1: only #eq? compares two"},
		{"(call (module))", "1:7: such a node can never be there"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct err err = {0};

		assert_null(source_query_new(LANG_PYTHON, cases[i].query, &err));
		assert_int_equal(err.kind, ERR_USAGE);
		if (strncmp(err.message, cases[i].message, strlen(cases[i].message)) != 0)
			fail_msg("%s: %s", cases[i].query, err.message);
	}
	assert_null(source_query_new(LANG_NONE, "(call)", NULL));
}

static void test_captures(void **state)
{
	struct source_query *q =
		source_query_new(LANG_C, "(call_expression function: (_) @f) @c", NULL);

	(void)state;
	assert_int_equal(source_query_captures(q), 2);
	assert_string_equal(source_query_capture_name(q, 0), "f");
	assert_string_equal(source_query_capture_name(q, 2), "");
	assert_int_equal(source_query_capture(q, "c"), 1);
	assert_int_equal(source_query_capture(q, "x"), -1);
	source_query_free(q);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		HARNESS_TEST(test_matches),
		HARNESS_TEST(test_places),
		HARNESS_TEST(test_errors_have_a_place),
		HARNESS_TEST(test_captures),
	};

	return HARNESS_RUN(tests);
}
