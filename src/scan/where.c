#include "scan/where.h"

#include "base/macros.h"
#include "scan/effect.h"
#include "scan/names.h"

#include <string.h>

/* The arguments of a condition, "lacks:rows:.Err": what it names is a capture. */
struct arguments {
	uint32_t node;	  /* of the first argument, a capture; or NONE */
	struct text text; /* the second */
};

static uint32_t function_around(const struct where_match *m, uint32_t n)
{
	return m->lang ? source_above(m->t, n, &m->lang->functions) : SOURCE_NONE;
}

/* ---- the conditions ---- */

/* The function can give an error back. */
static bool returns_error(const struct where_match *m, const struct arguments *a)
{
	uint32_t f = function_around(m, m->here), result;

	(void)a;
	if (f == SOURCE_NONE)
		return false;
	result = source_child(m->t, f, source_field(m->t->lang, "result"));
	if (result == SOURCE_NONE)
		return false;
	for (uint32_t n = result; n < m->t->nodes[result].after; n++)
		if (source_text_is(m->t, n, "error"))
			return true;
	return false;
}

static bool is_async(const struct source_tree *t, uint32_t function)
{
	uint32_t first = function == SOURCE_NONE ? function : source_first(t, function);

	for (; first != SOURCE_NONE; first = source_next(t, first))
		if (!source_named(t, first) && source_text_is(t, first, "async"))
			return true;
	return false;
}

static bool in_async(const struct where_match *m, const struct arguments *a)
{
	(void)a;
	return is_async(m->t, function_around(m, m->here));
}

/* An async function of this file has the name that the capture says. */
static bool names_async(const struct where_match *m, const struct arguments *a)
{
	for (uint32_t n = 0; a->node != SOURCE_NONE && n < m->t->n; n++) {
		uint32_t name;

		if (!source_has(&m->lang->functions, m->t->nodes[n].kind) ||
		    !is_async(m->t, n))
			continue;
		name = m->lang->name(m->t, n);
		if (name != SOURCE_NONE && source_text_equal(m->t, name, m->t, a->node))
			return true;
	}
	return false;
}

/* Elsewhere in the function the same name is called under an await. */
static bool awaited_elsewhere(const struct where_match *m, const struct arguments *a)
{
	uint32_t f = function_around(m, m->here);
	struct source_kinds awaits = source_kinds(m->t->lang, "await_expression await");

	for (uint32_t n = f; f != SOURCE_NONE && n < m->t->nodes[f].after; n++) {
		if (!source_has(&awaits, m->t->nodes[n].kind))
			continue;
		for (uint32_t i = n; i < m->t->nodes[n].after; i++)
			if (m->t->nodes[i].kind == m->t->nodes[a->node].kind &&
			    source_text_equal(m->t, i, m->t, a->node))
				return true;
	}
	return false;
}

/* In the body of a try whose finally names an identifier that is in the capture. */
static bool finally_uses(const struct where_match *m, const struct arguments *a)
{
	const struct source_tree *t = m->t;
	uint32_t function = function_around(m, m->here), finally, child;
	uint32_t n = m->here, p = t->nodes[n].parent;

	for (; p != SOURCE_NONE && p != function; n = p, p = t->nodes[p].parent) {
		if (!source_has(&m->lang->tries, t->nodes[p].kind) ||
		    t->nodes[n].field != m->lang->f_body)
			continue;
		finally = SOURCE_NONE;
		for (SOURCE_CHILDREN(t, p, child))
			if (source_has(&m->lang->finallys, t->nodes[child].kind))
				finally = child;
		if (finally == SOURCE_NONE)
			continue;
		for (uint32_t i = a->node; i < t->nodes[a->node].after; i++)
			for (uint32_t j = finally; j < t->nodes[finally].after; j++)
				if (source_has(&m->lang->identifiers, t->nodes[i].kind) &&
				    t->nodes[i].kind == t->nodes[j].kind &&
				    source_text_equal(t, i, t, j))
					return true;
	}
	return false;
}

/* The text of the capture followed by TEXT is nowhere in the function. */
static bool lacks(const struct where_match *m, const struct arguments *a)
{
	uint32_t f = function_around(m, m->here);
	struct text body = effect_text(m->t, f == SOURCE_NONE ? 0 : f);
	struct text name = effect_text(m->t, a->node);

	for (size_t i = 0; i + name.len + a->text.len <= body.len; i++)
		if (!memcmp(body.at + i, name.at, name.len) &&
		    !memcmp(body.at + i + name.len, a->text.at, a->text.len))
			return false;
	return true;
}

/* TEXT is in the function around it. */
static bool function_has(const struct where_match *m, const struct arguments *a)
{
	uint32_t f = function_around(m, m->here);
	struct text body = effect_text(m->t, f == SOURCE_NONE ? 0 : f);

	return memmem(body.at, body.len, a->text.at, a->text.len);
}

static bool calls_one_of(const struct where_match *m, uint32_t from, uint32_t to,
			 const char *words)
{
	for (uint32_t n = from; n < to; n++)
		if (source_has(&m->lang->calls, m->t->nodes[n].kind) &&
		    text_among(text_last(effect_callee(m->lang, m->t, n)), words))
			return true;
	return false;
}

/* A call whose name is among TEXT stands behind it, and nothing leaves in between on the
 * level of the statement itself. */
static bool followed_by(const struct where_match *m, const struct arguments *a)
{
	const struct source_tree *t = m->t;
	uint32_t f = function_around(m, m->here), next = source_next(t, m->here);
	char words[256] = "";

	memcpy(words, a->text.at,
	       a->text.len < sizeof(words) ? a->text.len : sizeof(words) - 1);
	for (; next != SOURCE_NONE; next = source_next(t, next)) {
		if (calls_one_of(m, next, t->nodes[next].after, words))
			return true;
		if (source_has(&m->lang->jumps, t->nodes[next].kind))
			return false;
	}
	return f != SOURCE_NONE &&
	       calls_one_of(m, t->nodes[t->nodes[m->here].parent].after,
			    t->nodes[f].after, words);
}

/* Nothing in it but comments. */
static bool is_empty(const struct where_match *m, const struct arguments *a)
{
	return a->node != SOURCE_NONE &&
	       source_named_child(m->t, a->node, 0) == SOURCE_NONE;
}

/* Neither a raise nor the exception's name in what the capture says. */
static bool no_raise(const struct where_match *m, const struct arguments *a)
{
	if (a->node == SOURCE_NONE)
		return true;
	for (uint32_t n = a->node; n < m->t->nodes[a->node].after; n++) {
		const char *kind = source_kind_name(m->t->lang, m->t->nodes[n].kind);

		if (source_named(m->t, n) && (!strcmp(kind, "raise_statement") ||
					      !strcmp(kind, "throw_statement") ||
					      !strcmp(kind, "return_statement")))
			return false;
	}
	return true;
}

/* The name is declared or assigned in the function: no parameter, no field. */
static bool is_local(const struct where_match *m, const struct arguments *a)
{
	uint32_t f = function_around(m, m->here), target, value;

	if (f == SOURCE_NONE || a->node == SOURCE_NONE)
		return false;
	for (uint32_t n = f; n < m->t->nodes[f].after; n++) {
		if (!source_has(&m->lang->assigns, m->t->nodes[n].kind) ||
		    !m->lang->assign(m->t, n, &target, &value))
			continue;
		for (uint32_t i = target; i < m->t->nodes[target].after; i++)
			if (source_text_equal(m->t, i, m->t, a->node))
				return true;
	}
	return false;
}

static bool function_lacks(const struct where_match *m, const struct arguments *a)
{
	return !function_has(m, a);
}

/* A call of one of these names is somewhere in the file. */
static bool file_calls(const struct where_match *m, const struct arguments *a)
{
	char words[256] = "";

	memcpy(words, a->text.at,
	       a->text.len < sizeof(words) ? a->text.len : sizeof(words) - 1);
	return calls_one_of(m, 0, m->t->n, words);
}

/* A call before it, other than of what only reads, has the same argument as the capture,
 * and nobody has asked what fsync() says of it. */
static bool is_written(const struct where_match *m, const struct arguments *a)
{
	const struct source_tree *t = m->t;
	uint32_t f = function_around(m, m->here), list, argument;
	/* A field is written elsewhere. */
	bool ret = !source_has(&m->lang->identifiers, t->nodes[a->node].kind);

	for (uint32_t n = f; f != SOURCE_NONE && n < m->here; n++) {
		struct text last;
		bool has = false;

		if (!source_has(&m->lang->calls, t->nodes[n].kind))
			continue;
		list = source_child(t, n, m->lang->f_arguments);
		if (list == SOURCE_NONE)
			continue;
		for (SOURCE_CHILDREN(t, list, argument))
			has |= source_text_equal(t, argument, t, a->node);
		last = text_last(effect_callee(m->lang, t, n));
		if (!has)
			continue;
		if (text_among(last, "*fsync *fdatasync") &&
		    source_above(t, n, &m->lang->ifs) != SOURCE_NONE)
			return false;
		ret |= !text_among(last,
				   "*close *read* *stat *seek* *chmod *chown *fcntl "
				   "*flock *lock* *truncate isatty fileno");
	}
	return ret;
}

/* What stands beside it says why: a comment in the same block. */
static bool is_uncommented(const struct where_match *m, const struct arguments *a)
{
	const struct source_tree *t = m->t;
	uint32_t block = t->nodes[m->here].parent;
	struct source_kinds comments = source_kinds(t->lang, "comment");

	(void)a;
	if (block != SOURCE_NONE && t->nodes[block].parent != SOURCE_NONE)
		block = t->nodes[block].parent;
	for (uint32_t n = block; block != SOURCE_NONE && n < t->nodes[block].after; n++)
		if (source_has(&comments, t->nodes[n].kind))
			return false;
	return true;
}

/* The name of the capture does not stand in what is matched. */
static bool is_not_here(const struct where_match *m, const struct arguments *a)
{
	for (uint32_t n = m->here; n < m->t->nodes[m->here].after; n++)
		if (source_has(&m->lang->identifiers, m->t->nodes[n].kind) &&
		    source_text_equal(m->t, n, m->t, a->node))
			return false;
	return true;
}

/* In the arguments of a call of one of these names. */
static bool is_inside(const struct where_match *m, const struct arguments *a)
{
	const struct source_tree *t = m->t;
	char words[256] = "";

	memcpy(words, a->text.at,
	       a->text.len < sizeof(words) ? a->text.len : sizeof(words) - 1);
	for (uint32_t p = t->nodes[m->here].parent; p != SOURCE_NONE;
	     p = t->nodes[p].parent)
		if (source_has(&m->lang->calls, t->nodes[p].kind) &&
		    text_among(text_last(effect_callee(m->lang, t, p)), words))
			return true;
	return false;
}

/* The function around it is called so. */
static bool is_in_function(const struct where_match *m, const struct arguments *a)
{
	uint32_t f = function_around(m, m->here), name;
	char words[256] = "";

	if (f == SOURCE_NONE)
		return false;
	memcpy(words, a->text.at,
	       a->text.len < sizeof(words) ? a->text.len : sizeof(words) - 1);
	name = m->lang->name(m->t, f);
	return name != SOURCE_NONE && text_among(effect_text(m->t, name), words);
}

static bool in_test(const struct where_match *m, const struct arguments *a)
{
	(void)a;
	return m->test;
}

static bool not_in_test(const struct where_match *m, const struct arguments *a)
{
	(void)a;
	return !m->test;
}

static const struct {
	const char *name;
	bool capture, text; /* what it takes */
	bool (*holds)(const struct where_match *m, const struct arguments *a);
	const char *word; /* a file without it has no such place; NULL: any may */
} conditions[] = {
	{"returns-error", false, false, returns_error, "error"},
	{"in-async", false, false, in_async, "async"},
	{"in-test", false, false, in_test, NULL},
	{"not-in-test", false, false, not_in_test, NULL},
	{"names-async", true, false, names_async, "async"},
	{"awaited-elsewhere", true, false, awaited_elsewhere, "await"},
	{"finally-uses", true, false, finally_uses, "finally"},
	{"empty", true, false, is_empty, NULL},
	{"no-raise", true, false, no_raise, NULL},
	{"local", true, false, is_local, NULL},
	{"written", true, false, is_written, NULL},
	{"not-here", true, false, is_not_here, NULL},
	{"uncommented", false, false, is_uncommented, NULL},
	{"lacks", true, true, lacks, NULL},
	{"function-has", false, true, function_has, NULL},
	{"function-lacks", false, true, function_lacks, NULL},
	{"file-calls", false, true, file_calls, NULL},
	{"followed-by", false, true, followed_by, NULL},
	{"inside", false, true, is_inside, NULL},
	{"in-function", false, true, is_in_function, NULL},
};

/* Its row, or -1; what stands behind the colons. */
static int parse(const char *condition, struct text *ret_capture, struct text *ret_text)
{
	size_t n = strcspn(condition, ":");
	const char *rest = condition + n;

	*ret_capture = *ret_text = (struct text){"", 0};
	for (size_t i = 0; i < ARRAY_SIZE(conditions); i++) {
		if (strlen(conditions[i].name) != n ||
		    strncmp(conditions[i].name, condition, n) != 0)
			continue;
		if (conditions[i].capture && *rest == ':') {
			ret_capture->at = rest + 1;
			ret_capture->len = strcspn(rest + 1, ":");
			rest += 1 + ret_capture->len;
		}
		if (conditions[i].text && *rest == ':') {
			ret_text->at = rest + 1;
			ret_text->len = strlen(rest + 1);
			rest += 1 + ret_text->len;
		}
		return *rest || conditions[i].capture != (ret_capture->len > 0) ||
				       conditions[i].text != (ret_text->len > 0)
			       ? -1
			       : (int)i;
	}
	return -1;
}

static int capture_of(const struct source_query *q, struct text name)
{
	for (unsigned i = 0; i < source_query_captures(q); i++)
		if (text_is(name, source_query_capture_name(q, i)))
			return (int)i;
	return -1;
}

const char *where_refused(const char *condition, const struct source_query *query)
{
	struct text capture, text;

	if (parse(condition, &capture, &text) < 0)
		return "is no condition";
	if (capture.len && capture_of(query, capture) < 0)
		return "names a capture that the query does not have";
	return NULL;
}

bool where_holds(const char *condition, const struct where_match *m)
{
	struct text capture;
	struct arguments a = {.node = SOURCE_NONE};
	int row = parse(condition, &capture, &a.text);

	if (row < 0 || !m->lang)
		return false;
	if (capture.len)
		a.node = source_match_node(m->match, capture_of(m->query, capture));
	if (capture.len && a.node == SOURCE_NONE)
		return false;
	return conditions[row].holds(m, &a);
}

bool where_possible(const char *condition, const struct source_tree *t)
{
	struct text capture, text;
	int row = parse(condition, &capture, &text);
	const char *word = row < 0 ? NULL : conditions[row].word;

	return !word || memmem(t->text, t->len, word, strlen(word));
}
