/*
 * instrument MAP FILE…: puts probes of branches into files of C or JavaScript, in place,
 * makes the file MAP that they write to, and prints a line of JSON for each decision. In
 * JavaScript with the byte at which the code of an outcome begins, where it has its own.
 */
#include "base/fs.h"
#include "base/mem.h"
#include "instrument/branches.h"
#include "instrument/code_c.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct file {
	const char *path;
	struct buf text;
	struct source_tree tree;
	struct branches branches;
};

/* ---- JavaScript: what runs when, and only when, an outcome is taken ---- */

static uint32_t field(const struct source_tree *t, uint32_t n, const char *name)
{
	return n == SOURCE_NONE ? n : source_child(t, n, source_field(t->lang, name));
}

static bool is_kind(const struct source_tree *t, uint32_t n, const char *names)
{
	struct source_kinds kinds = source_kinds(t->lang, names);

	return n != SOURCE_NONE && source_has(&kinds, t->nodes[n].kind);
}

static uint32_t outer(const struct source_tree *t, uint32_t n)
{
	do
		n = t->nodes[n].parent;
	while (is_kind(t, n, "parenthesized_expression"));
	return n;
}

static bool falls_through(const struct source_tree *t, uint32_t label)
{
	uint32_t c, last = SOURCE_NONE;

	for (SOURCE_CHILDREN(t, label, c))
		if (source_named(t, c) && !(t->nodes[c].flags & SOURCE_EXTRA))
			last = c;
	return !is_kind(t, last, "break_statement return_statement throw_statement "
				 "continue_statement");
}

static uint32_t case_arm(const struct source_tree *t, uint32_t label)
{
	uint32_t body = field(t, label, "body"), before = SOURCE_NONE, c;

	for (SOURCE_CHILDREN(t, t->nodes[label].parent, c)) {
		if (c == label)
			break;
		if (is_kind(t, c, "switch_case switch_default"))
			before = c;
	}
	return before != SOURCE_NONE && falls_through(t, before) ? SOURCE_NONE : body;
}

static uint32_t arm(const struct source_tree *t, const struct branches *all,
		    const struct branch *b, uint32_t outcome)
{
	uint32_t up = outer(t, b->node), op, alternative;

	switch (b->kind) {
	case BRANCH_IF:
		alternative = field(t, up, "alternative");
		return outcome == 0 ? field(t, up, "consequence")
		       : alternative == SOURCE_NONE
			       ? SOURCE_NONE
			       : source_named_child(t, alternative, 0);
	case BRANCH_TERNARY:
		return field(t, up, outcome ? "alternative" : "consequence");
	case BRANCH_WHILE:
		return outcome || is_kind(t, up, "do_statement") ? SOURCE_NONE
								 : field(t, up, "body");
	case BRANCH_FOR:
	case BRANCH_CATCH:
		return outcome ? SOURCE_NONE : field(t, b->node, "body");
	case BRANCH_SWITCH:
		return outcome < b->nlabels ? case_arm(t, all->labels[b->label + outcome])
					    : SOURCE_NONE;
	case BRANCH_NULLISH:
	case BRANCH_OPERAND:
		op = field(t, up, "operator");
		if (op == SOURCE_NONE || !source_within(t, b->node, field(t, up, "left")) ||
		    outcome != (source_text_is(t, op, "||") ? 1u : 0u))
			return SOURCE_NONE;
		return field(t, up, "right");
	}
	return SOURCE_NONE;
}

/* Line and column from 1. */
static void print_place(const struct source_tree *t, uint32_t byte)
{
	unsigned line = 1, column = 1;

	for (uint32_t i = 0; i < byte; i++) {
		column = t->text[i] == '\n' ? 1 : column + 1;
		line += t->text[i] == '\n';
	}
	printf("%u,%u", line, column);
}

static void print(const struct file *f)
{
	for (size_t i = 0; i < f->branches.n; i++) {
		const struct branch *b = &f->branches.v[i];

		printf("{\"file\":\"%s\",\"kind\":\"%s\",\"first\":%u,\"outcomes\":%u,"
		       "\"at\":[",
		       f->path, branch_kind_name(b->kind), b->first, b->n);
		print_place(&f->tree, f->tree.nodes[b->node].start);
		fputs("],\"to\":[", stdout);
		print_place(&f->tree, f->tree.nodes[b->node].end);
		fputs("],\"labels\":[", stdout);
		for (uint32_t k = 0; k < b->nlabels; k++) {
			fputs(k ? ",[" : "[", stdout);
			print_place(&f->tree,
				    f->tree.nodes[f->branches.labels[b->label + k]].start);
			putchar(']');
		}
		fputs("],\"arms\":[", stdout);
		for (uint32_t k = 0; k < b->n && f->tree.lang != LANG_C; k++) {
			uint32_t n = arm(&f->tree, &f->branches, b, k);

			printf("%s%ld", k ? "," : "",
			       n == SOURCE_NONE ? -1L : (long)f->tree.nodes[n].start);
		}
		puts("]}");
	}
}

int main(int argc, char **argv)
{
	struct source_parser *parser = source_parser_new();
	struct file *files = xcalloc((size_t)argc, sizeof(*files));
	struct strv macros = {0};
	uint32_t total = 0;
	int fd;

	for (int i = 2; i < argc; i++) {
		struct file *f = &files[i];

		f->path = argv[i];
		if (read_file(f->path, (size_t)16 << 20, &f->text, NULL) < 0)
			return 1;
		source_parse(parser, source_lang_of_path(f->path), f->text.data, f->text.len, NULL, &f->tree);
		if (f->tree.lang == LANG_C)
			code_c_macros(&f->tree, &macros);
	}
	for (int i = 2; i < argc; i++) {
		uint8_t *code = files[i].tree.lang == LANG_C
					? code_c_mark(&files[i].tree, &macros)
					: NULL;

		branches_find(&files[i].tree, code, total, &files[i].branches);
		total += files[i].branches.outcomes;
		free(code);
	}
	fd = open(argv[1], O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (fd < 0 || ftruncate(fd, total + 1) < 0)
		return 1;
	for (int i = 2; i < argc; i++) {
		struct buf out = {0};

		if (files[i].tree.lang == LANG_C) {
			probes_c_branches(argv[1], total, &out);
			branches_c_rewrite(&files[i].tree, &files[i].branches, &out);
		} else {
			branches_js_rewrite(&files[i].tree, &files[i].branches, argv[1],
					    &out);
		}
		if (write_file(files[i].path, out.data, out.len, NULL) < 0)
			return 1;
		print(&files[i]);
	}
	return 0;
}
