/* Which nodes are tests, suites and helpers, in each language. */
#include "review/internal.h"

#include "base/mem.h"

#include <stdio.h>

char *tokens_of(const struct source_tree *t, uint32_t n)
{
	struct buf out = {0};

	for (uint32_t i = n; i < t->nodes[n].after; i++) {
		const struct source_node *node = &t->nodes[i];

		if (node->flags & SOURCE_EXTRA || node->after != i + 1 ||
		    node->start == node->end)
			continue;
		if (out.len)
			buf_addc(&out, ' ');
		buf_add(&out, t->text + node->start, node->end - node->start);
	}
	return buf_detach(&out);
}

static bool is_kind(const struct source_tree *t, uint32_t n, const char *name)
{
	return strcmp(source_kind_name(t->lang, t->nodes[n].kind), name) == 0;
}

static uint32_t field(const struct source_tree *t, uint32_t n, const char *name)
{
	return source_child(t, n, source_field(t->lang, name));
}

static char *field_text(const struct source_tree *t, uint32_t n, const char *name)
{
	uint32_t child = field(t, n, name);

	return child == SOURCE_NONE ? NULL : source_text_dup(t, child);
}

static void set_skip(struct unit *u, const struct source_tree *t, uint32_t mark,
		     bool sometimes)
{
	char **to = sometimes ? &u->skip_if : &u->skip;

	if (*to)
		return;
	*to = source_text_dup(t, mark);
	*(sometimes ? &u->skip_if_line : &u->skip_line) = source_line(t, mark);
}

/* A decorator, annotation or attribute. */
static void read_mark(struct unit *u, const struct source_tree *t, uint32_t mark)
{
	static const char *const python[] = {"skip", "xfail", "expectedFailure", NULL};
	static const char *const others[] = {"Disabled", "Ignore", "# [ ignore",
					     ", ignore", NULL};
	const char *const *skips = t->lang == LANG_PYTHON ? python : others;
	static const char *const sometimes[] = {"skipif",   "skipIf",	  "skipUnless",
						"cfg_attr", "DisabledOn", "DisabledIf"};
	static const char *const always[] = {"skipif ( True", "skipIf ( True",
					     "skipUnless ( False"};
	char *text CLEANUP_FREE = tokens_of(t, mark);
	bool skip = false, condition = false;

	if (strstr(text, "parametrize") || strstr(text, "Parameterized") ||
	    strstr(text, "rstest") || strstr(text, "# [ case"))
		u->parametrized = true;
	for (size_t i = 0; skips[i]; i++)
		skip |= strstr(text, skips[i]) != NULL;
	for (size_t i = 0; i < ARRAY_SIZE(sometimes); i++)
		condition |= strstr(text, sometimes[i]) != NULL;
	for (size_t i = 0; i < ARRAY_SIZE(always); i++)
		condition &= strstr(text, always[i]) == NULL;
	if (skip)
		set_skip(u, t, mark, condition);
}

static bool python_unit(const struct source_tree *t, uint32_t n, struct unit *u)
{
	bool class = is_kind(t, n, "class_definition");
	uint32_t parent = t->nodes[n].parent, child;

	if (!class && !is_kind(t, n, "function_definition"))
		return false;
	u->name = field_text(t, n, "name");
	u->kind = class						? UNIT_SUITE
		  : u->name && strncmp(u->name, "test", 4) == 0 ? UNIT_TEST
								: UNIT_HELPER;
	if (parent != SOURCE_NONE && is_kind(t, parent, "decorated_definition"))
		for (SOURCE_CHILDREN(t, parent, child))
			if (is_kind(t, child, "decorator"))
				read_mark(u, t, child);
	return u->name != NULL;
}

/* The first argument when it is a string: its text without quotes. */
static char *string_argument(const struct source_tree *t, uint32_t call)
{
	uint32_t args = field(t, call, "arguments");
	uint32_t first =
		args == SOURCE_NONE ? SOURCE_NONE : source_named_child(t, args, 0);
	char *text;
	size_t len;

	if (first == SOURCE_NONE)
		return NULL;
	text = source_text_dup(t, first);
	len = strlen(text);
	if (len < 2 || !strchr("\"'`", text[0])) {
		free(text);
		return NULL;
	}
	text[len - 1] = '\0';
	memmove(text, text + 1, len - 1);
	return text;
}

static bool go_unit(const struct source_tree *t, uint32_t n, struct unit *u)
{
	if (is_kind(t, n, "function_declaration") ||
	    is_kind(t, n, "method_declaration")) {
		u->name = field_text(t, n, "name");
		u->kind = u->name && (strncmp(u->name, "Test", 4) == 0 ||
				      strncmp(u->name, "Fuzz", 4) == 0 ||
				      strncmp(u->name, "Example", 7) == 0)
				  ? UNIT_TEST
				  : UNIT_HELPER;
		if (u->name && strcmp(u->name, "TestMain") == 0)
			u->kind = UNIT_HELPER;
		return u->name != NULL;
	}
	if (is_kind(t, n, "call_expression")) {
		uint32_t callee = field(t, n, "function");
		char *text CLEANUP_FREE =
			callee == SOURCE_NONE ? NULL : source_text_dup(t, callee);

		if (!text || strlen(text) < 4 ||
		    strcmp(text + strlen(text) - 4, ".Run") != 0)
			return false;
		u->name = string_argument(t, n);
		u->kind = UNIT_TEST;
		return u->name != NULL;
	}
	return false;
}

/* it, it.skip, describe.each(…), xtest: the word, and the modifiers in `ret_rest`. */
static bool js_word(const char *callee, const char *const *words, const char **ret_rest)
{
	for (; *words; words++) {
		size_t len = strlen(*words);

		if (strncmp(callee, *words, len) == 0 &&
		    (callee[len] == '\0' || callee[len] == ' ')) {
			*ret_rest = callee + len;
			return true;
		}
	}
	return false;
}

static bool js_unit(const struct source_tree *t, uint32_t n, struct unit *u)
{
	static const char *const tests[] = {"it",    "test", "specify",	 "xit",
					    "xtest", "fit",  "xspecify", NULL};
	static const char *const suites[] = {"describe",  "context",   "suite",
					     "xdescribe", "fdescribe", "xcontext",
					     NULL};
	char *callee CLEANUP_FREE = NULL;
	const char *rest = "";
	uint32_t function;

	if (is_kind(t, n, "function_declaration") || is_kind(t, n, "method_definition")) {
		u->name = field_text(t, n, "name");
		u->kind = UNIT_HELPER;
		return u->name != NULL;
	}
	if (!is_kind(t, n, "call_expression"))
		return false;
	function = field(t, n, "function");
	if (function == SOURCE_NONE ||
	    t->nodes[function].end - t->nodes[function].start > 4000)
		return false;
	callee = tokens_of(t, function);
	if (js_word(callee, tests, &rest))
		u->kind = UNIT_TEST;
	else if (js_word(callee, suites, &rest))
		u->kind = UNIT_SUITE;
	else
		return false;
	u->name = string_argument(t, n);
	if (!u->name)
		return false;
	if (callee[0] == 'x' || strstr(rest, ". skip") || strstr(rest, ". todo") ||
	    strstr(rest, ". failing") || strstr(rest, ". fails"))
		set_skip(u, t, function, strstr(rest, "skipIf") || strstr(rest, "runIf"));
	if ((callee[0] == 'f' && callee[1] != 'u') || strstr(rest, ". only"))
		u->focus_line = source_line(t, n);
	u->parametrized = strstr(rest, ". each") != NULL;
	return true;
}

static bool java_unit(const struct source_tree *t, uint32_t n, struct unit *u)
{
	bool class = is_kind(t, n, "class_declaration");
	uint32_t child, mark;
	bool test = false;

	if (!class && !is_kind(t, n, "method_declaration"))
		return false;
	for (SOURCE_CHILDREN(t, n, child)) {
		if (!is_kind(t, child, "modifiers"))
			continue;
		for (SOURCE_CHILDREN(t, child, mark)) {
			char *name CLEANUP_FREE = field_text(t, mark, "name");

			if (!name)
				continue;
			test |= strstr(name, "Test") != NULL;
			read_mark(u, t, mark);
		}
	}
	u->name = field_text(t, n, "name");
	u->kind = class ? UNIT_SUITE : test ? UNIT_TEST : UNIT_HELPER;
	if (!class && !test && u->name && strncmp(u->name, "test", 4) == 0)
		u->kind = UNIT_TEST; /* JUnit 3 */
	return u->name != NULL;
}

static bool rust_unit(const struct source_tree *t, uint32_t n, struct unit *u)
{
	uint32_t parent = t->nodes[n].parent, child;
	uint32_t first = SOURCE_NONE;
	bool test = false;

	if (is_kind(t, n, "mod_item")) {
		u->name = field_text(t, n, "name");
		u->kind = UNIT_SUITE;
		return u->name != NULL;
	}
	if (!is_kind(t, n, "function_item") || parent == SOURCE_NONE)
		return false;
	for (SOURCE_CHILDREN(t, parent,
			     child)) { /* the attributes right in front of it */
		if (child == n)
			break;
		if (!is_kind(t, child, "attribute_item"))
			first = t->nodes[child].flags & SOURCE_EXTRA ? first
								     : SOURCE_NONE;
		else if (first == SOURCE_NONE)
			first = child;
	}
	for (child = first; child != SOURCE_NONE && child != n;
	     child = source_next(t, child)) {
		char *text CLEANUP_FREE = tokens_of(t, child);

		if (!is_kind(t, child, "attribute_item"))
			continue;
		test |= strstr(text, "test ]") || strstr(text, "test (") ||
			strstr(text, "rstest");
		read_mark(u, t, child);
	}
	u->name = field_text(t, n, "name");
	u->kind = test ? UNIT_TEST : UNIT_HELPER;
	return u->name != NULL;
}

/* gtest's TEST(Suite, Name), Check's START_TEST(name), Catch's TEST_CASE("name"); else a
 * function whose name says that it is a test, or that takes cmocka's void **state. */
static bool c_unit(const struct source_tree *t, uint32_t n, struct unit *u)
{
	uint32_t declarator, body;
	char *head CLEANUP_FREE = NULL, *args, *end;

	if (!is_kind(t, n, "function_definition"))
		return false;
	declarator = field(t, n, "declarator");
	body = field(t, n, "body");
	if (declarator == SOURCE_NONE || body == SOURCE_NONE)
		return false;
	head = tokens_of(t, declarator);
	args = strchr(head, '(');
	end = strrchr(head, ')');
	if (!args || !end)
		return false;
	if (args == head) { /* C reads TEST_IMPL(name) as a type and a declarator */
		char *macro CLEANUP_FREE = field_text(t, n, "type");

		*end = '\0';
		u->name = xstrdup(args + 1 + strspn(args + 1, " "));
		u->kind = macro && strcasestr(macro, "test") ? UNIT_TEST : UNIT_HELPER;
		return true;
	}
	if (strncmp(head, "TEST", 4) == 0 || strncmp(head, "TYPED_TEST", 10) == 0 ||
	    strncmp(head, "START_TEST", 10) == 0 || strncmp(head, "SCENARIO", 8) == 0) {
		*end = '\0';
		u->name = xstrdup(args + 1 + strspn(args + 1, " "));
		u->kind = UNIT_TEST;
		if (strstr(u->name, "DISABLED_"))
			set_skip(u, t, declarator, false);
		return true;
	}
	u->kind = strstr(args, "* * state") || strncmp(head, "test", 4) == 0
			  ? UNIT_TEST
			  : UNIT_HELPER;
	while (args > head && args[-1] == ' ')
		args--;
	u->name = xstrndup(head, (size_t)(args - head));
	return true;
}

bool unit_at(const struct source_tree *t, uint32_t n, struct unit *ret)
{
	bool is = false;

	if (!source_named(t, n))
		return false;
	switch (t->lang) {
	case LANG_PYTHON:
		is = python_unit(t, n, ret);
		break;
	case LANG_GO:
		is = go_unit(t, n, ret);
		break;
	case LANG_JAVASCRIPT:
	case LANG_TYPESCRIPT:
	case LANG_TSX:
		is = js_unit(t, n, ret);
		break;
	case LANG_JAVA:
		is = java_unit(t, n, ret);
		break;
	case LANG_RUST:
		is = rust_unit(t, n, ret);
		break;
	case LANG_C:
	case LANG_CPP:
		is = c_unit(t, n, ret);
		break;
	case LANG_NONE:
	case LANG_END:
		break;
	}
	return is;
}

char *skip_call_at(const struct source_tree *t, uint32_t n)
{
	static const char *const calls[] = {
		"pytest.skip(",
		"pytest.xfail(",
		"self.skipTest(",
		"t.Skip(",
		"t.SkipNow(",
		"t.Skipf(",
		"b.Skip(",
		"this.skip(",
		"GTEST_SKIP(",
		"skip()",
		"g_test_skip(",
		"ctx.skip(",
		"t.skip(",
		"assumeTrue(false",
		"Assume.assumeTrue(false",
		"Assumptions.assumeTrue(false",
		"assumeFalse(true",
		"raise unittest.SkipTest",
		"raise SkipTest",
		"raise pytest.skip",
	};
	size_t len;
	const char *text;

	if (!is_kind(t, n, "call") && !is_kind(t, n, "call_expression") &&
	    !is_kind(t, n, "method_invocation") && !is_kind(t, n, "raise_statement"))
		return NULL;
	text = source_text(t, n, &len);
	for (size_t i = 0; i < ARRAY_SIZE(calls); i++)
		if (len >= strlen(calls[i]) &&
		    memcmp(text, calls[i], strlen(calls[i])) == 0)
			return xstrndup(text, len);
	return NULL;
}
