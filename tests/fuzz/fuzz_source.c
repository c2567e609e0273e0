/* Any bytes as source of any language, and as a query on it. The first byte says which
 * language; a NUL separates the query from the text. */
#include "source/source.h"

#include <sanitizer/lsan_interface.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool check_match(void *ctx, const struct source_match *m)
{
	const struct source_tree *t = ctx;

	for (unsigned i = 0; i < m->n; i++)
		if (m->captures[i].node >= t->n)
			abort();
	return true;
}

static void check_tree(const struct source_tree *t)
{
	for (uint32_t n = 0; n < t->n; n++) {
		const struct source_node *node = &t->nodes[n];
		uint32_t child;

		if (node->after <= n || node->after > t->n || node->start > node->end ||
		    node->end > t->len || (n > 0 && node->parent >= n))
			abort();
		for (SOURCE_CHILDREN(t, n, child))
			if (t->nodes[child].parent != n)
				abort();
		(void)source_end_line(t, n);
		(void)source_column(t, n);
	}
}

static void run_query(const struct source_tree *t, const char *text, size_t len)
{
	struct buf query CLEANUP(buf) = {0};
	struct source_query *q;
	struct err err = {0};

	buf_add(&query, text, len < 300 ? len : 300);
	/* tree-sitter 0.25 loses a few bytes of a field's pattern that is not valid. */
	__lsan_disable();
	q = source_query_new(t->lang, buf_str(&query), &err);
	__lsan_enable();
	if (!q && err.kind != ERR_USAGE)
		abort();
	if (!q)
		return;
	source_query_run(q, t, 0, check_match, (void *)(uintptr_t)t);
	source_query_free(q);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct source_parser *parser;
	struct source_limits limits = {.time_ms = 1000};
	struct source_tree t CLEANUP(source_tree) = {0};
	const char *query, *text;

	if (!parser)
		parser = source_parser_new();
	if (size < 2)
		return 0;
	query = (const char *)data + 1;
	text = memchr(query, '\0', size - 1);
	text = text ? text + 1 : query;
	source_parse(parser, (enum source_lang)(1 + data[0] % (LANG_END - 1)), text,
		     size - (size_t)(text - (const char *)data), &limits, &t);
	check_tree(&t);
	if (t.n > 0 && text != query)
		run_query(&t, query, strnlen(query, size - 1));
	return 0;
}
