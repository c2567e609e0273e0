/* Assertions that look as before and take less to satisfy. */
#include "review/internal.h"

#include "base/mem.h"

#include <stdlib.h>

static bool number_of(const char *text, double *ret)
{
	char *end;

	*ret = strtod(text, &end);
	return end != text && (!*end || *end == ' ');
}

/* x < 10 became x < 1000; 7 places became 1. */
bool bound_widened(const struct assertion *a, const struct assertion *b)
{
	double was, is;
	bool less, more;

	if (a->args.n < 2 || a->args.n != b->args.n)
		return false;
	for (size_t i = 1; i < a->args.n; i++) {
		if (!number_of(a->args.v[i], &was) || !number_of(b->args.v[i], &is) ||
		    was == is)
			continue;
		less = *a->matcher == '<' || strcasestr(a->matcher, "less") ||
		       strcasestr(a->matcher, "indelta") ||
		       strcasestr(a->matcher, "near");
		more = *a->matcher == '>' || strcasestr(a->matcher, "greater") ||
		       (i > 1 && (strcasestr(a->matcher, "closeto") ||
				  strcasestr(a->matcher, "almost")));
		if (i > 1 || less || more)
			return (less && is > was) || (more && is < was);
	}
	return false;
}

static bool catches_all(const char *what)
{
	static const char *const names[] = {"Exception",
					    "BaseException",
					    "Throwable . class",
					    "Exception . class",
					    "RuntimeException . class",
					    "Error"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (!strcmp(names[i], what))
			return true;
	return false;
}

/* raises(ValueError, match="…") became raises(Exception) */
bool exception_widened(const struct assertion *a, const struct assertion *b)
{
	if (!strcasestr(a->matcher, "raises") && !strcasestr(a->matcher, "throw"))
		return false;
	for (size_t k = 0; k < b->args.n; k++) {
		if (!catches_all(b->args.v[k]))
			continue;
		for (size_t i = 0; i < a->args.n; i++)
			if (!strcmp(a->args.v[i], b->args.v[k]))
				return false;
		return true;
	}
	return b->args.n < a->args.n;
}

/* The value that a name is given in the unit, before the assertion; NULL: none. */
static char *value_of(const struct units *in, const struct unit *u, uint32_t before,
		      const char *name)
{
	const struct source_tree *t = &in->tree;
	struct source_kinds kinds = source_kinds(
		t->lang,
		"assignment variable_declarator short_var_declaration init_declarator "
		"let_declaration assignment_expression");
	static const char *const lefts[] = {"left", "name", "declarator", "pattern"};
	char *value = NULL;

	for (uint32_t n = u->node; n < before && n < t->n; n++) {
		uint32_t left = SOURCE_NONE, right;

		if (!source_has(&kinds, t->nodes[n].kind))
			continue;
		for (size_t i = 0; i < ARRAY_SIZE(lefts) && left == SOURCE_NONE; i++)
			left = source_child(t, n, source_field(t->lang, lefts[i]));
		right = source_child(t, n, source_field(t->lang, "right"));
		if (right == SOURCE_NONE)
			right = source_child(t, n, source_field(t->lang, "value"));
		if (left == SOURCE_NONE || right == SOURCE_NONE ||
		    !source_text_is(t, left, name))
			continue;
		free(value);
		value = tokens_of(t, right);
	}
	return value;
}

/* expected = f(x); assert f(x) == expected: what is compared is the code with itself. */
bool compares_itself(const struct units *in, const struct unit *u,
		     const struct assertion *a)
{
	size_t first = a->args.n && !strcmp(a->args.v[0], "t") ? 1 : 0;
	char *one CLEANUP_FREE = NULL, *two CLEANUP_FREE = NULL;
	const char *left, *right;

	if (a->args.n < first + 2 || a->strength < STRENGTH_EXACT)
		return false;
	left = a->args.v[first];
	right = a->args.v[first + 1];
	one = value_of(in, u, a->node, left);
	two = value_of(in, u, a->node, right);
	left = one ? one : left;
	right = two ? two : right;
	return (one || two) && !is_literal(left) && strchr(left, '(') &&
	       !strcmp(left, right);
}
