/* Lines per second of bare tree-sitter parsing and of parsing to a flat tree.
 * source_bench LANG FILE…: prints bytes, lines, nodes and the two times in ms. */
#include "base/fs.h"
#include "base/mem.h"
#include "source/source.h"

#include <stdio.h>
#include <time.h>
#include <tree_sitter/api.h>

const TSLanguage *source_grammar(enum source_lang lang);

struct sums {
	uint64_t bytes, lines, nodes, bare_us, flat_us;
};

/* Of this thread: the machine may be busy with other things. */
static uint64_t cpu_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

static uint64_t parse_bare(TSParser *bare, const struct buf *text)
{
	uint64_t start = cpu_us();

	ts_tree_delete(
		ts_parser_parse_string(bare, NULL, text->data, (uint32_t)text->len));
	return cpu_us() - start;
}

static uint64_t parse_flat(struct source_parser *flat, enum source_lang lang,
			   const struct buf *text, uint64_t *nodes)
{
	struct source_tree t CLEANUP(source_tree) = {0};
	uint64_t start = cpu_us();

	source_parse(flat, lang, text->data, text->len, NULL, &t);
	*nodes += t.n;
	source_tree_recycle(&t, flat);
	return cpu_us() - start;
}

/* The better of three: the file's text is in the cache for both then. */
static void measure(TSParser *bare, struct source_parser *flat, enum source_lang lang,
		    const struct buf *text, struct sums *s)
{
	uint64_t bare_us = UINT64_MAX, flat_us = UINT64_MAX, nodes;

	for (int i = 0; i < 3; i++) {
		uint64_t us = parse_bare(bare, text);

		bare_us = us < bare_us ? us : bare_us;
		nodes = 0;
		us = parse_flat(flat, lang, text, &nodes);
		flat_us = us < flat_us ? us : flat_us;
	}
	s->bare_us += bare_us;
	s->flat_us += flat_us;
	s->nodes += nodes;
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
