/* Text to tree, within bounds of size and time. */
#include "source/internal.h"

#include "base/clock.h"
#include "base/mem.h"

struct source_parser {
	TSParser *ts;
	enum source_lang lang; /* that ts is set to */
	struct source_node *spare;
	uint32_t spare_cap;
};

struct source_parser *source_parser_new(void)
{
	struct source_parser *p = xcalloc(1, sizeof(*p));

	p->ts = ts_parser_new();
	return p;
}

void source_parser_free(struct source_parser *p)
{
	if (!p)
		return;
	ts_parser_delete(p->ts);
	free(p->spare);
	free(p);
}

struct reading {
	const char *text;
	size_t len;
	uint64_t deadline_us;
};

static const char *read_rest(void *payload, uint32_t byte, TSPoint position,
			     uint32_t *ret_len)
{
	const struct reading *r = payload;

	(void)position;
	*ret_len = byte < r->len ? (uint32_t)(r->len - byte) : 0;
	return byte < r->len ? r->text + byte : "";
}

/* Called every 100 or so steps of the parser. */
static bool is_late(TSParseState *state)
{
	const struct reading *r = state->payload;

	return clock_us() > r->deadline_us;
}

static TSTree *parse_within(struct source_parser *p, const char *text, size_t len,
			    unsigned time_ms)
{
	struct reading r = {text, len, clock_us() + (uint64_t)time_ms * 1000};
	TSInput input = {
		.payload = &r, .read = read_rest, .encoding = TSInputEncodingUTF8};
	TSParseOptions options = {.payload = &r, .progress_callback = is_late};
	TSTree *ts = ts_parser_parse_with_options(p->ts, NULL, input, options);

	if (!ts)
		ts_parser_reset(p->ts);
	return ts;
}

void source_parse(struct source_parser *p, enum source_lang lang, const char *text,
		  size_t len, const struct source_limits *limits, struct source_tree *ret)
{
	struct source_limits l = limits ? *limits : (struct source_limits){0};
	TSTree *ts;

	*ret = (struct source_tree){.lang = lang, .text = text, .len = len};
	if (len > (l.bytes ? l.bytes : SOURCE_MAX_BYTES)) {
		ret->skipped = "it is too large";
		return;
	}
	if (memchr(text, '\0', len)) {
		ret->skipped = "it has NUL bytes: it is no text";
		return;
	}
	if (p->lang != lang && !ts_parser_set_language(p->ts, source_grammar(lang))) {
		ret->skipped = "its language is not known";
		return;
	}
	p->lang = lang;
	ts = parse_within(p, text, len, l.time_ms ? l.time_ms : SOURCE_MAX_MS);
	if (!ts) {
		ret->skipped = "parsing it takes too long";
		return;
	}
	ret->ts = ts;
	ret->nodes = TAKE_PTR(p->spare);
	ret->cap = p->spare_cap;
	p->spare_cap = 0;
	if (!source_flatten(ret, ts, l.max_nodes ? l.max_nodes : SOURCE_MAX_NODES)) {
		source_tree_release(ret);
		*ret = (struct source_tree){.lang = lang, .text = text, .len = len};
		ret->skipped = "its tree is too large";
	}
}

void source_tree_release(struct source_tree *t)
{
	if (t->ts)
		ts_tree_delete(t->ts);
	free(t->nodes);
	t->ts = NULL;
	t->nodes = NULL;
	t->n = t->cap = 0;
}

void source_tree_recycle(struct source_tree *t, struct source_parser *p)
{
	if (t->cap > p->spare_cap) {
		free(p->spare);
		p->spare = TAKE_PTR(t->nodes);
		p->spare_cap = t->cap;
	}
	source_tree_release(t);
}
