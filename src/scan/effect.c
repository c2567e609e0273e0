#include "scan/effect.h"

#include "scan/helpers.h"

#include <ctype.h>
#include <string.h>

struct text effect_text(const struct source_tree *t, uint32_t node)
{
	struct text ret = {"", 0};

	if (node != SOURCE_NONE)
		ret.at = source_text(t, node, &ret.len);
	return ret;
}

struct text effect_callee(const struct scan_lang *lang, const struct source_tree *t,
			  uint32_t call)
{
	uint32_t callee = source_child(t, call, lang->f_callee);
	struct text ret;

	if (callee == SOURCE_NONE && lang->constructor_field)
		callee = source_child(t, call, lang->f_constructor);
	ret = effect_text(t, callee);
	if (lang->call_is_member && callee != SOURCE_NONE &&
	    source_child(t, call, lang->f_object) != SOURCE_NONE) {
		ret.at = t->text + t->nodes[call].start;
		ret.len = t->nodes[callee].end - t->nodes[call].start;
	}
	/* `new Map<K, V>()` */
	for (size_t i = 0; i < ret.len; i++)
		if (ret.at[i] == '<')
			ret.len = i;
	return ret;
}

/* ---- occurrences ---- */

static bool is_kind(const struct source_tree *t, uint32_t n,
		    const struct source_kinds *kinds)
{
	return n != SOURCE_NONE && source_has(kinds, t->nodes[n].kind);
}

static bool names_it(const struct resource *r, struct text text)
{
	if (text_same(text, r->name))
		return true;
	for (unsigned i = 0; i < r->naliases; i++)
		if (text_same(text, r->alias[i]))
			return true;
	return false;
}

/* The name itself, not a field or keyword that is called the same. */
static bool is_occurrence(const struct scan_lang *l, const struct source_tree *t,
			  uint32_t n, const struct resource *r)
{
	uint32_t parent = t->nodes[n].parent;
	bool member;

	/* Asked of every node: most are passed over by their length. */
	if (!r->naliases && t->nodes[n].end - t->nodes[n].start != r->name.len)
		return false;
	member = is_kind(t, n, &l->members);
	if (!member && !is_kind(t, n, &l->identifiers))
		return false;
	if (!names_it(r, effect_text(t, n)))
		return false;
	if (member || parent == SOURCE_NONE)
		return true;
	if (is_kind(t, parent, &l->members) && t->nodes[n].field == l->f_member)
		return false;
	return !(is_kind(t, parent, &l->keywords) && t->nodes[n].field == l->f_name);
}

static uint32_t source_next_named(const struct source_tree *t, uint32_t n)
{
	do
		n = source_next(t, n);
	while (n != SOURCE_NONE && !source_named(t, n));
	return n;
}

/* `release(&status, &it)`: the last address is what it is about. */
static bool is_status(const struct source_tree *t, uint32_t list, uint32_t argument)
{
	uint32_t child, last = SOURCE_NONE;

	for (SOURCE_CHILDREN(t, list, child))
		if (source_named(t, child) && t->text[t->nodes[child].start] == '&')
			last = child;
	return t->text[t->nodes[argument].start] == '&' && last != argument;
}

/* Of an argument in its list, from 0. */
static unsigned position(const struct source_tree *t, uint32_t list, uint32_t argument)
{
	unsigned n = 0;
	uint32_t child;

	if (list != SOURCE_NONE)
		for (SOURCE_CHILDREN(t, list, child)) {
			if (child == argument)
				return n;
			n += source_named(t, child);
		}
	return UINT32_MAX;
}

static bool is_only(const struct source_tree *t, uint32_t list, uint32_t argument)
{
	return source_named_child(t, list, 0) == argument &&
	       source_next_named(t, argument) == SOURCE_NONE;
}

/* `Socket`, `_Socket`. */
static bool is_class(struct text name)
{
	size_t i = 0;

	while (i < name.len && name.at[i] == '_')
		i++;
	return i < name.len && isupper((unsigned char)name.at[i]);
}

/* What a call does to one of its arguments. */
static enum effect given_to(const struct scan_lang *l, const struct source_tree *t,
			    uint32_t call, uint32_t argument, const struct resource *r,
			    bool part)
{
	struct text callee = effect_callee(l, t, call), last = text_last(callee);
	uint32_t list = source_child(t, call, l->f_arguments);
	int known;

	known = helpers_effect(r->helpers, last, position(t, list, argument));
	if (known == EFFECT_RELEASED && !part)
		return EFFECT_RELEASED;
	if (r->pair && r->pair->sure) {
		if (name_surely_releases(last) && list != SOURCE_NONE &&
		    (l->part_is_own || is_only(t, list, argument)) &&
		    !is_status(t, list, argument) &&
		    (source_named_child(t, list, 0) == argument ||
		     (r->pair->last && source_next_named(t, argument) == SOURCE_NONE)) &&
		    !(part && l->part_is_own))
			return EFFECT_RELEASED;
	} else if (r->pair && r->pair->release) {
		if (text_among(last, r->pair->release))
			return EFFECT_RELEASED;
	} else if (name_releases(last) && !(part && l->part_is_own)) {
		return EFFECT_RELEASED;
	}
	if (r->pair && r->pair->lock)
		return EFFECT_USED;
	if (part)
		return EFFECT_USED;
	/* `u->host = buffer_ptr(&host)` */
	if (r->by_address && text_among(last, "*_ptr") &&
	    t->nodes[call].parent != SOURCE_NONE &&
	    is_kind(t, t->nodes[call].parent, &l->assigns) &&
	    !is_kind(t, t->nodes[call].parent, &l->declarations))
		return EFFECT_ESCAPED;
	if (known >= 0)
		return known == EFFECT_ESCAPED ? EFFECT_ESCAPED : EFFECT_USED;
	if (r->closed_here)
		return EFFECT_USED;
	if (name_keeps(last) || (l->classes && is_class(last)))
		return EFFECT_ESCAPED;
	if (r->pair && r->pair->heap && !name_only_uses(last))
		return EFFECT_ESCAPED;
	return EFFECT_USED;
}

static enum effect method_named(struct text callee, const struct resource *r)
{
	struct text last = text_last(callee);

	/* One direction of it. */
	if (text_among(last, "CloseSend CloseWrite CloseRead"))
		return EFFECT_USED;
	if (r->pair && r->pair->sure)
		return name_surely_releases(last) ? EFFECT_RELEASED : EFFECT_USED;
	if (r->pair && r->pair->release)
		return text_among(last, r->pair->release) ? EFFECT_RELEASED : EFFECT_USED;
	return name_releases(last) ||
			       text_among(last, "__exit__ __aexit__ wait communicate")
		       ? EFFECT_RELEASED
		       : EFFECT_USED;
}

static enum effect method_of(const struct source_tree *t, uint32_t callee,
			     const struct resource *r)
{
	return method_named(effect_text(t, callee), r);
}

/* Is `n` the callee of the call? */
static bool is_callee(const struct scan_lang *l, const struct source_tree *t,
		      uint32_t call, uint32_t n)
{
	return source_child(t, call, l->f_callee) == n;
}

/* `p + n`, which points into p as well. */
static bool is_sum(const struct source_tree *t, uint32_t n, uint32_t parent)
{
	const char *at = t->text + t->nodes[n].end;
	const char *end = t->text + t->nodes[parent].end;

	while (at < end && *at == ' ')
		at++;
	return at + 1 < end && (*at == '+' || *at == '-');
}

/* Is what the call gives handed to the caller? It may hold what it was given. */
static bool is_returned(const struct scan_lang *l, const struct source_tree *t,
			uint32_t call, uint32_t top)
{
	for (uint32_t n = call; n != top;) {
		n = t->nodes[n].parent;
		if (n == SOURCE_NONE)
			return false;
		if (source_has(&l->returns, t->nodes[n].kind))
			return true;
		if (!source_has(&l->containers, t->nodes[n].kind) &&
		    !source_has(&l->transparent, t->nodes[n].kind))
			return false;
	}
	return false;
}

/* From an occurrence up to what decides about it. part: it is `r.x`, not r. */
static enum effect climb(const struct scan_lang *l, const struct source_tree *t,
			 uint32_t n, uint32_t top, const struct resource *r)
{
	bool part = false, address = false, contained = false;
	struct text path = {"", 0}; /* `r.x` */
	uint32_t at = n;

	for (;;) {
		uint32_t p = n == top ? SOURCE_NONE : t->nodes[n].parent;
		uint16_t kind;

		if (p == SOURCE_NONE)
			return EFFECT_USED;
		kind = t->nodes[p].kind;
		if (is_kind(t, p, &l->members)) {
			if (t->nodes[n].field == l->f_member)
				return EFFECT_USED;
			part = true;
			path = effect_text(t, p);
		} else if (l->call_is_member && is_kind(t, p, &l->calls) &&
			   t->nodes[n].field == l->f_object) {
			return method_named(effect_callee(l, t, p), r);
		} else if (is_kind(t, p, &l->calls)) {
			if (!is_callee(l, t, p, n))
				return EFFECT_USED;
			if (part && is_returned(l, t, p, top) &&
			    method_of(t, n, r) != EFFECT_RELEASED &&
			    text_among(
				    text_last(effect_text(t, n)),
				    "get* new* as_* into* detach* open* make* create*"))
				return EFFECT_ESCAPED;
			return part ? method_of(t, n, r)
			       : name_releases(text_last(effect_text(t, n)))
				       ? EFFECT_RELEASED
				       : EFFECT_USED;
		} else if (source_has(&l->argument_lists, kind)) {
			uint32_t call = t->nodes[p].parent;
			enum effect e = given_to(l, t, call, n, r, part);

			/* memcpy() and its like give their first argument. */
			if (e == EFFECT_USED && !part &&
			    (!name_only_uses(text_last(effect_callee(l, t, call))) ||
			     (l->part_is_own && source_named_child(t, p, 0) == n &&
			      text_among(text_last(effect_callee(l, t, call)),
					 "memset memmove *cpy "
					 "strcat strncat"))) &&
			    is_returned(l, t, call, top))
				return EFFECT_ESCAPED;
			if (e == EFFECT_USED && part && address && l->part_is_own)
				return EFFECT_ESCAPED; /* list_add(&r->node) */
			/* `memcpy(slot, &node, sizeof(node))` stores it. */
			if (e == EFFECT_USED && address && !part && l->part_is_own &&
			    text_among(text_last(effect_callee(l, t, call)),
				       "memcpy memmove") &&
			    source_named_child(t, p, 1) == n)
				return EFFECT_ESCAPED;
			/* `take(&fd)`: it may be taken out of the variable. */
			if (e == EFFECT_USED && address && !part && l->part_is_own &&
			    r->pair && !r->by_address && !r->pair->lock &&
			    !r->pair->sure && t->text[t->nodes[n].start] == '&' &&
			    !name_only_uses(text_last(effect_callee(l, t, call))))
				return EFFECT_ESCAPED;
			return contained && e != EFFECT_RELEASED ? EFFECT_ESCAPED : e;
		} else if (source_has(&l->returns, kind)) {
			return part && !(l->part_is_resource &&
					 text_is(text_last(path), "Body"))
				       ? EFFECT_USED
				       : EFFECT_ESCAPED;
		} else if (source_has(&l->withs, kind)) {
			return part ? EFFECT_USED : EFFECT_RELEASED;
		} else if (source_has(&l->assigns, kind)) {
			uint32_t target, value;

			if (!l->assign(t, p, &target, &value))
				return EFFECT_USED;
			if (source_within(t, n, target))
				return part || p == r->node ||
						       !text_same(effect_text(t, at),
								  r->name)
					       ? EFFECT_USED
					       : EFFECT_REPLACED;
			if (part && !(address && l->part_is_own))
				return EFFECT_USED;
			/* A local alias is followed; anything else is a new owner. */
			return !contained && is_kind(t, target, &l->identifiers) &&
					       names_it(r, effect_text(t, target))
				       ? EFFECT_USED
				       : EFFECT_ESCAPED;
		} else if (source_has(&l->addresses, kind)) {
			address = true;
		} else if (source_has(&l->containers, kind)) {
			contained = true;
		} else if (!source_has(&l->transparent, kind) &&
			   !(l->part_is_own && source_has(&l->binaries, kind) && !part &&
			     is_sum(t, n, p))) {
			return EFFECT_USED;
		}
		n = p;
	}
}

static bool occurs(const struct scan_lang *l, const struct source_tree *t, uint32_t node,
		   const struct resource *r)
{
	for (uint32_t n = node; n < t->nodes[node].after; n++)
		if (is_occurrence(l, t, n, r))
			return true;
	return false;
}

static enum effect effect_in(const struct scan_lang *l, const struct source_tree *t,
			     uint32_t node, const struct resource *r, bool closures)
{
	enum effect ret = EFFECT_NONE;

	for (uint32_t n = node; n < t->nodes[node].after;) {
		enum effect e = EFFECT_NONE;

		if (n != node && is_kind(t, n, &l->opaque) && !closures) {
			if (occurs(l, t, n, r) && EFFECT_ESCAPED > ret)
				ret = EFFECT_ESCAPED;
			n = t->nodes[n].after;
			continue;
		}
		if (is_occurrence(l, t, n, r)) {
			e = climb(l, t, n, node, r);
			if (is_kind(t, n, &l->members)) {
				if (e > ret)
					ret = e;
				n = t->nodes[n].after;
				continue;
			}
		}
		if (e > ret)
			ret = e;
		n++;
	}
	return ret;
}

enum effect effect_of(const struct scan_lang *lang, const struct source_tree *t,
		      uint32_t node, const struct resource *r)
{
	return effect_in(lang, t, node, r, false);
}

enum effect effect_deferred(const struct scan_lang *lang, const struct source_tree *t,
			    uint32_t node, const struct resource *r)
{
	return effect_in(lang, t, node, r, true);
}

/* ---- tests ---- */

static bool is_nothing(struct text t)
{
	/* `(iconv_t)-1` */
	if (t.len && t.at[0] == '(')
		for (size_t i = 0; i + 1 < t.len; i++)
			if (t.at[i] == ')') {
				t.at += i + 1;
				t.len -= i + 1;
				while (t.len && t.at[0] == ' ')
					t.at++, t.len--;
			}
	return text_among(t, "NULL None nil null undefined nullptr 0 -1 false False "
			     "INVALID_HANDLE_VALUE CURL_SOCKET_BAD MAP_FAILED "
			     "INVALID_SOCKET") ||
	       text_among(t, "*_ERR *INVALID* *_NONE *_NULL *_null *_FAILED *_BAD "
			     "*_EVENT *_ERROR");
}

/* `(f = fopen(p))` is f. */
static struct text tested(const struct scan_lang *l, const struct source_tree *t,
			  uint32_t n)
{
	uint32_t target, value;

	while (is_kind(t, n, &l->parens)) {
		uint32_t inner = source_named_child(t, n, 0);

		if (inner == SOURCE_NONE)
			break;
		n = inner;
	}
	if (is_kind(t, n, &l->assigns) && l->assign(t, n, &target, &value))
		n = target;
	return effect_text(t, n);
}

static enum verdict compare(struct text op, struct text right, bool error)
{
	bool nothing = is_nothing(right);

	if (error) { /* of a status: 0, nil, OK are good */
		if (text_among(op, "!= < is is\\not") && nothing)
			return text_is(op, "is") ? HELD_IF_TRUE : HELD_IF_FALSE;
		/* `(n = read_it(&b)) < 1` */
		if ((text_is(op, "<") && text_is(right, "1")) ||
		    (text_is(op, "<=") && text_is(right, "0")))
			return HELD_IF_FALSE;
		if (text_among(op, "== >="))
			return text_is(right, "-1") ? HELD_IF_FALSE : HELD_IF_TRUE;
		if (text_is(op, "!="))
			return HELD_IF_FALSE;
		return SAYS_NOTHING;
	}
	if (!nothing)
		return SAYS_NOTHING;
	if (text_among(op, "== === < <= is"))
		return HELD_IF_FALSE;
	if (text_among(op, "!= !== >= > is\\not"))
		return HELD_IF_TRUE;
	return text_is(op, "is not") ? HELD_IF_TRUE : SAYS_NOTHING;
}

/* `0 <= fd` is `fd >= 0`. */
static struct text turned(struct text op)
{
	static const char *const pairs[][2] = {
		{"<", ">"}, {"<=", ">="}, {">", "<"}, {">=", "<="}};

	for (size_t i = 0; i < sizeof(pairs) / sizeof(*pairs); i++)
		if (text_is(op, pairs[i][0]))
			return (struct text){pairs[i][1], strlen(pairs[i][1])};
	return op;
}

/* `GSS_ERROR(status)`, `SUCCEEDED(hr)`. */
static enum verdict macro_test(const struct scan_lang *l, const struct source_tree *t,
			       uint32_t node, const struct resource *r)
{
	uint32_t arguments = source_child(t, node, l->f_arguments);
	uint32_t first = arguments == SOURCE_NONE ? arguments
						  : source_named_child(t, arguments, 0);

	if (first == SOURCE_NONE || !text_same(effect_text(t, first), r->error))
		return SAYS_NOTHING;
	return text_among(text_last(effect_callee(l, t, node)),
			  "SUCCEEDED *SUCCESS *OK *_ok *success")
		       ? HELD_IF_TRUE
		       : HELD_IF_FALSE;
}

/* `OPEN_FAILED(fd)`, `buf_oom(&b)` */
static bool is_invalid(const struct scan_lang *l, const struct source_tree *t,
		       uint32_t call, const struct resource *r)
{
	uint32_t list = source_child(t, call, l->f_arguments);
	uint32_t first = list == SOURCE_NONE ? list : source_named_child(t, list, 0);

	struct text name = effect_text(t, first);

	if (r->by_address && name.len && name.at[0] == '&')
		name.at++, name.len--;
	return first != SOURCE_NONE && names_it(r, name) &&
	       text_among(text_last(effect_callee(l, t, call)),
			  "*ERROR *FAILED *INVALID* IS_ERR* *_oom *_failed");
}

/* `isinstance(r, T)`: what is of another type has nothing to release. */
static bool is_of_type(const struct scan_lang *l, const struct source_tree *t,
		       uint32_t call, const struct resource *r)
{
	uint32_t list = source_child(t, call, l->f_arguments);
	uint32_t first = list == SOURCE_NONE ? list : source_named_child(t, list, 0);

	return first != SOURCE_NONE && names_it(r, effect_text(t, first)) &&
	       text_among(text_last(effect_callee(l, t, call)), "isinstance hasattr");
}

static bool is_next(const struct scan_lang *l, const struct source_tree *t, uint32_t call)
{
	struct text last = text_last(effect_callee(l, t, call));

	return memmem(last.at, last.len, "next", 4) != NULL;
}

/* `buf.len`, `buffer_len(&buf)`: an empty one holds nothing. */
static bool is_size(struct text t, const struct resource *r)
{
	size_t n = r->name.len;

	if (!r->by_address)
		return false;
	if (t.len > n && !memcmp(t.at, r->name.at, n) && t.at[n] == '.')
		return text_among(text_last(t), "len length nr count size");
	return t.len > n + 3 && t.at[t.len - 1] == ')' && t.at[t.len - n - 2] == '&' &&
	       !memcmp(t.at + t.len - n - 1, r->name.at, n) &&
	       memmem(t.at, t.len - n, "_len(", 5) != NULL;
}

/* Is the name an argument of the call that made it? */
static bool is_given_to_it(const struct scan_lang *l, const struct source_tree *t,
			   const struct resource *r, struct text name)
{
	for (uint32_t n = r->node; n < t->nodes[r->node].after; n++)
		if (is_kind(t, n, &l->identifiers) &&
		    text_same(effect_text(t, n), name) &&
		    is_kind(t, t->nodes[n].parent, &l->argument_lists))
			return true;
	return false;
}

/* Does what comes with it say that it is held, and not that it failed? */
static bool is_yes(const struct resource *r)
{
	return (r->pair && r->pair->lock) || text_among(r->error, "ok found");
}

enum verdict effect_test(const struct scan_lang *l, const struct source_tree *t,
			 uint32_t node, const struct resource *r, bool error_counts)
{
	struct text whole = tested(l, t, node), left, right, op = {"", 0};
	uint32_t first, last, child;
	bool error;

	if (names_it(r, whole))
		return HELD_IF_TRUE;
	if (is_size(whole, r))
		return HELD_IF_TRUE;
	if (is_kind(t, node, &l->calls) && is_invalid(l, t, node, r))
		return HELD_IF_FALSE;
	if (is_kind(t, node, &l->calls) && is_of_type(l, t, node, r))
		return HELD_IF_TRUE;
	if (error_counts && r->error.len && text_same(whole, r->error))
		return is_yes(r) ? HELD_IF_TRUE : HELD_IF_FALSE;
	/* `if self._lock.acquire(False):` */
	if (r->pair && r->pair->lock && !l->part_is_own &&
	    source_within(t, r->node, node) &&
	    effect_text(t, r->node).len + 6 >= whole.len)
		return HELD_IF_TRUE;
	if (r->by_address && error_counts && node == r->node)
		return HELD_IF_FALSE;
	if (error_counts && r->error.len && is_kind(t, node, &l->calls))
		return macro_test(l, t, node, r);
	if (is_kind(t, node, &l->parens) || t->nodes[node].after - node < 4)
		return SAYS_NOTHING;
	first = source_first(t, node);
	last = first;
	for (SOURCE_CHILDREN(t, node, child))
		last = child;
	if (first == SOURCE_NONE || first == last)
		return SAYS_NOTHING;
	left = tested(l, t, first);
	right = tested(l, t, last);
	op.at = t->text + t->nodes[first].end;
	op.len = t->nodes[last].start - t->nodes[first].end;
	while (op.len && strchr(" \t\n\\", op.at[0]))
		op.at++, op.len--;
	while (op.len && strchr(" \t\n\\", op.at[op.len - 1]))
		op.len--;
	/* `copy == path`: it is the other's. */
	if (l->part_is_own && names_it(r, left) && text_is(op, "==") &&
	    is_kind(t, last, &l->identifiers) && !is_nothing(right))
		return HELD_IF_FALSE;
	/* `fd != STDIN_FILENO`; `p != buf` of `p = convert(buf)`. */
	if (l->part_is_own && names_it(r, left) && text_is(op, "!=") &&
	    (text_among(right, "STD*") || is_given_to_it(l, t, r, right)))
		return HELD_IF_TRUE;
	if (names_it(r, left) || is_size(left, r))
		return compare(op, right, false);
	if (names_it(r, right))
		return compare(turned(op), left, false);
	/* `next(&it, &x) > 0`: there is none. */
	if (r->by_address && error_counts && text_is(op, ">") && text_is(right, "0") &&
	    ((r->error.len && text_same(left, r->error)) ||
	     source_within(t, r->node, first)))
		return is_next(l, t, r->node) ? HELD_IF_FALSE
		       : r->error.len	      ? SAYS_NOTHING
					      : HELD_IF_TRUE;
	error = error_counts && ((r->error.len && text_same(left, r->error)) ||
				 (r->by_address && source_within(t, r->node, first)));
	return error ? compare(op, right, true) : SAYS_NOTHING;
}

bool effect_assigns(const struct scan_lang *l, const struct source_tree *t, uint32_t node,
		    struct text name, uint32_t but)
{
	for (uint32_t n = node; n < t->nodes[node].after; n++) {
		uint32_t target, value;

		if (n == but || !is_kind(t, n, &l->assigns) ||
		    !l->assign(t, n, &target, &value) || target == SOURCE_NONE)
			continue;
		for (uint32_t m = target; m < t->nodes[target].after; m++)
			if (is_kind(t, m, &l->identifiers) &&
			    text_same(effect_text(t, m), name))
				return true;
	}
	return false;
}
