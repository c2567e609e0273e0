#include "fault/plan.h"

#include "base/mem.h"
#include "fault/calls.h"
#include "model/sandbox.h" /* path_is_below() */

#include <ctype.h>
#include <errno.h>
#include <fnmatch.h>
#include <string.h>

static bool is_inside(const struct fault_record *r, const struct fault_point *p,
		      const char *project)
{
	for (uint32_t i = 0; i < p->nframes; i++) {
		const char *module = fault_record_module(r, &p->frames[i]);

		if (module && path_is_below(module, project))
			return true;
	}
	return false;
}

static bool is_chosen(const struct fault_point *p, const struct fault_choice *c)
{
	return (!c->key || c->key == p->key) && p->count >= c->least &&
	       (!c->call || fault_call_is(&fault_calls[p->call], c->call)) &&
	       (!c->path || !fnmatch(c->path, p->argument, 0));
}

static int by_worth(const void *a, const void *b)
{
	const struct fault_point *x = *(const struct fault_point *const *)a;
	const struct fault_point *y = *(const struct fault_point *const *)b;
	bool wx = x->flags & FAULT_WRITTEN, wy = y->flags & FAULT_WRITTEN;

	if (wx != wy)
		return wy - wx;
	if (x->count != y->count)
		return x->count < y->count ? -1 : 1;
	return (x->key > y->key) - (x->key < y->key);
}

void fault_plan_make(const struct fault_record *r, const struct fault_choice *c,
		     struct fault_plan *ret)
{
	bool any = false;

	*ret = (struct fault_plan){.points = xcalloc(r->npoints + 1, sizeof(void *))};
	for (size_t i = 0; i < r->npoints && !any; i++)
		any = is_inside(r, &r->points[i], c->project);
	for (size_t i = 0; i < r->npoints; i++) {
		const struct fault_point *p = &r->points[i];

		if (!is_chosen(p, c))
			continue;
		if ((any || c->inside) && !c->key && !is_inside(r, p, c->project))
			ret->outside++;
		else
			ret->points[ret->n++] = p;
	}
	if (ret->n)
		qsort(ret->points, ret->n, sizeof(*ret->points), by_worth);
	if (c->most && ret->n > c->most) {
		ret->left = ret->n - c->most;
		ret->n = c->most;
	}
}

void fault_plan_release(struct fault_plan *p)
{
	free(p->points);
	*p = (struct fault_plan){0};
}

bool fault_key_parse(const char *text, uint64_t *ret)
{
	char *end;

	if (strlen(text) != 16 || !isxdigit((unsigned char)*text))
		return false;
	errno = 0;
	*ret = strtoull(text, &end, 16);
	return !*end && !errno && *ret;
}
