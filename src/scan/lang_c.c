/* C and C++. Kinds are those of tree-sitter-c and tree-sitter-cpp. */
#include "scan/flow_builder.h"

#include <string.h>

extern struct scan_lang scan_c, scan_cpp;

struct kinds {
	uint16_t compound, if_, else_, while_, do_, for_, switch_, case_, return_, break_,
		continue_, goto_, labeled, expression, call, identifier, preproc_if,
		preproc_ifdef, preproc_else, preproc_elif, preproc_elifdef, try_, catch_,
		throw_, throw_statement, range_for, condition_clause, init_declarator,
		function_declarator, preproc_arg;
	uint8_t condition, consequence, alternative, body, initializer, update, value,
		label, declarator, function, right;
};
static struct kinds c_kinds, cpp_kinds;

static void prepare_for(enum source_lang id, struct kinds *k)
{
#define KIND(field, name) k->field = source_kind(id, name)
	KIND(compound, "compound_statement");
	KIND(if_, "if_statement");
	KIND(else_, "else_clause");
	KIND(while_, "while_statement");
	KIND(do_, "do_statement");
	KIND(for_, "for_statement");
	KIND(switch_, "switch_statement");
	KIND(case_, "case_statement");
	KIND(return_, "return_statement");
	KIND(break_, "break_statement");
	KIND(continue_, "continue_statement");
	KIND(goto_, "goto_statement");
	KIND(labeled, "labeled_statement");
	KIND(expression, "expression_statement");
	KIND(call, "call_expression");
	KIND(identifier, "identifier");
	KIND(preproc_if, "preproc_if");
	KIND(preproc_ifdef, "preproc_ifdef");
	KIND(preproc_else, "preproc_else");
	KIND(preproc_elif, "preproc_elif");
	KIND(preproc_elifdef, "preproc_elifdef");
	KIND(try_, "try_statement");
	KIND(catch_, "catch_clause");
	KIND(throw_, "throw_expression");
	KIND(throw_statement, "throw_statement");
	KIND(range_for, "for_range_loop");
	KIND(condition_clause, "condition_clause");
	KIND(init_declarator, "init_declarator");
	KIND(function_declarator, "function_declarator");
	KIND(preproc_arg, "preproc_arg");
#undef KIND
#define FIELD(name) k->name = source_field(id, #name)
	FIELD(condition);
	FIELD(consequence);
	FIELD(alternative);
	FIELD(body);
	FIELD(initializer);
	FIELD(update);
	FIELD(value);
	FIELD(label);
	FIELD(declarator);
	FIELD(function);
	FIELD(right);
#undef FIELD
}

static void prepare_c(void)
{
	prepare_for(LANG_C, &c_kinds);
}

static void prepare_cpp(void)
{
	prepare_for(LANG_CPP, &cpp_kinds);
}

static const struct kinds *kinds_of(const struct source_tree *t)
{
	return t->lang == LANG_CPP ? &cpp_kinds : &c_kinds;
}

/* Calls that do not come back. Names that projects share. */
static bool is_noreturn(const struct source_tree *t, const struct kinds *k, uint32_t n)
{
	static const char *const names[] = {"exit",
					    "_exit",
					    "_Exit",
					    "abort",
					    "err",
					    "errx",
					    "verr",
					    "verrx",
					    "die",
					    "fatal",
					    "fatalx",
					    "usage",
					    "panic",
					    "BUG",
					    "longjmp",
					    "quick_exit",
					    "__builtin_unreachable",
					    "std::abort",
					    "std::exit",
					    "std::terminate",
					    "die_errno",
					    "pthread_exit"};
	uint32_t call = source_named_child(t, n, 0), callee;

	if (call == SOURCE_NONE || t->nodes[call].kind != k->call)
		return false;
	if (source_text_is(t, call, "assert(0)") ||
	    source_text_is(t, call, "assert(false)"))
		return true;
	callee = source_child(t, call, k->function);
	for (size_t i = 0; callee != SOURCE_NONE && i < sizeof(names) / sizeof(*names);
	     i++)
		if (source_text_is(t, callee, names[i]))
			return true;
	return false;
}

static uint32_t condition_of(const struct source_tree *t, const struct kinds *k,
			     uint32_t n)
{
	uint32_t c = source_child(t, n, k->condition);

	if (c != SOURCE_NONE && t->nodes[c].kind == k->condition_clause &&
	    t->lang == LANG_CPP)
		return source_child(t, c, k->value);
	return c;
}

static bool is_true(const struct source_tree *t, uint32_t n)
{
	return n == SOURCE_NONE || source_text_is(t, n, "(1)") ||
	       source_text_is(t, n, "1") || source_text_is(t, n, "(true)") ||
	       source_text_is(t, n, "true") || source_text_is(t, n, "(;;)");
}

static void lower_loop(struct flow_builder *b, const struct kinds *k, uint32_t n)
{
	uint16_t kind = b->t->nodes[n].kind;
	struct flow_loop l = {
		.init = source_child(b->t, n, k->initializer),
		.test = condition_of(b->t, k, n),
		.step = source_child(b->t, n, k->update),
		.body = source_child(b->t, n, k->body),
		.otherwise = SOURCE_NONE,
		.evaluated = SOURCE_NONE,
		.test_last = kind == k->do_,
	};

	if (kind == k->range_for) {
		l.init = source_child(b->t, n, k->right);
		l.test = SOURCE_NONE;
	} else if (is_true(b->t, l.test)) {
		l.test = SOURCE_NONE;
		l.endless = true;
	}
	flow_loop(b, &l);
}

/* The statements of a case follow its value, in the same node. */
static void lower_case(struct flow_builder *b, const struct kinds *k, uint32_t n)
{
	uint32_t value = source_child(b->t, n, k->value), child;

	for (SOURCE_CHILDREN(b->t, n, child))
		if (child != value && source_named(b->t, child) &&
		    !(b->t->nodes[child].flags & SOURCE_EXTRA))
			flow_statement(b, child);
}

static void lower_cases(struct flow_builder *b, const struct kinds *k,
			struct flow_switch *s, uint32_t body)
{
	uint32_t child;

	for (SOURCE_CHILDREN(b->t, body, child)) {
		if (b->t->nodes[child].kind == k->case_) {
			flow_case(b, s,
				  source_child(b->t, child, k->value) == SOURCE_NONE,
				  true);
			lower_case(b, k, child);
		} else if (source_named(b->t, child) &&
			   !(b->t->nodes[child].flags & SOURCE_EXTRA)) {
			flow_statement(b, child); /* or preprocessor around cases */
		}
	}
}

static void lower_switch(struct flow_builder *b, const struct kinds *k, uint32_t n)
{
	struct flow_switch s;
	uint32_t body = source_child(b->t, n, k->body);

	flow_switch_begin(b, &s, condition_of(b->t, k, n));
	if (body != SOURCE_NONE)
		lower_cases(b, k, &s, body);
	flow_switch_end(b, &s);
}

/* #if: one part or the other; conditions are not looked into. */
static void lower_preproc(struct flow_builder *b, const struct kinds *k, uint32_t n)
{
	uint32_t condition = source_child(b->t, n, k->condition);
	uint32_t name = source_child(b->t, n, b->lang->f_name);
	uint32_t alternative = source_child(b->t, n, k->alternative), child;
	struct flow_switch s;

	flow_switch_begin(b, &s, SOURCE_NONE);
	s.scope.kind = SCOPE_CHOICE;
	s.has_default =
		alternative != SOURCE_NONE || b->t->nodes[n].kind == k->preproc_else;
	flow_case(b, &s, false, false);
	for (SOURCE_CHILDREN(b->t, n, child))
		if (child != condition && child != name && child != alternative &&
		    source_named(b->t, child) &&
		    b->t->nodes[child].kind != k->preproc_arg)
			flow_statement(b, child);
	if (alternative != SOURCE_NONE) {
		flow_case(b, &s, true, false);
		lower_preproc(b, k, alternative);
	}
	flow_switch_end(b, &s);
}

static void lower_try(struct flow_builder *b, const struct kinds *k, uint32_t n)
{
	struct flow_try try = {
		.body = source_child(b->t, n, k->body),
		.otherwise = SOURCE_NONE,
		.finally = SOURCE_NONE,
	};
	uint32_t child;

	for (SOURCE_CHILDREN(b->t, n, child))
		if (b->t->nodes[child].kind == k->catch_ && try.nhandlers < 32)
			try.handlers[try.nhandlers++] = child;
	flow_try(b, &try);
}

static void handler(struct flow_builder *b, uint32_t n)
{
	flow_catch(b, n);
	flow_statement(b, source_child(b->t, n, kinds_of(b->t)->body));
}

static void lower_label(struct flow_builder *b, const struct kinds *k, uint32_t n)
{
	uint32_t label = source_child(b->t, n, k->label), child;

	if (label != SOURCE_NONE)
		flow_label(b, label);
	for (SOURCE_CHILDREN(b->t, n, child))
		if (child != label && source_named(b->t, child))
			flow_statement(b, child);
}

static void lower_expression(struct flow_builder *b, const struct kinds *k, uint32_t n)
{
	uint32_t inner = source_named_child(b->t, n, 0);

	if (inner != SOURCE_NONE && b->t->nodes[inner].kind == k->throw_) {
		flow_raise(b, n);
		return;
	}
	flow_eval(b, n);
	if (is_noreturn(b->t, k, n))
		flow_end(b);
}

static void lower_jump(struct flow_builder *b, const struct kinds *k, uint32_t n)
{
	uint16_t kind = b->t->nodes[n].kind;

	if (kind == k->return_)
		flow_return(b, n);
	else if (kind == k->break_)
		flow_break(b, SOURCE_NONE);
	else if (kind == k->continue_)
		flow_continue(b, SOURCE_NONE);
	else if (kind == k->throw_statement)
		flow_raise(b, n);
	else if (source_child(b->t, n, k->label) != SOURCE_NONE)
		flow_goto(b, source_child(b->t, n, k->label));
}

static void lower(struct flow_builder *b, uint32_t n)
{
	const struct kinds *k = kinds_of(b->t);
	uint16_t kind = b->t->nodes[n].kind;

	if (kind == k->compound)
		flow_statements(b, n);
	else if (kind == k->else_)
		flow_statement(b, source_named_child(b->t, n, 0));
	else if (kind == k->if_)
		flow_if(b, condition_of(b->t, k, n),
			source_child(b->t, n, k->consequence),
			source_child(b->t, n, k->alternative));
	else if (kind == k->while_ || kind == k->do_ || kind == k->for_ ||
		 (k->range_for && kind == k->range_for))
		lower_loop(b, k, n);
	else if (kind == k->switch_)
		lower_switch(b, k, n);
	else if (kind == k->return_ || kind == k->break_ || kind == k->continue_ ||
		 kind == k->goto_ || (k->throw_statement && kind == k->throw_statement))
		lower_jump(b, k, n);
	else if (kind == k->labeled)
		lower_label(b, k, n);
	else if (kind == k->expression)
		lower_expression(b, k, n);
	else if (kind == k->preproc_if || kind == k->preproc_ifdef ||
		 kind == k->preproc_else || kind == k->preproc_elif ||
		 kind == k->preproc_elifdef)
		lower_preproc(b, k, n);
	else if (k->try_ && kind == k->try_)
		lower_try(b, k, n);
	else if (!source_has(&b->lang->opaque, kind))
		flow_eval(b, n);
}

/* `int *p = malloc(n)`, `p = malloc(n)`. */
static bool assign(const struct source_tree *t, uint32_t n, uint32_t *ret_target,
		   uint32_t *ret_value)
{
	const struct kinds *k = kinds_of(t);
	const struct scan_lang *l = t->lang == LANG_CPP ? &scan_cpp : &scan_c;

	if (t->nodes[n].kind == k->init_declarator) {
		uint32_t d = source_child(t, n, k->declarator);

		while (d != SOURCE_NONE && t->nodes[d].kind != k->identifier) {
			uint32_t inner = source_child(t, d, k->declarator);

			if (inner == SOURCE_NONE)
				inner = source_named_child(t, d, 0);
			d = inner;
		}
		*ret_target = d;
		*ret_value = source_child(t, n, k->value);
		return d != SOURCE_NONE;
	}
	*ret_target = source_child(t, n, l->f_left);
	*ret_value = source_child(t, n, l->f_right);
	return *ret_target != SOURCE_NONE;
}

static uint32_t name(const struct source_tree *t, uint32_t function)
{
	const struct kinds *k = kinds_of(t);
	uint32_t d = source_child(t, function, k->declarator), inner;

	while (d != SOURCE_NONE && t->nodes[d].kind != k->function_declarator) {
		inner = source_child(t, d, k->declarator);
		if (inner == SOURCE_NONE)
			return d;
		d = inner;
	}
	return d == SOURCE_NONE ? d : source_child(t, d, k->declarator);
}

#define COMMON                                                                         \
	.call_kinds = "call_expression",                                               \
	.identifier_kinds = "identifier field_identifier qualified_identifier",        \
	.member_kinds = "field_expression",                                            \
	.transparent_kinds = "parenthesized_expression cast_expression "               \
			     "conditional_expression comma_expression",                \
	.container_kinds = "initializer_list initializer_pair",                        \
	.return_kinds = "return_statement throw_statement throw_expression",           \
	.raising_kinds = "", .if_kinds = "if_statement",                               \
	.jump_kinds = "return_statement break_statement continue_statement "           \
		      "goto_statement throw_statement throw_expression",               \
	.goto_kinds = "goto_statement", .block_kinds = "compound_statement",           \
	.finally_kinds = "", .handler_kinds = "catch_clause",                          \
	.try_kinds = "try_statement", .with_kinds = "",                                \
	.address_kinds = "pointer_expression", .argument_list_kinds = "argument_list", \
	.keyword_kinds = "",                                                           \
	.declaration_kinds = "declaration condition_clause for_range_loop",            \
	.config_kinds = "preproc_if preproc_ifdef preproc_else preproc_elif "          \
			"preproc_elifdef",                                             \
	.part_is_own = true, .assign_kinds = "assignment_expression init_declarator",  \
	.and_tokens = {"&&"}, .or_tokens = {"||"}, .not_tokens = {"!"},                \
	.binary_kinds = "binary_expression", .not_kinds = "unary_expression",          \
	.paren_kinds = "parenthesized_expression", .callee_field = "function",         \
	.arguments_field = "arguments", .object_field = "argument",                    \
	.member_field = "field", .operand_field = "argument", .lower = lower,          \
	.handler = handler, .assign = assign, .name = name

struct scan_lang scan_c = {
	.id = LANG_C,
	.function_kinds = "function_definition",
	.opaque_kinds = "function_definition comment type_definition struct_specifier "
			"preproc_include preproc_def preproc_call",
	.prepare = prepare_c,
	COMMON,
};

struct scan_lang scan_cpp = {
	.id = LANG_CPP,
	.exceptions = false, /* destructors release: ways of exceptions say too little */
	.function_kinds = "function_definition lambda_expression",
	.opaque_kinds = "function_definition lambda_expression comment type_definition "
			"struct_specifier class_specifier preproc_include preproc_def "
			"preproc_call",
	.prepare = prepare_cpp,
	COMMON,
};
