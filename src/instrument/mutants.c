#include "instrument/mutants.h"

#include "base/mem.h"

#include <ctype.h>

struct mutant *mutants_add(struct mutants *m, const struct source_tree *t, uint32_t n,
			   uint32_t start, uint32_t end, const char *name,
			   enum mutant_form form, char *text)
{
	struct mutant *new = VEC_ADD(m->v, m->n, m->cap);

	*new = (struct mutant){
		.operator_ = name,
		.start = start,
		.end = end,
		.node = n,
		.line = 1,
		.column = 1,
		.form = form,
		.text = text,
	};
	for (uint32_t at = t->nodes[n].start; at > start; at--)
		new->line -= t->text[at - 1] == '\n';
	new->line += t->nodes[n].row;
	for (uint32_t at = t->nodes[n].start; at < start; at++)
		new->line += t->text[at] == '\n';
	for (uint32_t at = start; at > 0 && t->text[at - 1] != '\n'; at--)
		new->column++;
	new->end_line = new->line;
	for (uint32_t at = start; at < end; at++)
		new->end_line += t->text[at] == '\n';
	new->end_column = 1;
	for (uint32_t at = end; at > 0 && t->text[at - 1] != '\n'; at--)
		new->end_column++;
	return new;
}

void mutant_release(struct mutant *x)
{
	free(x->text);
	free(x->numbers);
}

static int compare(const void *pa, const void *pb)
{
	const struct mutant *a = pa, *b = pb;
	int c;

	if (a->node != b->node)
		return a->node < b->node ? -1 : 1;
	c = strcmp(a->operator_, b->operator_);
	return c ? c : strcmp(a->text, b->text);
}

void mutants_sort(struct mutants *m)
{
	if (m->n)
		qsort(m->v, m->n, sizeof(*m->v), compare);
}

/* Of several on a line: a release or an error that is lost, then a change that keeps the
 * code going, then constants. */
static unsigned rank(const struct mutant *x)
{
	if (!strcmp(x->operator_, "drop-release") ||
	    !strcmp(x->operator_, "ignore-error"))
		return 0;
	if (x->form == MUTANT_GONE)
		return 2;
	return isdigit((unsigned char)*x->text) ? 3 : 1;
}

void mutants_one_a_line(struct mutants *m)
{
	size_t kept = 0;

	for (size_t i = 0; i < m->n; i++) {
		struct mutant *same = NULL, drop = m->v[i];

		for (size_t k = kept; k > 0 && !same; k--)
			if (m->v[k - 1].line == m->v[i].line)
				same = &m->v[k - 1];
		if (!same) {
			m->v[kept++] = m->v[i];
			continue;
		}
		if (rank(&drop) < rank(same)) {
			struct mutant better = drop;

			drop = *same;
			*same = better;
		}
		mutant_release(&drop);
	}
	m->n = kept;
	mutants_sort(m); /* as the wraps need it */
}

void mutants_release(struct mutants *m)
{
	for (size_t i = 0; i < m->n; i++)
		mutant_release(&m->v[i]);
	free(m->v);
	*m = (struct mutants){0};
}
