#include "detect/heap_report.h"

#include "base/mem.h"

#include <string.h>

static void *copy(const char **at, size_t n, size_t size)
{
	void *v = xcalloc(n + 1, size);

	memcpy(v, *at, n * size);
	*at += n * size;
	return v;
}

static const char *check_header(const struct heap_header *h)
{
	if (h->magic != HEAP_MAGIC)
		return "it is no record of the heap library";
	if (h->state != HEAP_RUNNING && h->state != HEAP_ENDED && h->state != HEAP_EXEC)
		return "its state is not known";
	if (h->nmodules > HEAP_MODULES || h->nstacks > HEAP_STACKS ||
	    h->nframes > h->nstacks * HEAP_FRAMES)
		return "its counts are out of range";
	return NULL;
}

static size_t size_of(const struct heap_header *h)
{
	return sizeof(*h) + h->nmodules * sizeof(struct heap_module) +
	       h->nstacks * sizeof(struct heap_stack) +
	       h->nframes * sizeof(struct heap_frame) + sizeof(uint32_t);
}

static const char *check_body(struct heap_report *r)
{
	const struct heap_header *h = &r->header;

	for (uint32_t i = 0; i < h->nmodules; i++)
		r->modules[i].path[HEAP_PATH - 1] = '\0';
	for (uint32_t i = 0; i < h->nstacks; i++)
		if (r->stacks[i].nframes > HEAP_FRAMES ||
		    r->stacks[i].first_frame > h->nframes ||
		    r->stacks[i].nframes > h->nframes - r->stacks[i].first_frame)
			return "a stack lies outside of it";
	for (uint32_t i = 0; i < h->nframes; i++)
		if (r->frames[i].module >= h->nmodules &&
		    r->frames[i].module != UINT32_MAX)
			return "a frame is in no module";
	return NULL;
}

const char *heap_report_parse(const void *data, size_t len, struct heap_report *ret)
{
	const char *at = data, *wrong;
	struct heap_report r = {0};
	uint32_t end;

	if (len < sizeof(r.header))
		return "it is cut short";
	memcpy(&r.header, at, sizeof(r.header));
	at += sizeof(r.header);
	r.header.exe[sizeof(r.header.exe) - 1] = '\0';
	wrong = check_header(&r.header);
	if (wrong)
		return wrong;
	if (r.header.state != HEAP_ENDED) {
		r.header.nmodules = r.header.nstacks = r.header.nframes = 0;
		*ret = r;
		return NULL;
	}
	if (len != size_of(&r.header))
		return "its length is not what it says";
	memcpy(&end, (const char *)data + len - sizeof(end), sizeof(end));
	if (end != HEAP_END)
		return "it has no end mark";
	r.modules = copy(&at, r.header.nmodules, sizeof(*r.modules));
	r.stacks = copy(&at, r.header.nstacks, sizeof(*r.stacks));
	r.frames = copy(&at, r.header.nframes, sizeof(*r.frames));
	wrong = check_body(&r);
	if (wrong)
		heap_report_release(&r);
	else
		*ret = r;
	return wrong;
}

const char *heap_report_module(const struct heap_report *r, const struct heap_frame *f)
{
	return f->module < r->header.nmodules ? r->modules[f->module].path : NULL;
}

void heap_report_release(struct heap_report *r)
{
	free(r->modules);
	free(r->stacks);
	free(r->frames);
	*r = (struct heap_report){0};
}
