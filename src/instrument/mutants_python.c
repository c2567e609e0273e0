#include "instrument/mutants_python.h"

#include "base/mem.h"

#include <ctype.h>

static const struct {
	const char *from, *to, *name;
} operators[] = {
#define OPERATOR(from, to, name) {from, to, name},
#include "instrument/mutation_python.def"
#undef OPERATOR
};

struct mutator {
	const struct source_tree *t;
	struct mutants *out;
	uint16_t comparison, augmented, not_, unary, integer, string, call, block, parens,
		statement, return_, if_, ternary, except, function, none;
	struct source_kinds binary, conditional, truths, plain, quiet, statements;
	uint8_t f_operator, f_operators, f_argument, f_function, f_condition, f_body,
		f_left, f_right, f_type, f_return_type, f_attribute;
};

static bool is(const struct mutator *m, uint32_t n, const char *text)
{
	return n != SOURCE_NONE && source_text_is(m->t, n, text);
}

static void add(struct mutator *m, const char *name, uint32_t n, const char *text)
{
	const struct source_node *node = &m->t->nodes[n];

	mutants_add(m->out, m->t, n, node->start, node->end, name, MUTANT_VALUE,
		    xstrdup(text));
}

/* before, the text of inner, after, in place of n. */
static void around(struct mutator *m, const char *name, uint32_t n, uint32_t inner,
		   const char *before, const char *after)
{
	CLEANUP_FREE char *text = source_text_dup(m->t, inner);
	CLEANUP_FREE char *all = xasprintf("%s%s%s", before, text, after);

	add(m, name, n, all);
}

/* ---- expressions ---- */

static bool is_text(const struct mutator *m, uint32_t n)
{
	return n != SOURCE_NONE &&
	       (m->t->nodes[n].kind == m->string ||
		m->t->nodes[n].kind == source_kind(LANG_PYTHON, "concatenated_string"));
}

/* "is  not" → "is not" */
static char *words_of(const struct source_tree *t, uint32_t n)
{
	size_t len;
	const char *s = source_text(t, n, &len);
	struct buf b = {0};

	for (size_t i = 0; i < len; i++) {
		bool space = isspace((unsigned char)s[i]);

		if (!space)
			buf_addc(&b, s[i]);
		else if (b.len && b.data[b.len - 1] != ' ')
			buf_addc(&b, ' ');
	}
	buf_addc(&b, '\0');
	return buf_detach(&b);
}

static void operator_(struct mutator *m, uint32_t n, uint32_t op)
{
	CLEANUP_FREE char *from = NULL;

	if (op == SOURCE_NONE || is_text(m, source_child(m->t, n, m->f_left)) ||
	    is_text(m, source_child(m->t, n, m->f_right)))
		return;
	from = words_of(m->t, op);
	for (size_t i = 0; i < ARRAY_SIZE(operators); i++) {
		if (strcmp(operators[i].from, from) != 0)
			continue;
		add(m, operators[i].name,
		    isupper((unsigned char)*operators[i].to) ? n : op, operators[i].to);
	}
}

static void comparison(struct mutator *m, uint32_t n)
{
	uint32_t c, op = SOURCE_NONE;

	for (SOURCE_CHILDREN(m->t, n, c)) {
		if (m->t->nodes[c].field != m->f_operators)
			continue;
		if (op != SOURCE_NONE && m->t->nodes[op].end < m->t->nodes[c].start)
			return; /* a < b < c */
		op = c;
	}
	if (op != SOURCE_NONE)
		operator_(m, n, op);
}

static void integer(struct mutator *m, uint32_t n)
{
	if (is(m, n, "0")) {
		add(m, "CRCR", n, "1");
		return;
	}
	add(m, "CRCR", n, "0");
	around(m, "CRCR", n, n, "(", " + 1)");
}

/* Not the text of an error, nor documentation. */
static void string(struct mutator *m, uint32_t n)
{
	struct source_kinds around_ = source_kinds(
		LANG_PYTHON, "raise_statement concatenated_string interpolation");
	size_t len;
	const char *s = source_text(m->t, n, &len);
	size_t at = strcspn(s, "\"'");

	if (m->t->nodes[m->t->nodes[n].parent].kind == m->statement ||
	    source_above(m->t, n, &around_) != SOURCE_NONE || at > 2)
		return;
	for (size_t i = 0; i < at; i++)
		if (tolower((unsigned char)s[i]) == 'f' ||
		    tolower((unsigned char)s[i]) == 't')
			return;
	if (memchr(s, '\n', len))
		return;
	if (len == at + 2)
		add(m, "CRCR", n, tolower((unsigned char)*s) == 'b' ? "b\"~\"" : "\"~\"");
	else
		add(m, "CRCR", n, tolower((unsigned char)*s) == 'b' ? "b\"\"" : "\"\"");
}

/* What is no comparison has no operator of its own. */
static void condition(struct mutator *m, uint32_t n)
{
	uint32_t c = source_child(m->t, n, m->f_condition);

	if (m->t->nodes[n].kind == m->ternary)
		c = source_named_child(m->t, n, 1);
	while (c != SOURCE_NONE && m->t->nodes[c].kind == m->parens)
		c = source_named_child(m->t, c, 0);
	if (c != SOURCE_NONE && source_has(&m->plain, m->t->nodes[c].kind))
		around(m, "COI", c, c, "(not ", ")");
}

/* ---- statements ---- */

static bool has_word(const struct mutator *m, uint32_t n, const char *const *words,
		     size_t nwords)
{
	size_t len;
	const char *s = source_text(m->t, n, &len);

	for (size_t i = 0; i < nwords; i++) {
		size_t k = strlen(words[i]);

		for (size_t at = 0; at + k <= len; at++)
			if ((!at || !isalnum((unsigned char)s[at - 1])) &&
			    (at + k == len || !isalnum((unsigned char)s[at + k])) &&
			    !strncmp(s + at, words[i], k))
				return true;
	}
	return false;
}

/* The function that a statement calls, and does nothing else; NONE. */
static uint32_t called(const struct mutator *m, uint32_t statement)
{
	uint32_t e = source_named_child(m->t, statement, 0);

	if (e != SOURCE_NONE && m->t->nodes[e].kind == source_kind(LANG_PYTHON, "await"))
		e = source_named_child(m->t, e, 0);
	return e != SOURCE_NONE && m->t->nodes[e].kind == m->call
		       ? source_child(m->t, e, m->f_function)
		       : SOURCE_NONE;
}

static bool is_log(const struct mutator *m, uint32_t statement)
{
	static const char *const words[] = {"log",   "logger", "logging", "warnings",
					    "LOG",   "LOGGER", "_log",	  "_logger",
					    "print", "debug",  "warn"};
	uint32_t f = called(m, statement);

	return f != SOURCE_NONE && has_word(m, f, words, ARRAY_SIZE(words));
}

static const char *call_operator(const struct mutator *m, uint32_t f)
{
	static const char *const back[] = {"rollback", "abort"};
	static const char *const releases[] = {
		"close",   "release", "unlock",	   "shutdown", "dispose",
		"cleanup", "unlink",  "terminate", "cancel",   "disconnect"};
	uint32_t last = source_child(m->t, f, m->f_attribute);

	if (last == SOURCE_NONE)
		last = f;
	if (has_word(m, last, back, ARRAY_SIZE(back)))
		return "drop-rollback";
	return has_word(m, last, releases, ARRAY_SIZE(releases)) ? "drop-release" : "VMC";
}

static void statement(struct mutator *m, uint32_t n)
{
	uint32_t f = called(m, n), e = source_named_child(m->t, n, 0), left;

	if (f != SOURCE_NONE) {
		add(m, call_operator(m, f), n, "pass");
		return;
	}
	if (e == SOURCE_NONE ||
	    m->t->nodes[e].kind != source_kind(LANG_PYTHON, "assignment"))
		return;
	left = source_child(m->t, e, m->f_left);
	if (left != SOURCE_NONE &&
	    (m->t->nodes[left].kind == source_kind(LANG_PYTHON, "attribute") ||
	     m->t->nodes[left].kind == source_kind(LANG_PYTHON, "subscript")))
		add(m, "SDL", n, "pass");
}

static void raise(struct mutator *m, uint32_t n)
{
	struct source_kinds handlers = source_kinds(LANG_PYTHON, "except_clause");
	struct source_kinds functions = source_kinds(LANG_PYTHON, "function_definition");
	struct source_kinds ifs = source_kinds(LANG_PYTHON, "if_statement");
	uint32_t handler = source_above(m->t, n, &handlers),
		 function = source_above(m->t, n, &functions),
		 branch = source_above(m->t, n, &ifs);

	if (handler != SOURCE_NONE && (function == SOURCE_NONE || handler > function))
		add(m, "swallow-exception", n, "pass");
	else if (branch != SOURCE_NONE && (function == SOURCE_NONE || branch > function))
		add(m, "ignore-error", n, "pass");
	else
		add(m, "SDL", n, "pass");
}

static void leave(struct mutator *m, uint32_t n)
{
	uint32_t value = source_named_child(m->t, n, 0);

	if (value != SOURCE_NONE && m->t->nodes[value].kind != m->none)
		add(m, "RVR", value, "None");
}

/* except KeyError: catches nothing any more. */
static void handler(struct mutator *m, uint32_t n)
{
	uint32_t value = source_named_child(m->t, n, 0);

	if (value == SOURCE_NONE || m->t->nodes[value].kind == m->block)
		return;
	if (m->t->nodes[value].kind == source_kind(LANG_PYTHON, "as_pattern"))
		value = source_named_child(m->t, value, 0);
	if (value != SOURCE_NONE)
		add(m, "EHC", value, "()");
}

/* The whole body is gone; its lines stay. */
static void function(struct mutator *m, uint32_t n)
{
	uint32_t body = source_child(m->t, n, m->f_body), c, first = SOURCE_NONE;
	struct buf text = {0};
	size_t statements = 0, lines = 0;

	if (body == SOURCE_NONE)
		return;
	for (SOURCE_CHILDREN(m->t, body, c)) {
		if (!source_named(m->t, c) || (m->t->nodes[c].flags & SOURCE_EXTRA) ||
		    (m->t->nodes[c].kind == m->statement &&
		     is_text(m, source_named_child(m->t, c, 0))))
			continue;
		if (first == SOURCE_NONE)
			first = c;
		statements++;
	}
	if (statements < 2)
		return;
	buf_adds(&text, "return None");
	for (uint32_t at = m->t->nodes[first].start; at < m->t->nodes[body].end; at++)
		lines += m->t->text[at] == '\n';
	while (lines--)
		buf_addc(&text, '\n');
	buf_addc(&text, '\0');
	mutants_add(m->out, m->t, first, m->t->nodes[first].start, m->t->nodes[body].end,
		    "XMT", MUTANT_GONE, buf_detach(&text));
}

/* ---- the walk ---- */

/* Annotations, decorators, what is there for type checkers or for the main program. */
static bool is_left_out(const struct mutator *m, uint32_t n)
{
	const struct source_node *node = &m->t->nodes[n];
	uint32_t f;

	if (node->field && (node->field == m->f_type || node->field == m->f_return_type))
		return true;
	if (source_has(&m->quiet, node->kind))
		return true;
	if (node->kind == m->statement) {
		uint32_t e = source_named_child(m->t, n, 0);
		uint32_t left = e == SOURCE_NONE ? e : source_child(m->t, e, m->f_left);

		return is_log(m, n) || is(m, left, "__all__") ||
		       is(m, left, "__slots__") || is(m, left, "__version__");
	}
	if (node->kind == m->if_) {
		static const char *const words[] = {"TYPE_CHECKING", "__main__"};
		uint32_t c = source_child(m->t, n, m->f_condition);

		return c != SOURCE_NONE && has_word(m, c, words, ARRAY_SIZE(words));
	}
	if (node->kind != m->call)
		return false;
	f = source_child(m->t, n, m->f_function);
	return is(m, f, "TypeVar") || is(m, f, "NewType") || is(m, f, "cast") ||
	       is(m, f, "NotImplementedError");
}

static void visit(struct mutator *m, uint32_t n)
{
	uint16_t kind = m->t->nodes[n].kind;
	uint32_t inner = source_child(m->t, n, m->f_argument);

	if (kind == m->comparison)
		comparison(m, n);
	else if (source_has(&m->binary, kind))
		operator_(m, n, source_child(m->t, n, m->f_operator));
	else if (kind == m->not_ && inner != SOURCE_NONE)
		around(m, "COD", n, inner, "(", ")");
	else if (kind == m->unary && inner != SOURCE_NONE &&
		 m->t->nodes[inner].kind != m->integer &&
		 !is(m, source_child(m->t, n, m->f_operator), "+"))
		around(m, "UOD", n, inner, "(", ")");
	else if (kind == m->integer)
		integer(m, n);
	else if (kind == m->string)
		string(m, n);
	else if (source_has(&m->truths, kind))
		add(m, "CRCR", n, is(m, n, "True") ? "False" : "True");
	else if (kind == m->statement)
		statement(m, n);
	else if (kind == m->return_)
		leave(m, n);
	else if (kind == m->except)
		handler(m, n);
	else if (kind == m->function)
		function(m, n);
	else if (kind == source_kind(LANG_PYTHON, "raise_statement"))
		raise(m, n);
	else if (kind == source_kind(LANG_PYTHON, "delete_statement"))
		add(m, "SDL", n, "pass");
	else if (kind == source_kind(LANG_PYTHON, "break_statement"))
		add(m, "LCO", n, "continue");
	else if (kind == source_kind(LANG_PYTHON, "continue_statement"))
		add(m, "LCO", n, "break");
	if (source_has(&m->conditional, kind))
		condition(m, n);
}

void mutants_python_find(const struct source_tree *t, struct mutants *ret)
{
	enum source_lang p = LANG_PYTHON;
	struct mutator m = {
		.t = t,
		.out = ret,
		.comparison = source_kind(p, "comparison_operator"),
		.augmented = source_kind(p, "augmented_assignment"),
		.not_ = source_kind(p, "not_operator"),
		.unary = source_kind(p, "unary_operator"),
		.integer = source_kind(p, "integer"),
		.string = source_kind(p, "string"),
		.call = source_kind(p, "call"),
		.block = source_kind(p, "block"),
		.parens = source_kind(p, "parenthesized_expression"),
		.statement = source_kind(p, "expression_statement"),
		.return_ = source_kind(p, "return_statement"),
		.if_ = source_kind(p, "if_statement"),
		.ternary = source_kind(p, "conditional_expression"),
		.except = source_kind(p, "except_clause"),
		.function = source_kind(p, "function_definition"),
		.none = source_kind(p, "none"),
		.binary = source_kinds(
			p, "binary_operator boolean_operator augmented_assignment"),
		.conditional = source_kinds(p, "if_statement while_statement elif_clause "
					       "conditional_expression"),
		.truths = source_kinds(p, "true false"),
		.plain = source_kinds(p, "identifier attribute call subscript"),
		.quiet = source_kinds(p, "assert_statement decorator type comment "
					 "import_statement import_from_statement "
					 "future_import_statement type_alias_statement "
					 "case_pattern"),
		.f_operator = source_field(p, "operator"),
		.f_operators = source_field(p, "operators"),
		.f_argument = source_field(p, "argument"),
		.f_function = source_field(p, "function"),
		.f_condition = source_field(p, "condition"),
		.f_body = source_field(p, "body"),
		.f_left = source_field(p, "left"),
		.f_right = source_field(p, "right"),
		.f_type = source_field(p, "type"),
		.f_return_type = source_field(p, "return_type"),
		.f_attribute = source_field(p, "attribute"),
	};

	for (uint32_t n = 0; n < t->n;) {
		if (is_left_out(&m, n)) {
			n = t->nodes[n].after;
			continue;
		}
		if (!(t->nodes[n].flags & SOURCE_BROKEN) && source_named(t, n))
			visit(&m, n);
		n++;
	}
	mutants_sort(ret);
}

unsigned mutants_python_first_line(const struct source_tree *t, const struct mutant *x)
{
	struct source_kinds clauses = source_kinds(
		LANG_PYTHON, "elif_clause else_clause except_clause finally_clause "
			     "case_clause");
	struct source_kinds bodies = source_kinds(LANG_PYTHON, "block module");
	uint32_t n = x->node;

	while (t->nodes[n].parent != SOURCE_NONE) {
		uint32_t parent = t->nodes[n].parent;

		if (source_has(&clauses, t->nodes[n].kind) ||
		    source_has(&bodies, t->nodes[parent].kind))
			break;
		n = parent;
	}
	return source_line(t, n) < x->line ? source_line(t, n) : x->line;
}
