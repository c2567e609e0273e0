/*
 * From tree-sitter's tree to the flat one.
 *
 * A cursor of the public interface does this too (tests/unit/test_source_flatten.c holds
 * that both give the same), but takes 60 to 75 ns a node, a fifth of the parsing: every
 * question is a call, and each call looks up the grammar's tables again. So this file,
 * alone, knows how the pinned core keeps its trees. What it knows:
 *
 * - A subtree is a leaf within the pointer, or a block behind its array of children.
 *   Positions are relative: the padding (white space) of a child, then its size; the
 *   padding of a first child is that of its parent.
 * - Hidden subtrees ("_expression", the parts of a repetition) are no nodes: their
 *   children belong to the nearest visible one above.
 * - A production says, by the number of the child without counting extras, which field
 *   it is in and whether it goes by another name (an alias; that makes it visible).
 *   Hidden children hand their field down.
 */
#include "source/internal.h"

#include "base/mem.h"

#include <tree_sitter_core/language.h>
#include <tree_sitter_core/subtree.h>
#include <tree_sitter_core/tree.h>

/* A subtree whose children are being visited. */
struct frame {
	const Subtree *next, *end;
	const TSSymbol *aliases; /* by structural number; NULL: none */
	const TSFieldMapEntry *fields, *fields_end;
	uint32_t structural; /* number of the next child that is no extra */
	uint32_t byte, row;  /* where it would begin without padding */
	uint32_t node;	     /* the visible one above, in the flat tree */
	uint8_t field;	     /* of the hidden subtree itself: handed down */
	bool first, hidden;
};

struct flattening {
	const TSLanguage *language;
	struct source_tree *tree;
	struct frame *frames;
	size_t depth, max_depth;
};

static uint8_t field_of(const struct frame *f, bool extra)
{
	if (extra)
		return SOURCE_NO_FIELD;
	for (const TSFieldMapEntry *e = f->fields; e < f->fields_end; e++)
		if (!e->inherited && e->child_index == f->structural)
			return (uint8_t)e->field_id;
	return f->field;
}

static uint8_t flags_of(Subtree s, bool named)
{
	uint8_t flags = named ? SOURCE_NAMED : 0;

	if (ts_subtree_symbol(s) == ts_builtin_sym_error)
		flags |= SOURCE_ERROR;
	if (ts_subtree_missing(s))
		flags |= SOURCE_MISSING;
	if (ts_subtree_error_cost(s) > 0)
		flags |= SOURCE_BROKEN;
	if (ts_subtree_extra(s))
		flags |= SOURCE_EXTRA;
	return flags;
}

static uint32_t add_node(struct flattening *w, Subtree s, TSSymbol alias, uint32_t parent,
			 uint32_t start, uint32_t row, uint8_t field)
{
	struct source_tree *t = w->tree;
	TSSymbol symbol = alias ? alias : ts_subtree_symbol(s);
	bool named =
		alias ? w->language->symbol_metadata[alias].named : ts_subtree_named(s);
	bool error = symbol == ts_builtin_sym_error;

	if (t->n == t->cap) {
		t->cap += t->cap / 2;
		t->nodes = xrealloc(t->nodes, t->cap, sizeof(*t->nodes));
	}
	t->nodes[t->n] = (struct source_node){
		.start = start,
		.end = start + ts_subtree_size(s).bytes,
		.row = row,
		.parent = parent,
		.after = t->n + 1,
		.kind = error ? symbol : w->language->public_symbol_map[symbol],
		.field = field,
		.flags = flags_of(s, named),
	};
	return t->n++;
}

static void enter(struct flattening *w, Subtree s, uint32_t node, uint32_t byte,
		  uint32_t row, uint8_t field, bool hidden)
{
	/* As ts_subtree_children(), which casts const away: they lie before the block. */
	const Subtree *children = (const Subtree *)s.ptr - s.ptr->child_count;
	uint32_t production = s.ptr->production_id;
	struct frame *f;

	if (w->depth == w->max_depth) {
		w->max_depth = w->max_depth ? w->max_depth * 2 : 64;
		w->frames = xrealloc(w->frames, w->max_depth, sizeof(*w->frames));
	}
	f = &w->frames[w->depth++];
	*f = (struct frame){
		.next = children,
		.end = children + s.ptr->child_count,
		.aliases = ts_language_alias_sequence(w->language, production),
		.byte = byte,
		.row = row,
		.node = node,
		.field = field,
		.first = true,
		.hidden = hidden,
	};
	ts_language_field_map(w->language, production, &f->fields, &f->fields_end);
}

/* The next child of the innermost frame. */
static void visit(struct flattening *w)
{
	struct frame *f = &w->frames[w->depth - 1];
	Subtree s = *f->next++;
	bool extra = ts_subtree_extra(s);
	TSSymbol alias = extra || !f->aliases ? 0 : f->aliases[f->structural];
	Length padding = ts_subtree_padding(s), size = ts_subtree_size(s);
	uint8_t field = field_of(f, extra);
	uint32_t byte, row, node = f->node;
	bool visible = alias != 0 || ts_subtree_visible(s);

	if (!f->first) {
		f->byte += padding.bytes;
		f->row += padding.extent.row;
	}
	f->first = false;
	byte = f->byte;
	row = f->row;
	f->byte += size.bytes;
	f->row += size.extent.row;
	f->structural += !extra;
	if (visible)
		node = add_node(w, s, alias, node, byte, row, field);
	if (ts_subtree_child_count(s) > 0)
		enter(w, s, node, byte, row, visible ? SOURCE_NO_FIELD : field, !visible);
}

bool source_flatten(struct source_tree *t, const TSTree *ts, uint32_t max_nodes)
{
	Length start = ts_subtree_padding(ts->root);
	struct flattening w = {.language = ts->language, .tree = t};
	uint32_t cap = (uint32_t)t->len / 4 + 64; /* measured: 4 to 9 bytes a node */

	t->broken = ts_subtree_error_cost(ts->root) > 0;
	if (t->cap < cap) {
		free(t->nodes);
		t->nodes = xrealloc(NULL, cap, sizeof(*t->nodes));
		t->cap = cap;
	}
	add_node(&w, ts->root, 0, SOURCE_NONE, start.bytes, start.extent.row,
		 SOURCE_NO_FIELD);
	if (ts_subtree_child_count(ts->root) > 0)
		enter(&w, ts->root, 0, start.bytes, start.extent.row, SOURCE_NO_FIELD,
		      false);
	while (w.depth > 0 && t->n < max_nodes) {
		const struct frame *f = &w.frames[w.depth - 1];

		if (f->next < f->end) {
			visit(&w);
			continue;
		}
		if (!f->hidden)
			t->nodes[f->node].after = t->n;
		w.depth--;
	}
	free(w.frames);
	return w.depth == 0;
}
