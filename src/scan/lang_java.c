/* Java. Kinds are those of tree-sitter-java. */
#include "scan/flow_builder.h"

#include <string.h>

extern struct scan_lang scan_java;

static struct {
	uint16_t block, constructor_body, if_, for_, enhanced_for, while_, do_, switch_,
		group, rule, label_, try_, try_with, resource, resources, catch_, finally,
		return_, throw_, break_, continue_, labeled, expression, declarator,
		local_declaration, synchronized_, identifier, catch_parameter, catch_type,
		call;
	uint8_t condition, consequence, alternative, init, update, body, value, left,
		right, name, declarator_, object, resources_;
} k;

static void prepare(void)
{
#define KIND(field, name) k.field = source_kind(LANG_JAVA, name)
	KIND(block, "block");
	KIND(constructor_body, "constructor_body");
	KIND(if_, "if_statement");
	KIND(for_, "for_statement");
	KIND(enhanced_for, "enhanced_for_statement");
	KIND(while_, "while_statement");
	KIND(do_, "do_statement");
	KIND(switch_, "switch_expression");
	KIND(group, "switch_block_statement_group");
	KIND(rule, "switch_rule");
	KIND(label_, "switch_label");
	KIND(try_, "try_statement");
	KIND(try_with, "try_with_resources_statement");
	KIND(resource, "resource");
	KIND(resources, "resource_specification");
	KIND(catch_, "catch_clause");
	KIND(finally, "finally_clause");
	KIND(return_, "return_statement");
	KIND(throw_, "throw_statement");
	KIND(break_, "break_statement");
	KIND(continue_, "continue_statement");
	KIND(labeled, "labeled_statement");
	KIND(expression, "expression_statement");
	KIND(declarator, "variable_declarator");
	KIND(local_declaration, "local_variable_declaration");
	KIND(synchronized_, "synchronized_statement");
	KIND(identifier, "identifier");
	KIND(catch_parameter, "catch_formal_parameter");
	KIND(catch_type, "catch_type");
	KIND(call, "method_invocation");
#undef KIND
#define FIELD(field, name) k.field = source_field(LANG_JAVA, name)
	FIELD(condition, "condition");
	FIELD(consequence, "consequence");
	FIELD(alternative, "alternative");
	FIELD(init, "init");
	FIELD(update, "update");
	FIELD(body, "body");
	FIELD(value, "value");
	FIELD(left, "left");
	FIELD(right, "right");
	FIELD(name, "name");
	FIELD(declarator_, "declarator");
	FIELD(object, "object");
	FIELD(resources_, "resources");
#undef FIELD
}

static void lower_loop(struct flow_builder *b, uint32_t n, uint32_t label)
{
	uint16_t kind = b->t->nodes[n].kind;
	uint32_t test = source_child(b->t, n, k.condition);
	struct flow_loop l = {
		.init = source_child(b->t, n, k.init),
		.test = test,
		.step = source_child(b->t, n, k.update),
		.body = source_child(b->t, n, k.body),
		.otherwise = SOURCE_NONE,
		.evaluated = SOURCE_NONE,
		.test_last = kind == k.do_,
	};

	if (label != SOURCE_NONE)
		l.label = source_text(b->t, label, &l.label_len);
	if (kind == k.enhanced_for) {
		flow_eval(b, source_child(b->t, n, k.value));
		l.init = l.test = l.step = SOURCE_NONE;
	} else if (test == SOURCE_NONE || source_text_is(b->t, test, "(true)") ||
		   source_text_is(b->t, test, "true")) {
		l.test = SOURCE_NONE;
		l.endless = true;
	}
	flow_loop(b, &l);
}

static bool is_default(const struct source_tree *t, uint32_t group)
{
	uint32_t label = scan_child_of_kind(t, group, k.label_);

	return label != SOURCE_NONE && source_text_is(t, label, "default");
}

static void lower_switch(struct flow_builder *b, uint32_t n)
{
	uint32_t body = source_child(b->t, n, k.body), child, inner;
	struct flow_switch s;

	flow_switch_begin(b, &s, source_child(b->t, n, k.condition));
	if (body != SOURCE_NONE)
		for (SOURCE_CHILDREN(b->t, body, child)) {
			uint16_t kind = b->t->nodes[child].kind;

			if (kind != k.group && kind != k.rule)
				continue;
			flow_case(b, &s, is_default(b->t, child), kind == k.group);
			for (SOURCE_CHILDREN(b->t, child, inner))
				if (source_named(b->t, inner) &&
				    b->t->nodes[inner].kind != k.label_ &&
				    !(b->t->nodes[inner].flags & SOURCE_EXTRA))
					flow_statement(b, inner);
		}
	flow_switch_end(b, &s);
}

/* `catch (Exception e)`, `catch (Throwable t)`. */
static bool takes_all(const struct source_tree *t, uint32_t clause)
{
	uint32_t parameter = scan_child_of_kind(t, clause, k.catch_parameter);
	uint32_t type = parameter == SOURCE_NONE
				? parameter
				: scan_child_of_kind(t, parameter, k.catch_type);

	return type != SOURCE_NONE && (source_text_is(t, type, "Exception") ||
				       source_text_is(t, type, "Throwable"));
}

static void lower_try(struct flow_builder *b, uint32_t n)
{
	struct flow_try try = {
		/* of a try with resources: the node itself, lowered by lower_resources()
		 */
		.body = source_child(b->t, n, k.body),
		.otherwise = SOURCE_NONE,
		.finally = SOURCE_NONE,
	};
	uint32_t child;

	for (SOURCE_CHILDREN(b->t, n, child)) {
		uint16_t kind = b->t->nodes[child].kind;

		if (kind == k.finally) {
			try.finally = scan_child_of_kind(b->t, child, k.block);
		} else if (kind == k.resources) {
			try.body = child;
		} else if (kind == k.catch_ && try.nhandlers < 32 && !try.catches_all) {
			try.handlers[try.nhandlers++] = child;
			try.catches_all = takes_all(b->t, child);
		}
	}
	flow_try(b, &try);
}

/* The resources, one in the other, and the body in all of them. */
static void lower_resources(struct flow_builder *b, uint32_t list, uint32_t from)
{
	struct flow_scope scope;
	uint32_t item =
		from == SOURCE_NONE ? source_first(b->t, list) : source_next(b->t, from);

	while (item != SOURCE_NONE && b->t->nodes[item].kind != k.resource)
		item = source_next(b->t, item);
	if (item == SOURCE_NONE) {
		flow_statement(b, source_child(b->t, b->t->nodes[list].parent, k.body));
		return;
	}
	flow_eval(b, item);
	flow_with_enter(b, &scope, item);
	b->depth++;
	lower_resources(b, list, item);
	b->depth--;
	flow_with_leave(b, &scope);
}

static void handler(struct flow_builder *b, uint32_t n)
{
	flow_catch(b, n);
	flow_statement(b, source_child(b->t, n, k.body));
}

static void lower_labeled(struct flow_builder *b, uint32_t n)
{
	uint32_t label = source_named_child(b->t, n, 0);
	uint32_t body = source_named_child(b->t, n, 1);
	uint16_t kind = body == SOURCE_NONE ? 0 : b->t->nodes[body].kind;

	if (kind == k.for_ || kind == k.enhanced_for || kind == k.while_ || kind == k.do_)
		lower_loop(b, body, label);
	else
		flow_statement(b, body);
}

static void lower_expression(struct flow_builder *b, uint32_t n)
{
	uint32_t call = source_named_child(b->t, n, 0);

	flow_eval(b, n);
	if (call != SOURCE_NONE && b->t->nodes[call].kind == k.call) {
		uint32_t name = source_child(b->t, call, k.name);
		uint32_t object = source_child(b->t, call, k.object);

		if (name != SOURCE_NONE && object != SOURCE_NONE &&
		    source_text_is(b->t, name, "exit") &&
		    source_text_is(b->t, object, "System"))
			flow_end(b);
	}
}

static void lower(struct flow_builder *b, uint32_t n)
{
	uint16_t kind = b->t->nodes[n].kind;

	if (kind == k.block || kind == k.constructor_body)
		flow_statements(b, n);
	else if (kind == k.if_)
		flow_if(b, source_child(b->t, n, k.condition),
			source_child(b->t, n, k.consequence),
			source_child(b->t, n, k.alternative));
	else if (kind == k.for_ || kind == k.enhanced_for || kind == k.while_ ||
		 kind == k.do_)
		lower_loop(b, n, SOURCE_NONE);
	else if (kind == k.switch_)
		lower_switch(b, n);
	else if (kind == k.try_ || kind == k.try_with)
		lower_try(b, n);
	else if (kind == k.resources)
		lower_resources(b, n, SOURCE_NONE);
	else if (kind == k.synchronized_)
		flow_statement(b, source_child(b->t, n, k.body));
	else if (kind == k.return_)
		flow_return(b, n);
	else if (kind == k.throw_)
		flow_raise(b, n);
	else if (kind == k.break_)
		flow_break(b, scan_child_of_kind(b->t, n, k.identifier));
	else if (kind == k.continue_)
		flow_continue(b, scan_child_of_kind(b->t, n, k.identifier));
	else if (kind == k.labeled)
		lower_labeled(b, n);
	else if (kind == k.expression)
		lower_expression(b, n);
	else if (!source_has(&b->lang->opaque, kind))
		flow_eval(b, n);
}

static bool assign(const struct source_tree *t, uint32_t n, uint32_t *ret_target,
		   uint32_t *ret_value)
{
	if (t->nodes[n].kind == k.declarator) {
		*ret_target = source_child(t, n, k.name);
		*ret_value = source_child(t, n, k.value);
	} else {
		*ret_target = source_child(t, n, k.left);
		*ret_value = source_child(t, n, k.right);
	}
	return *ret_target != SOURCE_NONE;
}

static uint32_t name(const struct source_tree *t, uint32_t function)
{
	return source_child(t, function, k.name);
}

struct scan_lang scan_java = {
	.id = LANG_JAVA,
	.exceptions = true,
	.classes = true,
	.function_kinds = "method_declaration constructor_declaration lambda_expression",
	.opaque_kinds = "lambda_expression class_declaration class_body comment "
			"line_comment block_comment method_declaration",
	.call_kinds = "method_invocation object_creation_expression",
	.identifier_kinds = "identifier",
	.member_kinds = "field_access",
	.assign_kinds = "variable_declarator assignment_expression",
	.transparent_kinds =
		"parenthesized_expression cast_expression ternary_expression",
	.container_kinds = "array_initializer",
	.return_kinds = "return_statement throw_statement yield_statement",
	.declaration_kinds = "local_variable_declaration",
	.with_kinds = "resource",
	.address_kinds = "",
	.argument_list_kinds = "argument_list",
	.keyword_kinds = "",
	.raising_kinds = "",
	.if_kinds = "if_statement",
	.jump_kinds =
		"return_statement throw_statement break_statement continue_statement",
	.goto_kinds = "",
	.block_kinds = "block",
	.finally_kinds = "finally_clause",
	.handler_kinds = "catch_clause",
	.try_kinds = "try_statement try_with_resources_statement",
	.and_tokens = {"&&"},
	.or_tokens = {"||"},
	.not_tokens = {"!"},
	.binary_kinds = "binary_expression",
	.not_kinds = "unary_expression",
	.paren_kinds = "parenthesized_expression",
	.callee_field = "name",
	.constructor_field = "type",
	.arguments_field = "arguments",
	.object_field = "object",
	.member_field = "field",
	.operand_field = "operand",
	.call_is_member = true,
	.closeable = true,
	.prepare = prepare,
	.lower = lower,
	.handler = handler,
	.assign = assign,
	.name = name,
};
