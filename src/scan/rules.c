#include "scan/rules.h"

#include "base/macros.h"
#include "base/mem.h"
#include "scan/finding.h"
#include "scan/lang.h"
#include "scan/where.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

struct ready {
	const struct scan_rule *rule;
	enum source_lang lang;
	/* NULL: not needed yet. Set once; read by any thread. */
	_Atomic(struct source_query *) query;
	int here;
};

struct scan_set {
	const struct scan_rules *rules;
	struct ready *v;
	size_t n, cap;
};

static int check_query(const struct scan_rule *rule, const struct source_query *q,
		       struct err *err)
{
	if (source_query_capture(q, "here") < 0)
		return err_set(err, ERR_USAGE, "%s:%u: the query has no @here",
			       rule->file, rule->query_line);
	for (size_t i = 0; i < rule->where.n; i++) {
		const char *wrong = where_refused(rule->where.v[i], q);

		if (wrong)
			return err_set(err, ERR_USAGE, "%s: where: \"%s\" %s", rule->file,
				       rule->where.v[i], wrong);
	}
	return 0;
}

static int make_query(struct ready *r, struct err *err)
{
	const struct scan_rule *rule = r->rule;
	struct source_query *q;
	struct err cause = {0};

	q = source_query_new(r->lang, rule->query, &cause);
	if (!q)
		return err_set(err, ERR_USAGE, "%s:%u: query for %s: %s", rule->file,
			       rule->query_line, source_lang_name(r->lang),
			       cause.message);
	if (check_query(rule, q, err) < 0) {
		source_query_free(q);
		return -1;
	}
	r->here = source_query_capture(q, "here");
	atomic_store(&r->query, q);
	return 0;
}

static int make_ready(struct scan_set *s, const struct scan_rule *rule, const char *name,
		      struct err *err)
{
	struct ready *r;

	if (source_lang_parse(name) == LANG_NONE)
		return err_set(err, ERR_USAGE, "%s: \"%s\" is no language", rule->file,
			       name);
	if (!rule->query)
		return 0;
	r = VEC_ADD(s->v, s->n, s->cap);
	*r = (struct ready){.rule = rule, .lang = source_lang_parse(name)};
	return rule->builtin ? 0 : make_query(r, err);
}

/* tree-sitter takes milliseconds for a query: those of languages that are not there are
 * never made. NULL: a built-in one that does not fit, which the tests would have seen. */
static const struct source_query *query_of(struct ready *r)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

	if (!atomic_load(&r->query)) {
		struct err err = {0};

		pthread_mutex_lock(&lock);
		if (!atomic_load(&r->query))
			make_query(r, &err);
		pthread_mutex_unlock(&lock);
	}
	return atomic_load(&r->query);
}

struct scan_set *scan_set_new(const struct scan_rules *rules, struct err *err)
{
	struct scan_set *s = xcalloc(1, sizeof(*s));

	s->rules = rules;
	for (size_t i = 0; i < rules->n; i++)
		for (size_t j = 0; j < rules->v[i].languages.n; j++)
			if (make_ready(s, &rules->v[i], rules->v[i].languages.v[j], err) <
			    0) {
				scan_set_free(s);
				return NULL;
			}
	return s;
}

void scan_set_free(struct scan_set *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->n; i++)
		source_query_free(s->v[i].query);
	free(s->v);
	free(s);
}

const struct scan_rule *scan_set_rule(const struct scan_set *s, const char *id)
{
	return scan_rule_find(s->rules, id);
}

/* ---- matches ---- */

struct matching {
	const struct ready *ready;
	const struct source_query *query;
	const struct source_tree *t;
	const struct scan_lang *lang;
	const char *path;
	bool test;
	struct scan_findings *out;
};

static void add_capture(struct buf *out, const struct matching *m,
			const struct source_match *match, const char *name, size_t len)
{
	for (unsigned i = 0; i < source_query_captures(m->query); i++) {
		const char *capture = source_query_capture_name(m->query, i);
		uint32_t node = source_match_node(match, (int)i);
		size_t n;
		const char *text;

		if (strlen(capture) != len || strncmp(capture, name, len) != 0 ||
		    node == SOURCE_NONE)
			continue;
		text = source_text(m->t, node, &n);
		for (size_t j = 0; j < n && j < 60 && text[j] != '\n'; j++)
			buf_addc(out, text[j]);
		return;
	}
}

/* {name} is the text of @name. */
static char *message_of(const struct matching *m, const struct source_match *match)
{
	struct buf out = {0};

	for (const char *p = m->ready->rule->message; *p; p++) {
		const char *end = *p == '{' ? strchr(p, '}') : NULL;

		if (end) {
			add_capture(&out, m, match, p + 1, (size_t)(end - p - 1));
			p = end;
		} else {
			buf_addc(&out, *p);
		}
	}
	return buf_detach(&out);
}

static bool take(void *ctx, const struct source_match *match)
{
	const struct matching *m = ctx;
	const struct scan_rule *rule = m->ready->rule;
	struct where_match where = {.t = m->t,
				    .lang = m->lang,
				    .query = m->query,
				    .match = match,
				    .here = source_match_node(match, m->ready->here),
				    .test = m->test};
	struct scan_finding *f;
	uint32_t function, name;

	if (where.here == SOURCE_NONE)
		return true;
	for (size_t i = 0; i < rule->where.n; i++)
		if (!where_holds(rule->where.v[i], &where))
			return true;
	function = m->lang ? source_above(m->t, where.here, &m->lang->functions)
			   : SOURCE_NONE;
	name = function == SOURCE_NONE ? function : m->lang->name(m->t, function);
	f = scan_finding_at(m->out, m->t, m->path, name, where.here);
	f->rule = rule->id;
	f->shape = rule->shape;
	f->severity = rule->severity;
	scan_finding_whole(f, m->t, where.here);
	f->message = message_of(m, match);
	return true;
}

static bool is_possible(const struct scan_rule *rule, const struct source_tree *t)
{
	for (size_t i = 0; i < rule->where.n; i++)
		if (!where_possible(rule->where.v[i], t))
			return false;
	return true;
}

void scan_queries(const struct scan_set *s, const struct source_tree *t, const char *path,
		  bool test, struct scan_findings *out)
{
	for (size_t i = 0; i < s->n; i++) {
		struct ready *r = &s->v[i];
		struct matching m = {.ready = r,
				     .query =
					     r->lang == t->lang && is_possible(r->rule, t)
						     ? query_of(r)
						     : NULL,
				     .t = t,
				     .lang = scan_lang(t->lang),
				     .path = path,
				     .test = test,
				     .out = out};

		if (m.query)
			source_query_run(m.query, t, 0, take, &m);
	}
}
