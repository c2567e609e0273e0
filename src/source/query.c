/* Queries of tree-sitter over a flat tree, with the predicates evaluated here. */
#include "source/internal.h"

#include "base/mem.h"

#include <regex.h>

/* As many matches may be open at once; tree-sitter drops the oldest beyond it. */
enum { MATCH_LIMIT = 4096 };

enum operation { OP_EQ, OP_ANY_OF, OP_MATCH };

struct predicate {
	enum operation op;
	bool negated;
	unsigned pattern;
	uint32_t capture, other; /* other: of #eq? with two captures; else UINT32_MAX */
	struct strv words;
	regex_t regex;
	bool has_regex;
};

struct source_query {
	TSQuery *ts;
	struct predicate *predicates;
	size_t n, cap;
	size_t *hints; /* per pattern: the predicate that says where it can match */
	bool hinted;   /* every pattern has one */
	uint64_t lens; /* bit n: a word of a hint has n bytes */
};

static int fail_at(const char *text, uint32_t offset, const char *what, struct err *err)
{
	unsigned line = 1, column = 1;

	for (uint32_t i = 0; i < offset && text[i]; i++) {
		column = text[i] == '\n' ? 1 : column + 1;
		line += text[i] == '\n';
	}
	return err_set(err, ERR_USAGE, "%u:%u: %s", line, column, what);
}

static const char *error_name(TSQueryError error)
{
	switch (error) {
	case TSQueryErrorNodeType:
		return "the language has no such kind of node";
	case TSQueryErrorField:
		return "the language has no such field";
	case TSQueryErrorCapture:
		return "no such capture";
	case TSQueryErrorStructure:
		return "such a node can never be there";
	case TSQueryErrorLanguage:
		return "the grammar does not fit";
	case TSQueryErrorNone:
	case TSQueryErrorSyntax:
		break;
	}
	return "not the syntax of a query";
}

static bool find_operation(const char *name, struct predicate *p)
{
	static const struct {
		const char *name;
		enum operation op;
		bool negated;
	} known[] = {
		{"eq?", OP_EQ, false},	       {"not-eq?", OP_EQ, true},
		{"any-of?", OP_ANY_OF, false}, {"not-any-of?", OP_ANY_OF, true},
		{"match?", OP_MATCH, false},   {"not-match?", OP_MATCH, true},
	};

	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		if (strcmp(known[i].name, name) == 0) {
			p->op = known[i].op;
			p->negated = known[i].negated;
			return true;
		}
	return false;
}

/* One predicate: steps[0] is its name, the rest are its arguments. */
static const char *read_predicate(const TSQuery *ts, const TSQueryPredicateStep *steps,
				  uint32_t n, struct predicate *p)
{
	uint32_t len;

	p->other = UINT32_MAX;
	if (n == 0 || steps[0].type != TSQueryPredicateStepTypeString ||
	    !find_operation(ts_query_string_value_for_id(ts, steps[0].value_id, &len), p))
		return "an unknown predicate (there are #eq? #any-of? #match? and "
		       "#not-…)";
	if (n < 3 || steps[1].type != TSQueryPredicateStepTypeCapture ||
	    (p->op != OP_ANY_OF && n != 3))
		return "a predicate takes a capture and what it is compared with";
	p->capture = steps[1].value_id;
	for (uint32_t i = 2; i < n; i++) {
		if (steps[i].type == TSQueryPredicateStepTypeString)
			strv_add(&p->words, ts_query_string_value_for_id(
						    ts, steps[i].value_id, &len));
		else if (p->op == OP_EQ)
			p->other = steps[i].value_id;
		else
			return "only #eq? compares two captures";
	}
	if (p->op != OP_MATCH)
		return NULL;
	if (regcomp(&p->regex, p->words.v[0], REG_EXTENDED | REG_NOSUB | REG_NEWLINE) !=
	    0)
		return "not a POSIX extended regular expression";
	p->has_regex = true;
	return NULL;
}

static int read_predicates(struct source_query *q, const char *text, struct err *err)
{
	for (uint32_t i = 0; i < ts_query_pattern_count(q->ts); i++) {
		uint32_t n, from = 0;
		const TSQueryPredicateStep *steps =
			ts_query_predicates_for_pattern(q->ts, i, &n);

		for (uint32_t at = 0; at < n; at++) {
			struct predicate *p;
			const char *what;

			if (steps[at].type != TSQueryPredicateStepTypeDone)
				continue;
			p = VEC_ADD(q->predicates, q->n, q->cap);
			p->pattern = i;
			what = read_predicate(q->ts, steps + from, at - from, p);
			if (what)
				return fail_at(text,
					       ts_query_start_byte_for_pattern(q->ts, i),
					       what, err);
			from = at + 1;
		}
	}
	return 0;
}

/* `(#eq? @c "word")` of a capture that every match has: such a match has a node with
 * that text. */
static bool is_hint(const struct source_query *q, const struct predicate *p)
{
	TSQuantifier times =
		ts_query_capture_quantifier_for_id(q->ts, p->pattern, p->capture);

	if (p->negated || p->op == OP_MATCH || p->other != UINT32_MAX ||
	    (times != TSQuantifierOne && times != TSQuantifierOneOrMore))
		return false;
	for (size_t i = 0; i < p->words.n; i++)
		if (!*p->words.v[i] || strlen(p->words.v[i]) > 63)
			return false;
	return true;
}

static void find_hints(struct source_query *q)
{
	uint32_t patterns = ts_query_pattern_count(q->ts), found = 0;

	q->hints = xcalloc(patterns + 1, sizeof(*q->hints));
	for (size_t i = q->n; i-- > 0;) {
		const struct predicate *p = &q->predicates[i];

		if (!is_hint(q, p))
			continue;
		q->hints[p->pattern] = i + 1;
	}
	for (uint32_t i = 0; i < patterns; i++) {
		const struct predicate *p;

		if (!q->hints[i])
			continue;
		found++;
		p = &q->predicates[--q->hints[i]];
		for (size_t w = 0; w < p->words.n; w++)
			q->lens |= UINT64_C(1) << strlen(p->words.v[w]);
	}
	q->hinted = found == patterns;
}

struct source_query *source_query_new(enum source_lang lang, const char *text,
				      struct err *err)
{
	struct source_query *q = xcalloc(1, sizeof(*q));
	TSQueryError error = TSQueryErrorNone;
	uint32_t offset = 0;

	if (!source_grammar(lang)) {
		err_set(err, ERR_USAGE, "1:1: a query is for one language");
		source_query_free(q);
		return NULL;
	}
	q->ts = ts_query_new(source_grammar(lang), text, (uint32_t)strlen(text), &offset,
			     &error);
	if (!q->ts)
		fail_at(text, offset, error_name(error), err);
	if (!q->ts || read_predicates(q, text, err) < 0) {
		source_query_free(q);
		return NULL;
	}
	find_hints(q);
	return q;
}

void source_query_free(struct source_query *q)
{
	if (!q)
		return;
	for (size_t i = 0; i < q->n; i++) {
		strv_release(&q->predicates[i].words);
		if (q->predicates[i].has_regex)
			regfree(&q->predicates[i].regex);
	}
	free(q->predicates);
	free(q->hints);
	if (q->ts)
		ts_query_delete(q->ts);
	free(q);
}

unsigned source_query_captures(const struct source_query *q)
{
	return ts_query_capture_count(q->ts);
}

const char *source_query_capture_name(const struct source_query *q, unsigned capture)
{
	uint32_t len;

	return capture < ts_query_capture_count(q->ts)
		       ? ts_query_capture_name_for_id(q->ts, capture, &len)
		       : "";
}

int source_query_capture(const struct source_query *q, const char *name)
{
	for (unsigned i = 0; i < source_query_captures(q); i++)
		if (strcmp(source_query_capture_name(q, i), name) == 0)
			return (int)i;
	return -1;
}

uint32_t source_match_node(const struct source_match *m, int capture)
{
	for (unsigned i = 0; i < m->n; i++)
		if (capture >= 0 && m->captures[i].capture == (unsigned)capture)
			return m->captures[i].node;
	return SOURCE_NONE;
}

/* Starts do not decrease in document order: the first node that begins where the
 * captured one does, then the one that is like it. */
static uint32_t flat_index(const struct source_tree *t, TSNode node)
{
	uint32_t start = ts_node_start_byte(node), end = ts_node_end_byte(node);
	uint16_t kind = ts_node_symbol(node);
	uint32_t low = 0, high = t->n;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (t->nodes[middle].start < start)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < t->n && t->nodes[low].start == start; low++)
		if (t->nodes[low].end == end && t->nodes[low].kind == kind)
			return low;
	return SOURCE_NONE;
}

static bool word_holds(const struct predicate *p, const struct source_tree *t,
		       uint32_t node)
{
	size_t len;
	const char *text = source_text(t, node, &len);
	regmatch_t range = {.rm_so = 0, .rm_eo = (regoff_t)len};

	if (p->has_regex)
		return regexec(&p->regex, text, 1, &range, REG_STARTEND) == 0;
	for (size_t i = 0; i < p->words.n; i++)
		if (source_text_is(t, node, p->words.v[i]))
			return true;
	return false;
}

/* A capture that the match does not have is not compared. */
static bool predicate_holds(const struct predicate *p, const struct source_tree *t,
			    const struct source_match *m)
{
	for (unsigned i = 0; i < m->n; i++) {
		uint32_t node = m->captures[i].node;
		bool holds;

		if (m->captures[i].capture != p->capture)
			continue;
		if (p->other == UINT32_MAX) {
			holds = word_holds(p, t, node);
		} else {
			uint32_t other = source_match_node(m, (int)p->other);

			holds = other != SOURCE_NONE &&
				source_text_equal(t, node, t, other);
		}
		if (holds == p->negated)
			return false;
	}
	return true;
}

static bool match_holds(const struct source_query *q, const struct source_tree *t,
			const struct source_match *m)
{
	for (size_t i = 0; i < q->n; i++)
		if (q->predicates[i].pattern == m->pattern &&
		    !predicate_holds(&q->predicates[i], t, m))
			return false;
	return true;
}

struct captures {
	struct source_capture *v;
	size_t n, cap;
};

/* False for a match that has a node we do not know, or begins outside of root. */
static bool take(const struct source_tree *t, uint32_t root, const TSQueryMatch *from,
		 struct captures *c, struct source_match *m)
{
	c->n = 0;
	for (uint16_t i = 0; i < from->capture_count; i++) {
		struct source_capture *to = VEC_ADD(c->v, c->n, c->cap);

		to->capture = from->captures[i].index;
		to->node = flat_index(t, from->captures[i].node);
		if (to->node == SOURCE_NONE)
			return false;
	}
	*m = (struct source_match){from->pattern_index, (unsigned)c->n, c->v};
	return c->n == 0 || source_within(t, c->v[0].node, root);
}

struct run {
	const struct source_query *q;
	const struct source_tree *t;
	uint32_t root;
	bool (*each)(void *ctx, const struct source_match *m);
	void *ctx;
	TSQueryCursor *cursor;
	struct captures captures;
	bool whole;
};

struct range {
	uint32_t start, end;
};

/* Is this the match that the range was searched for? Others touch it, too. */
static bool is_hinted_at(const struct run *r, const struct source_match *m,
			 const struct range *only)
{
	const struct predicate *hint;
	uint32_t node;

	if (!only)
		return true;
	hint = &r->q->predicates[r->q->hints[m->pattern]];
	node = source_match_node(m, (int)hint->capture);
	return node != SOURCE_NONE && r->t->nodes[node].start == only->start &&
	       r->t->nodes[node].end == only->end;
}

/* The matches that touch a range; false: each() wants no more. */
static bool run_in(struct run *r, struct range range, const struct range *only)
{
	struct source_match m;
	TSQueryMatch found;
	bool go_on = true;

	ts_query_cursor_set_byte_range(r->cursor, range.start, range.end);
	ts_query_cursor_exec(r->cursor, r->q->ts, ts_tree_root_node(r->t->ts));
	while (go_on && ts_query_cursor_next_match(r->cursor, &found))
		if (take(r->t, r->root, &found, &r->captures, &m) &&
		    is_hinted_at(r, &m, only) && match_holds(r->q, r->t, &m))
			go_on = r->each(r->ctx, &m);
	r->whole = r->whole && !ts_query_cursor_did_exceed_match_limit(r->cursor);
	return go_on;
}

static bool is_hint_word(const struct source_query *q, const struct source_tree *t,
			 uint32_t node)
{
	for (uint32_t i = 0; i < ts_query_pattern_count(q->ts); i++)
		if (word_holds(&q->predicates[q->hints[i]], t, node))
			return true;
	return false;
}

/* The text says where a match can be at all: most files have no such place, most others
 * a few, and the rest of the tree is not searched. */
static void run_hinted(struct run *r)
{
	const struct source_tree *t = r->t;
	struct range *v = NULL;
	size_t n = 0, cap = 0, most = 16 + t->n / 256;

	for (uint32_t i = 0; i < t->n; i++) {
		uint32_t len = t->nodes[i].end - t->nodes[i].start;
		struct range *last = n ? &v[n - 1] : NULL;

		if (len > 63 || !(r->q->lens >> len & 1) || !is_hint_word(r->q, t, i))
			continue;
		/* A node and its only child have the same text. */
		if (!last || last->start != t->nodes[i].start ||
		    last->end != t->nodes[i].end)
			*VEC_ADD(v, n, cap) =
				(struct range){t->nodes[i].start, t->nodes[i].end};
	}
	if (n > most) {
		run_in(r, (struct range){v[0].start, v[n - 1].end}, NULL);
	} else {
		for (size_t i = 0; i < n; i++)
			if (!run_in(r, v[i], &v[i]))
				break;
	}
	free(v);
}

bool source_query_run(const struct source_query *q, const struct source_tree *t,
		      uint32_t root,
		      bool (*each)(void *ctx, const struct source_match *m), void *ctx)
{
	struct run r = {.q = q, .t = t, .root = root, .each = each, .ctx = ctx};
	struct range range = {0, UINT32_MAX};

	if (!t->ts || root >= t->n)
		return true;
	r.whole = true;
	r.cursor = ts_query_cursor_new();
	ts_query_cursor_set_match_limit(r.cursor, MATCH_LIMIT);
	if (root != 0)
		range = (struct range){t->nodes[root].start, t->nodes[root].end};
	if (root == 0 && q->hinted)
		run_hinted(&r);
	else
		run_in(&r, range, NULL);
	ts_query_cursor_delete(r.cursor);
	free(r.captures.v);
	return r.whole;
}
