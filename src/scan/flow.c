/* Lowering of statements to blocks. See flow.h. */
#include "scan/flow.h"

#include "base/mem.h"
#include "scan/flow_builder.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_DEPTH = 400 };

/* ---- blocks ---- */

static uint32_t new_block(struct flow_builder *b)
{
	struct flow_block *new = VEC_ADD(b->f->blocks, b->f->nblocks, b->f->blocks_cap);

	if (b->f->nblocks > FLOW_MAX_BLOCKS)
		b->f->gave_up = true;
	*new = (struct flow_block){
		.first = FLOW_NONE,
		.last = FLOW_NONE,
		.next = FLOW_NONE,
		.other = FLOW_NONE,
		.raise = b->raise,
	};
	return (uint32_t)(b->f->nblocks - 1);
}

static void add_op(struct flow_builder *b, enum flow_op_kind kind, uint32_t node)
{
	struct flow *f = b->f;
	struct flow_op *op = VEC_ADD(f->ops, f->nops, f->ops_cap);
	uint32_t at = (uint32_t)(f->nops - 1);
	struct flow_block *block = &f->blocks[b->at];

	*op = (struct flow_op){
		.node = node,
		.next = FLOW_NONE,
		.kind = (uint8_t)kind,
		.copy = b->copies > 0,
	};
	for (const struct flow_scope *s = b->scope; s; s = s->outer)
		op->cleanup |= s->kind == SCOPE_CLEANUP;
	if (block->last == FLOW_NONE)
		block->first = at;
	else
		f->ops[block->last].next = at;
	block->last = at;
}

static void go_to(struct flow_builder *b, uint32_t block)
{
	if (b->f->blocks[b->at].next == FLOW_NONE)
		b->f->blocks[b->at].next = block;
}

/* Where lowering goes on; what came before does not lead there by itself. */
static void start(struct flow_builder *b, uint32_t block)
{
	b->at = block;
}

/* A block begins where the handler changes: exceptions are a block's, not an
 * operation's. */
static void split(struct flow_builder *b)
{
	uint32_t next = new_block(b);

	go_to(b, next);
	start(b, next);
}

/* After a jump: what follows is reached by a label, or by nothing. */
static void start_dead(struct flow_builder *b)
{
	start(b, new_block(b));
}

/* ---- expressions ---- */

void flow_eval(struct flow_builder *b, uint32_t node)
{
	if (node != SOURCE_NONE)
		add_op(b, FLOW_EVAL, node);
}

static bool is_token(const struct source_tree *t, uint32_t n, const char *const *tokens)
{
	for (unsigned i = 0; i < 2 && tokens[i]; i++)
		if (source_text_is(t, n, tokens[i]))
			return true;
	return false;
}

/* `BE (p == NULL, 0)`: upper case, and its first argument is a comparison. */
static bool is_macro_of_test(const struct flow_builder *b, uint32_t call, uint32_t callee)
{
	uint32_t arguments = source_child(b->t, call, b->lang->f_arguments), first;
	size_t len;
	const char *text = source_text(b->t, callee, &len);

	for (size_t i = 0; i < len; i++)
		if (islower((unsigned char)text[i]))
			return false;
	first = arguments == SOURCE_NONE ? arguments
					 : source_named_child(b->t, arguments, 0);
	return first != SOURCE_NONE &&
	       (source_has(&b->lang->binaries, b->t->nodes[first].kind) ||
		source_has(&b->lang->nots, b->t->nodes[first].kind));
}

/* Hints to the compiler, around a test. */
static bool is_hint(const struct flow_builder *b, uint32_t n)
{
	static const char *const hints[] = {"likely",	"unlikely", "LIKELY",
					    "UNLIKELY", "G_LIKELY", "G_UNLIKELY",
					    "ALWAYS",	"NEVER",    "__builtin_expect"};
	uint32_t callee;

	if (!source_has(&b->lang->calls, b->t->nodes[n].kind))
		return false;
	callee = source_child(b->t, n, b->lang->f_callee);
	if (callee == SOURCE_NONE)
		return false;
	for (size_t i = 0; i < sizeof(hints) / sizeof(*hints); i++)
		if (source_text_is(b->t, callee, hints[i]))
			return true;
	return is_macro_of_test(b, n, callee);
}

static uint32_t without_parens(const struct flow_builder *b, uint32_t n)
{
	while (n != SOURCE_NONE) {
		uint32_t inner = SOURCE_NONE, arguments;

		if (source_has(&b->lang->parens, b->t->nodes[n].kind)) {
			inner = source_named_child(b->t, n, 0);
		} else if (is_hint(b, n)) {
			arguments = source_child(b->t, n, b->lang->f_arguments);
			if (arguments != SOURCE_NONE)
				inner = source_named_child(b->t, arguments, 0);
		}
		if (inner == SOURCE_NONE)
			break;
		n = inner;
	}
	return n;
}

/* Goes to `yes` or `no`. Short circuits are ways of their own: `a() || close(f)` may
 * leave f open. */
static void test(struct flow_builder *b, uint32_t node, uint32_t yes, uint32_t no)
{
	const struct scan_lang *l = b->lang;
	uint32_t n = without_parens(b, node);
	uint32_t op, left, right, middle;

	if (n == SOURCE_NONE) {
		go_to(b, yes);
		return;
	}
	if (b->depth < MAX_DEPTH && source_has(&l->nots, b->t->nodes[n].kind)) {
		uint32_t operand = source_child(b->t, n, l->f_operand);
		uint32_t first = source_first(b->t, n);

		if (operand != SOURCE_NONE && is_token(b->t, first, l->not_tokens)) {
			b->depth++;
			test(b, operand, no, yes);
			b->depth--;
			return;
		}
	}
	if (b->depth < MAX_DEPTH && source_has(&l->binaries, b->t->nodes[n].kind)) {
		op = source_child(b->t, n, l->f_operator);
		left = source_child(b->t, n, l->f_left);
		right = source_child(b->t, n, l->f_right);
		if (op != SOURCE_NONE && left != SOURCE_NONE && right != SOURCE_NONE) {
			bool and = is_token(b->t, op, l->and_tokens);

			if (and || is_token(b->t, op, l->or_tokens)) {
				b->depth++;
				middle = new_block(b);
				test(b, left, and? middle : yes, and? no : middle);
				start(b, middle);
				test(b, right, yes, no);
				b->depth--;
				return;
			}
		}
	}
	add_op(b, FLOW_TEST, n);
	b->f->blocks[b->at].next = yes;
	b->f->blocks[b->at].other = no;
}

/* ---- statements ---- */

void flow_statement(struct flow_builder *b, uint32_t node)
{
	if (node == SOURCE_NONE || b->f->gave_up)
		return;
	if (b->depth >= MAX_DEPTH) {
		b->f->gave_up = true;
		return;
	}
	b->depth++;
	b->lang->lower(b, node);
	b->depth--;
}

void flow_statements(struct flow_builder *b, uint32_t node)
{
	uint32_t child;

	for (SOURCE_CHILDREN(b->t, node, child))
		if ((b->t->nodes[child].flags & (SOURCE_NAMED | SOURCE_EXTRA)) ==
		    SOURCE_NAMED)
			flow_statement(b, child);
}

void flow_if(struct flow_builder *b, uint32_t condition, uint32_t then,
	     uint32_t otherwise)
{
	uint32_t yes = new_block(b), no = new_block(b), after = new_block(b);

	test(b, condition, yes, no);
	start(b, yes);
	flow_statement(b, then);
	go_to(b, after);
	start(b, no);
	flow_statement(b, otherwise);
	go_to(b, after);
	start(b, after);
}

void flow_loop(struct flow_builder *b, const struct flow_loop *l)
{
	uint32_t body, head, step, after, otherwise;
	struct flow_scope scope = {.kind = SCOPE_LOOP,
				   .label = l->label,
				   .label_len = l->label_len,
				   .outer = b->scope};

	flow_statement(b, l->init);
	head = new_block(b);
	body = new_block(b);
	step = new_block(b);
	otherwise = new_block(b);
	after = new_block(b);
	go_to(b, l->test_last ? body : head);
	start(b, head);
	if (l->test != SOURCE_NONE) {
		test(b, l->test, body, otherwise);
	} else {
		flow_eval(b, l->evaluated);
		b->f->blocks[b->at].next = body;
		if (!l->endless)
			b->f->blocks[b->at].other = otherwise;
	}
	scope.brk = after;
	scope.cont = step;
	b->scope = &scope;
	start(b, body);
	flow_statement(b, l->body);
	go_to(b, step);
	b->scope = scope.outer;
	start(b, step);
	flow_statement(b, l->step);
	go_to(b, head);
	start(b, otherwise);
	flow_statement(b, l->otherwise);
	go_to(b, after);
	start(b, after);
}

/* ---- ways out ---- */

/* What a way out passes in one scope. b->scope is the scope outside of it meanwhile. */
static void pass(struct flow_builder *b, struct flow_scope *s)
{
	struct flow_scope *kept = b->scope;
	struct flow_scope cleanup = {.kind = SCOPE_CLEANUP, .outer = s->outer};
	uint32_t raise = b->raise;

	if (s->kind != SCOPE_FINALLY && s->kind != SCOPE_WITH)
		return;
	b->raise = s->raise;
	split(b);
	if (s->kind == SCOPE_WITH) {
		b->scope = s->outer;
		add_op(b, FLOW_LEAVE, s->node);
	} else {
		b->scope = &cleanup;
		b->copies++;
		flow_statement(b, s->node);
		b->copies--;
	}
	b->scope = kept;
	b->raise = raise;
}

static void pass_until(struct flow_builder *b, const struct flow_scope *end)
{
	for (struct flow_scope *s = b->scope; s && s != end && !b->f->gave_up;
	     s = s->outer)
		pass(b, s);
}

void flow_return(struct flow_builder *b, uint32_t node)
{
	add_op(b, FLOW_RETURN, node);
	pass_until(b, NULL);
	go_to(b, FLOW_EXIT_RETURN);
	start_dead(b);
}

void flow_raise(struct flow_builder *b, uint32_t node)
{
	add_op(b, FLOW_RAISE, node);
	go_to(b, b->f->blocks[b->at].raise);
	start_dead(b);
}

void flow_end(struct flow_builder *b)
{
	start_dead(b);
}

static bool has_label(const struct flow_builder *b, const struct flow_scope *s,
		      uint32_t label)
{
	size_t len;
	const char *text;

	if (label == SOURCE_NONE)
		return true;
	text = source_text(b->t, label, &len);
	return s->label && s->label_len == len && !memcmp(s->label, text, len);
}

static void jump(struct flow_builder *b, uint32_t label, bool loops_only)
{
	struct flow_scope *s = b->scope;

	while (s &&
	       !((s->kind == SCOPE_LOOP || (s->kind == SCOPE_SWITCH && !loops_only)) &&
		 has_label(b, s, label)))
		s = s->outer;
	pass_until(b, s);
	if (s)
		go_to(b, loops_only ? s->cont : s->brk);
	start_dead(b);
}

void flow_break(struct flow_builder *b, uint32_t label)
{
	jump(b, label, false);
}

void flow_continue(struct flow_builder *b, uint32_t label)
{
	jump(b, label, true);
}

static uint32_t label_block(struct flow_builder *b, uint32_t label)
{
	size_t len;
	const char *text = source_text(b->t, label, &len);
	struct flow_label *l;

	for (size_t i = 0; i < b->nlabels; i++)
		if (b->labels[i].len == len && !memcmp(b->labels[i].name, text, len))
			return b->labels[i].block;
	l = VEC_ADD(b->labels, b->nlabels, b->labels_cap);
	l->name = text;
	l->len = len;
	l->block = new_block(b);
	return l->block;
}

void flow_goto(struct flow_builder *b, uint32_t label)
{
	go_to(b, label_block(b, label));
	start_dead(b);
}

void flow_label(struct flow_builder *b, uint32_t label)
{
	uint32_t block = label_block(b, label);

	go_to(b, block);
	start(b, block);
}

void flow_defer(struct flow_builder *b, uint32_t node)
{
	add_op(b, FLOW_DEFER, node);
}

void flow_catch(struct flow_builder *b, uint32_t node)
{
	add_op(b, FLOW_CATCH, node);
}

/* ---- try, with ---- */

/* The finally on the way of an exception that no handler took. */
static void lower_uncaught(struct flow_builder *b, uint32_t block, struct flow_scope *s)
{
	uint32_t at = b->at;

	start(b, block);
	pass(b, s);
	go_to(b, s->raise);
	start(b, at);
}

static void lower_handlers(struct flow_builder *b, const struct flow_try *t,
			   uint32_t dispatch, uint32_t outer, uint32_t after)
{
	for (unsigned i = 0; i < t->nhandlers; i++) {
		bool last = i + 1 == t->nhandlers;
		uint32_t body = new_block(b), rest = FLOW_NONE;

		b->f->blocks[dispatch].next = body;
		if (!last)
			rest = new_block(b);
		else if (!t->catches_all)
			rest = outer;
		b->f->blocks[dispatch].other = rest;
		start(b, body);
		b->lang->handler(b, t->handlers[i]);
		go_to(b, after);
		dispatch = rest;
	}
}

void flow_try(struct flow_builder *b, const struct flow_try *t)
{
	struct flow_scope finally = {.kind = SCOPE_FINALLY,
				     .node = t->finally,
				     .raise = b->raise,
				     .outer = b->scope};
	struct flow_scope cleanup = {.kind = SCOPE_CLEANUP, .outer = b->scope};
	uint32_t outside = b->raise, uncaught = b->raise, dispatch, after, leave;
	bool has_finally = t->finally != SOURCE_NONE;

	if (has_finally) {
		uncaught = new_block(b);
		b->scope = &finally;
		b->raise = uncaught;
	}
	after = new_block(b);
	leave = after;
	dispatch = t->nhandlers ? new_block(b) : uncaught;
	b->raise = dispatch;
	split(b);
	flow_statement(b, t->body);
	b->raise = uncaught;
	split(b);
	flow_statement(b, t->otherwise);
	go_to(b, leave);
	if (t->nhandlers)
		lower_handlers(b, t, dispatch, uncaught, leave);
	b->scope = finally.outer;
	b->raise = outside;
	b->f->blocks[after].raise = outside;
	if (has_finally) {
		lower_uncaught(b, uncaught, &finally);
		start(b, after);
		b->scope = &cleanup;
		flow_statement(b, t->finally);
		b->scope = cleanup.outer;
		split(b);
		return;
	}
	start(b, after);
}

void flow_with_enter(struct flow_builder *b, struct flow_scope *s, uint32_t item)
{
	uint32_t uncaught = new_block(b);

	*s = (struct flow_scope){
		.kind = SCOPE_WITH, .node = item, .raise = b->raise, .outer = b->scope};
	s->brk = uncaught;
	b->scope = s;
	b->raise = uncaught;
	split(b);
}

void flow_with_leave(struct flow_builder *b, struct flow_scope *s)
{
	b->scope = s->outer;
	b->raise = s->raise;
	split(b);
	add_op(b, FLOW_LEAVE, s->node);
	lower_uncaught(b, s->brk, s);
}

/* ---- switch ---- */

void flow_switch_begin(struct flow_builder *b, struct flow_switch *s, uint32_t value)
{
	flow_eval(b, value);
	*s = (struct flow_switch){
		.scope = {.kind = SCOPE_SWITCH, .outer = b->scope},
		.after = new_block(b),
	};
	s->dispatch = b->at;
	s->scope.brk = s->after;
	b->scope = &s->scope;
	start_dead(b);
}

void flow_case(struct flow_builder *b, struct flow_switch *s, bool is_default,
	       bool falls_through)
{
	uint32_t body = new_block(b), rest;

	go_to(b, falls_through ? body : s->after);
	if (is_default) {
		s->has_default = true;
	}
	/* Any case may be taken: a chain of either-ways. */
	rest = new_block(b);
	b->f->blocks[s->dispatch].next = body;
	b->f->blocks[s->dispatch].other = rest;
	s->dispatch = rest;
	start(b, body);
}

void flow_switch_end(struct flow_builder *b, struct flow_switch *s)
{
	go_to(b, s->after);
	if (!s->has_default)
		b->f->blocks[s->dispatch].next = s->after;
	b->scope = s->scope.outer;
	start(b, s->after);
}

/* ---- a function ---- */

void flow_build(const struct scan_lang *lang, const struct source_tree *t,
		uint32_t function, struct flow *ret)
{
	struct flow_builder b = {
		.f = ret, .t = t, .lang = lang, .raise = FLOW_EXIT_RAISE};
	uint32_t body = source_child(t, function, lang->f_body);

	*ret = (struct flow){.t = t, .function = function};
	new_block(&b);
	new_block(&b);
	ret->entry = new_block(&b);
	start(&b, ret->entry);
	if (body != SOURCE_NONE)
		flow_statement(&b, body);
	go_to(&b, FLOW_EXIT_RETURN);
	free(b.labels);
}

void flow_release(struct flow *f)
{
	free(f->blocks);
	free(f->ops);
	*f = (struct flow){0};
}

/* ---- for tests ---- */

static void dump_op(const struct flow *f, const struct flow_op *op, struct buf *out)
{
	static const char *const kinds[] = {"eval",  "test",  "return", "raise",
					    "defer", "leave", "catch"};
	size_t len;
	const char *text = source_text(f->t, op->node, &len);

	if (len > 40)
		len = 40;
	buf_addf(out, " %s%s '", op->cleanup ? "~" : "", kinds[op->kind]);
	for (size_t i = 0; i < len && text[i] != '\n'; i++)
		buf_addc(out, text[i]);
	buf_addc(out, '\'');
}

void flow_dump(const struct flow *f, struct buf *out)
{
	for (size_t i = 0; i < f->nblocks; i++) {
		const struct flow_block *block = &f->blocks[i];

		buf_addf(out, "%zu:", i);
		for (uint32_t op = block->first; op != FLOW_NONE; op = f->ops[op].next)
			dump_op(f, &f->ops[op], out);
		if (block->next != FLOW_NONE)
			buf_addf(out, " -> %u", block->next);
		if (block->other != FLOW_NONE)
			buf_addf(out, " else %u", block->other);
		if (block->raise > FLOW_EXIT_RAISE)
			buf_addf(out, " raise %u", block->raise);
		buf_addc(out, '\n');
	}
}
