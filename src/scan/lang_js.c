/* JavaScript, TypeScript and TSX. Kinds are those of their tree-sitter grammars. */
#include "scan/flow_builder.h"

#include <string.h>

extern struct scan_lang scan_js, scan_ts, scan_tsx;

struct kinds {
	uint16_t block, if_, else_, for_, for_in, while_, do_, switch_, case_, default_,
		try_, finally, return_, throw_, break_, continue_, labeled, expression,
		declarator, pair, assignment, field_definition, public_field;
	uint8_t condition, consequence, alternative, initializer, increment, body, value,
		label, handler, finalizer, left, right, name, key, property;
};
static struct kinds js, ts, tsx;

static void prepare_for(enum source_lang id, struct kinds *k)
{
#define KIND(field, name) k->field = source_kind(id, name)
	KIND(block, "statement_block");
	KIND(if_, "if_statement");
	KIND(else_, "else_clause");
	KIND(for_, "for_statement");
	KIND(for_in, "for_in_statement");
	KIND(while_, "while_statement");
	KIND(do_, "do_statement");
	KIND(switch_, "switch_statement");
	KIND(case_, "switch_case");
	KIND(default_, "switch_default");
	KIND(try_, "try_statement");
	KIND(finally, "finally_clause");
	KIND(return_, "return_statement");
	KIND(throw_, "throw_statement");
	KIND(break_, "break_statement");
	KIND(continue_, "continue_statement");
	KIND(labeled, "labeled_statement");
	KIND(expression, "expression_statement");
	KIND(declarator, "variable_declarator");
	KIND(pair, "pair");
	KIND(assignment, "assignment_expression");
	KIND(field_definition, "field_definition");
	KIND(public_field, "public_field_definition");
#undef KIND
#define FIELD(name) k->name = source_field(id, #name)
	FIELD(condition);
	FIELD(consequence);
	FIELD(alternative);
	FIELD(initializer);
	FIELD(increment);
	FIELD(body);
	FIELD(value);
	FIELD(label);
	FIELD(handler);
	FIELD(finalizer);
	FIELD(left);
	FIELD(right);
	FIELD(name);
	FIELD(key);
	FIELD(property);
#undef FIELD
}

static void prepare_js(void)
{
	prepare_for(LANG_JAVASCRIPT, &js);
}

static void prepare_ts(void)
{
	prepare_for(LANG_TYPESCRIPT, &ts);
}

static void prepare_tsx(void)
{
	prepare_for(LANG_TSX, &tsx);
}

static const struct kinds *kinds_of(const struct source_tree *t)
{
	return t->lang == LANG_JAVASCRIPT ? &js : t->lang == LANG_TSX ? &tsx : &ts;
}

static void lower_loop(struct flow_builder *b, const struct kinds *k, uint32_t n,
		       uint32_t label)
{
	uint16_t kind = b->t->nodes[n].kind;
	uint32_t test = source_child(b->t, n, k->condition);
	struct flow_loop l = {
		.init = source_child(b->t, n, k->initializer),
		.test = test,
		.step = source_child(b->t, n, k->increment),
		.body = source_child(b->t, n, k->body),
		.otherwise = SOURCE_NONE,
		.evaluated = SOURCE_NONE,
		.test_last = kind == k->do_,
	};

	if (label != SOURCE_NONE)
		l.label = source_text(b->t, label, &l.label_len);
	if (kind == k->for_in) {
		flow_eval(b, source_child(b->t, n, k->right));
		l.init = l.test = l.step = SOURCE_NONE;
	} else if (test == SOURCE_NONE || source_text_is(b->t, test, "(true)") ||
		   source_text_is(b->t, test, "(1)") || source_text_is(b->t, test, ";")) {
		l.test = SOURCE_NONE;
		l.endless = true;
	}
	flow_loop(b, &l);
}

static void lower_switch(struct flow_builder *b, const struct kinds *k, uint32_t n)
{
	uint32_t body = source_child(b->t, n, k->body), child, inner;
	struct flow_switch s;

	flow_switch_begin(b, &s, source_child(b->t, n, k->value));
	if (body != SOURCE_NONE)
		for (SOURCE_CHILDREN(b->t, body, child)) {
			uint16_t kind = b->t->nodes[child].kind;

			if (kind != k->case_ && kind != k->default_)
				continue;
			flow_case(b, &s, kind == k->default_, true);
			for (SOURCE_CHILDREN(b->t, child, inner))
				if (b->t->nodes[inner].field == k->body)
					flow_statement(b, inner);
		}
	flow_switch_end(b, &s);
}

static void lower_try(struct flow_builder *b, const struct kinds *k, uint32_t n)
{
	uint32_t handler = source_child(b->t, n, k->handler);
	uint32_t finally = source_child(b->t, n, k->finalizer);
	struct flow_try try = {
		.body = source_child(b->t, n, k->body),
		.otherwise = SOURCE_NONE,
		.finally = finally == SOURCE_NONE ? finally
						  : source_child(b->t, finally, k->body),
		.catches_all = true,
	};

	if (handler != SOURCE_NONE)
		try.handlers[try.nhandlers++] = handler;
	flow_try(b, &try);
}

static void handler(struct flow_builder *b, uint32_t n)
{
	flow_catch(b, n);
	flow_statement(b, source_child(b->t, n, kinds_of(b->t)->body));
}

static void lower_labeled(struct flow_builder *b, const struct kinds *k, uint32_t n)
{
	uint32_t label = source_child(b->t, n, k->label);
	uint32_t body = source_child(b->t, n, k->body);
	uint16_t kind = body == SOURCE_NONE ? 0 : b->t->nodes[body].kind;

	if (kind == k->for_ || kind == k->for_in || kind == k->while_ || kind == k->do_)
		lower_loop(b, k, body, label);
	else
		flow_statement(b, body);
}

static void lower(struct flow_builder *b, uint32_t n)
{
	const struct kinds *k = kinds_of(b->t);
	uint16_t kind = b->t->nodes[n].kind;

	if (kind == k->block)
		flow_statements(b, n);
	else if (kind == k->else_)
		flow_statement(b, source_named_child(b->t, n, 0));
	else if (kind == k->if_)
		flow_if(b, source_child(b->t, n, k->condition),
			source_child(b->t, n, k->consequence),
			source_child(b->t, n, k->alternative));
	else if (kind == k->for_ || kind == k->for_in || kind == k->while_ ||
		 kind == k->do_)
		lower_loop(b, k, n, SOURCE_NONE);
	else if (kind == k->switch_)
		lower_switch(b, k, n);
	else if (kind == k->try_)
		lower_try(b, k, n);
	else if (kind == k->return_)
		flow_return(b, n);
	else if (kind == k->throw_)
		flow_raise(b, n);
	else if (kind == k->break_)
		flow_break(b, source_child(b->t, n, k->label));
	else if (kind == k->continue_)
		flow_continue(b, source_child(b->t, n, k->label));
	else if (kind == k->labeled)
		lower_labeled(b, k, n);
	else if (!source_has(&b->lang->opaque, kind))
		flow_eval(b, n);
}

static bool assign(const struct source_tree *t, uint32_t n, uint32_t *ret_target,
		   uint32_t *ret_value)
{
	const struct kinds *k = kinds_of(t);

	if (t->nodes[n].kind == k->declarator) {
		*ret_target = source_child(t, n, k->name);
		*ret_value = source_child(t, n, k->value);
	} else {
		*ret_target = source_child(t, n, k->left);
		*ret_value = source_child(t, n, k->right);
	}
	return *ret_target != SOURCE_NONE;
}

/* `function f`, `f() {}`, `const f = () =>`, `f: function`, `x.prototype.f = function`.
 */
static uint32_t name(const struct source_tree *t, uint32_t function)
{
	const struct kinds *k = kinds_of(t);
	uint32_t own = source_child(t, function, k->name), p = t->nodes[function].parent;
	uint32_t left;
	uint16_t kind;

	if (own != SOURCE_NONE || p == SOURCE_NONE)
		return own;
	kind = t->nodes[p].kind;
	if (kind == k->declarator)
		return source_child(t, p, k->name);
	if (kind == k->pair)
		return source_child(t, p, k->key);
	if (kind == k->field_definition || kind == k->public_field)
		return source_child(t, p, k->property) != SOURCE_NONE
			       ? source_child(t, p, k->property)
			       : source_child(t, p, k->name);
	if (kind != k->assignment)
		return SOURCE_NONE;
	left = source_child(t, p, k->left);
	own = left == SOURCE_NONE ? left : source_child(t, left, k->property);
	return own == SOURCE_NONE ? left : own;
}

#define COMMON                                                                         \
	.exceptions = true, .classes = true,                                           \
	.function_kinds = "function_declaration function_expression arrow_function "   \
			  "method_definition generator_function "                      \
			  "generator_function_declaration",                            \
	.opaque_kinds =                                                                \
		"function_declaration function_expression arrow_function "             \
		"method_definition generator_function "                                \
		"generator_function_declaration class class_declaration comment "      \
		"import_statement interface_declaration type_alias_declaration",       \
	.call_kinds = "call_expression new_expression",                                \
	.identifier_kinds = "identifier shorthand_property_identifier",                \
	.member_kinds = "member_expression",                                           \
	.assign_kinds = "variable_declarator assignment_expression",                   \
	.transparent_kinds =                                                           \
		"parenthesized_expression await_expression ternary_expression "        \
		"as_expression non_null_expression satisfies_expression",              \
	.container_kinds =                                                             \
		"array object pair spread_element array_pattern object_pattern",       \
	.return_kinds = "return_statement yield_expression throw_statement",           \
	.declaration_kinds = "lexical_declaration variable_declaration",               \
	.with_kinds = "", .address_kinds = "", .argument_list_kinds = "arguments",     \
	.keyword_kinds = "", .raising_kinds = "await_expression",                      \
	.if_kinds = "if_statement",                                                    \
	.jump_kinds = "return_statement throw_statement break_statement "              \
		      "continue_statement",                                            \
	.goto_kinds = "", .block_kinds = "statement_block",                            \
	.finally_kinds = "finally_clause", .handler_kinds = "catch_clause",            \
	.try_kinds = "try_statement", .and_tokens = {"&&"}, .or_tokens = {"||", "??"}, \
	.not_tokens = {"!"}, .binary_kinds = "binary_expression",                      \
	.not_kinds = "unary_expression", .paren_kinds = "parenthesized_expression",    \
	.callee_field = "function", .constructor_field = "constructor",                \
	.arguments_field = "arguments", .object_field = "object",                      \
	.member_field = "property", .operand_field = "argument", .lower = lower,       \
	.handler = handler, .assign = assign, .name = name

struct scan_lang scan_js = {.id = LANG_JAVASCRIPT, .prepare = prepare_js, COMMON};
struct scan_lang scan_ts = {.id = LANG_TYPESCRIPT, .prepare = prepare_ts, COMMON};
struct scan_lang scan_tsx = {.id = LANG_TSX, .prepare = prepare_tsx, COMMON};
