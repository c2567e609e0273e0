/*
 * instrument MAP FILE…: puts probes of branches into files of C, in place, makes the file
 * MAP that they write to, and prints a line of JSON for each decision.
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
		source_parse(parser, LANG_C, f->text.data, f->text.len, NULL, &f->tree);
		code_c_macros(&f->tree, &macros);
	}
	for (int i = 2; i < argc; i++) {
		uint8_t *code = code_c_mark(&files[i].tree, &macros);

		branches_find(&files[i].tree, code, total, &files[i].branches);
		total += files[i].branches.outcomes;
		free(code);
	}
	fd = open(argv[1], O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (fd < 0 || ftruncate(fd, total + 1) < 0)
		return 1;
	for (int i = 2; i < argc; i++) {
		struct buf out = {0};

		probes_c_branches(argv[1], total, &out);
		branches_c_rewrite(&files[i].tree, &files[i].branches, &out);
		if (write_file(files[i].path, out.data, out.len, NULL) < 0)
			return 1;
		print(&files[i]);
	}
	return 0;
}
