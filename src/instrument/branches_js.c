/*
 * Probes of branches in JavaScript:
 *
 *	if (a && b)	if (ep_t_(0,(a)) && ep_t_(2,(b)))
 *	x = a ?? b	x = ep_n_(4,(a)) ?? b
 *	for (x of y) {	{ let ep_6_ = 1; for (x of y) { ep_h_(6); … } if (ep_6_) ep_h_(7);
 *} switch (x) {	switch (ep_8_ = 1, x) { case 1:		case 1: var ep_8_; if
 *(ep_8_) { ep_8_ = 0; ep_h_(8); }
 *
 * A break of that loop takes ep_6_ back, so that only a loop which has come to its end
 * says so. Probes are functions, not variables: in a circle of modules, code may run
 * before its module does.
 */
#include "instrument/branches.h"
#include "instrument/edit.h"

#include "base/mem.h"

struct writer {
	const struct source_tree *t;
	const struct branches *b;
	struct edits e;
	struct source_kinds targets, functions, labels, blocks;
};

static void wrap(struct writer *w, uint32_t n, const char *before, const char *after)
{
	edits_wrap(&w->e, w->t->nodes[n].start, w->t->nodes[n].end, before, after);
}

static void insert(struct writer *w, uint32_t at, const char *text)
{
	edits_insert(&w->e, at, text);
}

static uint32_t field(const struct writer *w, uint32_t n, const char *name)
{
	return source_child(w->t, n, source_field(w->t->lang, name));
}

/* In a block, or in place of a statement. */
static void begin(struct writer *w, uint32_t body, uint32_t outcome)
{
	CLEANUP_FREE char *text = xasprintf(" ep_h_(%u);", outcome);
	CLEANUP_FREE char *before = xasprintf("{ ep_h_(%u); ", outcome);

	if (body == SOURCE_NONE)
		return;
	if (source_has(&w->blocks, w->t->nodes[body].kind))
		insert(w, w->t->nodes[body].start + 1, text);
	else
		wrap(w, body, before, " }");
}

static void loop(struct writer *w, const struct branch *b)
{
	CLEANUP_FREE char *before = xasprintf("{ let ep_%u_ = 1; ", b->first);
	CLEANUP_FREE char *after =
		xasprintf(" if (ep_%u_) ep_h_(%u); }", b->first, b->first + 1);
	uint32_t n = b->node;

	while (source_has(&w->labels, w->t->nodes[w->t->nodes[n].parent].kind))
		n = w->t->nodes[n].parent;
	wrap(w, n, before, after);
	begin(w, field(w, b->node, "body"), b->first);
}

static uint32_t colon_of(const struct writer *w, uint32_t label)
{
	uint32_t c;

	for (SOURCE_CHILDREN(w->t, label, c))
		if (!source_named(w->t, c) && source_text_is(w->t, c, ":"))
			return w->t->nodes[c].end;
	return w->t->nodes[label].end;
}

static void choice(struct writer *w, const struct branch *b)
{
	uint32_t value = field(w, b->node, "value"), body = field(w, b->node, "body");
	CLEANUP_FREE char *set = xasprintf("ep_%u_ = 1, ", b->first);

	if (value == SOURCE_NONE || body == SOURCE_NONE)
		return;
	insert(w, w->t->nodes[value].start + 1, set);
	for (uint32_t i = 0; i < b->n; i++) {
		bool none = i == b->nlabels;
		CLEANUP_FREE char *text = xasprintf(
			"%s var ep_%u_; if (ep_%u_) { ep_%u_ = 0; ep_h_(%u); }%s",
			none ? " default:" : "", b->first, b->first, b->first,
			b->first + i, none ? " " : "");

		insert(w,
		       none ? w->t->nodes[body].end - 1
			    : colon_of(w, w->b->labels[b->label + i]),
		       text);
	}
}

/* ---- break ---- */

static const struct branch *branch_of(const struct writer *w, uint32_t node)
{
	for (size_t i = 0; i < w->b->n; i++)
		if (w->b->v[i].kind == BRANCH_FOR && w->b->v[i].node == node)
			return &w->b->v[i];
	return NULL;
}

/* The statement that a break leaves. */
static uint32_t target_of(const struct writer *w, uint32_t n)
{
	uint32_t label = field(w, n, "label");

	for (uint32_t up = w->t->nodes[n].parent; up != SOURCE_NONE;
	     up = w->t->nodes[up].parent) {
		uint16_t kind = w->t->nodes[up].kind;
		uint32_t own;

		if (source_has(&w->functions, kind))
			return SOURCE_NONE;
		if (label == SOURCE_NONE && source_has(&w->targets, kind))
			return up;
		if (label == SOURCE_NONE || !source_has(&w->labels, kind))
			continue;
		own = field(w, up, "label");
		if (own == SOURCE_NONE || !source_text_equal(w->t, own, w->t, label))
			continue;
		while (up != SOURCE_NONE && source_has(&w->labels, w->t->nodes[up].kind))
			up = field(w, up, "body");
		return up;
	}
	return SOURCE_NONE;
}

static void breaks(struct writer *w)
{
	uint16_t kind = source_kind(w->t->lang, "break_statement");

	for (uint32_t n = 0; n < w->t->n; n++) {
		uint32_t target =
			w->t->nodes[n].kind == kind ? target_of(w, n) : SOURCE_NONE;
		const struct branch *b =
			target == SOURCE_NONE ? NULL : branch_of(w, target);

		if (b) {
			CLEANUP_FREE char *text = xasprintf("{ ep_%u_ = 0; ", b->first);

			wrap(w, n, text, " }");
		}
	}
}

/* ---- the head of the file ---- */

static bool is_module(const struct source_tree *t)
{
	struct source_kinds kinds =
		source_kinds(t->lang, "import_statement export_statement");
	uint32_t c;

	for (SOURCE_CHILDREN(t, 0, c))
		if (source_has(&kinds, t->nodes[c].kind))
			return true;
	return false;
}

/* Behind "#!…" and 'use strict': SOURCE_NONE when there is no code. */
static uint32_t first_statement(const struct source_tree *t)
{
	uint16_t string = source_kind(t->lang, "string");
	uint16_t hash = source_kind(t->lang, "hash_bang_line");
	uint32_t c;

	for (SOURCE_CHILDREN(t, 0, c)) {
		uint32_t inner = source_named_child(t, c, 0);

		if (t->nodes[c].flags & SOURCE_EXTRA || t->nodes[c].kind == hash ||
		    (inner != SOURCE_NONE && t->nodes[inner].kind == string &&
		     t->nodes[inner].start == t->nodes[c].start &&
		     t->nodes[c].kind == source_kind(t->lang, "expression_statement")))
			continue;
		return c;
	}
	return SOURCE_NONE;
}

static void quote(const char *text, struct buf *out)
{
	buf_addc(out, '"');
	for (const char *p = text; *p; p++) {
		unsigned char c = (unsigned char)*p;

		if (c == '"' || c == '\\' || c < ' ' || c == 127)
			buf_addf(out, "\\u%04x", c);
		else
			buf_addc(out, *p);
	}
	buf_addc(out, '"');
}

/* The first time that an outcome is taken in a process a byte is written; who resets
 * `seen` asks again. */
static void head(struct writer *w, const char *path)
{
	uint32_t first = first_statement(w->t);
	CLEANUP(buf) struct buf text = {0};
	bool module = is_module(w->t);

	if (first == SOURCE_NONE)
		return;
	if (module)
		buf_adds(&text, "import * as ep_fs_ from 'node:fs'; ");
	buf_adds(&text, "function ep_h_(n) { var k = Symbol.for('exitpath.hits'), h = "
			"globalThis[k]; "
			"if (!h) { var fs = ");
	buf_adds(&text, module ? "ep_fs_" : "require('fs')");
	buf_adds(&text,
		 ", write = fs.writeSync, one = new Uint8Array([1]), fd = fs.openSync(");
	quote(path, &text);
	buf_adds(&text, ", 'r+'); h = { seen: [], put: function (n) { write(fd, one, 0, "
			"1, n); } }; "
			"Object.defineProperty(globalThis, k, { value: h }); } "
			"if (!h.seen[n]) { h.seen[n] = 1; h.put(n); } } "
			"function ep_t_(n, v) { ep_h_(v ? n : n + 1); return v; } "
			"function ep_n_(n, v) { ep_h_(v === null || v === undefined ? n "
			": n + 1); "
			"return v; } ");
	insert(w, w->t->nodes[first].start, buf_str(&text));
}

void branches_js_rewrite(const struct source_tree *t, const struct branches *b,
			 const char *path, struct buf *out)
{
	enum source_lang l = t->lang;
	struct writer w = {
		.t = t,
		.b = b,
		.targets =
			source_kinds(l, "for_in_statement for_statement while_statement "
					"do_statement switch_statement"),
		.functions = source_kinds(
			l, "function_declaration function_expression arrow_function "
			   "method_definition generator_function "
			   "generator_function_declaration class_static_block"),
		.labels = source_kinds(l, "labeled_statement"),
		.blocks = source_kinds(l, "statement_block"),
	};

	if (b->n)
		head(&w, path);
	for (size_t i = 0; i < b->n; i++) {
		const struct branch *x = &b->v[i];
		CLEANUP_FREE char *before = xasprintf(
			"ep_%c_(%u,(", x->kind == BRANCH_NULLISH ? 'n' : 't', x->first);

		if (x->kind == BRANCH_FOR)
			loop(&w, x);
		else if (x->kind == BRANCH_SWITCH)
			choice(&w, x);
		else if (x->kind == BRANCH_CATCH)
			begin(&w, field(&w, x->node, "body"), x->first);
		else
			wrap(&w, x->node, before, "))");
	}
	breaks(&w);
	edits_apply(&w.e, t->text, t->len, out);
	edits_release(&w.e);
}
