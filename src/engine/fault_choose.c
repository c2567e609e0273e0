/* Which points are tried, and in which order: what only their call chains can tell. */
#include "engine/fault_explore.h"

#include "base/mem.h"
#include "detect/frames.h"
#include "fault/calls.h"

#include <string.h>

static struct symbols *symbols_of(struct explore *x)
{
	bool sandboxed = x->opts->isolation == ISOLATION_SANDBOX;

	if (!x->symbols)
		x->symbols =
			symbols_new(x->session.cwd, sandboxed ? &x->session.views : NULL);
	return x->symbols;
}

void fault_fill_chain(struct explore *x, const struct fault_point *p, struct leak *chain)
{
	const struct source_root root = {x->session.project, x->session.checkout};
	struct raw_stack stack = {0};

	for (uint32_t i = 0; i < p->nframes; i++) {
		const char *module = fault_record_module(&x->record, &p->frames[i]);
		struct raw_frame *f = raw_stack_add(&stack);

		if (!f)
			break;
		f->module = xstrdup(module);
		f->offset = module ? p->frames[i].offset : 0;
	}
	frames_fill(chain, &stack, &root, symbols_of(x));
	raw_stack_release(&stack);
}

/* Moves what is nearest to the changed code to the front, the order else as it was. */
static void order_plan(struct fault_plan *p, const unsigned *distance)
{
	CLEANUP_FREE const struct fault_point **was = xcalloc(p->n + 1, sizeof(*was));
	size_t n = 0;

	memcpy(was, p->points, p->n * sizeof(*was));
	for (unsigned d = 0; d <= FAULT_FAR; d++)
		for (size_t i = 0; i < p->n; i++)
			if (distance[i] == d)
				p->points[n++] = was[i];
}

static bool is_called_by(const struct leak *chain, const char *caller)
{
	for (size_t i = 0; caller && i < chain->nframes; i++)
		if (chain->frames[i].function &&
		    !strcmp(chain->frames[i].function, caller))
			return true;
	return !caller;
}

/* Takes out what `only` leaves out; changed code comes first. */
static void choose_by_chain(struct explore *x)
{
	struct fault_plan *p = &x->plan;
	CLEANUP_FREE unsigned *distance = xcalloc(p->n + 1, sizeof(*distance));
	size_t kept = 0;

	for (size_t i = 0; i < p->n; i++) {
		const struct fault_point *point = p->points[i];
		struct leak chain = {0};

		fault_fill_chain(x, point, &chain);
		if (is_called_by(&chain, x->opts->caller) &&
		    !fault_left_out(x->opts, fault_calls[point->call].name, &chain)) {
			distance[kept] = fault_distance(x->opts, &chain);
			x->report->near += distance[kept] < FAULT_FAR;
			p->points[kept++] = point;
		}
		leak_release(&chain);
	}
	p->n = kept;
	if (x->opts->changed)
		order_plan(p, distance);
}

static void cut_plan(struct explore *x)
{
	struct fault_plan *p = &x->plan;

	if (x->opts->only || x->opts->changed || x->opts->caller)
		choose_by_chain(x);
	if (x->opts->points && p->n > x->opts->points) {
		p->left = p->n - x->opts->points;
		p->n = x->opts->points;
	}
}

void fault_choose(struct explore *x)
{
	const struct fault_choice choice = {
		.project = x->session.project,
		.call = x->opts->call,
		.path = x->opts->path,
		.key = x->opts->key,
		.least = x->opts->nth,
		.inside = x->opts->inside,
	};

	fault_plan_make(&x->record, &choice, &x->plan);
	cut_plan(x);
	x->trials = xcalloc(x->plan.n + 1, sizeof(*x->trials));
	x->report->points = x->record.npoints;
	x->report->calls = x->record.calls;
	x->report->outside = x->plan.outside;
	x->report->chosen = x->plan.n + x->plan.left;
}
