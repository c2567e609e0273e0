/*
 * The tests of base against those of the candidate.
 *
 * A test is looked for in its own file by name, then in all changed files by name, then
 * by what it says: so a moved or renamed one is no deletion. Within a pair assertions are
 * matched by their whole text, then by what they are about. What is left on base's side
 * is gone, unless it is found in a helper, a table or another test of the patch.
 */
#include "review/internal.h"

#include "base/mem.h"

#include <ctype.h>
#include <stdio.h>

struct comparison {
	struct test_pair *pairs;
	size_t n;
	const struct strv *gone;
	struct review_items *out;
};

static const char *short_text(const char *text, char *buffer, size_t size)
{
	int len = (int)strcspn(text, "\n");

	if (len > 70)
		snprintf(buffer, size, "%.67s...", text);
	else
		snprintf(buffer, size, "%.*s", len, text);
	return buffer;
}

/* ---- which test is which ---- */

static bool is_test(const struct unit *u)
{
	return u->kind == UNIT_TEST;
}

static struct unit *by_name(struct units *u, const char *name, bool tests_only)
{
	for (size_t i = 1; i < u->n; i++)
		if (!u->v[i].matched && (!tests_only || is_test(&u->v[i])) &&
		    strcmp(u->v[i].name, name) == 0)
			return &u->v[i];
	return NULL;
}

/* How much of a's words b has, 0 to 100. */
static unsigned likeness(const char *a, const char *b)
{
	struct strv words CLEANUP(strv) = {0};
	size_t both = 0;

	for (const char *p = a; *p;) {
		size_t len = strcspn(p, " ");

		if (len > 1)
			strv_take(&words, xstrndup(p, len));
		p += len + (p[len] == ' ');
	}
	if (words.n == 0)
		return 0;
	for (size_t i = 0; i < words.n; i++) {
		const char *hit = strstr(b, words.v[i]);

		both += hit != NULL;
	}
	return (unsigned)(both * 100 / words.n);
}

static const char *own_name(const struct unit *u)
{
	const char *last = strrchr(u->name, '>');

	return last ? last + 2 : u->name;
}

/* The unit of the candidate that says the same as u, under another name. */
static struct unit *by_body(struct comparison *c, const struct unit *u,
			    struct units **ret_in)
{
	struct unit *best = NULL;
	unsigned best_like = 79;

	for (size_t i = 0; i < c->n; i++)
		for (size_t k = 1; c->pairs[i].now.present && k < c->pairs[i].now.n;
		     k++) {
			struct unit *v = &c->pairs[i].now.v[k];
			unsigned like;

			if (v->matched || v->kind == UNIT_SUITE)
				continue;
			like = likeness(u->body, v->body);
			if (like > best_like && likeness(v->body, u->body) >= 60) {
				best = v;
				best_like = like;
				*ret_in = &c->pairs[i].now;
			}
		}
	return best;
}

static struct unit *anywhere(struct comparison *c, const struct unit *u,
			     struct units **ret_in)
{
	for (size_t i = 0; i < c->n; i++)
		for (size_t k = 1; c->pairs[i].now.present && k < c->pairs[i].now.n;
		     k++) {
			struct unit *v = &c->pairs[i].now.v[k];

			if (!v->matched && is_test(v) &&
			    !strcmp(own_name(v), own_name(u))) {
				*ret_in = &c->pairs[i].now;
				return v;
			}
		}
	return by_body(c, u, ret_in);
}

/* ---- what became of an assertion ---- */

static bool names_of(const char *text, const char *name)
{
	size_t len = strlen(name);

	for (const char *hit = text; (hit = strstr(hit, name)); hit++)
		if ((hit == text || hit[-1] == ' ') && (hit[len] == ' ' || !hit[len]))
			return true;
	return false;
}

/* Something both are about: an operand that is no literal. */
static bool same_subject(const struct assertion *a, const struct assertion *b)
{
	for (size_t i = 0; i < a->args.n; i++) {
		if (is_literal(a->args.v[i]) || !strcmp(a->args.v[i], "t") ||
		    !*a->args.v[i])
			continue;
		for (size_t k = 0; k < b->args.n; k++)
			if (!strcmp(a->args.v[i], b->args.v[k]) ||
			    (strlen(a->args.v[i]) > 2 &&
			     names_of(b->args.v[k], a->args.v[i])))
				return true;
	}
	return false;
}

static bool same_matcher(const struct assertion *a, const struct assertion *b)
{
	return !strcmp(a->matcher, b->matcher);
}

/* True when b accepts more than a; says so. */
static bool compare_pair(struct comparison *c, const struct units *in,
			 const struct assertion *a, const struct assertion *b)
{
	bool known = a->strength != STRENGTH_UNKNOWN && b->strength != STRENGTH_UNKNOWN;
	char was[80], is[80];
	enum review_rule rule;

	if (b->strength == STRENGTH_NONE && a->strength != STRENGTH_NONE)
		rule = REVIEW_ASSERTION_VACUOUS;
	else if ((known && b->strength < a->strength) || (b->disjunct && !a->disjunct) ||
		 (a->conjunct && !b->conjunct && same_subject(b, a)))
		rule = REVIEW_ASSERTION_LOOSENED;
	else if (same_matcher(a, b) && (bound_widened(a, b) || exception_widened(a, b)))
		rule = REVIEW_ASSERTION_LOOSENED;
	else if (same_matcher(a, b) && b->args.n < a->args.n &&
		 a->args.n - b->args.n == 1 && strcasestr(a->matcher, "called"))
		rule = REVIEW_ASSERTION_LOOSENED;
	else
		return false;
	set_excerpt(review_add(c->out, rule, in->path, b->line, "`%s` became `%s`",
			       short_text(a->shown, was, sizeof(was)),
			       short_text(b->shown, is, sizeof(is))),
		    &in->tree, b->node);
	return true;
}

/* The same comparison with another literal: what the code gives now, perhaps. */
static void compare_expected(struct comparison *c, const struct units *in,
			     const struct assertion *a, const struct assertion *b)
{
	size_t differ = 0, at = 0;

	if (!same_matcher(a, b) || a->args.n != b->args.n)
		return;
	for (size_t i = 0; i < a->args.n; i++)
		if (strcmp(a->args.v[i], b->args.v[i])) {
			differ++;
			at = i;
		}
	if (differ != 1 || !is_literal(a->args.v[at]) || a->strength < STRENGTH_PARTIAL)
		return;
	if (is_literal(b->args.v[at]))
		set_excerpt(review_add(c->out, REVIEW_EXPECTED_CHANGED, in->path, b->line,
				       "%.40s was expected, and now %.40s is",
				       a->args.v[at], b->args.v[at]),
			    &in->tree, b->node);
}

/* ---- one test ---- */

struct left_over {
	const struct assertion **v;
	size_t n, cap;
};

/* The same word, a name, in both. */
static bool share_a_name(const struct assertion *a, const struct assertion *b)
{
	static const char *const common[] = {
		"assert", "expect", "require", "err",  "self", "want", "got",
		"not",	  "None",   "nil",     "null", "true", "false"};

	for (const char *p = a->text; *p;) {
		size_t len = strcspn(p, " ");
		char word[64];
		bool usual = len < 2 || len >= sizeof(word) ||
			     !isalpha((unsigned char)*p) ||
			     (strlen(a->matcher) == len && !strncmp(a->matcher, p, len));

		for (size_t i = 0; i < ARRAY_SIZE(common) && !usual; i++)
			usual = strlen(common[i]) == len && !strncmp(common[i], p, len);
		if (!usual) {
			memcpy(word, p, len);
			word[len] = '\0';
			if (names_of(b->text, word))
				return true;
		}
		p += len + (p[len] == ' ');
	}
	return false;
}

enum alike {
	ALIKE_NOT,
	ALIKE_NAME, /* some name is in both */
	ALIKE_MATCHER,
	ALIKE_SUBJECT,
	ALIKE_BOTH, /* subject and matcher */
	ALIKE_TEXT,
	ALIKE_SAME, /* and under as many conditions */
};

static enum alike how_alike(const struct assertion *a, const struct assertion *b)
{
	if (!strcmp(a->text, b->text))
		return a->guards == b->guards ? ALIKE_SAME : ALIKE_TEXT;
	if (same_subject(a, b))
		return same_matcher(a, b) ? ALIKE_BOTH : ALIKE_SUBJECT;
	if (same_matcher(a, b))
		return ALIKE_MATCHER;
	return share_a_name(a, b) ? ALIKE_NAME : ALIKE_NOT;
}

static struct assertion *find_like(const struct assertion *a, struct unit *now,
				   enum alike how)
{
	for (size_t k = 0; k < now->n; k++) {
		struct assertion *b = &now->v[k];

		if (b->paired)
			continue;
		if (how_alike(a, b) >= how)
			return b;
	}
	return NULL;
}

/* Is it in another unit of the candidate that is new or says more than before? */
static bool found_elsewhere(struct comparison *c, const struct assertion *a,
			    const struct unit *now)
{
	for (size_t i = 0; i < c->n; i++)
		for (size_t k = 0; c->pairs[i].now.present && k < c->pairs[i].now.n;
		     k++) {
			struct unit *u = &c->pairs[i].now.v[k];
			struct assertion *b;

			if (u == now || u->skip || u->early_return)
				continue;
			if (u->kind == UNIT_HELPER && !u->matched && u->n > 0 && now &&
			    names_of(now->body, own_name(u)))
				return true; /* a helper that the test calls now */
			b = find_like(a, u, ALIKE_TEXT);
			if (b && !u->matched) {
				b->paired = true;
				return true;
			}
		}
	return false;
}

static void pair_up(struct comparison *c, const struct units *in, struct unit *old,
		    struct unit *now, enum alike how)
{
	for (size_t i = 0; i < old->n; i++) {
		struct assertion *a = &old->v[i], *b;

		if (a->paired)
			continue;
		b = find_like(a, now, how);
		if (!b)
			continue;
		a->paired = b->paired = true;
		if (b->guards > a->guards && how > ALIKE_MATCHER) {
			char text[80];

			set_excerpt(
				review_add(
					c->out, REVIEW_ASSERTION_GUARDED, in->path,
					b->line,
					"`%s` is made only under a condition now, or its "
					"failure is caught",
					short_text(b->shown, text, sizeof(text))),
				&in->tree, b->node);
		} else if (how == ALIKE_NOT || how == ALIKE_MATCHER) {
			/* About something else: no word on how it compares. */
			if (b->strength == STRENGTH_NONE || exception_widened(a, b))
				compare_pair(c, in, a, b);
		} else if (how < ALIKE_TEXT && !compare_pair(c, in, a, b) &&
			   how > ALIKE_NAME) {
			compare_expected(c, in, a, b);
		}
	}
}

static bool tabled(const struct unit *now)
{
	if (now->parametrized)
		return true;
	for (size_t i = 0; i < now->n; i++)
		if (now->v[i].in_loop)
			return true;
	return false;
}

/* It names something that the patch takes away: it goes with it. */
static bool goes_with_code(const struct comparison *c, const char *text)
{
	for (size_t i = 0; i < c->gone->n; i++)
		if (names_of(text, c->gone->v[i]))
			return true;
	return false;
}

static unsigned count_of(const char *text, const char *word)
{
	unsigned n = 0;

	for (; (text = strstr(text, word)); text += strlen(word))
		n++;
	return n;
}

/* Go: `if err != nil { t.Fatal(err) }` goes with a call that gives no error any more;
 * where the error is given and dropped there is one more `_`. */
static bool gave_no_error(const struct source_tree *t, const struct assertion *a,
			  const struct unit *old, const struct unit *now)
{
	if (t->lang != LANG_GO || (strcmp(a->text, "err != nil") != 0 &&
				   !strstr(a->text, "NoError ( t , err )")))
		return false;
	return count_of(now->body, "_ ") <= count_of(old->body, "_ ") &&
	       count_of(now->body, " err") < count_of(old->body, " err") - 1;
}

/* C: it stood in one branch of an #ifdef, and something much like it is still there. */
static bool was_a_variant(const struct source_tree *t, const struct assertion *a,
			  const struct unit *now)
{
	return (t->lang == LANG_C || t->lang == LANG_CPP) && a->guards > 0 &&
	       likeness(a->text, now->body) >= 60;
}

static void report_removed(struct comparison *c, const struct units *was,
			   struct units *in, const struct unit *old,
			   const struct unit *now)
{
	size_t gone = 0;
	const struct assertion *first = NULL;
	char text[80];
	struct review_item *item;

	if (tabled(now) && !tabled(old))
		return; /* many became one that is made many times */
	for (size_t i = 0; i < old->n; i++) {
		if (old->v[i].paired || old->v[i].strength == STRENGTH_NONE ||
		    goes_with_code(c, old->v[i].text) ||
		    was_a_variant(&was->tree, &old->v[i], now) ||
		    gave_no_error(&was->tree, &old->v[i], old, now) ||
		    found_elsewhere(c, &old->v[i], now))
			continue;
		first = first ? first : &old->v[i];
		gone++;
	}
	if (!gone)
		return;
	item = review_add(c->out, REVIEW_ASSERTION_REMOVED, in->path, now->line,
			  gone == 1 ? "`%s` is gone from %s"
				    : "`%s` is gone from %s, and %zu more assertions",
			  short_text(first->shown, text, sizeof(text)), now->name,
			  gone - 1);
	set_excerpt(item, &was->tree, first->node);
}

static void compare_marks(struct comparison *c, const struct units *in,
			  const struct unit *old, const struct unit *now)
{
	struct review_item *i;
	char text[80];

	if (now->skip && old &&
	    !old->skip) { /* a new one that is skipped takes nothing away */
		i = review_add(c->out, REVIEW_TEST_SKIPPED, in->path, now->skip_line,
			       "%s is skipped: %s", now->name,
			       short_text(now->skip, text, sizeof(text)));
		i->excerpt = dup_line(now->skip, strcspn(now->skip, "\n"));
		i->justification =
			justification_at(in->tree.text, in->tree.len, now->skip_line);
	}
	if (now->focus_line && !(old && old->focus_line))
		review_add(c->out, REVIEW_TEST_FOCUSED, in->path, now->focus_line,
			   "%s runs alone: the others of its file do not", now->name);
	if (now->early_return && !(old && old->early_return))
		review_add(c->out, REVIEW_TEST_DISABLED, in->path, now->early_return,
			   "%s ends before its assertions", now->name);
}

/* How often a C file names the function outside of it: in its list of tests. */
static unsigned registered(const struct units *in, const struct unit *u)
{
	const struct source_tree *t = &in->tree;
	uint16_t identifier = source_kind(t->lang, "identifier");
	unsigned n = 0;

	for (uint32_t i = 0; i < t->n; i++)
		n += t->nodes[i].kind == identifier && !source_within(t, i, u->node) &&
		     source_text_is(t, i, own_name(u));
	return n;
}

static void compare_lists(struct comparison *c, const struct units *was,
			  const struct units *in, const struct unit *old,
			  const struct unit *now)
{
	if (!is_test(old) || !is_test(now) || in->tree.lang > LANG_CPP ||
	    was->tree.lang > LANG_CPP || strpbrk(now->name, ",\""))
		return;
	if (registered(was, old) > 0 && registered(in, now) == 0)
		review_add(c->out, REVIEW_TEST_DISABLED, in->path, now->line,
			   "%s is in no list of tests any more", now->name);
}

static void compare_units(struct comparison *c, const struct units *was, struct units *in,
			  struct unit *old, struct unit *now)
{
	size_t rest_old = 0, rest_now = 0;

	old->matched = now->matched = true;
	if (is_test(old) && now->kind == UNIT_HELPER && old->n > 0 &&
	    !source_text_equal(&was->tree, old->node, &in->tree, now->node))
		review_add(c->out, REVIEW_TEST_DISABLED, in->path, now->line,
			   "%s is %s now: no runner takes it for a test", old->name,
			   now->name);
	compare_marks(c, in, old, now);
	compare_lists(c, was, in, old, now);
	if (now->skip)
		return;
	for (enum alike how = ALIKE_SAME; how > ALIKE_NAME; how--)
		pair_up(c, in, old, now, how);
	for (size_t i = 0; i < old->n; i++)
		rest_old += !old->v[i].paired;
	for (size_t i = 0; i < now->n; i++)
		rest_now += !now->v[i].paired;
	if (rest_old && rest_old == rest_now) {
		pair_up(c, in, old, now, ALIKE_NAME);
		pair_up(c, in, old, now, ALIKE_NOT);
	} else {
		report_removed(c, was, in, old, now);
	}
	for (size_t i = 0; i < now->n; i++)
		if (compares_itself(in, now, &now->v[i]) &&
		    !find_like(&now->v[i], old, ALIKE_TEXT) &&
		    !strstr(old->body, now->v[i].text))
			set_excerpt(
				review_add(
					c->out, REVIEW_EXPECTED_COPIED, in->path,
					now->v[i].line,
					"the expected value is computed by the very call "
					"that is tested"),
				&in->tree, now->v[i].node);
}

/* ---- all files ---- */

/* A table of cases that asserts the same way took it in. */
static bool became_a_case(const struct comparison *c, const struct unit *u)
{
	for (size_t i = 0; i < c->n; i++)
		for (size_t k = 1; c->pairs[i].now.present && k < c->pairs[i].now.n;
		     k++) {
			struct unit *v = &c->pairs[i].now.v[k];

			if (!is_test(v) || !tabled(v) || u->n == 0)
				continue;
			for (size_t a = 0; a < u->n; a++)
				for (size_t b = 0; b < v->n; b++)
					if (same_matcher(&u->v[a], &v->v[b]) &&
					    likeness(u->v[a].text, v->body) >= 50)
						return true;
		}
	return false;
}

static void compare_same_file(struct comparison *c, struct test_pair *p)
{
	if (!p->old.present || !p->now.present)
		return;
	for (size_t i = 1; i < p->old.n; i++) {
		struct unit *old = &p->old.v[i],
			    *now = by_name(&p->now, old->name, is_test(old));

		if (now && old->kind != UNIT_SUITE)
			compare_units(c, &p->old, &p->now, old, now);
	}
	/* Assertions outside of functions are the file's; in other languages there are
	 * none, but where the text is not understood. */
	if (p->now.tree.lang == LANG_PYTHON ||
	    (p->now.tree.lang >= LANG_JAVASCRIPT && p->now.tree.lang <= LANG_TSX))
		compare_units(c, &p->old, &p->now, &p->old.v[0], &p->now.v[0]);
}

static void compare_moved(struct comparison *c, struct test_pair *p)
{
	for (size_t i = 1; p->old.present && i < p->old.n; i++) {
		struct unit *old = &p->old.v[i], *now;
		struct units *in = NULL;
		struct review_item *item;

		if (old->matched || !is_test(old))
			continue;
		now = anywhere(c, old, &in);
		if (now) {
			compare_units(c, &p->old, in, old, now);
			continue;
		}
		if (old->skip || goes_with_code(c, old->body) || became_a_case(c, old))
			continue;
		item = review_add(c->out, REVIEW_TEST_DELETED,
				  p->now.path ? p->now.path : p->old.path, old->line,
				  "%s is gone, with %zu assertions", old->name, old->n);
		item->on_base = true;
		set_excerpt(item, &p->old.tree, old->node);
	}
}

static void compare_new(struct comparison *c, struct test_pair *p)
{
	for (size_t i = 1; p->now.present && i < p->now.n; i++) {
		struct unit *u = &p->now.v[i];

		if (u->matched || !is_test(u))
			continue;
		if (u->focus_line)
			compare_marks(c, &p->now, NULL, u);
		for (size_t k = 0; k < u->n; k++)
			if (!u->v[k].paired && compares_itself(&p->now, u, &u->v[k]))
				set_excerpt(review_add(c->out, REVIEW_EXPECTED_COPIED,
						       p->now.path, u->v[k].line,
						       "the expected value is computed "
						       "by the very "
						       "call that is tested"),
					    &p->now.tree, u->v[k].node);
	}
}

void compare_tests(struct test_pair *pairs, size_t n, const struct strv *gone,
		   struct review_items *out)
{
	struct comparison c = {pairs, n, gone, out};

	for (size_t i = 0; i < n; i++)
		compare_same_file(&c, &pairs[i]);
	for (size_t i = 0; i < n; i++)
		compare_moved(&c, &pairs[i]);
	for (size_t i = 0; i < n; i++)
		compare_new(&c, &pairs[i]);
}
