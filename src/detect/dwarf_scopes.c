/*
 * Two indexes, each made at its first use: the address ranges of compilation units
 * (.debug_aranges is optional, and clang writes none), and for a unit those of its
 * functions, wherever they are nested. Only the inlined calls within the one function
 * are looked for at each lookup.
 */
#include "detect/dwarf_scopes.h"

#include "base/mem.h"

#include <dwarf.h>
#include <stdlib.h>

enum { DEPTH_MAX = 64 };

struct range {
	uint64_t start, end;
	Dwarf_Off die;
};

struct ranges {
	struct range *v; /* by start */
	size_t n, cap;
};

struct unit {
	Dwarf_Off die;
	struct ranges functions;
};

struct dwarf_scopes {
	Dwarf *dwarf;
	struct ranges units;
	struct unit *indexed; /* those looked into so far */
	size_t n, cap;
};

static int by_start(const void *a, const void *b)
{
	const struct range *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	/* The innermost of nested ones comes last. */
	return (x->end < y->end) - (x->end > y->end);
}

static void ranges_sort(struct ranges *r)
{
	if (r->n)
		qsort(r->v, r->n, sizeof(*r->v), by_start);
}

static void ranges_add_die(struct ranges *r, Dwarf_Die *die, struct effort *effort)
{
	Dwarf_Addr base, start, end;
	ptrdiff_t at = 0;

	while (effort_step(effort) &&
	       (at = dwarf_ranges(die, at, &base, &start, &end)) > 0)
		/* What the linker dropped starts at 0. */
		if (start && start < end)
			*VEC_ADD(r->v, r->n, r->cap) =
				(struct range){start, end, dwarf_dieoffset(die)};
}

/* The innermost range that holds address: nested ones start later. */
static const struct range *ranges_find(const struct ranges *r, uint64_t address)
{
	size_t from = 0, to = r->n;

	while (from < to) {
		size_t mid = from + (to - from) / 2;

		if (r->v[mid].start <= address)
			from = mid + 1;
		else
			to = mid;
	}
	for (size_t i = 0; i < DEPTH_MAX && i < from; i++)
		if (address < r->v[from - 1 - i].end)
			return &r->v[from - 1 - i];
	return NULL;
}

struct dwarf_scopes *dwarf_scopes_new(Dwarf *dwarf, struct effort *effort)
{
	struct dwarf_scopes *d = xcalloc(1, sizeof(*d));
	Dwarf_Off at = 0, next;
	size_t header;

	d->dwarf = dwarf;
	while (effort_step(effort) &&
	       dwarf_nextcu(dwarf, at, &next, &header, NULL, NULL, NULL) == 0) {
		Dwarf_Die unit;

		if (dwarf_offdie(dwarf, at + header, &unit) &&
		    dwarf_tag(&unit) == DW_TAG_compile_unit)
			ranges_add_die(&d->units, &unit, effort);
		if (next <= at)
			break;
		at = next;
	}
	ranges_sort(&d->units);
	return d;
}

void dwarf_scopes_free(struct dwarf_scopes *d)
{
	if (!d)
		return;
	for (size_t i = 0; i < d->n; i++)
		free(d->indexed[i].functions.v);
	free(d->indexed);
	free(d->units.v);
	free(d);
}

static bool may_hold_functions(int tag)
{
	switch (tag) {
	case DW_TAG_namespace:
	case DW_TAG_module:
	case DW_TAG_class_type:
	case DW_TAG_structure_type:
	case DW_TAG_union_type:
	case DW_TAG_subprogram:
	case DW_TAG_lexical_block:
		return true;
	default:
		return false;
	}
}

static void index_functions(struct ranges *r, Dwarf_Die *parent, unsigned depth,
			    struct effort *effort)
{
	Dwarf_Die die;
	int rc = dwarf_child(parent, &die);

	while (rc == 0 && effort_step(effort)) {
		int tag = dwarf_tag(&die);

		if (tag == DW_TAG_subprogram)
			ranges_add_die(r, &die, effort);
		if (may_hold_functions(tag) && depth < DEPTH_MAX)
			index_functions(r, &die, depth + 1, effort);
		rc = dwarf_siblingof(&die, &die);
	}
}

static const struct unit *unit_find(struct dwarf_scopes *d, uint64_t address,
				    Dwarf_Die *ret_die, struct effort *effort)
{
	const struct range *r = ranges_find(&d->units, address);
	struct unit *u;

	if (!r || !dwarf_offdie(d->dwarf, r->die, ret_die))
		return NULL;
	for (size_t i = 0; i < d->n; i++)
		if (d->indexed[i].die == r->die)
			return &d->indexed[i];
	u = VEC_ADD(d->indexed, d->n, d->cap);
	u->die = r->die;
	index_functions(&u->functions, ret_die, 0, effort);
	ranges_sort(&u->functions);
	return u;
}

/* --- one address ------------------------------------------------------------------ */

struct chain {
	Dwarf_Die die[DWARF_SCOPES_MAX]; /* outermost first */
	size_t n;
};

static bool covers(Dwarf_Die *die, uint64_t address, bool *ret_ranged,
		   struct effort *effort)
{
	Dwarf_Addr base, start, end;
	ptrdiff_t at = 0;

	*ret_ranged = false;
	while (effort_step(effort) &&
	       (at = dwarf_ranges(die, at, &base, &start, &end)) > 0) {
		*ret_ranged = true;
		if (address >= start && address < end)
			return true;
	}
	return false;
}

static bool add_inlined(struct chain *c, Dwarf_Die *parent, uint64_t address,
			unsigned depth, struct effort *effort)
{
	Dwarf_Die die;
	int rc = depth < DEPTH_MAX ? dwarf_child(parent, &die) : 1;

	for (; rc == 0 && effort_step(effort); rc = dwarf_siblingof(&die, &die)) {
		int tag = dwarf_tag(&die);
		bool inlined = tag == DW_TAG_inlined_subroutine, ranged, here;

		if (!inlined && tag != DW_TAG_lexical_block && tag != DW_TAG_try_block &&
		    tag != DW_TAG_catch_block)
			continue;
		here = covers(&die, address, &ranged, effort);
		if (inlined && here && c->n < DWARF_SCOPES_MAX) {
			c->die[c->n++] = die;
			add_inlined(c, &die, address, depth + 1, effort);
			return true;
		}
		/* A block without addresses of its own may hold calls all the same. */
		if (!inlined && (here || !ranged) &&
		    add_inlined(c, &die, address, depth + 1, effort))
			return true;
	}
	return false;
}

static const char *name_of(Dwarf_Die *die)
{
	static const unsigned names[] = {DW_AT_linkage_name, DW_AT_MIPS_linkage_name,
					 DW_AT_name};
	Dwarf_Attribute attribute;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const char *name =
			dwarf_formstring(dwarf_attr_integrate(die, names[i], &attribute));

		if (name && *name)
			return name;
	}
	return NULL;
}

static unsigned number_of(Dwarf_Die *die, unsigned name)
{
	Dwarf_Attribute attribute;
	Dwarf_Word value;

	if (dwarf_formudata(dwarf_attr(die, name, &attribute), &value) != 0)
		return 0;
	return value > UINT32_MAX ? 0 : (unsigned)value;
}

static void call_place(Dwarf_Die *unit, Dwarf_Die *inlined, struct dwarf_scope *ret)
{
	Dwarf_Attribute attribute;
	Dwarf_Files *files;
	size_t n;

	ret->line = number_of(inlined, DW_AT_call_line);
	if (dwarf_attr(inlined, DW_AT_call_file, &attribute) &&
	    dwarf_getsrcfiles(unit, &files, &n) == 0)
		ret->file = dwarf_filesrc(files, number_of(inlined, DW_AT_call_file),
					  NULL, NULL);
}

static void line_place(Dwarf_Die *unit, uint64_t address, struct dwarf_scope *ret)
{
	Dwarf_Line *line = dwarf_getsrc_die(unit, address);
	int number;

	if (!line)
		return;
	ret->file = dwarf_linesrc(line, NULL, NULL);
	if (dwarf_lineno(line, &number) == 0 && number > 0)
		ret->line = (unsigned)number;
}

size_t dwarf_scopes_find(struct dwarf_scopes *d, uint64_t address, struct effort *effort,
			 struct dwarf_scope ret[DWARF_SCOPES_MAX])
{
	struct chain c = {0};
	Dwarf_Die unit;
	const struct unit *u = unit_find(d, address, &unit, effort);
	const struct range *function = u ? ranges_find(&u->functions, address) : NULL;

	if (!u)
		return 0;
	ret[0] = (struct dwarf_scope){0};
	line_place(&unit, address, &ret[0]);
	if (!function || !dwarf_offdie(d->dwarf, function->die, &c.die[0]))
		return ret[0].file != NULL;
	c.n = 1;
	add_inlined(&c, &c.die[0], address, 0, effort);
	for (size_t i = 0; i < c.n; i++) {
		Dwarf_Die *die = &c.die[c.n - 1 - i];

		ret[i].name = name_of(die);
		if (i + 1 == c.n)
			break;
		ret[i + 1] = (struct dwarf_scope){0};
		call_place(&unit, die, &ret[i + 1]);
	}
	return c.n;
}
