#include "report/frames.h"

#include "base/mem.h"
#include "report/escape.h"

#include <string.h>

enum { FUNCTION_COLUMNS = 40 };

static const char *file_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static char *frame_place(const struct frame *f)
{
	if (f->file && f->line)
		return xasprintf("%s:%u", f->file, f->line);
	if (f->file)
		return xstrdup(f->file);
	if (f->module && f->offset)
		return xasprintf("%s+0x%llx", file_name(f->module),
				 (unsigned long long)f->offset);
	return xstrdup(f->module ? file_name(f->module) : "?");
}

/* The wrapper of the call, and a sanitizer's around it. */
static bool is_wrapper(const struct frame *f)
{
	return (f->module && !strncmp(f->module, "exitpath-", 9)) ||
	       (f->function && !strncmp(f->function, "__interceptor_", 14));
}

/* Past main() there is nothing of the program's. */
static bool is_past_main(const struct leak *l, const struct frame *f)
{
	for (const struct frame *g = l->frames; g < f; g++)
		if (g->function && !strcmp(g->function, "main"))
			return true;
	return false;
}

static bool is_shown(const struct frames_style *style, const struct leak *l,
		     const struct frame *f, size_t shown)
{
	const struct frame *top = leak_top_frame(l);

	if (style->chain && (is_wrapper(f) || is_past_main(l, f)))
		return false;
	if (!style->most)
		return true;
	if (shown == style->most || function_is_runtime(f->function))
		return false;
	return top && top->project ? f->project : f >= top;
}

static void add_frame(struct buf *out, const struct frame *f, const char *indent,
		      size_t widest)
{
	CLEANUP_FREE char *function = escaped(f->function ? f->function : "?");
	CLEANUP_FREE char *place = frame_place(f);

	buf_addf(out, "%s%s", indent, function);
	for (size_t n = text_columns(function); n < widest; n++)
		buf_addc(out, ' ');
	buf_adds(out, "  ");
	escape_line(out, place);
	buf_addc(out, '\n');
}

static size_t columns_of(const struct frame *f)
{
	CLEANUP_FREE char *function = escaped(f->function ? f->function : "?");
	size_t columns = text_columns(function);

	return columns <= FUNCTION_COLUMNS ? columns : 0;
}

void add_frames(struct buf *out, const struct leak *l, const struct frames_style *style)
{
	size_t widest = 0;

	for (int pass = 0; pass < 2; pass++) {
		size_t shown = 0;

		for (size_t i = 0; i < l->nframes; i++) {
			const struct frame *f = &l->frames[i];

			if (!is_shown(style, l, f, shown))
				continue;
			shown++;
			if (pass)
				add_frame(out, f, style->indent, widest);
			else if (columns_of(f) > widest)
				widest = columns_of(f);
		}
	}
}
