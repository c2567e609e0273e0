#include "model/scan.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

static const struct {
	char letter;
	const char *name;
} shapes[] = {
#define SHAPE(id, letter, name) {letter, name},
#include "model/scan_shape.def"
#undef SHAPE
};

char scan_shape_letter(enum scan_shape s)
{
	return shapes[s].letter;
}

const char *scan_shape_name(enum scan_shape s)
{
	return shapes[s].name;
}

const char *scan_severity_name(enum scan_severity s)
{
	static const char *const names[] = {"note", "warning", "error"};

	return names[s];
}

struct scan_step *scan_step_add(struct scan_finding *f, unsigned line, char *text)
{
	struct scan_step *s = VEC_ADD(f->steps, f->nsteps, f->steps_cap);

	s->line = line;
	s->text = text;
	return s;
}

void scan_finding_release(struct scan_finding *f)
{
	for (size_t i = 0; i < f->nsteps; i++)
		free(f->steps[i].text);
	free(f->steps);
	free(f->path);
	free(f->function);
	free(f->message);
	free(f->excerpt);
	*f = (struct scan_finding){0};
}

struct scan_finding *scan_findings_add(struct scan_findings *f)
{
	return VEC_ADD(f->v, f->n, f->cap);
}

static int by_place(const void *a, const void *b)
{
	const struct scan_finding *x = a, *y = b;
	int rc = strcmp(x->path, y->path);

	if (!rc)
		rc = (x->line > y->line) - (x->line < y->line);
	if (!rc)
		rc = (x->column > y->column) - (x->column < y->column);
	return rc ? rc : strcmp(x->rule, y->rule);
}

void scan_findings_sort(struct scan_findings *f)
{
	size_t n = 0;

	if (f->n)
		qsort(f->v, f->n, sizeof(*f->v), by_place);
	for (size_t i = 0; i < f->n; i++) {
		if (n && !by_place(&f->v[n - 1], &f->v[i]))
			scan_finding_release(&f->v[i]);
		else
			f->v[n++] = f->v[i];
	}
	f->n = n;
}

void scan_findings_release(struct scan_findings *f)
{
	for (size_t i = 0; i < f->n; i++)
		scan_finding_release(&f->v[i]);
	free(f->v);
	*f = (struct scan_findings){0};
}
