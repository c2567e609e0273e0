/* Lines per second of bare tree-sitter parsing and of parsing to a flat tree.
 * source_bench LANG FILE…: prints bytes, lines, nodes and the two times in ms. */
#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"
#include "source/source.h"

#include <stdio.h>
#include <tree_sitter/api.h>

const TSLanguage *source_grammar(enum source_lang lang);

struct sums {
	uint64_t bytes, lines, nodes, bare_us, flat_us;
};

static void measure(TSParser *bare, struct source_parser *flat, enum source_lang lang,
		    const struct buf *text, struct sums *s)
{
	struct source_tree t CLEANUP(source_tree) = {0};
	uint64_t start = clock_us();
	TSTree *ts = ts_parser_parse_string(bare, NULL, text->data, (uint32_t)text->len);

	ts_tree_delete(ts);
	s->bare_us += clock_us() - start;
	start = clock_us();
	source_parse(flat, lang, text->data, text->len, NULL, &t);
	s->nodes += t.n;
	source_tree_release(&t);
	s->flat_us += clock_us() - start;
}

int main(int argc, char **argv)
{
	enum source_lang lang = argc > 1 ? source_lang_parse(argv[1]) : LANG_NONE;
	struct source_parser *flat = source_parser_new();
	TSParser *bare = ts_parser_new();
	struct sums s = {0};

	if (lang == LANG_NONE) {
		fprintf(stderr, "usage: source_bench LANG FILE...\n");
		return 2;
	}
	ts_parser_set_language(bare, source_grammar(lang));
	for (int i = 2; i < argc; i++) {
		struct buf text CLEANUP(buf) = {0};

		if (read_file(argv[i], SOURCE_MAX_BYTES, &text, NULL) < 0 ||
		    text.len == 0)
			continue;
		s.bytes += text.len;
		for (size_t k = 0; k < text.len; k++)
			s.lines += text.data[k] == '\n';
		measure(bare, flat, lang, &text, &s);
	}
	printf("%s %lu bytes %lu lines %lu nodes: bare %lu ms, flat %lu ms\n", argv[1],
	       s.bytes, s.lines, s.nodes, s.bare_us / 1000, s.flat_us / 1000);
	ts_parser_delete(bare);
	source_parser_free(flat);
	return 0;
}
