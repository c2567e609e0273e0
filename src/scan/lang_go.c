/* Go. Kinds are those of tree-sitter-go. */
#include "scan/flow_builder.h"

#include <string.h>

extern struct scan_lang scan_go;

static struct {
	uint16_t block, list, if_, for_, clause, range, switch_, type_switch, select,
		expression_case, type_case, communication_case, default_case, return_,
		break_, continue_, goto_, labeled, label_name, fallthrough, defer,
		expression, call, var_declaration, var_spec;
	uint8_t initializer, condition, consequence, alternative, update, body, value,
		label, function, left, right, name;
} k;

static void prepare(void)
{
#define KIND(field, name) k.field = source_kind(LANG_GO, name)
	KIND(block, "block");
	KIND(list, "statement_list");
	KIND(if_, "if_statement");
	KIND(for_, "for_statement");
	KIND(clause, "for_clause");
	KIND(range, "range_clause");
	KIND(switch_, "expression_switch_statement");
	KIND(type_switch, "type_switch_statement");
	KIND(select, "select_statement");
	KIND(expression_case, "expression_case");
	KIND(type_case, "type_case");
	KIND(communication_case, "communication_case");
	KIND(default_case, "default_case");
	KIND(return_, "return_statement");
	KIND(break_, "break_statement");
	KIND(continue_, "continue_statement");
	KIND(goto_, "goto_statement");
	KIND(labeled, "labeled_statement");
	KIND(label_name, "label_name");
	KIND(fallthrough, "fallthrough_statement");
	KIND(defer, "defer_statement");
	KIND(expression, "expression_statement");
	KIND(call, "call_expression");
	KIND(var_declaration, "var_declaration");
	KIND(var_spec, "var_spec");
#undef KIND
#define FIELD(name) k.name = source_field(LANG_GO, #name)
	FIELD(initializer);
	FIELD(condition);
	FIELD(consequence);
	FIELD(alternative);
	FIELD(update);
	FIELD(body);
	FIELD(value);
	FIELD(label);
	FIELD(function);
	FIELD(left);
	FIELD(right);
	FIELD(name);
#undef FIELD
}

static void lower_for(struct flow_builder *b, uint32_t n, uint32_t label)
{
	uint32_t clause = scan_child_of_kind(b->t, n, k.clause);
	uint32_t range = scan_child_of_kind(b->t, n, k.range);
	uint32_t body = source_child(b->t, n, k.body), first;
	struct flow_loop l = {.init = SOURCE_NONE,
			      .test = SOURCE_NONE,
			      .step = SOURCE_NONE,
			      .otherwise = SOURCE_NONE,
			      .evaluated = SOURCE_NONE,
			      .body = body};

	if (label != SOURCE_NONE)
		l.label = source_text(b->t, label, &l.label_len);
	if (clause != SOURCE_NONE) {
		l.init = source_child(b->t, clause, k.initializer);
		l.test = source_child(b->t, clause, k.condition);
		l.step = source_child(b->t, clause, k.update);
		l.endless = l.test == SOURCE_NONE;
	} else if (range != SOURCE_NONE) {
		flow_eval(b, source_child(b->t, range, k.right));
	} else {
		first = source_named_child(b->t, n, 0);
		l.test = first == body ? SOURCE_NONE : first;
		l.endless = first == body;
	}
	flow_loop(b, &l);
}

static bool is_case(uint16_t kind)
{
	return kind == k.expression_case || kind == k.type_case ||
	       kind == k.communication_case || kind == k.default_case;
}

static void lower_switch(struct flow_builder *b, uint32_t n, uint32_t label)
{
	uint32_t child, inner, value = source_child(b->t, n, k.value);
	struct flow_switch s;
	bool falls = false;

	flow_eval(b, source_child(b->t, n, k.initializer));
	flow_switch_begin(b, &s, value);
	if (label != SOURCE_NONE)
		s.scope.label = source_text(b->t, label, &s.scope.label_len);
	/* `select {}` and one without default wait for a case. */
	s.has_default = b->t->nodes[n].kind == k.select;
	for (SOURCE_CHILDREN(b->t, n, child)) {
		uint16_t kind = b->t->nodes[child].kind;

		if (!is_case(kind))
			continue;
		flow_case(b, &s, kind == k.default_case, falls);
		falls = false;
		for (SOURCE_CHILDREN(b->t, child, inner)) {
			uint32_t last = SOURCE_NONE, x;

			if (!source_named(b->t, inner))
				continue;
			flow_statement(b, inner);
			if (b->t->nodes[inner].kind == k.list)
				for (SOURCE_CHILDREN(b->t, inner, x))
					if (source_named(b->t, x))
						last = x;
			falls |= b->t->nodes[inner].kind == k.fallthrough ||
				 (last != SOURCE_NONE &&
				  b->t->nodes[last].kind == k.fallthrough);
		}
	}
	flow_switch_end(b, &s);
}

static bool is_noreturn(const struct source_tree *t, uint32_t n)
{
	static const char *const names[] = {
		"panic",     "os.Exit",	   "log.Fatal", "log.Fatalf", "log.Fatalln",
		"log.Panic", "log.Panicf", "t.Fatal",	"t.Fatalf",   "t.FailNow",
		"t.Skip",    "t.Skipf",	   "b.Fatal",	"b.Fatalf",   "runtime.Goexit"};
	uint32_t call = source_named_child(t, n, 0), callee;

	if (call == SOURCE_NONE || t->nodes[call].kind != k.call)
		return false;
	callee = source_child(t, call, k.function);
	for (size_t i = 0; callee != SOURCE_NONE && i < sizeof(names) / sizeof(*names);
	     i++)
		if (source_text_is(t, callee, names[i]))
			return true;
	return false;
}

static void lower_labeled(struct flow_builder *b, uint32_t n)
{
	uint32_t label = source_child(b->t, n, k.label), child;

	if (label != SOURCE_NONE)
		flow_label(b, label);
	for (SOURCE_CHILDREN(b->t, n, child)) {
		uint16_t kind = b->t->nodes[child].kind;

		if (child == label || !source_named(b->t, child))
			continue;
		if (kind == k.for_)
			lower_for(b, child, label);
		else if (kind == k.switch_ || kind == k.type_switch || kind == k.select)
			lower_switch(b, child, label);
		else
			flow_statement(b, child);
	}
}

static void lower(struct flow_builder *b, uint32_t n)
{
	uint16_t kind = b->t->nodes[n].kind;

	if (kind == k.block || kind == k.list) {
		flow_statements(b, n);
	} else if (kind == k.if_) {
		flow_statement(b, source_child(b->t, n, k.initializer));
		flow_if(b, source_child(b->t, n, k.condition),
			source_child(b->t, n, k.consequence),
			source_child(b->t, n, k.alternative));
	} else if (kind == k.for_) {
		lower_for(b, n, SOURCE_NONE);
	} else if (kind == k.switch_ || kind == k.type_switch || kind == k.select) {
		lower_switch(b, n, SOURCE_NONE);
	} else if (kind == k.return_) {
		flow_return(b, n);
	} else if (kind == k.break_) {
		flow_break(b, scan_child_of_kind(b->t, n, k.label_name));
	} else if (kind == k.continue_) {
		flow_continue(b, scan_child_of_kind(b->t, n, k.label_name));
	} else if (kind == k.goto_) {
		if (scan_child_of_kind(b->t, n, k.label_name) != SOURCE_NONE)
			flow_goto(b, scan_child_of_kind(b->t, n, k.label_name));
	} else if (kind == k.labeled) {
		lower_labeled(b, n);
	} else if (kind == k.defer) {
		flow_defer(b, n);
	} else {
		flow_eval(b, n);
		if (kind == k.expression && is_noreturn(b->t, n))
			flow_end(b);
	}
}

static void handler(struct flow_builder *b, uint32_t n)
{
	(void)b; /* Go has no handlers */
	(void)n;
}

/* One name on the left is no list: `f := open()`. */
static uint32_t alone(const struct source_tree *t, uint32_t list)
{
	uint32_t first = list == SOURCE_NONE ? list : source_named_child(t, list, 0);

	return first != SOURCE_NONE && source_named_child(t, list, 1) == SOURCE_NONE
		       ? first
		       : list;
}

static bool assign(const struct source_tree *t, uint32_t n, uint32_t *ret_target,
		   uint32_t *ret_value)
{
	if (t->nodes[n].kind == k.var_spec) {
		*ret_target = source_child(t, n, k.name);
		*ret_value = alone(t, source_child(t, n, k.value));
		return *ret_target != SOURCE_NONE;
	}
	*ret_target = alone(t, source_child(t, n, k.left));
	*ret_value = alone(t, source_child(t, n, k.right));
	return *ret_target != SOURCE_NONE;
}

static uint32_t name(const struct source_tree *t, uint32_t function)
{
	return source_child(t, function, k.name);
}

struct scan_lang scan_go = {
	.id = LANG_GO,
	.function_kinds = "function_declaration method_declaration func_literal",
	/* What runs beside: whoever is named there may be released there. */
	.opaque_kinds = "func_literal go_statement comment",
	.call_kinds = "call_expression",
	.identifier_kinds = "identifier",
	.member_kinds = "selector_expression",
	.assign_kinds = "short_var_declaration assignment_statement var_spec",
	.transparent_kinds = "parenthesized_expression type_assertion_expression "
			     "type_conversion_expression",
	.container_kinds = "expression_list literal_value literal_element keyed_element "
			   "composite_literal",
	.declaration_kinds = "",
	.return_kinds = "return_statement send_statement",
	.with_kinds = "",
	.address_kinds = "unary_expression",
	.argument_list_kinds = "argument_list",
	.keyword_kinds = "",
	.raising_kinds = "",
	.if_kinds = "if_statement",
	.jump_kinds =
		"return_statement break_statement continue_statement goto_statement",
	.goto_kinds = "goto_statement",
	.block_kinds = "block statement_list",
	.finally_kinds = "",
	.handler_kinds = "",
	.try_kinds = "",
	.part_is_resource = true,
	.and_tokens = {"&&"},
	.or_tokens = {"||"},
	.not_tokens = {"!"},
	.binary_kinds = "binary_expression",
	.not_kinds = "unary_expression",
	.paren_kinds = "parenthesized_expression",
	.callee_field = "function",
	.arguments_field = "arguments",
	.object_field = "operand",
	.member_field = "field",
	.operand_field = "operand",
	.prepare = prepare,
	.lower = lower,
	.handler = handler,
	.assign = assign,
	.name = name,
};
