#include "instrument/branches.h"

#include "base/mem.h"

struct finder {
	const struct source_tree *t;
	const uint8_t *code;
	struct branches *out;
	uint8_t *seen; /* operators that a condition above has dealt with */
	struct source_kinds parens, ifs, loops, ternaries, binaries, unaries, constants,
		switches, cases, bodies, walks, catches;
	bool hands_on; /* the value of the last operand is not tested: not in C */
	uint16_t conjunction, disjunction, negation, fallback;
	uint8_t f_condition, f_left, f_right, f_operator, f_argument, f_body;
};

static const char *const kinds[] = {
#define BRANCH(id, name, first, second) [BRANCH_##id] = name,
#include "instrument/branch.def"
#undef BRANCH
};
static const char *const outcomes[][2] = {
#define BRANCH(id, name, first, second) [BRANCH_##id] = {first, second},
#include "instrument/branch.def"
#undef BRANCH
};

const char *branch_kind_name(enum branch_kind k)
{
	return kinds[k];
}

const char *branch_outcome_name(const struct branch *b, uint32_t outcome)
{
	if (b->kind == BRANCH_SWITCH)
		return outcome + 1 < b->n ? "case" : "none";
	return outcomes[b->kind][outcome];
}

static uint32_t strip(const struct finder *f, uint32_t n)
{
	while (n != SOURCE_NONE && source_has(&f->parens, f->t->nodes[n].kind))
		n = source_named_child(f->t, n, 0);
	return n;
}

/* SOURCE_NO_KIND: it has none. */
static uint16_t operator_of(const struct finder *f, uint32_t n)
{
	uint32_t op = source_has(&f->binaries, f->t->nodes[n].kind)
			      ? source_child(f->t, n, f->f_operator)
			      : SOURCE_NONE;

	return op == SOURCE_NONE ? SOURCE_NO_KIND : f->t->nodes[op].kind;
}

static bool is_logical(const struct finder *f, uint32_t n)
{
	uint16_t op = operator_of(f, n);

	return op && (op == f->conjunction || op == f->disjunction);
}

/* !(a && b): the operator; else n. */
static uint32_t look_through(const struct finder *f, uint32_t n)
{
	uint32_t at = n;

	while (at != SOURCE_NONE && source_has(&f->unaries, f->t->nodes[at].kind)) {
		uint32_t op = source_child(f->t, at, f->f_operator);

		if (op == SOURCE_NONE || f->t->nodes[op].kind != f->negation)
			return n;
		at = strip(f, source_child(f->t, at, f->f_argument));
	}
	return at != SOURCE_NONE && is_logical(f, at) ? at : n;
}

static bool is_constant(const struct finder *f, uint32_t n)
{
	while (n != SOURCE_NONE && source_has(&f->unaries, f->t->nodes[n].kind))
		n = strip(f, source_child(f->t, n, f->f_argument));
	return n == SOURCE_NONE || source_has(&f->constants, f->t->nodes[n].kind);
}

static struct branch *add(struct finder *f, enum branch_kind kind, uint32_t node,
			  uint32_t n)
{
	struct branches *out = f->out;
	struct branch *b = VEC_ADD(out->v, out->n, out->cap);

	*b = (struct branch){
		.kind = kind, .node = node, .first = out->first + out->outcomes, .n = n};
	out->outcomes += n;
	return b;
}

static void condition(struct finder *f, enum branch_kind kind, uint32_t n)
{
	n = strip(f, n);
	if (n == SOURCE_NONE)
		return;
	n = look_through(f, n);
	if (is_logical(f, n)) {
		f->seen[n] = 1;
		condition(f, BRANCH_OPERAND, source_child(f->t, n, f->f_left));
		condition(f, BRANCH_OPERAND, source_child(f->t, n, f->f_right));
	} else if (f->code[n] && !(f->t->nodes[n].flags & SOURCE_BROKEN) &&
		   !is_constant(f, n)) {
		add(f, kind, n, 2);
	}
}

static void choice(struct finder *f, uint32_t n)
{
	struct branch *b;
	uint32_t labels = 0, first = (uint32_t)f->out->nlabels;
	uint32_t body = source_child(f->t, n, f->f_body);
	bool rest = false;

	if (body == SOURCE_NONE || !source_has(&f->bodies, f->t->nodes[body].kind) ||
	    f->t->nodes[n].flags & SOURCE_BROKEN)
		return;
	for (uint32_t c = n + 1; c < f->t->nodes[n].after; c++) {
		if (!source_has(&f->cases, f->t->nodes[c].kind) || !f->code[c] ||
		    source_above(f->t, c, &f->switches) != n)
			continue;
		*VEC_ADD(f->out->labels, f->out->nlabels, f->out->labels_cap) = c;
		rest |= !source_text_is(f->t, c + 1, "case");
		labels++;
	}
	b = add(f, BRANCH_SWITCH, n, labels + !rest);
	b->label = first;
	b->nlabels = labels;
}

/* a ?? b */
static void fallback(struct finder *f, uint32_t n)
{
	uint32_t left = source_child(f->t, n, f->f_left);

	if (left != SOURCE_NONE && !(f->t->nodes[left].flags & SOURCE_BROKEN))
		add(f, BRANCH_NULLISH, left, 2);
}

/* assert(a && b), assert.ok(a || b): not what is within. */
static uint8_t *mark_all(const struct source_tree *t)
{
	uint8_t *code = xcalloc(t->n ? t->n : 1, 1);
	uint16_t call = source_kind(t->lang, "call_expression");
	uint8_t function = source_field(t->lang, "function");

	for (uint32_t n = 0; n < t->n;) {
		uint32_t f = t->nodes[n].kind == call ? source_child(t, n, function)
						      : SOURCE_NONE;
		size_t len = 0;
		const char *name = f == SOURCE_NONE ? "" : source_text(t, f, &len);

		if (len >= 6 && !strncmp(name, "assert", 6)) {
			n = t->nodes[n].after;
		} else {
			code[n] = 1;
			n++;
		}
	}
	return code;
}

static void visit(struct finder *f, uint32_t n)
{
	uint16_t kind = f->t->nodes[n].kind;

	if (source_has(&f->ifs, kind))
		condition(f, BRANCH_IF, source_child(f->t, n, f->f_condition));
	else if (source_has(&f->loops, kind))
		condition(f, BRANCH_WHILE, source_child(f->t, n, f->f_condition));
	else if (source_has(&f->ternaries, kind))
		condition(f, BRANCH_TERNARY, source_child(f->t, n, f->f_condition));
	else if (source_has(&f->switches, kind))
		choice(f, n);
	else if (source_has(&f->walks, kind) && !(f->t->nodes[n].flags & SOURCE_BROKEN))
		add(f, BRANCH_FOR, n, 2);
	else if (source_has(&f->catches, kind))
		add(f, BRANCH_CATCH, n, 1);
	else if (f->fallback && operator_of(f, n) == f->fallback)
		fallback(f, n);
	else if (!f->seen[n] && is_logical(f, n))
		condition(f, BRANCH_OPERAND,
			  f->hands_on ? source_child(f->t, n, f->f_left) : n);
}

void branches_find(const struct source_tree *t, const uint8_t *code, uint32_t first,
		   struct branches *ret)
{
	enum source_lang c = t->lang;
	CLEANUP_FREE uint8_t *all = code ? NULL : mark_all(t);
	struct finder f = {
		.t = t,
		.code = code ? code : all,
		.hands_on = c != LANG_C && c != LANG_CPP,
		.out = ret,
		.seen = xcalloc(t->n ? t->n : 1, 1),
		.parens = source_kinds(c, "parenthesized_expression"),
		.ifs = source_kinds(c, "if_statement"),
		.loops = source_kinds(c, "while_statement do_statement for_statement"),
		.ternaries = source_kinds(c, "conditional_expression ternary_expression"),
		.binaries = source_kinds(c, "binary_expression"),
		.unaries = source_kinds(c, "unary_expression"),
		.constants =
			source_kinds(c, "number_literal char_literal true false null "
					"sizeof_expression number string undefined "
					"regex empty_statement"),
		.switches = source_kinds(c, "switch_statement"),
		.cases = source_kinds(c, "case_statement switch_case switch_default"),
		.bodies = source_kinds(c, "compound_statement switch_body"),
		.walks = source_kinds(c, "for_in_statement"),
		.catches = source_kinds(c, "catch_clause"),
		.fallback = source_token(c, "??"),
		.conjunction = source_token(c, "&&"),
		.disjunction = source_token(c, "||"),
		.negation = source_token(c, "!"),

		.f_condition = source_field(c, "condition"),
		.f_left = source_field(c, "left"),
		.f_right = source_field(c, "right"),
		.f_operator = source_field(c, "operator"),
		.f_argument = source_field(c, "argument"),
		.f_body = source_field(c, "body"),
	};

	*ret = (struct branches){.first = first};
	for (uint32_t n = 0; n < t->n; n++)
		if (f.code[n])
			visit(&f, n);
	free(f.seen);
}

void branches_release(struct branches *b)
{
	free(b->v);
	free(b->labels);
	*b = (struct branches){0};
}
