#include "instrument/branches.h"

#include "base/mem.h"

struct finder {
	const struct source_tree *t;
	const uint8_t *code;
	struct branches *out;
	uint8_t *seen; /* operators that a condition above has dealt with */
	struct source_kinds parens, ifs, loops, ternaries, binaries, unaries, constants,
		switches, cases;
	uint16_t conjunction, disjunction, negation, block;
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

static bool is_logical(const struct finder *f, uint32_t n)
{
	uint32_t op;

	if (!source_has(&f->binaries, f->t->nodes[n].kind))
		return false;
	op = source_child(f->t, n, f->f_operator);
	return op != SOURCE_NONE && (f->t->nodes[op].kind == f->conjunction ||
				     f->t->nodes[op].kind == f->disjunction);
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

	if (body == SOURCE_NONE || f->t->nodes[body].kind != f->block ||
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
	else if (!f->seen[n] && is_logical(f, n)) /* both operands of it are tested */
		condition(f, BRANCH_OPERAND, n);
}

void branches_find(const struct source_tree *t, const uint8_t *code, uint32_t first,
		   struct branches *ret)
{
	enum source_lang c = t->lang;
	struct finder f = {
		.t = t,
		.code = code,
		.out = ret,
		.seen = xcalloc(t->n ? t->n : 1, 1),
		.parens = source_kinds(c, "parenthesized_expression"),
		.ifs = source_kinds(c, "if_statement"),
		.loops = source_kinds(c, "while_statement do_statement for_statement"),
		.ternaries = source_kinds(c, "conditional_expression"),
		.binaries = source_kinds(c, "binary_expression"),
		.unaries = source_kinds(c, "unary_expression"),
		.constants =
			source_kinds(c, "number_literal char_literal true false null "
					"sizeof_expression"),
		.switches = source_kinds(c, "switch_statement"),
		.cases = source_kinds(c, "case_statement"),
		.conjunction = source_token(c, "&&"),
		.disjunction = source_token(c, "||"),
		.negation = source_token(c, "!"),
		.block = source_kind(c, "compound_statement"),
		.f_condition = source_field(c, "condition"),
		.f_left = source_field(c, "left"),
		.f_right = source_field(c, "right"),
		.f_operator = source_field(c, "operator"),
		.f_argument = source_field(c, "argument"),
		.f_body = source_field(c, "body"),
	};

	*ret = (struct branches){.first = first};
	for (uint32_t n = 0; n < t->n; n++)
		if (code[n])
			visit(&f, n);
	free(f.seen);
}

void branches_release(struct branches *b)
{
	free(b->v);
	free(b->labels);
	*b = (struct branches){0};
}
