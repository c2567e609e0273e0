#include "model/observation.h"

#include "base/buf.h"
#include "base/fs.h"
#include "base/mem.h"

#include <string.h>

static const char *const state_names[] = {
	[PROBE_COMPLETE] = "complete", [PROBE_NOT_FITTING] = "not_fitting",
	[PROBE_SILENT] = "silent",     [PROBE_FORCED_EXIT] = "forced_exit",
	[PROBE_UNPARSED] = "unparsed", [PROBE_INTERRUPTED] = "interrupted",
};

const char *probe_state_name(enum probe_state s)
{
	return state_names[s];
}

struct leak *probe_leak(struct probe *p, enum resource r, uint64_t units, uint64_t bytes)
{
	struct leak *l = VEC_ADD(p->leaks, p->nleaks, p->leaks_cap);

	l->resource = r;
	l->units = xcalloc(1, sizeof(*l->units));
	l->bytes = xcalloc(1, sizeof(*l->bytes));
	l->units[0] = units;
	l->bytes[0] = bytes;
	return l;
}

struct frame *leak_frame(struct leak *l)
{
	l->frames = xrealloc(l->frames, l->nframes + 1, sizeof(*l->frames));
	l->frames[l->nframes] = (struct frame){0};
	return &l->frames[l->nframes++];
}

static bool frame_is_runtime(const struct frame *f)
{
	return function_is_runtime(f->function) || module_is_detector(f->module);
}

/* The frames that tell leaks apart: [*ret_from, *ret_to). All of them when the stack
 * never leaves the runtime. */
static void signature_frames(const struct leak *l, size_t *ret_from, size_t *ret_to)
{
	size_t from = 0, to = l->nframes;

	while (from < to && (frame_is_runtime(&l->frames[from]) ||
			     module_is_libc(l->frames[from].module)))
		from++;
	while (to > from && (frame_is_runtime(&l->frames[to - 1]) ||
			     module_is_libc(l->frames[to - 1].module)))
		to--;
	if (from == to) {
		from = 0;
		to = l->nframes;
	}
	*ret_from = from;
	*ret_to = to;
}

static void add_frames(const struct leak *l, struct buf *out)
{
	size_t from, to, n = 0;

	signature_frames(l, &from, &to);
	for (size_t i = from; i < to && n < SIGNATURE_FRAMES; i++) {
		const struct frame *f = &l->frames[i];
		CLEANUP_FREE char *module = NULL, *function = NULL;

		if (i > from && i + 1 < to && frame_is_runtime(f))
			continue;
		module = normalize_module(f->module);
		function = normalize_function(f->function);
		buf_addf(out, "%s%s!%s", n ? "<" : "", module, function);
		n++;
	}
}

char *frames_sign(const struct leak *l)
{
	struct buf out = {0};

	if (l->nframes)
		add_frames(l, &out);
	return out.len ? buf_detach(&out) : xstrdup("?");
}

void leak_sign(struct leak *l)
{
	CLEANUP(buf) struct buf out = {0};
	CLEANUP_FREE char *process =
		normalize_target(l->process ? path_base(l->process) : "?");

	buf_addf(&out, "%s|%s|", resource_name(l->resource), process);
	if (l->nframes) {
		add_frames(l, &out);
	} else if (l->resource != RESOURCE_HEAP && l->what) {
		CLEANUP_FREE char *what = normalize_target(l->what);

		buf_adds(&out, what);
	} else {
		buf_addc(&out, '?');
	}
	free(l->signature);
	l->signature = buf_detach(&out);
}

static uint64_t add_units(uint64_t a, uint64_t b)
{
	uint64_t sum;

	return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

static struct leak *find_leak(struct leak *leaks, size_t n, const char *signature)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(leaks[i].signature, signature))
			return &leaks[i];
	return NULL;
}

void probe_merge(struct probe *p)
{
	size_t n = 0;

	for (size_t i = 0; i < p->nleaks; i++) {
		struct leak *l = &p->leaks[i], *first;

		if (!l->signature)
			leak_sign(l);
		first = find_leak(p->leaks, n, l->signature);
		if (first) {
			first->released |= l->released;
			first->units[0] = add_units(first->units[0], l->units[0]);
			first->bytes[0] = add_units(first->bytes[0], l->bytes[0]);
			leak_release(l);
		} else {
			if (n != i) {
				p->leaks[n] = *l;
				*l = (struct leak){0};
			}
			n++;
		}
	}
	p->nleaks = n;
}

static void copy_place(struct leak *dst, const struct leak *src)
{
	dst->resource = src->resource;
	dst->growth = src->growth;
	dst->released = src->released;
	dst->signature = xstrdup(src->signature);
	dst->what = xstrdup(src->what);
	dst->process = xstrdup(src->process);
	for (size_t i = 0; i < src->nframes; i++) {
		struct frame *f = leak_frame(dst);

		*f = src->frames[i];
		f->function = xstrdup(f->function);
		f->module = xstrdup(f->module);
		f->file = xstrdup(f->file);
	}
}

void leak_copy(struct leak *dst, const struct leak *src, size_t ncycles)
{
	*dst = (struct leak){0};
	copy_place(dst, src);
	dst->units = xcalloc(ncycles, sizeof(*dst->units));
	dst->bytes = xcalloc(ncycles, sizeof(*dst->bytes));
	for (size_t i = 0; i < ncycles; i++) {
		dst->units[i] = src->units ? src->units[i] : 0;
		dst->bytes[i] = src->bytes ? src->bytes[i] : 0;
	}
}

/* The leak of o with src's signature; new ones were not held in the cycles before. */
static struct leak *observed_leak(struct observation *o, const struct leak *src)
{
	struct leak *l = find_leak(o->leaks, o->nleaks, src->signature);

	if (!l) {
		l = VEC_ADD(o->leaks, o->nleaks, o->leaks_cap);
		copy_place(l, src);
		l->units = xcalloc(o->nmeasured, sizeof(*l->units));
		l->bytes = xcalloc(o->nmeasured, sizeof(*l->bytes));
	}
	return l;
}

static void add_measured(struct observation *o, const struct probe *p)
{
	size_t at = o->nmeasured++;

	for (size_t i = 0; i < o->nleaks; i++) {
		struct leak *l = &o->leaks[i];

		l->units = xrealloc(l->units, o->nmeasured, sizeof(*l->units));
		l->bytes = xrealloc(l->bytes, o->nmeasured, sizeof(*l->bytes));
		l->units[at] = l->bytes[at] = 0;
	}
	for (size_t i = 0; i < p->nleaks; i++) {
		struct leak src = p->leaks[i], *l;
		CLEANUP_FREE char *signature = NULL;

		if (!src.signature) {
			leak_sign(&src);
			signature = src.signature;
		}
		l = observed_leak(o, &src);
		l->released |= src.released;
		l->units[at] = add_units(l->units[at], src.units ? src.units[0] : 0);
		l->bytes[at] = add_units(l->bytes[at], src.bytes ? src.bytes[0] : 0);
	}
}

void observation_add(struct observation *o, const struct run_result *run,
		     const struct probe *p, bool measured)
{
	struct cycle *c = VEC_ADD(o->cycles, o->ncycles, o->cycles_cap);

	c->run = *run;
	c->state = p->state;
	c->detail = xstrdup(p->detail);
	c->failed = p->failed;
	c->passed = p->passed;
	c->failure = xstrdup(p->failure);
	c->measured = measured;
	for (size_t i = 0; i < p->notes.n; i++)
		if (!strv_contains(&o->notes, p->notes.v[i]))
			strv_add(&o->notes, p->notes.v[i]);
	if (measured)
		add_measured(o, p);
}

const struct frame *leak_top_frame(const struct leak *l)
{
	const struct frame *named = NULL, *acquired = NULL;

	for (size_t i = 0; i < l->nframes; i++) {
		const struct frame *f = &l->frames[i];

		if (f->project && !frame_is_runtime(f))
			return f;
		if (!f->function)
			continue;
		if (!named)
			named = f;
		if (!acquired && !frame_is_runtime(f) && !module_is_libc(f->module))
			acquired = f;
	}
	return acquired ? acquired : named;
}

bool leak_lasting(const struct leak *l)
{
	return l->growth || resource_lasting(l->resource);
}

void leak_release(struct leak *l)
{
	for (size_t i = 0; i < l->nframes; i++) {
		free(l->frames[i].function);
		free(l->frames[i].module);
		free(l->frames[i].file);
	}
	free(l->signature);
	free(l->what);
	free(l->process);
	free(l->frames);
	free(l->units);
	free(l->bytes);
	*l = (struct leak){0};
}

static void release_leaks(struct leak *leaks, size_t n)
{
	for (size_t i = 0; i < n; i++)
		leak_release(&leaks[i]);
	free(leaks);
}

void probe_release(struct probe *p)
{
	release_leaks(p->leaks, p->nleaks);
	free(p->detail);
	free(p->failure);
	strv_release(&p->notes);
	strv_release(&p->files);
	*p = (struct probe){0};
}

void observation_release(struct observation *o)
{
	for (size_t i = 0; i < o->ncycles; i++) {
		free(o->cycles[i].detail);
		free(o->cycles[i].failure);
	}
	free(o->cycles);
	release_leaks(o->leaks, o->nleaks);
	free(o->detector);
	free(o->version);
	strv_release(&o->notes);
	*o = (struct observation){0};
}
