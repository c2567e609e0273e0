/*
 * Probes of branches in C:
 *
 *	if (a && b)	if (ep_b_(0,!!(a)) && ep_b_(2,!!(b)))
 *	switch (x)	switch (({ … v = (x) + 0; ep_chosen_ = 1; v; }))
 *	case 1:		case 1: ep_case_(4);
 *
 * A label cannot tell whether it was chosen or fallen into: the switch says so before it
 * jumps, and the first label takes that back. A switch without default gets one, behind
 * a break, for the value that no case takes.
 */
#include "instrument/branches.h"
#include "instrument/edit.h"

#include "base/mem.h"

static void wrap(struct edits *e, const struct source_tree *t, uint32_t n,
		 const char *before, const char *after)
{
	edits_wrap(e, t->nodes[n].start, t->nodes[n].end, before, after);
}

/* The byte behind the colon of a label; nothing follows: *ret_empty. */
static uint32_t behind_label(const struct source_tree *t, uint32_t label, bool *ret_empty)
{
	uint32_t c, at = t->nodes[label].end;
	bool colon = false;

	*ret_empty = true;
	for (SOURCE_CHILDREN(t, label, c)) {
		if (colon && source_named(t, c) && !(t->nodes[c].flags & SOURCE_EXTRA))
			*ret_empty = false;
		if (!colon && source_text_is(t, c, ":")) {
			colon = true;
			at = t->nodes[c].end;
		}
	}
	return at;
}

static bool is_last(const struct source_tree *t, uint32_t label)
{
	for (uint32_t n = source_next(t, label); n != SOURCE_NONE; n = source_next(t, n))
		if (source_named(t, n) && !(t->nodes[n].flags & SOURCE_EXTRA))
			return false;
	return true;
}

static void labels(struct edits *e, const struct source_tree *t,
		   const struct branches *all, const struct branch *b, uint32_t body)
{
	for (uint32_t i = 0; i < b->nlabels; i++) {
		uint32_t label = all->labels[b->label + i];
		bool empty;
		uint32_t at;
		CLEANUP_FREE char *text = NULL;

		at = behind_label(t, label, &empty);
		/* Compilers warn about falling through a label with a statement. */
		text = xasprintf(" ep_case_(%u);%s", b->first + i,
				 empty && !is_last(t, label)
					 ? " __attribute__((fallthrough));"
					 : "");
		edits_insert(e, at, text);
	}
	if (b->n > b->nlabels) {
		CLEANUP_FREE char *text = xasprintf("break; default: ep_case_(%u); ",
						    b->first + b->nlabels);

		edits_insert(e, t->nodes[body].end - 1, text);
	}
}

static void choice(struct edits *e, const struct source_tree *t,
		   const struct branches *all, const struct branch *b)
{
	uint32_t body = source_child(t, b->node, source_field(t->lang, "body"));
	uint32_t value = source_child(t, b->node, source_field(t->lang, "condition"));
	CLEANUP_FREE char *before = NULL, *after = NULL;

	before = xasprintf("(__extension__({ __auto_type ep_%u_ = ", b->first);
	after = xasprintf(" + 0; ep_chosen_ = 1; ep_%u_; }))", b->first);
	wrap(e, t, value, before, after);
	labels(e, t, all, b, body);
}

void branches_c_rewrite(const struct source_tree *t, const struct branches *b,
			struct buf *out)
{
	CLEANUP(edits) struct edits e = {0};

	for (size_t i = 0; i < b->n; i++) {
		CLEANUP_FREE char *before = NULL;

		if (b->v[i].kind == BRANCH_SWITCH) {
			choice(&e, t, b, &b->v[i]);
			continue;
		}
		before = xasprintf("ep_b_(%u,!!(", b->v[i].first);
		wrap(&e, t, b->v[i].node, before, "))");
	}
	edits_apply(&e, t->text, t->len, out);
}
