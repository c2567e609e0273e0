#include "scan/helpers.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

/* The list of parameters: the first node below the function, before its body, that has
 * this field. */
static uint32_t parameters_of(const struct scan_lang *l, const struct source_tree *t,
			      uint32_t function)
{
	uint8_t field = source_field(l->id, "parameters");
	uint32_t body = source_child(t, function, l->f_body);

	for (uint32_t n = function + 1; n < t->nodes[function].after && n != body; n++)
		if (t->nodes[n].field == field)
			return n;
	return SOURCE_NONE;
}

/* `const char *name`, `name: str = x`: the identifier that it is known by. */
static struct text parameter_name(const struct scan_lang *l, const struct source_tree *t,
				  uint32_t parameter)
{
	struct text ret = {"", 0};

	for (uint32_t n = parameter; n < t->nodes[parameter].after; n++) {
		if (!source_has(&l->identifiers, t->nodes[n].kind))
			continue;
		ret = effect_text(t, n);
		if (!l->part_is_own) /* the type comes after the name, but in C */
			break;
	}
	return ret;
}

static void add(const struct scan_lang *l, const struct source_tree *t, uint32_t function,
		struct helpers *ret)
{
	uint32_t name = l->name(t, function), list = parameters_of(l, t, function);
	uint32_t body = source_child(t, function, l->f_body), parameter;
	struct helper *h;

	if (name == SOURCE_NONE || list == SOURCE_NONE || body == SOURCE_NONE)
		return;
	h = VEC_ADD(ret->v, ret->n, ret->cap);
	h->name = text_last(effect_text(t, name));
	for (SOURCE_CHILDREN(t, list, parameter)) {
		struct resource r = {.node = SOURCE_NONE};

		if (!source_named(t, parameter) ||
		    t->nodes[parameter].flags & SOURCE_EXTRA)
			continue;
		r.name = parameter_name(l, t, parameter);
		/* The object of a method is no argument of its calls. */
		if (text_among(r.name, "self cls this") && !h->n)
			continue;
		if (h->n == HELPER_PARAMETERS)
			break;
		h->effects[h->n++] =
			r.name.len ? (uint8_t)effect_deferred(l, t, body, &r) : 0;
	}
}

static int by_name(const void *a, const void *b)
{
	const struct helper *x = a, *y = b;
	size_t n = x->name.len < y->name.len ? x->name.len : y->name.len;
	int rc = memcmp(x->name.at, y->name.at, n);

	return rc ? rc : (x->name.len > y->name.len) - (x->name.len < y->name.len);
}

void helpers_find(const struct scan_lang *lang, const struct source_tree *t,
		  struct helpers *ret)
{
	*ret = (struct helpers){0};
	for (uint32_t n = 0; n < t->n; n++)
		if (source_has(&lang->functions, t->nodes[n].kind))
			add(lang, t, n, ret);
	if (ret->n)
		qsort(ret->v, ret->n, sizeof(*ret->v), by_name);
}

int helpers_effect(const struct helpers *h, struct text name, unsigned i)
{
	const struct helper key = {.name = name}, *found;

	if (!h || !h->n || !name.len)
		return -1;
	found = bsearch(&key, h->v, h->n, sizeof(*h->v), by_name);
	if (!found || (found > h->v && text_same(found[-1].name, name)) ||
	    (found + 1 < h->v + h->n && text_same(found[1].name, name)) || i >= found->n)
		return -1;
	return found->effects[i];
}

void helpers_release(struct helpers *h)
{
	free(h->v);
	*h = (struct helpers){0};
}
