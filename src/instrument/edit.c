#include "instrument/edit.h"

#include "base/mem.h"

static void add(struct edits *e, uint32_t at, bool closes, const char *text)
{
	struct edit *new = VEC_ADD(e->v, e->n, e->cap);

	*new = (struct edit){
		.at = at, .seq = (uint32_t)e->n, .closes = closes, .text = xstrdup(text)};
}

struct edit *edits_wrap(struct edits *e, uint32_t start, uint32_t end, const char *before,
			const char *after)
{
	add(e, start, false, before);
	add(e, end, true, after);
	return &e->v[e->n - 2];
}

void edits_insert(struct edits *e, uint32_t at, const char *text)
{
	add(e, at, false, text);
}

static int compare(const void *pa, const void *pb)
{
	const struct edit *a = pa, *b = pb;

	if (a->at != b->at)
		return a->at < b->at ? -1 : 1;
	if (a->closes != b->closes)
		return a->closes ? -1 : 1;
	return (a->seq < b->seq) == a->closes ? 1 : -1;
}

void edits_apply(struct edits *e, const char *text, size_t len, struct buf *out)
{
	size_t at = 0;

	if (e->n)
		qsort(e->v, e->n, sizeof(*e->v), compare);
	for (size_t i = 0; i < e->n; i++) {
		buf_add(out, text + at, e->v[i].at - at);
		e->v[i].put = out->len;
		buf_adds(out, e->v[i].text);
		at = e->v[i].at;
	}
	buf_add(out, text + at, len - at);
}

void edits_release(struct edits *e)
{
	for (size_t i = 0; i < e->n; i++)
		free(e->v[i].text);
	free(e->v);
	*e = (struct edits){0};
}
