#include "scan/finding.h"

#include "base/mem.h"

struct scan_finding *scan_finding_at(struct scan_findings *out,
				     const struct source_tree *t, const char *path,
				     uint32_t name, uint32_t node)
{
	struct scan_finding *f = scan_findings_add(out);
	size_t len;
	const char *line = source_line_at(t, t->nodes[node].start, &len);

	while (len && (*line == ' ' || *line == '\t'))
		line++, len--;
	f->path = xstrdup(path);
	f->line = source_line(t, node);
	f->column = source_column(t, node);
	f->end_line = source_end_line(t, node);
	f->end_column = f->column + 1;
	f->function = name == SOURCE_NONE ? NULL : source_text_dup(t, name);
	f->excerpt = xstrndup(line, len);
	return f;
}
