/* Python. Kinds are those of tree-sitter-python. */
#include "scan/flow_builder.h"

#include <string.h>

extern struct scan_lang scan_python;

static struct {
	uint16_t block, if_, elif, else_, for_, while_, try_, except, except_group,
		finally, with, with_clause, with_item, return_, raise, break_, continue_,
		match, case_, assert_, comment;
	uint8_t condition, consequence, alternative, body, left, right, subject, value,
		type;
} k;

static void prepare(void)
{
#define KIND(field, name) k.field = source_kind(LANG_PYTHON, name)
	KIND(block, "block");
	KIND(if_, "if_statement");
	KIND(elif, "elif_clause");
	KIND(else_, "else_clause");
	KIND(for_, "for_statement");
	KIND(while_, "while_statement");
	KIND(try_, "try_statement");
	KIND(except, "except_clause");
	KIND(except_group, "except_group_clause");
	KIND(finally, "finally_clause");
	KIND(with, "with_statement");
	KIND(with_clause, "with_clause");
	KIND(with_item, "with_item");
	KIND(return_, "return_statement");
	KIND(raise, "raise_statement");
	KIND(break_, "break_statement");
	KIND(continue_, "continue_statement");
	KIND(match, "match_statement");
	KIND(case_, "case_clause");
	KIND(assert_, "assert_statement");
	KIND(comment, "comment");
#undef KIND
#define FIELD(name) k.name = source_field(LANG_PYTHON, #name)
	FIELD(condition);
	FIELD(consequence);
	FIELD(alternative);
	FIELD(body);
	FIELD(left);
	FIELD(right);
	FIELD(subject);
	FIELD(value);
	FIELD(type);
#undef FIELD
}

/* The elif or else that follows `from` (SOURCE_NONE: the first). */
static uint32_t next_alternative(const struct source_tree *t, uint32_t n, uint32_t from)
{
	uint32_t child;

	for (SOURCE_CHILDREN(t, n, child))
		if (t->nodes[child].field == k.alternative &&
		    (from == SOURCE_NONE || child > from))
			return child;
	return SOURCE_NONE;
}

static void lower_if(struct flow_builder *b, uint32_t n)
{
	flow_if(b, source_child(b->t, n, k.condition),
		source_child(b->t, n, k.consequence),
		next_alternative(b->t, n, SOURCE_NONE));
}

static void lower_elif(struct flow_builder *b, uint32_t n)
{
	flow_if(b, source_child(b->t, n, k.condition),
		source_child(b->t, n, k.consequence),
		next_alternative(b->t, b->t->nodes[n].parent, n));
}

/* `except:`, `except Exception`, `except BaseException`. */
static bool takes_all(const struct source_tree *t, uint32_t except)
{
	uint32_t child;
	size_t len;
	const char *text;

	for (SOURCE_CHILDREN(t, except, child)) {
		if (!source_named(t, child) || t->nodes[child].kind == k.comment)
			continue;
		if (t->nodes[child].kind == k.block)
			return true;
		text = source_text(t, child, &len);
		if ((len >= 9 && !memcmp(text, "Exception", 9)) ||
		    (len >= 13 && !memcmp(text, "BaseException", 13)))
			return len == 9 || len == 13 || text[9] == ' ' || text[13] == ' ';
		return false;
	}
	return true;
}

static void lower_try(struct flow_builder *b, uint32_t n)
{
	struct flow_try try = {
		.body = source_child(b->t, n, k.body),
		.otherwise = SOURCE_NONE,
		.finally = SOURCE_NONE,
	};
	uint32_t child;

	for (SOURCE_CHILDREN(b->t, n, child)) {
		uint16_t kind = b->t->nodes[child].kind;

		if (kind == k.else_)
			try.otherwise = child;
		else if (kind == k.finally)
			try.finally = scan_child_of_kind(b->t, child, k.block);
		else if ((kind == k.except || kind == k.except_group) &&
			 try.nhandlers < 32 && !try.catches_all) {
			try.handlers[try.nhandlers++] = child;
			try.catches_all = takes_all(b->t, child);
		}
	}
	flow_try(b, &try);
}

static void handler(struct flow_builder *b, uint32_t n)
{
	flow_catch(b, n);
	flow_statement(b, scan_child_of_kind(b->t, n, k.block));
}

static void lower_items(struct flow_builder *b, uint32_t n, uint32_t clause,
			uint32_t from)
{
	struct flow_scope scope;
	uint32_t item = from == SOURCE_NONE ? source_first(b->t, clause)
					    : source_next(b->t, from);

	while (item != SOURCE_NONE && b->t->nodes[item].kind != k.with_item)
		item = source_next(b->t, item);
	if (item == SOURCE_NONE) {
		flow_statement(b, source_child(b->t, n, k.body));
		return;
	}
	flow_eval(b, item);
	flow_with_enter(b, &scope, item);
	b->depth++;
	lower_items(b, n, clause, item);
	b->depth--;
	flow_with_leave(b, &scope);
}

static void lower_match(struct flow_builder *b, uint32_t n)
{
	struct flow_switch s;
	uint32_t body = source_child(b->t, n, k.body), child;

	flow_switch_begin(b, &s, source_child(b->t, n, k.subject));
	s.scope.kind = SCOPE_CHOICE; /* `break` is the loop's around it */
	if (body != SOURCE_NONE)
		for (SOURCE_CHILDREN(b->t, body, child))
			if (b->t->nodes[child].kind == k.case_) {
				flow_case(b, &s, false, false);
				flow_statement(b,
					       source_child(b->t, child, k.consequence));
			}
	flow_switch_end(b, &s);
}

static void lower_loop(struct flow_builder *b, uint32_t n)
{
	uint32_t right = source_child(b->t, n, k.right);
	uint32_t test = source_child(b->t, n, k.condition);
	bool forever = test != SOURCE_NONE && (source_text_is(b->t, test, "True") ||
					       source_text_is(b->t, test, "1"));
	struct flow_loop l = {
		.init = SOURCE_NONE,
		.test = forever ? SOURCE_NONE : test,
		.step = SOURCE_NONE,
		.evaluated = SOURCE_NONE,
		.body = source_child(b->t, n, k.body),
		.otherwise = source_child(b->t, n, k.alternative),
		.endless = forever,
	};

	flow_eval(b, right);
	flow_loop(b, &l);
}

static void lower(struct flow_builder *b, uint32_t n)
{
	uint16_t kind = b->t->nodes[n].kind;

	if (kind == k.block)
		flow_statements(b, n);
	else if (kind == k.else_)
		flow_statement(b, scan_child_of_kind(b->t, n, k.block));
	else if (kind == k.if_)
		lower_if(b, n);
	else if (kind == k.elif)
		lower_elif(b, n);
	else if (kind == k.for_ || kind == k.while_)
		lower_loop(b, n);
	else if (kind == k.try_)
		lower_try(b, n);
	else if (kind == k.with)
		lower_items(b, n, scan_child_of_kind(b->t, n, k.with_clause),
			    SOURCE_NONE);
	else if (kind == k.match)
		lower_match(b, n);
	else if (kind == k.return_)
		flow_return(b, n);
	else if (kind == k.raise)
		flow_raise(b, n);
	else if (kind == k.break_)
		flow_break(b, SOURCE_NONE);
	else if (kind == k.continue_)
		flow_continue(b, SOURCE_NONE);
	else if (!source_has(&scan_python.opaque, kind))
		flow_eval(b, n);
}

static bool assign(const struct source_tree *t, uint32_t n, uint32_t *ret_target,
		   uint32_t *ret_value)
{
	uint16_t kind = t->nodes[n].kind;

	if (kind == k.with_item) { /* value: as_pattern, or the expression alone */
		uint32_t value = source_child(t, n, k.value);
		uint8_t alias = source_field(LANG_PYTHON, "alias");

		if (value == SOURCE_NONE)
			return false;
		*ret_target = source_child(t, value, alias);
		*ret_value = *ret_target == SOURCE_NONE ? value
							: source_named_child(t, value, 0);
		return *ret_target != SOURCE_NONE;
	}
	*ret_target = source_child(t, n, scan_python.f_left);
	*ret_value = source_child(t, n, scan_python.f_right);
	if (*ret_target == SOURCE_NONE) { /* name := value */
		*ret_target = source_child(t, n, scan_python.f_name);
		*ret_value = source_child(t, n, k.value);
	}
	return *ret_target != SOURCE_NONE;
}

static uint32_t name(const struct source_tree *t, uint32_t function)
{
	return source_child(t, function, scan_python.f_name);
}

struct scan_lang scan_python = {
	.id = LANG_PYTHON,
	.exceptions = true,
	.classes = true,
	.function_kinds = "function_definition",
	.opaque_kinds =
		"function_definition class_definition decorated_definition lambda "
		"import_statement import_from_statement comment pass_statement "
		"global_statement nonlocal_statement",
	.call_kinds = "call",
	.identifier_kinds = "identifier",
	.member_kinds = "attribute",
	.assign_kinds = "assignment named_expression with_item augmented_assignment",
	.transparent_kinds = "parenthesized_expression await conditional_expression "
			     "boolean_operator as_pattern keyword_argument",
	.container_kinds = "tuple list dictionary set pair expression_list pattern_list "
			   "list_splat dictionary_splat",
	.declaration_kinds = "",
	.return_kinds = "return_statement yield raise_statement",
	.with_kinds = "with_item",
	.address_kinds = "",
	.argument_list_kinds = "argument_list",
	.keyword_kinds = "keyword_argument",
	.raising_kinds = "await yield",
	.if_kinds = "if_statement elif_clause",
	.jump_kinds = "return_statement raise_statement break_statement "
		      "continue_statement",
	.goto_kinds = "",
	.block_kinds = "block",
	.finally_kinds = "finally_clause",
	.handler_kinds = "except_clause except_group_clause",
	.try_kinds = "try_statement",
	.and_tokens = {"and"},
	.or_tokens = {"or"},
	.not_tokens = {"not"},
	.binary_kinds = "boolean_operator",
	.not_kinds = "not_operator",
	.paren_kinds = "parenthesized_expression",
	.callee_field = "function",
	.arguments_field = "arguments",
	.object_field = "object",
	.member_field = "attribute",
	.operand_field = "argument",
	.prepare = prepare,
	.lower = lower,
	.handler = handler,
	.assign = assign,
	.name = name,
};
