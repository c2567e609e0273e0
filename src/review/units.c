/* One walk over a file: its tests, and what each of them asserts. */
#include "review/internal.h"

#include "base/mem.h"

#include <stdio.h>

struct marks {
	struct source_kinds guards, loops, functions, returns, handlers;
	uint16_t attempt; /* try_statement */
};

static struct marks marks_of(enum source_lang lang)
{
	return (struct marks){
		.guards = source_kinds(
			lang, "if_statement if_expression ternary_expression "
			      "conditional_expression except_clause catch_clause "
			      "case_clause preproc_if preproc_ifdef "
			      "expression_switch_statement match_expression"),
		.loops = source_kinds(lang,
				      "for_statement while_statement for_in_statement "
				      "enhanced_for_statement for_expression "
				      "loop_expression while_expression"),
		.functions = source_kinds(
			lang,
			"function_definition function_declaration method_declaration "
			"func_literal arrow_function function_expression function_item "
			"method_definition lambda lambda_expression"),
		.returns = source_kinds(lang, "return_statement return_expression"),
		.handlers = source_kinds(lang, "except_clause catch_clause"),
		.attempt = source_kind(lang, "try_statement"),
	};
}

/* A try whose handlers would take a failed assertion; Python's suppress(), too. */
static bool swallows(const struct source_tree *t, const struct marks *m, uint32_t n)
{
	uint32_t child;

	if (m->attempt && t->nodes[n].kind == m->attempt)
		for (SOURCE_CHILDREN(t, n, child))
			if (source_has(&m->handlers, t->nodes[child].kind))
				return true;
	if (t->lang == LANG_PYTHON &&
	    t->nodes[n].kind == source_kind(LANG_PYTHON, "with_statement"))
		for (SOURCE_CHILDREN(t, n, child))
			if (!strcmp(source_kind_name(t->lang, t->nodes[child].kind),
				    "with_clause")) {
				char *text CLEANUP_FREE = tokens_of(t, child);

				return strstr(text, "suppress (") != NULL;
			}
	return false;
}

/* Conditions and handlers between n and the unit it is in. */
static unsigned count_guards(const struct source_tree *t, const struct marks *m,
			     uint32_t n, uint32_t unit, bool *ret_loop)
{
	unsigned guards = 0;

	*ret_loop = false;
	for (n = t->nodes[n].parent; n != SOURCE_NONE && n != unit;
	     n = t->nodes[n].parent) {
		if (source_has(&m->guards, t->nodes[n].kind) || swallows(t, m, n))
			guards++;
		if (source_has(&m->loops, t->nodes[n].kind))
			*ret_loop = true;
	}
	return guards;
}

/* The function that n is in is the unit itself, or the callback that the unit is given.
 */
static bool directly_in(const struct source_tree *t, const struct marks *m, uint32_t n,
			uint32_t unit)
{
	uint32_t f = source_above(t, n, &m->functions), up;

	if (f == SOURCE_NONE || f == unit)
		return f == unit;
	up = t->nodes[f].parent;
	return up != SOURCE_NONE && t->nodes[up].parent == unit;
}

struct reading {
	struct units *units;
	struct marks marks;
	size_t current;
	uint32_t pending_return; /* an unconditional one of the current unit */
};

static void begin_unit(struct reading *r, struct unit *u, uint32_t n)
{
	const struct source_tree *t = &r->units->tree;
	const struct unit *up = &r->units->v[r->current];
	struct unit *to;

	u->node = n;
	u->after = t->nodes[n].after;
	u->parent = r->current;
	u->line = source_line(t, n);
	if (*up->name) {
		char *own CLEANUP_FREE = u->name;

		u->name = xasprintf("%s > %s", up->name, own);
	}
	if (!u->skip && up->skip) { /* the whole suite is skipped */
		u->skip = xstrdup(up->skip);
		u->skip_line = up->skip_line;
	}
	u->body = tokens_of(t, n);
	to = VEC_ADD(r->units->v, r->units->n, r->units->cap);
	*to = *u;
	r->current = r->units->n - 1;
	r->pending_return = SOURCE_NONE;
}

static void note_skip(struct reading *r, uint32_t n)
{
	struct unit *u = &r->units->v[r->current];
	const struct source_tree *t = &r->units->tree;
	char *text CLEANUP_FREE = skip_call_at(t, n);
	bool loop, sometimes;

	if (!text)
		return;
	sometimes = count_guards(t, &r->marks, n, u->node, &loop) > 0;
	if (sometimes && !u->skip_if) {
		u->skip_if = TAKE_PTR(text);
		u->skip_if_line = source_line(t, n);
	} else if (!sometimes && !u->skip) {
		u->skip = TAKE_PTR(text);
		u->skip_line = source_line(t, n);
	}
}

static void note_return(struct reading *r, uint32_t n)
{
	const struct source_tree *t = &r->units->tree;
	const struct unit *u = &r->units->v[r->current];
	bool loop;

	if (u->kind == UNIT_TEST && source_has(&r->marks.returns, t->nodes[n].kind) &&
	    directly_in(t, &r->marks, n, u->node) &&
	    count_guards(t, &r->marks, n, u->node, &loop) == 0 && !loop)
		r->pending_return = n;
}

static void note_assertion(struct reading *r, struct assertion *a)
{
	const struct source_tree *t = &r->units->tree;
	struct unit *u = &r->units->v[r->current];

	a->guards = count_guards(t, &r->marks, a->node, u->node, &a->in_loop);
	if (r->pending_return != SOURCE_NONE &&
	    !source_within(t, a->node, r->pending_return) && !u->early_return)
		u->early_return = source_line(t, r->pending_return);
	*VEC_ADD(u->v, u->n, u->cap) = *a;
}

static void read_node(struct reading *r, uint32_t n, uint32_t *skip_to)
{
	const struct source_tree *t = &r->units->tree;
	struct unit u = {0};
	struct assertion a = {0};

	while (r->current > 0 && n >= r->units->v[r->current].after) {
		r->current = r->units->v[r->current].parent;
		r->pending_return = SOURCE_NONE;
	}
	if (unit_at(t, n, &u)) {
		begin_unit(r, &u, n);
		return;
	}
	free(u.name);
	note_return(r, n);
	note_skip(r, n);
	if (n >= *skip_to && assertion_at(t, n, &a)) {
		*skip_to = t->nodes[a.node].after; /* its parts are no assertions */
		note_assertion(r, &a);
	}
}

void units_read(struct source_parser *p, const char *path, const char *text, size_t len,
		struct units *ret)
{
	enum source_lang lang = path ? source_lang_of(path, text, len) : LANG_NONE;
	struct reading r = {.units = ret, .pending_return = SOURCE_NONE};
	struct unit *file;
	uint32_t skip_to = 0;

	*ret = (struct units){.path = path};
	if (lang == LANG_NONE)
		return;
	source_parse(p, lang, text, len, NULL, &ret->tree);
	if (ret->tree.skipped)
		return;
	ret->present = true;
	r.marks = marks_of(lang);
	file = VEC_ADD(ret->v, ret->n, ret->cap);
	file->name = xstrdup("");
	file->body = xstrdup("");
	file->after = ret->tree.n;
	for (uint32_t n = 1; n < ret->tree.n; n++)
		if (source_named(&ret->tree, n))
			read_node(&r, n, &skip_to);
}

void units_release(struct units *u)
{
	for (size_t i = 0; i < u->n; i++) {
		struct unit *v = &u->v[i];

		for (size_t k = 0; k < v->n; k++)
			assertion_release(&v->v[k]);
		free(v->v);
		free(v->name);
		free(v->body);
		free(v->skip);
		free(v->skip_if);
	}
	free(u->v);
	source_tree_release(&u->tree);
	*u = (struct units){0};
}
