#include "vet/subset.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Keys of one set, each once, in order; the texts are borrowed. */
struct keys {
	char **v;
	size_t n;
};

static struct keys keys_of(const struct strv *s)
{
	struct keys k = {xcalloc(s->n + 1, sizeof(char *)), 0};
	size_t at = 0;

	if (s->n)
		memcpy(k.v, s->v, s->n * sizeof(char *));
	qsort(k.v, s->n, sizeof(char *), by_text);
	for (size_t i = 0; i < s->n; i++)
		if (!at || strcmp(k.v[at - 1], k.v[i]) != 0)
			k.v[at++] = k.v[i];
	k.n = at;
	return k;
}

static bool same_keys(const struct strv *a, const struct strv *b)
{
	struct keys x = keys_of(a), y = keys_of(b);
	bool same = x.n == y.n;

	for (size_t i = 0; same && i < x.n; i++)
		same = !strcmp(x.v[i], y.v[i]);
	free(x.v);
	free(y.v);
	return same;
}

bool vet_same(const struct vet_test *a, const struct vet_test *b)
{
	if (a->shape && b->shape && !strcmp(a->shape, b->shape))
		return true;
	return a->kills.n && same_keys(&a->kills, &b->kills) &&
	       same_keys(&a->branches, &b->branches);
}

/* ---- the subset ---- */

struct cover {
	const struct vet_test *tests;
	struct keys all;   /* what is killed by any */
	bool *killed;	   /* by those that are in */
	struct keys *each; /* of each test */
};

static size_t place(const struct cover *c, char *key)
{
	char **at = bsearch(&key, c->all.v, c->all.n, sizeof(char *), by_text);

	return (size_t)(at - c->all.v);
}

static size_t gain(const struct cover *c, size_t test)
{
	size_t n = 0;

	for (size_t i = 0; i < c->each[test].n; i++)
		n += !c->killed[place(c, c->each[test].v[i])];
	return n;
}

/* n: none kills more. */
static size_t best(const struct cover *c, size_t n, const bool *in)
{
	size_t found = n, most = 0;

	for (size_t i = 0; i < n; i++) {
		size_t g = in[i] ? 0 : gain(c, i);

		if (g > most || (g && g == most && c->tests[i].ms < c->tests[found].ms)) {
			found = i;
			most = g;
		}
	}
	return found;
}

size_t vet_subset(const struct vet_test *tests, size_t n, bool *ret_in)
{
	struct strv every = {0};
	struct cover c = {.tests = tests, .each = xcalloc(n + 1, sizeof(*c.each))};
	size_t count = 0, at;

	memset(ret_in, 0, n * sizeof(*ret_in));
	for (size_t i = 0; i < n; i++) {
		c.each[i] = keys_of(&tests[i].kills);
		for (size_t k = 0; k < c.each[i].n; k++)
			strv_add(&every, c.each[i].v[k]);
	}
	c.all = keys_of(&every);
	c.killed = xcalloc(c.all.n + 1, sizeof(bool));
	while ((at = best(&c, n, ret_in)) < n) {
		ret_in[at] = true;
		count++;
		for (size_t k = 0; k < c.each[at].n; k++)
			c.killed[place(&c, c.each[at].v[k])] = true;
	}
	for (size_t i = 0; i < n; i++)
		free(c.each[i].v);
	free(c.each);
	free(c.all.v);
	free(c.killed);
	strv_release(&every);
	return count;
}
