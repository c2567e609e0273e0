#include "detect/frames.h"

#include "base/buf.h"
#include "base/fs.h"
#include "base/mem.h"

#include <string.h>

struct raw_frame *raw_stack_add(struct raw_stack *s)
{
	return s->n < FRAMES_MAX ? VEC_ADD(s->frames, s->n, s->cap) : NULL;
}

void raw_frame_release(struct raw_frame *f)
{
	free(f->function);
	free(f->module);
	free(f->file);
	*f = (struct raw_frame){0};
}

void raw_stack_release(struct raw_stack *s)
{
	for (size_t i = 0; i < s->n; i++)
		raw_frame_release(&s->frames[i]);
	free(s->frames);
	*s = (struct raw_stack){0};
}

/* Without "." and "..", by the letters alone; a relative path may keep leading "..". */
static char *path_clean(const char *path)
{
	struct buf b = {0};
	bool absolute = path[0] == '/';

	for (const char *p = path, *end; *p; p = end + (*end == '/')) {
		size_t n;

		end = strchrnul(p, '/');
		n = (size_t)(end - p);
		if (!n || (n == 1 && p[0] == '.'))
			continue;
		if (n == 2 && !strncmp(p, "..", 2)) {
			char *slash = b.len ? strrchr(b.data, '/') : NULL;
			const char *last = slash ? slash + 1 : buf_str(&b);

			if (b.len && strcmp(last, "..") != 0) {
				b.len = slash ? (size_t)(slash - b.data) : 0;
				b.data[b.len] = '\0';
				continue;
			}
			if (absolute)
				continue;
		}
		if (b.len || absolute)
			buf_addc(&b, '/');
		buf_add(&b, p, n);
	}
	return buf_detach(&b);
}

/* The part of path below the checkout, or NULL. */
static const char *below(const char *path, const char *checkout)
{
	size_t n = strlen(checkout);

	while (n && checkout[n - 1] == '/')
		n--;
	return !strncmp(path, checkout, n) && path[n] == '/' ? path + n + 1 : NULL;
}

/* Compilers that were given a relative name report it as it is, relative to a
 * directory that is not known: the checkout, or one below it. */
static const char *relative_below(const char *path, const char *checkout)
{
	CLEANUP_FREE char *full = NULL;

	while (!strncmp(path, "../", 3))
		path += 3;
	full = path_join(checkout, path);
	return *path && path_exists(full) ? path : NULL;
}

/* Sets f->file and f->project. */
static void place_file(struct frame *f, const char *file, const char *module,
		       const struct source_root *root)
{
	CLEANUP_FREE char *clean = file ? path_clean(file) : NULL;
	CLEANUP_FREE char *clean_module = module ? path_clean(module) : NULL;
	const char *inside = NULL;

	if (clean)
		inside = clean[0] == '/' ? below(clean, root->seen)
					 : relative_below(clean, root->path);
	f->file = inside ? xstrdup(inside) : TAKE_PTR(clean);
	f->project = inside != NULL;
	/* What a header of the system had inlined is not the project's, wherever it is.
	 */
	if (!inside && clean_module && (!f->file || strncmp(f->file, "/usr/", 5) != 0))
		f->project = below(clean_module, root->seen) != NULL;
}

static void add_frame(struct leak *l, const struct raw_frame *raw,
		      const struct source_root *root)
{
	struct frame *f = leak_frame(l);

	f->line = raw->file ? raw->line : 0;
	place_file(f, raw->file, raw->module, root);
	f->function = xstrdup(raw->function);
	f->module = raw->module ? xstrdup(path_base(raw->module)) : NULL;
	f->offset = raw->offset;
}

/* An address stands for a frame of each function that was inlined there. */
static void add_frames(struct leak *l, const struct raw_frame *raw,
		       const struct source_root *root, struct symbols *symbols)
{
	const struct symbol_place *places;
	size_t n = 0;

	if (!raw->function && raw->module && raw->offset && symbols)
		n = symbols_find(symbols, raw->module, raw->offset, &places);
	for (size_t i = 0; i < n && l->nframes < FRAMES_MAX; i++) {
		struct raw_frame named = *raw;

		named.function = places[i].function;
		named.file = places[i].file;
		named.line = places[i].line;
		add_frame(l, &named, root);
	}
	if (!n && l->nframes < FRAMES_MAX)
		add_frame(l, raw, root);
}

void frames_fill(struct leak *l, const struct raw_stack *s,
		 const struct source_root *root, struct symbols *symbols)
{
	for (size_t i = 0; i < s->n; i++)
		add_frames(l, &s->frames[i], root, symbols);
}

char *frames_place(const struct raw_stack *s, const struct source_root *root,
		   struct symbols *symbols)
{
	struct leak l = {0};
	const struct frame *f;
	struct buf b = {0};

	frames_fill(&l, s, root, symbols);
	f = leak_top_frame(&l);
	if (f && f->function)
		buf_adds(&b, f->function);
	if (f && f->file) {
		buf_addf(&b, "%s(%s", b.len ? " " : "", f->file);
		if (f->line)
			buf_addf(&b, ":%u", f->line);
		buf_addc(&b, ')');
	}
	leak_release(&l);
	return buf_detach(&b);
}
