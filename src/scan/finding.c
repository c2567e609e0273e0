#include "scan/finding.h"

#include "base/mem.h"

/* Of UTF-8: what is no first byte of a character counts nothing, one of four bytes two.
 */
static unsigned utf16_units(const char *s, size_t len)
{
	unsigned n = 0;

	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)s[i];

		if ((c & 0xc0) != 0x80)
			n += c >= 0xf0 ? 2u : 1u;
	}
	return n;
}

/* The column after the byte before `end`; *ret_utf16: in UTF-16. */
static unsigned column_after(const struct source_tree *t, uint32_t end,
			     unsigned *ret_utf16)
{
	size_t len;
	const char *line = source_line_at(t, end ? end - 1 : 0, &len);
	size_t bytes = (size_t)(t->text + end - line);

	*ret_utf16 = 1 + utf16_units(line, bytes < len ? bytes : len);
	return 1 + (unsigned)bytes;
}

void scan_finding_whole(struct scan_finding *f, const struct source_tree *t,
			uint32_t node)
{
	f->end_line = source_end_line(t, node);
	f->end_column = column_after(t, t->nodes[node].end, &f->utf16_end_column);
}

struct scan_finding *scan_finding_at(struct scan_findings *out,
				     const struct source_tree *t, const char *path,
				     uint32_t name, uint32_t node)
{
	struct scan_finding *f = scan_findings_add(out);
	size_t len;
	const char *line = source_line_at(t, t->nodes[node].start, &len);
	unsigned before =
		utf16_units(line, (size_t)(t->text + t->nodes[node].start - line));

	while (len && (*line == ' ' || *line == '\t'))
		line++, len--;
	f->path = xstrdup(path);
	f->line = source_line(t, node);
	f->column = source_column(t, node);
	f->end_line = source_end_line(t, node);
	f->end_column = f->column + 1;
	f->utf16_column = before + 1;
	f->utf16_end_column = before + 2;
	f->function = name == SOURCE_NONE ? NULL : source_text_dup(t, name);
	f->excerpt = xstrndup(line, len);
	return f;
}
