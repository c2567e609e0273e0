#include "scan/doubt.h"

#include "base/macros.h"

#include <string.h>

/* ---- what a call does with it ---- */

/* Is the resource, or its address, an argument of the call? */
static bool takes(const struct scan_function *fn, uint32_t call, const struct resource *r)
{
	uint32_t list = source_child(fn->t, call, fn->lang->f_arguments), a;

	if (list == SOURCE_NONE)
		return false;
	for (SOURCE_CHILDREN(fn->t, list, a)) {
		struct text name = effect_text(fn->t, a);

		/* `session=session` */
		if (source_has(&fn->lang->keywords, fn->t->nodes[a].kind))
			name = text_last(name);
		if (name.len && name.at[0] == '&')
			name.at++, name.len--;
		if (text_same(name, r->name))
			return true;
	}
	return false;
}

/* `add(&buf, s)`: many such functions free the buffer when there is no room. */
static bool is_growth(struct text last)
{
	return text_among(last, "*add* *append* *put* *write* *cat *printf *grow* "
				"*push* *extend* *reserve*");
}

static bool grows_in(const struct scan_function *fn, uint32_t node,
		     const struct resource *r)
{
	for (uint32_t n = node; n < fn->t->nodes[node].after; n++)
		if (source_has(&fn->lang->calls, fn->t->nodes[n].kind) &&
		    is_growth(text_last(effect_callee(fn->lang, fn->t, n))) &&
		    takes(fn, n, r))
			return true;
	return false;
}

/* The last assignment of the name before a node. */
static uint32_t assigned_before(const struct scan_function *fn, struct text name,
				uint32_t node)
{
	uint32_t ret = SOURCE_NONE, target, value;

	for (uint32_t n = fn->flow->function; n < node; n++)
		if (source_has(&fn->lang->assigns, fn->t->nodes[n].kind) &&
		    fn->lang->assign(fn->t, n, &target, &value) && value != SOURCE_NONE &&
		    target != SOURCE_NONE && text_same(effect_text(fn->t, target), name))
			ret = value;
	return ret;
}

/* `new DataInputStream(in)` of a field or a parameter: whoever has that closes it. */
static bool is_wrapper(const struct scan_function *fn, const struct resource *r)
{
	uint32_t target, value, list, first;

	if (!fn->lang->closeable || !fn->lang->assign(fn->t, r->node, &target, &value) ||
	    value == SOURCE_NONE ||
	    !source_has(&fn->lang->calls, fn->t->nodes[value].kind))
		return false;
	list = source_child(fn->t, value, fn->lang->f_arguments);
	first = list == SOURCE_NONE ? list : source_named_child(fn->t, list, 0);
	return first != SOURCE_NONE &&
	       source_has(&fn->lang->identifiers, fn->t->nodes[first].kind) &&
	       text_among(text_last(effect_callee(fn->lang, fn->t, value)),
			  "*Stream *Reader *Writer Scanner") &&
	       !text_among(text_last(effect_callee(fn->lang, fn->t, value)), "File*") &&
	       assigned_before(fn, effect_text(fn->t, first), r->node) == SOURCE_NONE;
}

/* Is the way taken because a call that fills the resource failed? */
static bool failed_to_grow(const struct scan_function *fn, const struct resource *r,
			   uint32_t test)
{
	if (!r->by_address || test == SOURCE_NONE)
		return false;
	if (grows_in(fn, test, r))
		return true;
	for (uint32_t n = test; n < fn->t->nodes[test].after; n++) {
		uint32_t value;

		if (!source_has(&fn->lang->identifiers, fn->t->nodes[n].kind))
			continue;
		value = assigned_before(fn, effect_text(fn->t, n), test);
		if (value != SOURCE_NONE && grows_in(fn, value, r))
			return true;
	}
	return false;
}

/* `channel = file.getChannel()`: to close that is enough. */
static bool gives_part(const struct scan_function *fn, uint32_t call,
		       const struct resource *r)
{
	struct text callee = effect_callee(fn->lang, fn->t, call);

	return callee.len > r->name.len && !memcmp(callee.at, r->name.at, r->name.len) &&
	       callee.at[r->name.len] == '.' &&
	       text_among(text_last(callee), "getChannel getFD getInputStream "
					     "getOutputStream detach makefile");
}

/* `d.then(c => …)`: a function of its own takes it. */
static bool has_callback(const struct scan_function *fn, uint32_t call,
			 const struct resource *r)
{
	uint32_t list = source_child(fn->t, call, fn->lang->f_arguments), a;
	struct text callee = effect_callee(fn->lang, fn->t, call);

	if (list == SOURCE_NONE || callee.len <= r->name.len ||
	    memcmp(callee.at, r->name.at, r->name.len) != 0 ||
	    callee.at[r->name.len] != '.')
		return false;
	for (SOURCE_CHILDREN(fn->t, list, a))
		if (source_has(&fn->lang->opaque, fn->t->nodes[a].kind))
			return true;
	return false;
}

/* Is it given anywhere to a function that may keep or release it? */
static bool is_given(const struct scan_function *fn, const struct resource *r)
{
	uint32_t function = fn->flow->function;

	for (uint32_t n = r->node + 1; n < fn->t->nodes[function].after; n++)
		if (source_has(&fn->lang->calls, fn->t->nodes[n].kind) &&
		    (has_callback(fn, n, r) || gives_part(fn, n, r) ||
		     (!name_only_uses(text_last(effect_callee(fn->lang, fn->t, n))) &&
		      takes(fn, n, r))))
			return true;
	return false;
}

/* Is it released by a function of the library that made it? */
static bool is_of_library(const struct scan_function *fn, const struct resource *r,
			  struct text prefix)
{
	uint32_t function = fn->flow->function;

	if (!prefix.len)
		return false;
	for (uint32_t n = function; n < fn->t->nodes[function].after; n++) {
		struct text last;

		if (!source_has(&fn->lang->calls, fn->t->nodes[n].kind))
			continue;
		last = text_last(effect_callee(fn->lang, fn->t, n));
		if (name_releases(last) && text_same(name_prefix(last), prefix) &&
		    takes(fn, n, r))
			return true;
	}
	return false;
}

/* Is `&x` of a variable of this function? */
static bool is_own(const struct scan_function *fn, struct text name)
{
	const struct source_tree *t = fn->t;

	name.at++;
	name.len--;
	for (uint32_t n = fn->flow->function; n < t->nodes[fn->flow->function].after; n++)
		if (source_has(&fn->lang->identifiers, t->nodes[n].kind) &&
		    text_same(effect_text(t, n), name))
			return source_above(t, n, &fn->lang->declarations) != SOURCE_NONE;
	return false;
}

/* `f(&status, &list, &last)`: which of them holds something is not known. Nor is it of
 * `fd = hold(&lock)`. */
static bool is_one_of_many(const struct scan_function *fn, const struct resource *r)
{
	struct text prefix = {"", 0};
	unsigned n = r->by_address ? 0 : 1;

	if (r->pair || !fn->lang->part_is_own)
		return false;
	for (uint32_t c = r->node; c < fn->t->nodes[r->node].after; c++) {
		struct text name;

		if (source_has(&fn->lang->calls, fn->t->nodes[c].kind) && !prefix.len)
			prefix =
				name_prefix(text_last(effect_callee(fn->lang, fn->t, c)));
		if (!source_has(&fn->lang->addresses, fn->t->nodes[c].kind))
			continue;
		name = effect_text(fn->t, c);
		n += name.len > 1 && name.at[0] == '&' && is_own(fn, name) &&
		     !text_among(name, "*err *error *stat* *ret *rc *len *size *opts "
				       "*options *attr *addr *hints");
	}
	return n > 1 && !is_of_library(fn, r, prefix);
}

/* ---- conditions ---- */

/* The outermost `if` that the acquisition is subject to within the loop around it, or
 * SOURCE_NONE. */
static uint32_t condition_around(const struct scan_function *fn, uint32_t node)
{
	const struct source_tree *t = fn->t;
	uint32_t n = node, p = t->nodes[n].parent;

	for (; p != SOURCE_NONE && p != fn->flow->function; n = p, p = t->nodes[p].parent)
		if (source_has(&fn->lang->ifs, t->nodes[p].kind) &&
		    t->nodes[n].field != fn->lang->f_condition)
			return p;
	return SOURCE_NONE;
}

/* Does a condition of one of the ifs around the node name it? */
static bool is_asked_around(const struct scan_function *fn, uint32_t node,
			    struct text name)
{
	const struct source_tree *t = fn->t;

	for (uint32_t p = condition_around(fn, node); p != SOURCE_NONE;
	     p = condition_around(fn, p)) {
		uint32_t c = source_child(t, p, fn->lang->f_condition);

		for (uint32_t n = c; c != SOURCE_NONE && n < t->nodes[c].after; n++)
			if (source_has(&fn->lang->identifiers, t->nodes[n].kind) &&
			    text_same(effect_text(t, n), name))
				return true;
	}
	return false;
}

static bool is_own_name(const struct resource *r, struct text name)
{
	for (unsigned i = 0; i < r->naliases; i++)
		if (text_same(name, r->alias[i]))
			return true;
	return text_same(name, r->name);
}

/* Do the conditions go together? One names what the other does, or what is set with the
 * resource. */
static bool go_together(const struct scan_function *fn, const struct resource *r,
			uint32_t around, uint32_t condition)
{
	const struct source_tree *t = fn->t;
	bool ret = false;

	for (uint32_t n = condition; n < t->nodes[condition].after; n++) {
		struct text name;
		uint32_t value;

		if (!source_has(&fn->lang->identifiers, t->nodes[n].kind))
			continue;
		name = effect_text(t, n);
		if (is_own_name(r, name))
			return false;
		value = assigned_before(fn, name, condition);
		if (value != SOURCE_NONE && value > t->nodes[around].after)
			continue;
		ret |= (value != SOURCE_NONE && source_within(t, value, around)) ||
		       is_asked_around(fn, r->node, name);
	}
	return ret;
}

/* Acquired under a condition, and the way goes by another that depends on the same. */
static bool is_correlated(const struct scan_function *fn, const struct resource *r,
			  const struct scan_way *way)
{
	const struct source_tree *t = fn->t;
	uint32_t around = condition_around(fn, r->node);
	uint32_t end =
		way->exit != SOURCE_NONE ? way->exit : t->nodes[fn->flow->function].after;

	if (around == SOURCE_NONE ||
	    (way->exit != SOURCE_NONE && source_within(t, way->exit, around)))
		return false;
	for (uint32_t n = t->nodes[around].after; n < end; n++) {
		uint32_t c;

		if (!source_has(&fn->lang->ifs, t->nodes[n].kind))
			continue;
		c = source_child(t, n, fn->lang->f_condition);
		if (c != SOURCE_NONE && go_together(fn, r, around, c))
			return true;
	}
	return false;
}

/* `switch (status)`: its cases say whether there is one. */
static bool is_switched(const struct scan_function *fn, const struct resource *r)
{
	struct text body = effect_text(fn->t, fn->flow->function), name = r->error;
	uint32_t up = r->node;

	/* `switch (make(&p))` */
	while (up != SOURCE_NONE && up != fn->flow->function &&
	       fn->t->nodes[up].field != fn->lang->f_condition)
		up = fn->t->nodes[up].parent;
	if (up != SOURCE_NONE && fn->t->nodes[up].parent != SOURCE_NONE &&
	    fn->t->nodes[up].field == fn->lang->f_condition &&
	    strstr(source_kind_name(fn->t->lang,
				    fn->t->nodes[fn->t->nodes[up].parent].kind),
		   "switch"))
		return true;
	for (size_t i = 0; name.len && i + name.len + 6 < body.len; i++) {
		size_t at = i + 6;

		if (memcmp(body.at + i, "switch", 6) != 0)
			continue;
		while (at < body.len && (body.at[at] == ' ' || body.at[at] == '('))
			at++;
		if (at + name.len < body.len &&
		    !memcmp(body.at + at, name.at, name.len) &&
		    (body.at[at + name.len] == ')' || body.at[at + name.len] == ' '))
			return true;
	}
	return false;
}

/* ---- where it is released ---- */

static bool has_jump(const struct scan_function *fn, uint32_t block, uint32_t around)
{
	for (uint32_t n = block; n < fn->t->nodes[block].after; n++)
		if (source_has(&fn->lang->jumps, fn->t->nodes[n].kind) &&
		    source_above(fn->t, n, &fn->lang->ifs) == around)
			return true;
	return false;
}

/* In a handler, or in a branch that leaves: `if (bad) { free(p); return -1; }`. */
static bool is_on_failure(const struct scan_function *fn, uint32_t node)
{
	const struct source_tree *t = fn->t;
	uint32_t n = node, p;

	for (p = n; p != SOURCE_NONE && p != fn->flow->function; p = t->nodes[p].parent)
		if (source_has(&fn->lang->handlers, t->nodes[p].kind))
			return true;
	for (p = t->nodes[n].parent; p != SOURCE_NONE && p != fn->flow->function;
	     n = p, p = t->nodes[p].parent)
		if (source_has(&fn->lang->ifs, t->nodes[p].kind) &&
		    t->nodes[n].field != fn->lang->f_condition)
			return has_jump(fn, n, p);
	return false;
}

/* Do only handlers and branches that leave release it? */
static bool is_released_by_failure(const struct scan_function *fn,
				   const struct resource *r)
{
	for (size_t i = 0; i < fn->flow->nops; i++) {
		const struct flow_op *op = &fn->flow->ops[i];

		if (op->kind == FLOW_DEFER)
			return false;
		if (op->kind != FLOW_CATCH &&
		    effect_of(fn->lang, fn->t, op->node, r) == EFFECT_RELEASED &&
		    !is_on_failure(fn, op->node))
			return false;
	}
	return true;
}

/* Failure releases it, and success does not: then it has gone elsewhere. */
static bool is_kept_by_success(const struct scan_function *fn, const struct resource *r,
			       const struct scan_way *way)
{
	struct text value = {"", 0};

	/* `t = tls.Client(conn)` holds it, too. */
	if (way->raises || way->never || (r->pair && !is_given(fn, r)))
		return false;
	if (way->exit != SOURCE_NONE) {
		value = effect_text(fn->t, way->exit);
		if (!fn->lang->exceptions &&
		    !text_among(value, "*nil *0; *true; *OK; *SUCCESS;"))
			return false;
	}
	if (way->exit != SOURCE_NONE && is_on_failure(fn, way->exit) &&
	    !fn->lang->exceptions)
		return false;
	return is_released_by_failure(fn, r);
}

/* `try: work(f) except OSError: f.close(); raise`: only what the handlers do not name, or
 * what the finally itself raises, is lost. A handler that has it at all may see to it. */
static bool is_caught(const struct scan_function *fn, const struct resource *r,
		      uint32_t node)
{
	const struct source_tree *t = fn->t;
	uint32_t n = node, p = t->nodes[n].parent, child;

	for (; p != SOURCE_NONE && p != fn->flow->function;
	     n = p, p = t->nodes[p].parent) {
		if (!source_has(&fn->lang->tries, t->nodes[p].kind) ||
		    t->nodes[n].field != fn->lang->f_body)
			continue;
		for (SOURCE_CHILDREN(t, p, child))
			if ((source_has(&fn->lang->handlers, t->nodes[child].kind) &&
			     effect_of(fn->lang, t, child, r) != EFFECT_NONE) ||
			    (source_has(&fn->lang->finallys, t->nodes[child].kind) &&
			     effect_of(fn->lang, t, child, r) == EFFECT_RELEASED))
				return true;
	}
	return false;
}

/* `r.close()`: what the language itself calls so. */
static bool is_closed(const struct scan_function *fn, const struct resource *r)
{
	const struct source_tree *t = fn->t;
	uint32_t function = fn->flow->function;

	for (uint32_t n = function; n < t->nodes[function].after; n++) {
		struct text callee;

		if (!source_has(&fn->lang->calls, t->nodes[n].kind))
			continue;
		callee = effect_callee(fn->lang, t, n);
		if (callee.len == r->name.len + 6 &&
		    !memcmp(callee.at, r->name.at, r->name.len) &&
		    !memcmp(callee.at + r->name.len, ".close", 6))
			return true;
	}
	return false;
}

/* ---- the rest ---- */

/* A brace or an `if` that is in two parts of an #if: where what ends is not known. An
 * attribute in a declaration does no harm. */
static bool is_broken(const struct scan_function *fn)
{
	uint32_t function = fn->flow->function;
	const struct source_tree *t = fn->t;

	if (!(t->nodes[function].flags & SOURCE_BROKEN))
		return false;
	for (uint32_t n = function; n < t->nodes[function].after; n++) {
		struct text text = effect_text(t, n);

		if (t->nodes[n].flags & SOURCE_MISSING &&
		    strcmp(source_kind_name(t->lang, t->nodes[n].kind), ";") != 0)
			return true;
		if (t->nodes[n].flags & SOURCE_ERROR &&
		    (memchr(text.at, '{', text.len) || memchr(text.at, '}', text.len) ||
		     memchr(text.at, '#', text.len) ||
		     memmem(text.at, text.len, "else", 4)))
			return true;
	}
	return false;
}

const char *scan_doubt(const struct scan_function *fn, const struct resource *r,
		       const struct scan_way *way)
{
	if (fn->lang->part_is_own && is_broken(fn))
		return "the function does not parse whole";
	if (way->raises && way->exit != SOURCE_NONE && is_caught(fn, r, way->exit))
		return "a handler releases it, but for what it does not name";
	if (is_wrapper(fn, r))
		return "what it is made of belongs to another";
	if (way->implicit)
		return r->pair || (is_closed(fn, r) && !is_released_by_failure(fn, r))
			       ? NULL
			       : "only its release says that it is a resource";
	if (way->never && is_given(fn, r))
		return "a function that is not known has it as an argument";
	if (failed_to_grow(fn, r, way->test))
		return "the call that failed may have freed it";
	if (is_one_of_many(fn, r))
		return "the call fills several variables";
	if (is_correlated(fn, r, way))
		return "it is acquired under a condition, and this way may not go with "
		       "it";
	if (is_switched(fn, r))
		return "a switch over the status says whether there is one";
	if (is_kept_by_success(fn, r, way))
		return "only failures release it: success may hand it on";
	if (fn->lang->id == LANG_GO && !r->pair && !r->error.len)
		return "what makes it cannot fail: it may hold nothing";
	return NULL;
}
