/* Questions about the nodes of a flat tree. */
#include "source/internal.h"

#include "base/mem.h"

uint32_t source_child(const struct source_tree *t, uint32_t n, uint8_t field)
{
	uint32_t child;

	if (field == SOURCE_NO_FIELD)
		return SOURCE_NONE;
	for (SOURCE_CHILDREN(t, n, child))
		if (t->nodes[child].field == field)
			return child;
	return SOURCE_NONE;
}

uint32_t source_named_child(const struct source_tree *t, uint32_t n, unsigned i)
{
	uint32_t child;

	for (SOURCE_CHILDREN(t, n, child))
		if ((t->nodes[child].flags & (SOURCE_NAMED | SOURCE_EXTRA)) ==
			    SOURCE_NAMED &&
		    i-- == 0)
			return child;
	return SOURCE_NONE;
}

uint32_t source_above(const struct source_tree *t, uint32_t n,
		      const struct source_kinds *set)
{
	for (n = t->nodes[n].parent; n != SOURCE_NONE; n = t->nodes[n].parent)
		if (source_has(set, t->nodes[n].kind))
			return n;
	return SOURCE_NONE;
}

uint32_t source_at(const struct source_tree *t, uint32_t start, uint32_t end)
{
	uint32_t best = 0, n = 0;

	while (n < t->n) {
		const struct source_node *node = &t->nodes[n];

		if (node->start > start)
			break;
		if (node->end < end) {
			n = node->after;
			continue;
		}
		if (node->flags & SOURCE_NAMED)
			best = n;
		n++;
	}
	return best;
}

bool source_text_is(const struct source_tree *t, uint32_t n, const char *text)
{
	size_t len, want = strlen(text);
	const char *is = source_text(t, n, &len);

	return len == want && memcmp(is, text, len) == 0;
}

bool source_text_equal(const struct source_tree *a, uint32_t n,
		       const struct source_tree *b, uint32_t m)
{
	size_t a_len, b_len;
	const char *a_text = source_text(a, n, &a_len),
		   *b_text = source_text(b, m, &b_len);

	return a_len == b_len && memcmp(a_text, b_text, a_len) == 0;
}

char *source_text_dup(const struct source_tree *t, uint32_t n)
{
	size_t len;
	const char *text = source_text(t, n, &len);

	return xstrndup(text, len);
}

unsigned source_line(const struct source_tree *t, uint32_t n)
{
	return t->nodes[n].row + 1;
}

unsigned source_end_line(const struct source_tree *t, uint32_t n)
{
	const struct source_node *node = &t->nodes[n];
	const char *p = t->text + node->start;
	const char *end = t->text + (node->end > node->start ? node->end - 1 : node->end);
	unsigned line = node->row + 1;

	while (p < end && (p = memchr(p, '\n', (size_t)(end - p)))) {
		line++;
		p++;
	}
	return line;
}

static uint32_t line_start(const struct source_tree *t, uint32_t byte)
{
	const char *newline = memrchr(t->text, '\n', byte);

	return newline ? (uint32_t)(newline + 1 - t->text) : 0;
}

unsigned source_column(const struct source_tree *t, uint32_t n)
{
	return t->nodes[n].start - line_start(t, t->nodes[n].start) + 1;
}

const char *source_line_at(const struct source_tree *t, uint32_t byte, size_t *ret_len)
{
	const char *start = t->text + line_start(t, byte);
	size_t rest = t->len - (size_t)(start - t->text);
	const char *end = memchr(start, '\n', rest);

	*ret_len = end ? (size_t)(end - start) : rest;
	return start;
}

static void dump_open(const struct source_tree *t, uint32_t n, struct buf *out)
{
	const struct source_node *node = &t->nodes[n];

	if (out->len > 0 && out->data[out->len - 1] != '(')
		buf_addc(out, ' ');
	if (node->field != SOURCE_NO_FIELD)
		buf_addf(out, "%s: ", source_field_name(t->lang, node->field));
	if (node->flags & SOURCE_MISSING)
		buf_adds(out, "MISSING ");
	if (node->flags & SOURCE_NAMED)
		buf_addf(out, "(%s", source_kind_name(t->lang, node->kind));
	else
		buf_addf(out, "\"%s\"", source_kind_name(t->lang, node->kind));
}

void source_dump(const struct source_tree *t, uint32_t n, size_t max, struct buf *out)
{
	uint32_t end = t->nodes[n].after, start = n;

	for (; n < end && out->len < max; n++) {
		uint32_t at = n;

		dump_open(t, n, out);
		if (t->nodes[n].after != n + 1)
			continue;
		/* Closes what ends with this leaf. */
		while (at != SOURCE_NONE && t->nodes[at].after == n + 1) {
			if (t->nodes[at].flags & SOURCE_NAMED)
				buf_addc(out, ')');
			if (at == start)
				break;
			at = t->nodes[at].parent;
		}
	}
}
