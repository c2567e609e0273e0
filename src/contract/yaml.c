/*
 * Built from libfyaml's events, not from its document tree: events show anchors, tags,
 * second documents and duplicate keys before anything is resolved, and a document that
 * nests too deep is refused before it is read to its end.
 */
#include "contract/yaml.h"

#include "base/buf.h"
#include "base/json.h"
#include "base/mem.h"
#include "contract/show.h"

#include <libfyaml.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

struct source {
	struct fy_parser *parser;
	struct fy_diag *diag;
	struct fy_event *event; /* the current one; NULL after the end or an error */
	const char *name;
	struct err *err;
	/* Where the current event starts; an empty scalar has no place of its own and
	 * keeps that of its key. */
	unsigned line, column;
};

static void source_cleanup(struct source *s)
{
	if (s->event)
		fy_parser_event_free(s->parser, s->event);
	if (s->parser)
		fy_parser_destroy(s->parser);
	if (s->diag)
		fy_diag_destroy(s->diag);
}

void yaml_release(struct yaml *y)
{
	for (size_t i = 0; i < y->nitems; i++)
		yaml_release(&y->items[i]);
	free(y->items);
	free(y->text);
	*y = (struct yaml){0};
}

const char *yaml_type_name(enum yaml_type type)
{
	static const char *const names[] = {
		[YAML_NULL] = "empty",	       [YAML_BOOL] = "true or false",
		[YAML_INT] = "a whole number", [YAML_FLOAT] = "a number",
		[YAML_STRING] = "a string",    [YAML_LIST] = "a list",
		[YAML_MAP] = "a map",
	};

	return names[type];
}

const struct yaml *yaml_get(const struct yaml *map, const char *key)
{
	for (size_t i = 0; i + 1 < map->nitems; i += 2)
		if (!strcmp(map->items[i].text, key))
			return &map->items[i + 1];
	return NULL;
}

int yaml_error(const struct yaml *node, const char *name, struct err *err,
	       const char *fmt, ...)
{
	char text[768];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	return err_set(err, ERR_USAGE, "%s:%u:%u: %s", name, node->line, node->column,
		       text);
}

/* An error at the current event. */
static int refuse(const struct source *s, const char *what, const char *hint)
{
	const struct yaml here = {.line = s->line, .column = s->column};

	yaml_error(&here, s->name, s->err, "%s", what);
	err_hint(s->err, "%s", hint);
	return -1;
}

static int syntax_error(const struct source *s)
{
	struct yaml here = {.line = s->line, .column = s->column};
	const char *what = "not YAML";
	const struct fy_diag_error *first;
	void *iter = NULL;

	first = fy_diag_errors_iterate(s->diag, &iter);
	if (first) {
		here.line = first->line > 0 ? (unsigned)first->line : 1;
		here.column = first->column > 0 ? (unsigned)first->column : 1;
		what = first->msg;
	}
	return yaml_error(&here, s->name, s->err, "%s", what);
}

/* libfyaml's mark is behind the opening quote, and behind the '*' of an alias. */
static bool mark_is_late(struct fy_event *event)
{
	enum fy_scalar_style style;

	if (event->type != FYET_SCALAR)
		return event->type == FYET_ALIAS;
	style = fy_scalar_token_get_style(fy_event_get_token(event));
	return style == FYSS_SINGLE_QUOTED || style == FYSS_DOUBLE_QUOTED;
}

/* Moves on to the next event; -1 at a syntax error or where the stream ends early. */
static int next(struct source *s)
{
	const struct fy_mark *mark;

	if (s->event)
		fy_parser_event_free(s->parser, s->event);
	s->event = fy_parser_parse(s->parser);
	if (!s->event)
		return syntax_error(s);
	mark = fy_event_start_mark(s->event);
	if (mark) {
		s->line = (unsigned)mark->line + 1;
		s->column = (unsigned)mark->column + !mark_is_late(s->event);
	}
	return 0;
}

static bool one_of(const char *text, const char *const *words)
{
	for (; *words; words++)
		if (!strcmp(text, *words))
			return true;
	return false;
}

/* The core schema of YAML 1.2.2, §10.3.2. */
static enum yaml_type plain_type(const char *s)
{
	static const char *const nulls[] = {"", "~", "null", "Null", "NULL", NULL};
	static const char *const bools[] = {"true",  "True",  "TRUE", "false",
					    "False", "FALSE", NULL};
	static const char *const floats[] = {".inf", ".Inf", ".INF", ".nan",
					     ".NaN", ".NAN", NULL};
	const char *p = s + strspn(s, "+-"), *end;
	size_t whole, fraction = 0;

	if (one_of(s, nulls))
		return YAML_NULL;
	if (one_of(s, bools))
		return YAML_BOOL;
	if (p - s > 1)
		return YAML_STRING;
	if (one_of(p, floats))
		return YAML_FLOAT;
	if (p == s && !strncmp(s, "0x", 2) && s[2])
		return s[2 + strspn(s + 2, "0123456789abcdefABCDEF")] ? YAML_STRING
								      : YAML_INT;
	if (p == s && !strncmp(s, "0o", 2) && s[2])
		return s[2 + strspn(s + 2, "01234567")] ? YAML_STRING : YAML_INT;
	whole = strspn(p, "0123456789");
	end = p + whole;
	if (whole && !*end)
		return YAML_INT;
	if (*end == '.') {
		fraction = strspn(end + 1, "0123456789");
		end += 1 + fraction;
	}
	if (!whole && !fraction)
		return YAML_STRING;
	if (*end == 'e' || *end == 'E') {
		end += 1 + (end[1] == '+' || end[1] == '-');
		whole = strspn(end, "0123456789");
		end += whole;
		if (!whole)
			return YAML_STRING;
	}
	return *end ? YAML_STRING : YAML_FLOAT;
}

static int read_scalar(struct source *s, struct yaml *node)
{
	struct fy_token *token = fy_event_get_token(s->event);
	size_t len = 0;
	const char *text = token ? fy_token_get_text(token, &len) : "";
	enum fy_scalar_style style;

	if (!text)
		return refuse(s, "a scalar that cannot be read", "");
	if (memchr(text, '\0', len))
		return refuse(s, "a string with a NUL character",
			      "no command, path or name can contain one");
	node->text = xstrndup(text, len);
	style = token ? fy_scalar_token_get_style(token) : FYSS_PLAIN;
	node->plain = plain_type(node->text);
	node->type = style == FYSS_PLAIN ? node->plain : YAML_STRING;
	return 0;
}

static int check_key(const struct source *s, const struct yaml *map,
		     const struct yaml *key)
{
	char shown[SHOW_MAX];
	const struct yaml *value;

	if (key->type == YAML_LIST || key->type == YAML_MAP || key->type == YAML_NULL)
		return yaml_error(key, s->name, s->err, "a key must be a word, not %s",
				  yaml_type_name(key->type));
	value = yaml_get(map, key->text);
	if (!value)
		return 0;
	show_text(key->text, shown);
	yaml_error(key, s->name, s->err, "duplicate key %s", shown);
	err_hint(s->err, "it is set on line %u already", value->line);
	return -1;
}

static int read_node(struct source *s, unsigned depth, struct yaml *node);

static int read_items(struct source *s, unsigned depth, struct yaml *node,
		      enum fy_event_type end)
{
	const size_t most = YAML_MAX_ITEMS * (node->type == YAML_MAP ? 2 : 1);

	if (depth == YAML_MAX_DEPTH)
		return refuse(s, "nested too deep", "at most 16 levels are allowed");
	for (;;) {
		struct yaml *item;

		if (next(s) < 0)
			return -1;
		if (s->event->type == end)
			return 0;
		if (node->nitems == most)
			return refuse(s, "too many entries",
				      "a list or map may have 1000 of them");
		item = VEC_ADD(node->items, node->nitems, node->items_cap);
		if (read_node(s, depth + 1, item) < 0)
			return -1;
		if (node->type == YAML_MAP && node->nitems % 2 == 1) {
			/* The new key must not be found as its own duplicate. */
			const struct yaml before = {.items = node->items,
						    .nitems = node->nitems - 1};

			if (check_key(s, &before, item) < 0)
				return -1;
		}
	}
}

/* Reads the node that the current event starts. */
static int read_node(struct source *s, unsigned depth, struct yaml *node)
{
	node->line = s->line;
	node->column = s->column;
	if (s->event->type == FYET_ALIAS || fy_event_get_anchor_token(s->event))
		return refuse(s, "anchors and aliases (& and *) are not allowed",
			      "write the value out, or quote it: \"*\"");
	if (fy_event_get_tag_token(s->event))
		return refuse(s, "tags (!) are not allowed",
			      "leave the tag out, or quote the value");
	if (s->event->type == FYET_MAPPING_START) {
		node->type = YAML_MAP;
		return read_items(s, depth, node, FYET_MAPPING_END);
	}
	if (s->event->type == FYET_SEQUENCE_START) {
		node->type = YAML_LIST;
		return read_items(s, depth, node, FYET_SEQUENCE_END);
	}
	if (s->event->type == FYET_SCALAR)
		return read_scalar(s, node);
	return refuse(s, "not YAML", "");
}

static int read_stream(struct source *s, struct yaml *ret)
{
	if (next(s) < 0 || next(s) < 0)
		return -1;
	if (s->event->type == FYET_STREAM_END)
		return 0; /* an empty document: null */
	if (next(s) < 0 || read_node(s, 0, ret) < 0)
		return -1;
	if (next(s) < 0 || next(s) < 0)
		return -1;
	if (s->event->type != FYET_STREAM_END)
		return refuse(s, "a second document", "the file must hold one only");
	return 0;
}

/* Does an explicit key ("? key") start at p? */
static bool explicit_key(const char *p, const char *line)
{
	if (*p != '?' || (p[1] && !strchr(" \r\n", p[1])))
		return false;
	while (p > line && strchr(" -{[,", p[-1]))
		p--;
	return p == line;
}

/*
 * Refuses what a contract does not need before libfyaml sees it: control characters,
 * which YAML forbids and libfyaml lets pass, and tabs and explicit keys, since 0.7.12
 * frees memory twice for "? a: <tab>- b". tests/fuzz/fuzz_contract.c looks for more.
 */
static int check_text(const char *text, size_t len, const char *name, struct err *err)
{
	struct yaml here = {.line = 1, .column = 1};
	const char *line = text;
	size_t n;

	for (const char *p = text; p < text + len; p += n) {
		const unsigned char c = (unsigned char)*p;

		n = utf8_len(p);
		if (n == 0)
			return yaml_error(&here, name, err, "not UTF-8: byte 0x%02x", c);
		if (c == '\t') {
			yaml_error(&here, name, err, "a tab");
			err_hint(err, "indent with spaces; write \\t in double quotes");
			return -1;
		}
		if (c == 0x7f || (c < 0x20 && c != '\n' && c != '\r'))
			return yaml_error(&here, name, err, "control character 0x%02x",
					  c);
		if (explicit_key(p, line))
			return yaml_error(&here, name, err, "a key must be a word");
		here.column++;
		if (c == '\n') {
			here.line++;
			here.column = 1;
			line = p + 1;
		}
	}
	return 0;
}

int yaml_parse(const char *text, size_t len, const char *name, struct yaml *ret,
	       struct err *err)
{
	struct source s __attribute__((cleanup(source_cleanup))) = {
		.name = name, .err = err, .line = 1, .column = 1};
	CLEANUP(buf) struct buf copy = {0};
	CLEANUP(yaml) struct yaml root = {.line = 1, .column = 1};
	struct fy_diag_cfg diag_cfg;
	struct fy_parse_cfg cfg = {.flags = FYPCF_QUIET | FYPCF_COLLECT_DIAG |
					    FYPCF_JSON_NONE | FYPCF_DEFAULT_VERSION_1_2};

	buf_add(&copy, text, len);
	if (check_text(buf_str(&copy), len, name, err) < 0)
		return -1;
	fy_diag_cfg_default(&diag_cfg);
	diag_cfg.fp = NULL; /* the default is stderr */
	s.diag = fy_diag_create(&diag_cfg);
	if (s.diag)
		fy_diag_set_collect_errors(s.diag, true);
	cfg.diag = s.diag;
	s.parser = s.diag ? fy_parser_create(&cfg) : NULL;
	if (!s.parser || fy_parser_set_string(s.parser, buf_str(&copy), len) < 0)
		return err_set(err, ERR_INTERNAL, "%s: cannot start the YAML parser",
			       name);
	if (read_stream(&s, &root) < 0)
		return -1;
	if (root.type == YAML_NULL && !root.text)
		root.text = xstrdup("");
	*ret = root;
	root = (struct yaml){0};
	return 0;
}
