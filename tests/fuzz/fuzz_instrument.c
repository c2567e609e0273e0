/* Any bytes as C (first byte even) or JavaScript: what comes out of the rewriters holds
 * all of the text, in its order, and its lines. */
#include "instrument/branches.h"
#include "instrument/code_c.h"
#include "instrument/mutants_c.h"

#include "base/mem.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct source_tree *t, const struct buf *out)
{
	size_t at = 0, lines = 0;

	for (size_t i = 0; i < out->len; i++) {
		at += at < t->len && out->data[i] == t->text[at];
		lines += out->data[i] == '\n';
	}
	for (size_t i = 0; i < t->len; i++)
		lines -= t->text[i] == '\n';
	if (at != t->len || lines != 0)
		abort();
}

static void check_c(const struct source_tree *t)
{
	CLEANUP(strv) struct strv macros = {0};
	CLEANUP(branches) struct branches b = {0};
	CLEANUP(mutants) struct mutants m = {0};
	CLEANUP(buf) struct buf probes = {0}, mutated = {0};
	CLEANUP_FREE uint8_t *code = NULL;

	code_c_macros(t, &macros);
	code = code_c_mark(t, &macros);
	branches_find(t, code, 0, &b);
	branches_c_rewrite(t, &b, &probes);
	check(t, &probes);
	mutants_c_find(t, code, &m);
	mutants_c_rewrite(t, &m, NULL, 0, &mutated, NULL);
	check(t, &mutated);
	mutants_one_a_line(&m);
}

static void check_js(const struct source_tree *t)
{
	CLEANUP(branches) struct branches b = {0};
	CLEANUP(buf) struct buf out = {0};

	branches_find(t, NULL, 0, &b);
	branches_js_rewrite(t, &b, "/map", &out);
	check(t, &out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct source_parser *parser;
	struct source_limits limits = {.bytes = 2000, .time_ms = 1000};
	struct source_tree t CLEANUP(source_tree) = {0};
	bool c;

	if (!parser)
		parser = source_parser_new();
	if (size < 2)
		return 0;
	c = data[0] % 2 == 0;
	source_parse(parser, c ? LANG_C : LANG_JAVASCRIPT, (const char *)data + 1,
		     size - 1, &limits, &t);
	if (t.skipped)
		return 0;
	if (c)
		check_c(&t);
	else
		check_js(&t);
	return 0;
}
