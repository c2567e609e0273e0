/* What an assertion compares, how, and how much it takes to satisfy it. */
#include "review/internal.h"

#include "base/mem.h"

#include <ctype.h>
#include <stdio.h>
#include <strings.h>

static uint32_t field(const struct source_tree *t, uint32_t n, const char *name)
{
	return source_child(t, n, source_field(t->lang, name));
}

static bool is_kind(const struct source_tree *t, uint32_t n, const char *name)
{
	return strcmp(source_kind_name(t->lang, t->nodes[n].kind), name) == 0;
}

static bool literal_word(const char *s, size_t len)
{
	static const char *const words[] = {"true",	 "false",  "True", "False",
					    "null",	 "None",   "nil",  "NULL",
					    "undefined", "nullptr"};

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (strlen(words[i]) == len && strncmp(words[i], s, len) == 0)
			return true;
	return false;
}

/* No name in it, outside of strings, but the words above and keys ("id :"). */
bool is_literal(const char *s)
{
	char quote = '\0';

	if (!*s)
		return false;
	for (; *s; s++) {
		size_t len = 0;

		if (quote || strchr("\"'`", *s)) {
			quote = !quote ? *s : *s == quote ? '\0' : quote;
			continue;
		}
		while (isalnum((unsigned char)s[len]) || s[len] == '_')
			len++;
		if (len && !isdigit((unsigned char)*s) && !literal_word(s, len) &&
		    strncmp(s + len, " :", 2) != 0 && s[len] != '"' && s[len] != '\'')
			return false;
		s += len ? len - 1 : 0;
	}
	return true;
}

static char *shown_of(const struct source_tree *t, uint32_t n)
{
	struct buf out = {0};
	size_t len;
	const char *text = source_text(t, n, &len);

	for (size_t i = 0; i < len && out.len < 200; i++) {
		bool space = isspace((unsigned char)text[i]);

		if (!space || (out.len && out.data[out.len - 1] != ' '))
			buf_addc(&out, space ? ' ' : text[i]);
	}
	return buf_detach(&out);
}

/* The last name of "a . b . c", "m :: n ! ". */
static const char *last_name(const char *callee)
{
	const char *p = callee + strlen(callee);

	while (p > callee && !isspace((unsigned char)p[-1]) && p[-1] != '.' &&
	       p[-1] != ':')
		p--;
	return p;
}

static bool starts(const char *s, const char *prefix)
{
	return strncmp(s, prefix, strlen(prefix)) == 0;
}

/* ---- strength by the matcher's name, without case, '_' and the common prefixes ---- */

static const struct {
	const char *name;
	int strength;
} matchers[] = {
#define MATCHER(name, strength) {name, STRENGTH_##strength},
#include "review/matcher.def"
#undef MATCHER
};

static void simplify(const char *matcher, char *out, size_t size)
{
	static const char *const prefixes[] = {
		"not.",	    "to.",	  "be.",      "resolves.", "rejects.",
		"tobe",	    "assert",	  "expect",   "require",   "check",
		"ckassert", "testassert", "crassert", "gassert",   "debugassert",
		"has",	    "have",	  "is",	      "to",	   "be"};
	size_t n = 0;

	for (const char *p = matcher; *p && n < size - 1; p++)
		if (*p != '_' && *p != ' ')
			out[n++] = (char)tolower((unsigned char)*p);
	out[n] = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(prefixes); i++) {
		size_t len = strlen(prefixes[i]);

		if (strncmp(out, prefixes[i], len) == 0 && out[len]) {
			memmove(out, out + len, strlen(out + len) + 1);
			if (i < 5)
				i = (size_t)-1; /* "not.to.be." in any order */
		}
	}
}

static int matcher_strength(const char *matcher)
{
	char name[80];

	if (strncmp(matcher, "not.", 4) == 0 || strstr(matcher, ".not."))
		return STRENGTH_TRUTH;

	for (size_t i = 0; i < ARRAY_SIZE(matchers); i++)
		if (strcasecmp(matchers[i].name, matcher) == 0)
			return matchers[i].strength;
	simplify(matcher, name, sizeof(name));
	for (size_t i = 0; i < ARRAY_SIZE(matchers); i++)
		if (strcmp(matchers[i].name, name) == 0)
			return matchers[i].strength;
	return STRENGTH_UNKNOWN;
}

/* ---- conditions ---- */

static uint32_t unwrap(const struct source_tree *t, uint32_t n)
{
	while (is_kind(t, n, "parenthesized_expression") &&
	       source_named_child(t, n, 0) != SOURCE_NONE)
		n = source_named_child(t, n, 0);
	return n;
}

static int operator_strength(const char *op, const char *right)
{
	bool nothing = strcmp(right, "None") == 0 || strcmp(right, "null") == 0 ||
		       strcmp(right, "nil") == 0 || strcmp(right, "NULL") == 0 ||
		       strcmp(right, "undefined") == 0 || strcmp(right, "nullptr") == 0;

	if (!strcmp(op, "==") || !strcmp(op, "===") || !strcmp(op, "is"))
		return STRENGTH_EXACT;
	if (!strcmp(op, "!=") || !strcmp(op, "!==") || !strcmp(op, "is not"))
		return nothing ? STRENGTH_TRUTH : STRENGTH_TRUTH;
	if (!strcmp(op, "in") || !strcmp(op, "not in") || *op == '<' || *op == '>' ||
	    !strcmp(op, "instanceof"))
		return STRENGTH_PARTIAL;
	return STRENGTH_UNKNOWN;
}

/* The operator between two operands, "" when there is none: "is not", "==". */
static char *operator_of(const struct source_tree *t, uint32_t n)
{
	struct buf op = {0};
	uint32_t child;

	for (SOURCE_CHILDREN(t, n, child))
		if (!source_named(t, child)) {
			size_t len;
			const char *text = source_text(t, child, &len);

			if (op.len)
				buf_addc(&op, ' ');
			buf_add(&op, text, len);
		}
	if (!op.data)
		buf_adds(&op, "");
	return buf_detach(&op);
}

static void read_condition(const struct source_tree *t, uint32_t n, struct assertion *a)
{
	char *op CLEANUP_FREE = NULL;
	uint32_t left, right;

	n = unwrap(t, n);
	a->strength = STRENGTH_TRUTH;
	if (is_kind(t, n, "call") || is_kind(t, n, "call_expression")) {
		char *text CLEANUP_FREE = tokens_of(t, n);

		if (starts(text, "isinstance (") || strstr(text, ". startswith (") ||
		    strstr(text, "includes (") || strstr(text, "Contains ("))
			a->strength = STRENGTH_PARTIAL;
		if (strstr(text, "DeepEqual (") || strstr(text, "cmp . Equal (") ||
		    strstr(text, "bytes . Equal (") || strstr(text, ". equals ("))
			a->strength = STRENGTH_EXACT;
		strv_take(&a->args, TAKE_PTR(text));
		return;
	}
	left = source_named_child(t, n, 0);
	right = source_named_child(t, n, 1);
	if (!is_kind(t, n, "comparison_operator") &&
	    !is_kind(t, n, "binary_expression") && !is_kind(t, n, "boolean_operator")) {
		strv_take(&a->args, tokens_of(t, n));
		if (is_literal(a->args.v[0]) && strcmp(a->args.v[0], "false") != 0 &&
		    strcmp(a->args.v[0], "False") != 0 && strcmp(a->args.v[0], "0") != 0)
			a->strength = STRENGTH_NONE;
		return;
	}
	op = operator_of(t, n);
	if (right == SOURCE_NONE)
		return;
	strv_take(&a->args, tokens_of(t, left));
	strv_take(&a->args, tokens_of(t, right));
	a->conjunct = !strcmp(op, "and") || !strcmp(op, "&&");
	a->disjunct = !strcmp(op, "or") || !strcmp(op, "||");
	free(a->matcher);
	a->matcher = xstrdup(op);
	a->strength = operator_strength(op, a->args.v[1]);
	if (a->conjunct || a->disjunct) {
		struct assertion part = {0};

		read_condition(t, left, &part);
		a->strength = part.strength;
		assertion_release(&part);
		a->strength -= a->disjunct && a->strength > STRENGTH_TRUTH;
	} else if (!strcmp(a->args.v[0], a->args.v[1])) {
		a->strength = STRENGTH_NONE; /* x == x */
	}
}

/* ---- calls ---- */

static void read_arguments(const struct source_tree *t, uint32_t args,
			   struct assertion *a)
{
	uint32_t child;

	if (args == SOURCE_NONE)
		return;
	for (SOURCE_CHILDREN(t, args, child))
		if ((t->nodes[child].flags & (SOURCE_NAMED | SOURCE_EXTRA)) ==
		    SOURCE_NAMED)
			strv_take(&a->args, tokens_of(t, child));
}

static bool truth_matcher(const char *name)
{
	char simple[80];

	simplify(name, simple, sizeof(simple));
	return !strcmp(simple, "true") || !strcmp(name, "assert") ||
	       !strcmp(simple, "ok") || !strcmp(name, "assert_true") ||
	       !strcmp(simple, "that") || !strcmp(name, "ck_assert") ||
	       !strcmp(name, "REQUIRE") || !strcmp(name, "CHECK") ||
	       !strcmp(name, "g_assert") || !strcmp(name, "debug_assert") ||
	       !strcmp(name, "TEST_ASSERT") || !strcmp(name, "TEST_CHECK") ||
	       !strcmp(name, "cr_assert");
}

/* What both sides are the same text: it cannot fail. */
static void judge(const struct source_tree *t, uint32_t args, struct assertion *a)
{
	a->strength = matcher_strength(a->matcher);
	if (a->strength != STRENGTH_EXACT && truth_matcher(a->matcher) &&
	    args != SOURCE_NONE) {
		uint32_t condition = source_named_child(t, args, 0);

		if (t->lang == LANG_GO && a->args.n > 1)
			condition = source_named_child(t, args, 1);
		if (condition != SOURCE_NONE) {
			strv_release(&a->args);
			read_condition(t, condition, a);
		}
	} else if (a->args.n >= 2 && a->strength == STRENGTH_EXACT) {
		size_t first = t->lang == LANG_GO && !strcmp(a->args.v[0], "t") ? 1 : 0;

		if (first + 1 < a->args.n &&
		    !strcmp(a->args.v[first], a->args.v[first + 1]))
			a->strength = STRENGTH_NONE;
	}
}

/* expect(x).not.toBe(y), assertThat(x).isEqualTo(y): the outermost of the chain. */
static uint32_t chain_end(const struct source_tree *t, uint32_t n)
{
	for (;;) {
		uint32_t up = t->nodes[n].parent;

		if (up == SOURCE_NONE || !(is_kind(t, up, "member_expression") ||
					   is_kind(t, up, "call_expression") ||
					   is_kind(t, up, "field_expression") ||
					   is_kind(t, up, "method_invocation")))
			return n;
		if (t->nodes[up].start != t->nodes[n].start)
			return n; /* an argument of another call */
		n = up;
	}
}

/* The names behind the root, "not.toBe", and the last call's arguments. */
static void read_chain(const struct source_tree *t, uint32_t root, uint32_t end,
		       struct assertion *a)
{
	struct buf names = {0};
	uint32_t last = SOURCE_NONE;

	for (uint32_t n = end; n != root && n != SOURCE_NONE; n = source_first(t, n)) {
		uint32_t name = field(t, n, "property");
		struct buf longer = {0};
		size_t len;
		const char *text;

		if (name == SOURCE_NONE)
			name = field(t, n, "name");
		if (last == SOURCE_NONE)
			last = field(t, n, "arguments");
		if (name == SOURCE_NONE)
			continue;
		text = source_text(t, name, &len);
		buf_add(&longer, text, len);
		if (names.len)
			buf_addf(&longer, ".%s", names.data);
		buf_release(&names);
		names = longer;
	}
	a->matcher = xstrdup(buf_str(&names));
	buf_release(&names);
	read_arguments(t, field(t, root, "arguments"), a);
	if (last != SOURCE_NONE)
		read_arguments(t, last, a);
	a->strength = matcher_strength(a->matcher);
	if (a->args.n == 2 && a->strength == STRENGTH_EXACT &&
	    (!strcmp(a->args.v[0], a->args.v[1]) ||
	     (is_literal(a->args.v[0]) && is_literal(a->args.v[1]))))
		a->strength = STRENGTH_NONE;
	if (a->args.n == 1 && is_literal(a->args.v[0]))
		a->strength = STRENGTH_NONE; /* expect(true).toBeTruthy() */
}

static bool is_chain_root(const char *callee)
{
	return !strcmp(callee, "expect") || !strcmp(callee, "assertThat") ||
	       !strcmp(callee, "expectTypeOf") || !strcmp(callee, "cy");
}

/* strictEqual(…), t.is(…), of node:assert, tap, ava and the like. */
static bool js_assertion(const char *callee)
{
	static const char *const names[] = {"strictEqual",
					    "deepStrictEqual",
					    "notStrictEqual",
					    "deepEqual",
					    "equal",
					    "equals",
					    "notEqual",
					    "same",
					    "strictSame",
					    "is",
					    "ok",
					    "notOk",
					    "true",
					    "false",
					    "throws",
					    "doesNotThrow",
					    "rejects",
					    "doesNotReject",
					    "match",
					    "doesNotMatch",
					    "fail",
					    "like",
					    "not",
					    "isDeeply",
					    "ifError"};
	static const char *const vague[] = {"same",  "is",   "true", "false",
					    "match", "fail", "like", "not"};
	const char *name = last_name(callee), *object = callee;
	bool bare = name == callee, known = false;
	size_t len = strcspn(object, " ");

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		known |= !strcmp(names[i], name);
	if (!known || bare)
		return known && strlen(name) > 4;
	if (object + len + 3 != name) /* plan.strictEqual, but not a.b.equal */
		return false;
	if ((len == 1 && *object == 't') || !strncmp(object, "tap ", 4) ||
	    !strncmp(object, "test ", 5))
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(vague); i++)
		if (!strcmp(vague[i], name))
			return false;
	return true;
}

static bool asserting_name(enum source_lang lang, const char *callee)
{
	static const char *const prefixes[] = {
		"assert",    "Assert",	  "ASSERT",	 "EXPECT_",	 "CHECK",
		"REQUIRE",   "ck_assert", "TEST_ASSERT", "TEST_CHECK",	 "cr_assert",
		"cr_expect", "g_assert",  "fail_msg",	 "munit_assert", "cl_assert",
		"cl_git",    "cl_must",	  "mu_assert",	 "debug_assert", "prop_assert",
		"expect_"};
	const char *name = last_name(callee);

	for (size_t i = 0; i < ARRAY_SIZE(prefixes); i++)
		if (starts(name, prefixes[i]))
			return true;
	switch (lang) {
	case LANG_PYTHON:
		return starts(callee, "pytest . raises") ||
		       starts(callee, "pytest . warns") ||
		       starts(callee, "pytest . fail") || !strcmp(callee, "self . fail");
	case LANG_GO:
		return starts(callee, "t . Error") || starts(callee, "t . Fatal") ||
		       starts(callee, "t . Fail") || starts(callee, "require . ") ||
		       starts(callee, "assert . ");
	case LANG_JAVASCRIPT:
	case LANG_TYPESCRIPT:
	case LANG_TSX:
		return !strcmp(callee, "assert") || starts(callee, "assert . ") ||
		       js_assertion(callee);
	case LANG_JAVA:
		return !strcmp(callee, "verify") || !strcmp(callee, "fail");
	case LANG_C:
	case LANG_CPP:
		return !strcmp(callee, "fail");
	case LANG_RUST:
	case LANG_NONE:
	case LANG_END:
		break;
	}
	return false;
}

/* In Go the assertion is the condition under which the test complains. */
static void read_go_condition(const struct source_tree *t, uint32_t n,
			      struct assertion *a)
{
	struct source_kinds ifs = source_kinds(LANG_GO, "if_statement");
	uint32_t statement = source_above(t, n, &ifs), condition;
	struct assertion c = {0};

	if (!starts(a->text, "t . ") || statement == SOURCE_NONE)
		return;
	condition = field(t, statement, "condition");
	if (condition == SOURCE_NONE)
		return;
	read_condition(t, condition, &c);
	strv_release(&a->args);
	a->args = c.args;
	c.args = (struct strv){0};
	a->conjunct = c.disjunct; /* it complains when … : the other way round */
	a->disjunct = c.conjunct;
	free(a->text);
	a->text = tokens_of(t, condition);
	a->shown = shown_of(t, condition);
	free(a->matcher);
	a->matcher = c.matcher ? xstrdup(c.matcher) : xstrdup("if");
	if (!strcmp(a->matcher, "!=") && c.strength == STRENGTH_TRUTH)
		a->strength = a->args.n > 1 && !strcmp(a->args.v[1], "nil")
				      ? STRENGTH_TRUTH
				      : STRENGTH_EXACT;
	else if (!strcmp(a->matcher, "=="))
		a->strength = STRENGTH_TRUTH;
	else
		a->strength = c.strength;
	if (a->disjunct && a->strength > STRENGTH_TRUTH)
		a->strength--;
	if (!strcmp(a->text, "false") || strstr(a->text, "&& false") ||
	    starts(a->text, "false &&"))
		a->strength = STRENGTH_NONE;
	assertion_release(&c);
}

static bool read_call(const struct source_tree *t, uint32_t n, struct assertion *a)
{
	uint32_t callee = field(t, n, "function"), args = field(t, n, "arguments");
	char *name CLEANUP_FREE = NULL;

	if (callee == SOURCE_NONE)
		callee = field(t, n, "macro");
	if (callee == SOURCE_NONE)
		callee = field(t, n, "name");
	if (callee == SOURCE_NONE || t->nodes[callee].end - t->nodes[callee].start > 200)
		return false;
	name = tokens_of(t, callee);
	if (is_chain_root(name)) {
		a->node = chain_end(t, n);
		a->text = tokens_of(t, a->node);
		if (a->node != n) {
			read_chain(t, n, a->node, a);
			return true;
		}
		free(a->text);
		a->text = NULL;
	}
	if (!asserting_name(t->lang, name))
		return false;
	a->node = n;
	a->text = tokens_of(t, n);
	a->matcher = xstrdup(last_name(name));
	read_arguments(t, args, a);
	judge(t, args, a);
	if (t->lang == LANG_GO)
		read_go_condition(t, n, a);
	return true;
}

/* "( a , f ( b , c ) )": the tokens between commas that are in no brackets. */
static void split_operands(const char *text, struct assertion *a)
{
	const char *start = text;
	int depth = 0;

	for (const char *p = text;; p++) {
		if (strchr("([{", *p) && *p)
			depth++;
		if (strchr(")]}", *p) && *p)
			depth--;
		if (*p && depth >= 0 && !(*p == ',' && depth == 0))
			continue;
		start += strspn(start, " ");
		if (p > start)
			strv_take(&a->args,
				  xstrndup(start, (size_t)(p - start) - (p[-1] == ' ')));
		start = p + 1;
		if (!*p || depth < 0)
			return;
	}
}

/* assert!(a == b, "…"): the tokens of a macro are no tree. */
static bool read_macro(const struct source_tree *t, uint32_t n, struct assertion *a)
{
	uint32_t macro = field(t, n, "macro");
	char *name CLEANUP_FREE = macro == SOURCE_NONE ? NULL : tokens_of(t, macro);
	char *text CLEANUP_FREE = NULL;

	if (!name || !asserting_name(LANG_RUST, name))
		return false;
	a->node = n;
	a->text = tokens_of(t, n);
	a->matcher = xstrdup(name);
	text = xstrdup(strchr(a->text, '(') ? strchr(a->text, '(') + 1 : "");
	a->strength = matcher_strength(name);
	if (strstr(name, "_eq") || strstr(name, "_ne")) {
		split_operands(text, a);
		if (a->args.n > 1 && !strcmp(a->args.v[0], a->args.v[1]))
			a->strength = STRENGTH_NONE;
		return true;
	}
	a->strength = strstr(text, " == ")	? STRENGTH_EXACT
		      : strstr(text, " != ")	? STRENGTH_TRUTH
		      : strpbrk(text, "<>")	? STRENGTH_PARTIAL
		      : starts(name, "assert_") ? a->strength
		      : starts(text, " true")	? STRENGTH_NONE
						: STRENGTH_TRUTH;
	strv_add(&a->args, text);
	return true;
}

bool assertion_at(const struct source_tree *t, uint32_t n, struct assertion *ret)
{
	struct assertion a = {.strength = STRENGTH_UNKNOWN, .node = n};
	bool is = false;

	if (t->lang == LANG_PYTHON && is_kind(t, n, "assert_statement")) {
		a.text = tokens_of(t, n);
		a.matcher = xstrdup("assert");
		if (source_named_child(t, n, 0) != SOURCE_NONE)
			read_condition(t, source_named_child(t, n, 0), &a);
		is = true;
	} else if (t->lang == LANG_JAVA && is_kind(t, n, "assert_statement")) {
		a.text = tokens_of(t, n);
		a.matcher = xstrdup("assert");
		read_condition(t, source_named_child(t, n, 0), &a);
		is = true;
	} else if (t->lang == LANG_RUST && is_kind(t, n, "macro_invocation")) {
		is = read_macro(t, n, &a);
	} else if (is_kind(t, n, "call") || is_kind(t, n, "call_expression") ||
		   is_kind(t, n, "method_invocation")) {
		is = read_call(t, n, &a);
	}
	if (!is) {
		assertion_release(&a);
		return false;
	}
	a.line = source_line(t, a.node);
	if (!a.shown)
		a.shown = shown_of(t, a.node);
	*ret = a;
	return true;
}

void assertion_release(struct assertion *a)
{
	free(a->text);
	free(a->shown);
	free(a->matcher);
	strv_release(&a->args);
	*a = (struct assertion){0};
}
