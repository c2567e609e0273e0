#include "instrument/mutants_c.h"

#include "base/mem.h"
#include "instrument/branches.h"
#include "instrument/edit.h"

#include <ctype.h>

static const struct {
	const char *from, *to, *name;
} operators[] = {
#define OPERATOR(from, to, name) {from, to, name},
#include "instrument/mutation_c.def"
#undef OPERATOR
};

struct mutator {
	const struct source_tree *t;
	const uint8_t *code;
	struct mutants *out;
	uint16_t binary, assignment, update, unary, number, statement, call, block,
		parens, identifier, if_statement;
	struct source_kinds jumps, leaves, blocks;
	uint8_t f_operator, f_left, f_right, f_argument, f_function, f_condition,
		f_consequence;
};

/* ---- texts ---- */

/* The bytes as one line, without comments. false: there is a directive among them. */
static bool one_line(const struct source_tree *t, uint32_t n, uint32_t start,
		     uint32_t end, struct buf *out)
{
	uint16_t comment = source_kind(t->lang, "comment");
	uint32_t c = n;

	for (uint32_t at = start; at < end;) {
		while (c < t->nodes[n].after &&
		       (t->nodes[c].kind != comment || t->nodes[c].end <= at))
			c++;
		if (c < t->nodes[n].after && t->nodes[c].start <= at) {
			buf_addc(out, ' ');
			at = t->nodes[c].end;
			continue;
		}
		if (t->text[at] == '#')
			return false;
		if (t->text[at] == '\\' && at + 1 < end && t->text[at + 1] == '\n')
			at++;
		buf_addc(out,
			 t->text[at] == '\n' || t->text[at] == '\r' ? ' ' : t->text[at]);
		at++;
	}
	return true;
}

static struct mutant *add(struct mutator *m, const char *name, uint32_t n,
			  enum mutant_form form, char *text)
{
	const struct source_node *node = &m->t->nodes[n];

	return mutants_add(m->out, m->t, n, node->start, node->end, name, form, text);
}

/* before, the node, after. */
static void around(struct mutator *m, const char *name, uint32_t n, uint32_t inner,
		   enum mutant_form form, const char *before, const char *after)
{
	CLEANUP(buf) struct buf text = {0};

	buf_adds(&text, before);
	if (!one_line(m->t, inner, m->t->nodes[inner].start, m->t->nodes[inner].end,
		      &text))
		return;
	buf_adds(&text, after);
	add(m, name, n, form, buf_detach(&text));
}

/* The node with another operator in it. */
static bool with_operator(struct mutator *m, const char *name, uint32_t n, uint32_t op,
			  const char *to)
{
	const struct source_node *node = &m->t->nodes[n];
	CLEANUP(buf) struct buf text = {0};

	if (!one_line(m->t, n, node->start, m->t->nodes[op].start, &text))
		return false;
	buf_adds(&text, to);
	if (!one_line(m->t, n, m->t->nodes[op].end, node->end, &text))
		return false;
	add(m, name, n, MUTANT_VALUE, buf_detach(&text));
	return true;
}

/* ---- operators ---- */

static bool is_relational(const char *op)
{
	return *op == '<' || *op == '>' || *op == '=' || *op == '!';
}

/* "(a) * 1 <= (b) * 1", which no pointer can be. */
static char *for_numbers(const struct mutator *m, uint32_t n, const char *to)
{
	const uint32_t sides[] = {source_child(m->t, n, m->f_left),
				  source_child(m->t, n, m->f_right)};
	CLEANUP(buf) struct buf text = {0};

	for (int i = 0; i < 2; i++) {
		if (sides[i] == SOURCE_NONE)
			return NULL;
		buf_addf(&text, "%s%s(", i ? to : "", i ? " " : "");
		one_line(m->t, n, m->t->nodes[sides[i]].start, m->t->nodes[sides[i]].end,
			 &text);
		buf_adds(&text, i ? ") * 1" : ") * 1 ");
	}
	return buf_detach(&text);
}

/* == becomes <=: such a comparison of addresses means nothing. */
static bool is_new_order(const char *from, const char *to)
{
	return strchr("=!", *from) && from[1] == '=' && strchr("<>", *to);
}

static void binary(struct mutator *m, uint32_t n)
{
	uint32_t op = source_child(m->t, n, m->f_operator);

	for (size_t i = 0; op != SOURCE_NONE && i < ARRAY_SIZE(operators); i++) {
		if (!source_text_is(m->t, op, operators[i].from))
			continue;
		if (isdigit((unsigned char)*operators[i].to))
			add(m, operators[i].name, n, MUTANT_VALUE,
			    xstrdup(operators[i].to));
		else if (with_operator(m, operators[i].name, n, op, operators[i].to) &&
			 is_new_order(operators[i].from, operators[i].to))
			m->out->v[m->out->n - 1].numbers =
				for_numbers(m, n, operators[i].to);
	}
}

static void update(struct mutator *m, uint32_t n)
{
	uint32_t op = source_child(m->t, n, m->f_operator);

	if (op != SOURCE_NONE)
		with_operator(m, "UOI", n, op,
			      source_text_is(m->t, op, "++") ? "--" : "++");
}

static void unary(struct mutator *m, uint32_t n)
{
	uint32_t op = source_child(m->t, n, m->f_operator);
	uint32_t argument = source_child(m->t, n, m->f_argument);

	if (op == SOURCE_NONE || argument == SOURCE_NONE)
		return;
	if (source_text_is(m->t, op, "!"))
		around(m, "COD", n, argument, MUTANT_VALUE, "!!", "");
	else if ((source_text_is(m->t, op, "-") || source_text_is(m->t, op, "~")) &&
		 m->t->nodes[argument].kind != m->number)
		around(m, "UOD", n, argument, MUTANT_VALUE, "", "");
}

static bool is_integer(const struct source_tree *t, uint32_t n)
{
	size_t len;
	const char *s = source_text(t, n, &len);
	bool hex = len > 2 && s[0] == '0' && (s[1] == 'x' || s[1] == 'X');

	for (size_t i = hex ? 2 : 0; i < len; i++)
		if (!isxdigit((unsigned char)s[i]) && !strchr("uUlL", s[i]))
			return false;
		else if (!hex && strchr("abcdefABCDEF", s[i]))
			return false;
	return true;
}

static void number(struct mutator *m, uint32_t n)
{
	if (!is_integer(m->t, n))
		return;
	if (source_text_is(m->t, n, "0")) {
		add(m, "CRCR", n, MUTANT_VALUE, xstrdup("1"));
		return;
	}
	add(m, "CRCR", n, MUTANT_VALUE, xstrdup("0"));
	around(m, "CRCR", n, n, MUTANT_VALUE, "", " + 1");
}

/* ---- statements ---- */

static bool has_word(const char *name, size_t len, const char *const *words,
		     size_t nwords)
{
	for (size_t i = 0; i < nwords; i++) {
		size_t n = strlen(words[i]);

		for (size_t at = 0; at + n <= len; at++) {
			bool begins =
				at == 0 || name[at - 1] == '_' || name[at - 1] == '.';
			bool ends = at + n == len || name[at + n] == '_';

			if (begins && ends && !strncmp(name + at, words[i], n))
				return true;
		}
	}
	return false;
}

/* The call that a statement is; SOURCE_NONE: it is something else. */
static uint32_t called(const struct mutator *m, uint32_t statement)
{
	uint32_t e = source_named_child(m->t, statement, 0);

	return e != SOURCE_NONE && m->t->nodes[e].kind == m->call
		       ? source_child(m->t, e, m->f_function)
		       : SOURCE_NONE;
}

static bool is_log(const struct mutator *m, uint32_t statement)
{
	static const char *const words[] = {"log",   "perror", "syslog",  "debug",
					    "trace", "warn",   "warning", "assert"};
	uint32_t f = called(m, statement);
	size_t len = 0;
	const char *name = f == SOURCE_NONE ? "" : source_text(m->t, f, &len);

	return has_word(name, len, words, ARRAY_SIZE(words));
}

static void statement(struct mutator *m, uint32_t n)
{
	static const char *const words[] = {
		"free",	   "close",    "fclose",      "unlock", "release",
		"destroy", "unref",    "delete",      "put",	"cleanup",
		"pclose",  "closedir", "freeaddrinfo"};
	uint32_t f = called(m, n);
	size_t len = 0;
	const char *name = f == SOURCE_NONE ? "" : source_text(m->t, f, &len);

	if (source_named_child(m->t, n, 0) == SOURCE_NONE)
		return; /* ; */
	add(m, has_word(name, len, words, ARRAY_SIZE(words)) ? "drop-release" : "SDL", n,
	    MUTANT_GONE, xstrdup(""));
}

static void leave(struct mutator *m, uint32_t n)
{
	uint32_t value = source_named_child(m->t, n, 0);

	if (value == SOURCE_NONE || source_text_is(m->t, value, "0"))
		return;
	if (m->t->nodes[value].kind != m->number) /* CRCR has it */
		add(m, "RVR", value, MUTANT_VALUE, xstrdup("0"));
}

/* Does it end in a return or goto? */
static bool leaves(const struct mutator *m, uint32_t n)
{
	uint32_t c, last = n;

	if (n != SOURCE_NONE && source_has(&m->blocks, m->t->nodes[n].kind))
		for (SOURCE_CHILDREN(m->t, n, c))
			if (source_named(m->t, c) &&
			    !(m->t->nodes[c].flags & SOURCE_EXTRA))
				last = c;
	return last != SOURCE_NONE && source_has(&m->leaves, m->t->nodes[last].kind);
}

/* if (failed) return …: goes on as if it had not. */
static void ignore(struct mutator *m, uint32_t n)
{
	uint32_t e = source_child(m->t, n, m->f_condition), op;

	if (!leaves(m, source_child(m->t, n, m->f_consequence)))
		return;
	while (e != SOURCE_NONE && m->t->nodes[e].kind == m->parens)
		e = source_named_child(m->t, e, 0);
	if (e == SOURCE_NONE || !m->code[e])
		return;
	op = m->t->nodes[e].kind == m->binary ? source_child(m->t, e, m->f_operator)
					      : SOURCE_NONE;
	if (op != SOURCE_NONE &&
	    (source_text_is(m->t, op, "<") || source_text_is(m->t, op, ">") ||
	     source_text_is(m->t, op, "==")))
		return; /* ROR has it */
	add(m, "ignore-error", e, MUTANT_TRUTH, xstrdup("0"));
}

/* Conditions that are no comparison are negated. */
static void conditions(struct mutator *m)
{
	CLEANUP(branches) struct branches b = {0};

	branches_find(m->t, m->code, 0, &b);
	for (size_t i = 0; i < b.n; i++) {
		uint32_t n = b.v[i].node, op = SOURCE_NONE;
		uint16_t kind = m->t->nodes[n].kind;
		CLEANUP_FREE char *text = NULL;

		if (b.v[i].kind == BRANCH_SWITCH)
			continue;
		if (kind == m->binary || kind == m->unary)
			op = source_child(m->t, n, m->f_operator);
		if (op != SOURCE_NONE)
			text = source_text_dup(m->t, op);
		if (!text || !is_relational(text))
			around(m, "COI", n, n, MUTANT_TRUTH, "!(", ")");
	}
}

static void visit(struct mutator *m, uint32_t n)
{
	uint16_t kind = m->t->nodes[n].kind;

	if (kind == m->binary || kind == m->assignment)
		binary(m, n);
	else if (kind == m->update)
		update(m, n);
	else if (kind == m->unary)
		unary(m, n);
	else if (kind == m->number)
		number(m, n);
	else if (kind == m->statement)
		statement(m, n);
	else if (source_has(&m->jumps, kind))
		add(m, "SDL", n, MUTANT_GONE, xstrdup(""));
	else if (kind == source_kind(m->t->lang, "return_statement"))
		leave(m, n);
	else if (kind == m->if_statement)
		ignore(m, n);
}

void mutants_c_find(const struct source_tree *t, const uint8_t *code, struct mutants *ret)
{
	enum source_lang c = t->lang;
	struct mutator m = {
		.t = t,
		.code = code,
		.out = ret,
		.binary = source_kind(c, "binary_expression"),
		.assignment = source_kind(c, "assignment_expression"),
		.update = source_kind(c, "update_expression"),
		.unary = source_kind(c, "unary_expression"),
		.number = source_kind(c, "number_literal"),
		.statement = source_kind(c, "expression_statement"),
		.call = source_kind(c, "call_expression"),
		.parens = source_kind(c, "parenthesized_expression"),
		.if_statement = source_kind(c, "if_statement"),
		.jumps = source_kinds(
			c, "break_statement continue_statement goto_statement"),
		.leaves = source_kinds(c, "return_statement goto_statement"),
		.blocks = source_kinds(c, "compound_statement"),
		.f_operator = source_field(c, "operator"),
		.f_left = source_field(c, "left"),
		.f_right = source_field(c, "right"),
		.f_argument = source_field(c, "argument"),
		.f_function = source_field(c, "function"),
		.f_condition = source_field(c, "condition"),
		.f_consequence = source_field(c, "consequence"),
	};

	for (uint32_t n = 0; n < t->n;) {
		bool broken = t->nodes[n].flags & SOURCE_BROKEN;

		if (code[n] && t->nodes[n].kind == m.statement && is_log(&m, n)) {
			n = t->nodes[n].after;
			continue;
		}
		if (code[n] && !broken)
			visit(&m, n);
		n++;
	}
	conditions(&m);
	mutants_sort(ret);
}

/* ---- the file ---- */

void mutants_c_rewrite(const struct source_tree *t, const struct mutants *m,
		       const uint8_t *used, uint32_t first, struct buf *out,
		       struct mutant_place *places)
{
	CLEANUP(edits) struct edits e = {0};

	for (uint32_t i = 0; i < m->n; i++) {
		const struct mutant *x = &m->v[i];
		CLEANUP_FREE char *before = NULL;

		if (used && !used[i])
			continue;
		if (x->form == MUTANT_GONE)
			before = xasprintf("{ if (!ep_m_(%u)) ", first + i);
		else
			before = xasprintf("(ep_m_(%u) ? (%s) : %s(", first + i,
					   x->numbers ? x->numbers : x->text,
					   x->form == MUTANT_TRUTH ? "!!" : "");
		edits_wrap(&e, x->start, x->end, before,
			   x->form == MUTANT_GONE ? " }" : "))")
			->tag = i + 1;
	}
	edits_apply(&e, t->text, t->len, out);
	for (size_t i = 0; places && i < e.n; i++)
		if (e.v[i].tag)
			places[e.v[i].tag - 1] = (struct mutant_place){
				e.v[i].put, e.v[i].put + strlen(e.v[i].text)};
}
