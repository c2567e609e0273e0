/* `exitpath fault`, whatever the layer of injection. */
#include "engine/fault.h"

#include "base/clock.h"
#include "base/mem.h"
#include "engine/fault_python.h"
#include "engine/fault_run.h"
#include "fault/calls.h"
#include "fault/plan.h"
#include "rev/changes.h"

#include <string.h>

bool engine_fault_class(const char *name, enum fault_class *ret)
{
	return fault_class_parse(name, ret);
}

const char *engine_fault_class_name(enum fault_class c)
{
	return fault_class_name(c);
}

bool engine_fault_key(const char *text, uint64_t *ret)
{
	return fault_key_parse(text, ret);
}

static bool is_place_of(const struct fault_finding *list, size_t n, const char *place)
{
	for (size_t i = 0; i < n; i++) {
		const char *own = strchr(list[i].signature, '|');

		if (own && !strcmp(own + 1, place))
			return true;
	}
	return false;
}

static unsigned frame_distance(const struct rev_ranges *changed, const struct frame *f)
{
	unsigned d = FAULT_FAR;

	for (size_t i = 0; f->file && i < changed->n; i++) {
		const struct rev_range *r = &changed->v[i];

		if (strcmp(r->path, f->file) != 0)
			continue;
		if (f->line && f->line >= r->first && f->line <= r->last)
			return 0;
		d = 1;
	}
	return d;
}

unsigned fault_distance(const struct fault_opts *opts, const struct leak *chain)
{
	unsigned least = FAULT_FAR;

	for (size_t i = 0; opts->changed && i < chain->nframes; i++) {
		unsigned d = frame_distance(opts->changed, &chain->frames[i]);

		least = d < least ? d : least;
	}
	return least;
}

bool fault_left_out(const struct fault_opts *opts, const char *call,
		    const struct leak *chain)
{
	CLEANUP_FREE char *place = NULL;

	if (!opts->only)
		return false;
	place = fault_place_sign(call, chain);
	return !is_place_of(opts->only->findings, opts->only->nfindings, place) &&
	       !is_place_of(opts->only->unsettled, opts->only->nunsettled, place);
}

const struct fault_layer *const fault_layers[] = {&fault_layer_libc, &fault_layer_python,
						  NULL};

const struct fault_layer *fault_layer_find(const char *name)
{
	for (size_t i = 0; fault_layers[i]; i++)
		if (!strcmp(fault_layers[i]->name, name))
			return fault_layers[i];
	return NULL;
}

const struct fault_layer *fault_layer_for(char *const *argv, const char *dir)
{
	for (size_t i = 0; fault_layers[i]; i++)
		if (fault_layers[i]->fits && fault_layers[i]->fits(argv, dir))
			return fault_layers[i];
	return fault_layers[0];
}

/* Where the command runs, on the machine. */
static char *dir_of(const struct fault_opts *opts)
{
	const struct fault_place *p = opts->place;

	if (!p)
		return xstrdup(opts->dir);
	if (!path_is_below(p->cwd, p->seen))
		return xstrdup(p->checkout);
	return xasprintf("%s%s", p->checkout, p->cwd + strlen(p->seen));
}

int engine_fault(const struct fault_opts *opts, char *const *argv,
		 struct fault_report *ret, struct err *err)
{
	CLEANUP_FREE char *dir = dir_of(opts);
	const struct fault_layer *layer =
		opts->layer ? opts->layer : fault_layer_for(argv, dir);
	CLEANUP(fault_report) struct fault_report report = {0};
	uint64_t start = clock_us();

	if (layer->explore(opts, argv, &report, err) < 0)
		return -1;
	report.wall_us = clock_us() - start;
	for (size_t i = 0; i < report.nfindings; i++)
		fault_sign(&report.findings[i]);
	for (size_t i = 0; i < report.nunsettled; i++)
		fault_sign(&report.unsettled[i]);
	*ret = report;
	report = (struct fault_report){0};
	return 0;
}
