#include "model/review.h"

#include "base/mem.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const struct {
	const char *name, *meaning;
	bool rejects;
} rules[] = {
#define RULE(id, name, rejects, meaning) {name, meaning, rejects},
#include "model/review_rule.def"
#undef RULE
};

const char *review_rule_name(enum review_rule r)
{
	return rules[r].name;
}

bool review_rule_parse(const char *name, size_t len, enum review_rule *ret)
{
	for (int r = 0; r < REVIEW_RULES; r++)
		if (strlen(rules[r].name) == len && !strncmp(rules[r].name, name, len)) {
			*ret = (enum review_rule)r;
			return true;
		}
	return false;
}

const char *review_rule_meaning(enum review_rule r)
{
	return rules[r].meaning;
}

bool review_rule_rejects(enum review_rule r)
{
	return rules[r].rejects;
}

struct review_item *review_add(struct review_items *r, enum review_rule rule,
			       const char *path, unsigned line, const char *fmt, ...)
{
	struct review_item *i = VEC_ADD(r->v, r->n, r->cap);
	char text[1024];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	i->rule = rule;
	i->path = xstrdup(path);
	i->line = line;
	i->message = xstrdup(text);
	return i;
}

static void item_release(struct review_item *i)
{
	free(i->path);
	free(i->message);
	free(i->excerpt);
	free(i->justification);
}

static int by_place(const void *a, const void *b)
{
	const struct review_item *x = a, *y = b;
	int rc = strcmp(x->path, y->path);

	if (!rc)
		rc = (x->line > y->line) - (x->line < y->line);
	if (!rc)
		rc = (x->rule > y->rule) - (x->rule < y->rule);
	return rc ? rc : strcmp(x->message, y->message);
}

void review_items_sort(struct review_items *r)
{
	size_t n = 0;

	if (r->n)
		qsort(r->v, r->n, sizeof(*r->v), by_place);
	for (size_t i = 0; i < r->n; i++) {
		if (n && !by_place(&r->v[n - 1], &r->v[i]))
			item_release(&r->v[i]);
		else
			r->v[n++] = r->v[i];
	}
	r->n = n;
}

bool review_item_rejects(const struct review_item *i, bool strict)
{
	return !i->justification && (strict || rules[i->rule].rejects);
}

enum outcome review_outcome(const struct review_items *r, bool strict)
{
	for (size_t i = 0; i < r->n; i++)
		if (review_item_rejects(&r->v[i], strict))
			return OUTCOME_REJECTED;
	return OUTCOME_CLEAN;
}

void review_items_release(struct review_items *r)
{
	for (size_t i = 0; i < r->n; i++)
		item_release(&r->v[i]);
	free(r->v);
	*r = (struct review_items){0};
}
