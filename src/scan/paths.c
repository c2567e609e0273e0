/* One search per acquisition: is there a way out with it still held? */
#include "scan/paths.h"

#include "base/macros.h"

#include "base/mem.h"
#include "scan/doubt.h"
#include "scan/effect.h"
#include "scan/finding.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_RESOURCES = 64 };

/* ---- may it raise ---- */

/* Calls that do not fail in practice. Last parts of callees. */
static const char cannot_raise[] =
	"append add discard clear update setdefault get keys values items copy pop_all "
	"extend insert isinstance issubclass hasattr getattr len str repr bool int id "
	"type "
	"list dict set tuple frozenset min max abs range enumerate zip sorted reversed "
	"any "
	"all print debug info warning warn error critical exception log format lower "
	"upper "
	"strip startswith endswith join split encode time monotonic perf_counter cancel "
	"set is_set notify notify_all locals globals vars super fileno getpid done "
	"cancelled current_task get_running_loop get_event_loop call_soon "
	"call_soon_threadsafe partial getLogger ref Lock Event deque defaultdict "
	"OrderedDict Counter namedtuple is_alive exc_info getpid gettimeofday now utcnow "
	"release unlock";

bool scan_may_raise(const struct scan_lang *lang, const struct source_tree *t,
		    uint32_t node)
{
	if (!lang->exceptions)
		return false;
	for (uint32_t n = node; n < t->nodes[node].after;) {
		uint16_t kind = t->nodes[n].kind;

		if (n != node && source_has(&lang->opaque, kind)) {
			n = t->nodes[n].after;
			continue;
		}
		if (source_has(&lang->calls, kind) &&
		    !text_among(text_last(effect_callee(lang, t, n)), cannot_raise))
			return true;
		if (source_has(&lang->raising, kind))
			return true;
		n++;
	}
	return false;
}

/* ---- what is acquired ---- */

struct resources {
	struct resource v[MAX_RESOURCES];
	uint32_t op[MAX_RESOURCES]; /* at which operation */
	uint32_t block[MAX_RESOURCES];
	size_t n;
};

static bool callee_matches(struct text callee, const char *words)
{
	struct text last = text_last(callee);

	while (*words) {
		size_t len = strcspn(words, " ");
		struct text word = {words, len};

		if (word.at[0] == '.') {
			word.at++;
			word.len--;
			if (text_same(last, word) && last.len < callee.len)
				return true;
		} else if (word.at[0] == '*') {
			if (callee.len >= len - 1 &&
			    !memcmp(callee.at + callee.len - (len - 1), word.at + 1,
				    len - 1))
				return true;
		} else if (text_same(callee, word)) {
			return true;
		}
		words += len;
		words += strspn(words, " ");
	}
	return false;
}

static const struct scan_pair *pair_of(struct text callee, const struct scan_pair *pairs,
				       size_t n, bool lock)
{
	for (size_t i = 0; i < n; i++)
		if (pairs[i].lock == lock && callee_matches(callee, pairs[i].acquire))
			return &pairs[i];
	return NULL;
}

static bool is_or(const struct scan_lang *l, const struct source_tree *t, uint32_t op)
{
	for (unsigned i = 0; i < ARRAY_SIZE(l->or_tokens) && l->or_tokens[i]; i++)
		if (source_text_is(t, op, l->or_tokens[i]))
			return true;
	return false;
}

/* What the table says it must not look like; in JavaScript a call that takes a callback
 * hands the resource to that. */
static bool is_ruled_out(const struct scan_lang *l, const struct source_tree *t,
			 uint32_t call, const struct scan_pair *pair)
{
	uint32_t list = source_child(t, call, l->f_arguments), argument;
	uint32_t first = list == SOURCE_NONE ? list : source_named_child(t, list, 0);

	if (pair->callee_not && text_among(effect_callee(l, t, call), pair->callee_not))
		return true;
	if (pair->first_not && first != SOURCE_NONE &&
	    text_among(effect_text(t, first), pair->first_not))
		return true;
	if (list != SOURCE_NONE && pair->callee_not)
		for (SOURCE_CHILDREN(t, list, argument))
			if (source_has(&l->functions, t->nodes[argument].kind))
				return true;
	return false;
}

static uint32_t call_of(const struct scan_lang *l, const struct source_tree *t,
			uint32_t value)
{
	while (value != SOURCE_NONE && !source_has(&l->calls, t->nodes[value].kind)) {
		/* `this.runner || pool.connect()` */
		if (source_has(&l->binaries, t->nodes[value].kind) &&
		    source_child(t, value, l->f_operator) != SOURCE_NONE &&
		    is_or(l, t, source_child(t, value, l->f_operator))) {
			value = source_child(t, value, l->f_right);
			continue;
		}
		if (!source_has(&l->transparent, t->nodes[value].kind) &&
		    (l->part_is_own || !source_has(&l->containers, t->nodes[value].kind)))
			return SOURCE_NONE;
		value = source_named_child(
			t, value, source_child(t, value, l->f_type) != SOURCE_NONE);
	}
	return value;
}

static bool is_local(const struct scan_function *fn, struct text name)
{
	const struct scan_lang *l = fn->lang;
	uint32_t body = source_child(fn->t, fn->flow->function, l->f_body);
	uint32_t end =
		body == SOURCE_NONE ? fn->t->nodes[fn->flow->function].after : body;

	/* A parameter is the caller's. */
	for (uint32_t n = fn->flow->function; n < end; n++)
		if (source_has(&l->identifiers, fn->t->nodes[n].kind) &&
		    text_same(effect_text(fn->t, n), name))
			return false;
	return true;
}

/* `__do_close int fd = -1`: two names in front of what is declared. The first is no
 * part of C: an attribute, and one of a local is there to release it. */
static bool is_marked(const struct scan_function *fn, uint32_t declaration)
{
	const struct source_tree *t = fn->t;
	uint32_t child;

	if (!(t->nodes[declaration].flags & SOURCE_BROKEN))
		return false;
	for (SOURCE_CHILDREN(t, declaration, child)) {
		if (t->nodes[child].flags & SOURCE_ERROR)
			return true;
		if (t->nodes[child].field == source_field(t->lang, "declarator"))
			break;
	}
	return false;
}

/* Is it declared with a cleanup of its own: __attribute__((cleanup)), g_autofree and
 * what projects call them? */
static bool cleans_itself(const struct scan_function *fn, struct text name)
{
	static const char *const words[] = {"cleanup", "CLEANUP",    "_auto",
					    "_free_",  "__free",     "scoped",
					    "guard",   "unique_ptr", "shared_ptr"};
	const struct scan_lang *l = fn->lang;

	if (!l->part_is_own)
		return false;
	for (uint32_t n = fn->flow->function; n < fn->t->nodes[fn->flow->function].after;
	     n++) {
		size_t len;
		const char *line;
		uint32_t up;

		if (!source_has(&l->identifiers, fn->t->nodes[n].kind) ||
		    !text_same(effect_text(fn->t, n), name))
			continue;
		/* `CLEANUP_FREE char *s`, `char *s CLEANUP_FREE`: the line in front of
		 * it, which may not parse, and its declaration. */
		up = source_above(fn->t, n, &l->declarations);
		if (up != SOURCE_NONE && is_marked(fn, up))
			return true;
		line = source_line_at(fn->t, fn->t->nodes[n].start, &len);
		len = (size_t)(fn->t->text + fn->t->nodes[n].start - line);
		for (size_t i = 0; i < ARRAY_SIZE(words); i++)
			if (memmem(line, len, words[i], strlen(words[i])))
				return true;
		if (up == SOURCE_NONE)
			return false;
		line = source_text(fn->t, up, &len);
		if (memchr(line, '=', len))
			len = (size_t)((const char *)memchr(line, '=', len) - line);
		for (size_t i = 0; i < ARRAY_SIZE(words); i++)
			if (memmem(line, len, words[i], strlen(words[i])))
				return true;
		return false;
	}
	return false;
}

/* A local of C is declared here; a global, or what it points to, has another owner. */
static bool is_declared(const struct scan_function *fn, struct text name)
{
	const struct scan_lang *l = fn->lang;
	uint32_t function = fn->flow->function, body;

	if (!*l->declaration_kinds)
		return true;
	body = source_child(fn->t, function, l->f_body);
	for (uint32_t n = body; n != SOURCE_NONE && n < fn->t->nodes[function].after;
	     n++) {
		uint32_t up, top;
		struct text whole;

		if (!source_has(&l->identifiers, fn->t->nodes[n].kind) ||
		    !text_same(effect_text(fn->t, n), name))
			continue;
		up = source_above(fn->t, n, &l->declarations);
		if (up == SOURCE_NONE || !source_within(fn->t, up, body))
			return false;
		/* `static` lasts, `struct x **p` points into something. */
		whole = effect_text(fn->t, up);
		top = fn->t->nodes[n].start;
		return !text_among(whole, "static*") &&
		       !(top >= 2 && fn->t->text[top - 1] == '*' &&
			 fn->t->text[top - 2] == '*');
	}
	return false;
}

static void add_resource(const struct scan_function *fn, struct resources *r,
			 struct text name, const struct scan_pair *pair, uint32_t node,
			 struct text error, bool by_address, uint32_t op, uint32_t block)
{
	if (r->n == MAX_RESOURCES || !name.len)
		return;
	if (!(pair && pair->lock) && !is_local(fn, name))
		return;
	if (text_is(name, "_") || cleans_itself(fn, name) ||
	    (!(pair && pair->lock) && !is_declared(fn, name)))
		return;
	r->v[r->n] = (struct resource){.name = name,
				       .helpers = fn->helpers,
				       .pair = pair,
				       .node = node,
				       .error = error,
				       .by_address = by_address};
	r->op[r->n] = op;
	r->block[r->n] = block;
	r->n++;
}

/* The error that comes with it: `f, err := open()`; `rc = open_it(&f)`. */
static struct text error_of(const struct scan_lang *l, const struct source_tree *t,
			    uint32_t target)
{
	struct text ret = {"", 0};

	for (uint32_t n = target; n < t->nodes[target].after; n++)
		if (source_has(&l->identifiers, t->nodes[n].kind))
			ret = effect_text(t, n);
	return text_among(ret, "err *err *Err e ok found *error") ? ret
								  : (struct text){"", 0};
}

/* A macro, unless it says what it makes. */
static bool is_upper(struct text name)
{
	for (size_t i = 0; i < name.len; i++)
		if (islower((unsigned char)name.at[i]))
			return false;
	return name.len > 1 && !text_among(name, "*ALLOC* *NEW* *OPEN* *DUP* *CREATE*");
}

/* May a resource be known by its release alone, when it comes from this call? */
static bool is_learnable(const struct scan_lang *l, const struct source_tree *t,
			 uint32_t call)
{
	struct text callee = effect_callee(l, t, call), last = text_last(callee);
	uint32_t arguments = source_child(t, call, l->f_arguments);

	if (text_among(last,
		       "append len cap min max abs va_arg make *Error *Exception") ||
	    is_upper(last) ||
	    (l->closeable && text_among(last, "ByteArray* String* CharArray*")) ||
	    (l->part_is_own && name_keeps(last) && !name_acquires(last)) ||
	    (l->part_is_own && (name_borrows(last) || text_among(last, "ato* strto*"))))
		return false;
	if (name_acquires(last))
		return true;
	/* `w.tail()` shows what w has. */
	return !(last.len < callee.len &&
		 (arguments == SOURCE_NONE ||
		  source_named_child(t, arguments, 0) == SOURCE_NONE)) &&
	       !text_among(last, "*length *_len *size *count *index *_get get*");
}

/* Do the names of what gives it and of what releases it belong together? */
static bool belongs(const struct scan_function *fn, uint32_t release, struct text acquire)
{
	for (uint32_t n = release; n < fn->t->nodes[release].after; n++) {
		struct text last, a, b;

		if (!source_has(&fn->lang->calls, fn->t->nodes[n].kind))
			continue;
		last = text_last(effect_callee(fn->lang, fn->t, n));
		if (!name_surely_releases(last))
			continue;
		if (name_is_basic_release(last) || name_acquires(acquire))
			return true;
		a = name_prefix(last);
		b = name_prefix(acquire);
		if (a.len && text_same(a, b))
			return true;
	}
	return false;
}

static bool calls_release(const struct scan_lang *l, const struct source_tree *t,
			  uint32_t call)
{
	struct text callee = effect_callee(l, t, call);
	struct text whole = effect_text(t, source_child(t, call, l->f_callee));

	return name_releases(text_last(callee)) ||
	       (whole.len != callee.len && name_releases(text_last(whole)));
}

bool scan_releases(const struct scan_lang *l, const struct source_tree *t,
		   uint32_t function)
{
	for (uint32_t n = function; n < t->nodes[function].after; n++) {
		uint16_t kind = t->nodes[n].kind;
		uint32_t p = t->nodes[n].parent;

		if (source_has(&l->withs, kind))
			return true;
		if (source_has(&l->calls, kind) && calls_release(l, t, n))
			return true;
		if (source_has(&l->argument_lists, kind) && p != SOURCE_NONE &&
		    !source_has(&l->calls, t->nodes[p].kind) && calls_release(l, t, p))
			return true;
	}
	return false;
}

/* Is it released by name anywhere in the function? acquire: what gave it. */
static bool is_released(const struct scan_function *fn, struct text name,
			struct text acquire)
{
	static const struct scan_pair sure = {
		.what = "resource", .sure = true, .last = true};
	const struct resource probe = {.name = name, .node = SOURCE_NONE, .pair = &sure};

	if (!fn->releases)
		return false;
	for (size_t i = 0; i < fn->flow->nops; i++) {
		const struct flow_op *op = &fn->flow->ops[i];
		enum effect e =
			op->kind == FLOW_DEFER
				? effect_deferred(fn->lang, fn->t, op->node, &probe)
				: effect_of(fn->lang, fn->t, op->node, &probe);

		if (e == EFFECT_RELEASED &&
		    (!fn->lang->part_is_own || belongs(fn, op->node, acquire)))
			return true;
	}
	return false;
}

/* Does a target, or one of several, have such a name? */
static bool is_named(const struct scan_function *fn, uint32_t target, const char *names)
{
	for (uint32_t n = target; n < fn->t->nodes[target].after; n++)
		if (source_has(&fn->lang->identifiers, fn->t->nodes[n].kind) &&
		    text_among(effect_text(fn->t, n), names))
			return true;
	return false;
}

/* Of C: `f = open_it(path, &status)`. */
static struct text status_of(const struct scan_lang *l, const struct source_tree *t,
			     uint32_t call)
{
	uint32_t list = source_child(t, call, l->f_arguments), a;

	if (l->part_is_own && list != SOURCE_NONE)
		for (SOURCE_CHILDREN(t, list, a)) {
			struct text name = effect_text(t, a);

			if (name.len < 2 || name.at[0] != '&')
				continue;
			name.at++;
			name.len--;
			if (text_among(name, "err error rc ret status *_err *_error "
					     "*_status"))
				return name;
		}
	return (struct text){"", 0};
}

/* `*ret = f = open()`, `self.f = f = open()`: another has it as well. */
static bool is_shared(const struct scan_lang *l, const struct source_tree *t, uint32_t n)
{
	uint32_t up = t->nodes[n].parent, target, value;

	return up != SOURCE_NONE && source_has(&l->assigns, t->nodes[up].kind) &&
	       l->assign(t, up, &target, &value) && value == n && target != SOURCE_NONE &&
	       !source_has(&l->identifiers, t->nodes[target].kind);
}

/* Is it one of HTTP? Clients of others have a Get() and a Do(), too. */
static bool is_response(const struct scan_function *fn, struct text callee,
			uint32_t target)
{
	const struct scan_lang *l = fn->lang;
	const struct source_tree *t = fn->t;
	uint32_t function = fn->flow->function;

	if (text_among(callee, "http.*"))
		return true;
	for (uint32_t n = function; n < t->nodes[function].after; n++) {
		struct text whole;

		if (!source_has(&l->members, t->nodes[n].kind) ||
		    !text_among(text_last(effect_text(t, n)), "Body StatusCode Status"))
			continue;
		whole = effect_text(t, source_child(t, n, l->f_object));
		for (uint32_t m = target; m < t->nodes[target].after; m++)
			if (source_has(&l->identifiers, t->nodes[m].kind) &&
			    text_same(effect_text(t, m), whole))
				return true;
	}
	return false;
}

/* `s = append(s, x)` makes it larger. */
static bool is_enlarged(const struct scan_lang *l, const struct source_tree *t,
			uint32_t call, uint32_t target)
{
	uint32_t list = source_child(t, call, l->f_arguments), argument;

	if (list != SOURCE_NONE)
		for (SOURCE_CHILDREN(t, list, argument))
			if (source_text_equal(t, argument, t, target))
				return true;
	return false;
}

/* `rc = f(c); … close_it(c, rc)`: what was found, and nothing to release. */
static bool is_status_name(struct text name)
{
	return text_among(name, "rc ret rv retval err error errno status len size count");
}

/* What is given at once is not made: it is there, and another has it. */
static bool is_awaited(const struct scan_lang *l, const struct source_tree *t,
		       uint32_t call, uint32_t top)
{
	for (uint32_t n = t->nodes[call].parent; n != SOURCE_NONE && n > top;
	     n = t->nodes[n].parent)
		if (source_has(&l->raising, t->nodes[n].kind))
			return true;
	return false;
}

static void acquire_assigned(const struct scan_function *fn, struct resources *r,
			     const struct scan_pair *pairs, size_t npairs, uint32_t n,
			     uint32_t op, uint32_t block)
{
	const struct scan_lang *l = fn->lang;
	const struct source_tree *t = fn->t;
	uint32_t target, value, call;
	const struct scan_pair *pair;
	struct text error, acquire;

	if (!l->assign(t, n, &target, &value) || value == SOURCE_NONE)
		return;
	call = call_of(l, t, value);
	if (call == SOURCE_NONE)
		return;
	if (is_enlarged(l, t, call, target) || is_shared(l, t, n))
		return;
	if (text_among(effect_callee(l, t, call), "boto3.* botocore.*")) /* no close() */
		return;
	pair = pair_of(effect_callee(l, t, call), pairs, npairs, false);
	if (pair && is_ruled_out(l, t, call, pair))
		return;
	if (pair && pair->awaited && !is_awaited(l, t, call, n))
		return;
	acquire = text_last(effect_callee(l, t, call));
	if (pair && pair->names && !is_named(fn, target, pair->names))
		pair = NULL;
	if (pair && pair->response && !is_response(fn, effect_callee(l, t, call), target))
		return;
	if (source_has(&l->identifiers, t->nodes[target].kind)) {
		struct text name = effect_text(t, target);

		if (pair || (is_learnable(l, t, call) && !is_status_name(name) &&
			     is_released(fn, name, acquire)))
			add_resource(fn, r, name, pair, n, status_of(l, t, call), false,
				     op, block);
		return;
	}
	if (!source_has(&l->containers, t->nodes[target].kind))
		return;
	error = error_of(l, t, target);
	for (uint32_t m = target, first = 1; m < t->nodes[target].after; m++) {
		struct text name = effect_text(t, m);

		if (!source_has(&l->identifiers, t->nodes[m].kind) ||
		    source_has(&l->members, t->nodes[t->nodes[m].parent].kind) ||
		    text_same(name, error) ||
		    (pair && pair->names && !text_among(name, pair->names)))
			continue;
		if (pair ? first || pair->tuple
			 : is_learnable(l, t, call) && is_released(fn, name, acquire))
			add_resource(fn, r, name, pair, n, error, false, op, block);
		first = 0;
		if (pair && !pair->tuple)
			break;
	}
}

/* `lock.acquire()`, `pthread_mutex_lock(&l)`, alone. */
static void acquire_called(const struct scan_function *fn, struct resources *r,
			   const struct scan_pair *pairs, size_t npairs, uint32_t n,
			   uint32_t op, uint32_t block)
{
	const struct scan_lang *l = fn->lang;
	struct text callee = effect_callee(l, fn->t, n), last = text_last(callee);
	const struct scan_pair *pair = pair_of(callee, pairs, npairs, true);
	uint32_t arguments, first;
	struct text name, got = {"", 0};

	if (!pair)
		return;
	if (last.len < callee.len) {
		uint32_t member =
			l->call_is_member ? n : source_child(fn->t, n, l->f_callee);

		name = effect_text(fn->t, source_child(fn->t, member, l->f_object));
	} else {
		arguments = source_child(fn->t, n, l->f_arguments);
		first = arguments == SOURCE_NONE
				? arguments
				: source_named_child(fn->t, arguments, 0);
		name = effect_text(fn->t, first);
		if (name.len && name.at[0] == '&')
			name.at++, name.len--;
	}
	/* `self.acquire()` within the class of the lock. */
	if (text_among(name, "self this super()"))
		return;
	/* `got = lock.acquire(timeout=5)` */
	if (!l->part_is_own) {
		uint32_t up = fn->t->nodes[n].parent, target, value;

		while (up != SOURCE_NONE &&
		       source_has(&l->transparent, fn->t->nodes[up].kind))
			up = fn->t->nodes[up].parent;
		if (up != SOURCE_NONE && source_has(&l->assigns, fn->t->nodes[up].kind) &&
		    l->assign(fn->t, up, &target, &value) && target != SOURCE_NONE)
			got = effect_text(fn->t, target);
	}
	add_resource(fn, r, name, pair, n, got, false, op, block);
}

static bool has_resource(const struct resources *r, struct text name)
{
	for (size_t i = 0; i < r->n; i++)
		if (text_same(r->v[i].name, name))
			return true;
	return false;
}

static bool is_filled_by(const struct scan_function *fn, struct text name,
			 struct text callee)
{
	return (name_acquires(callee) || name_prefix(callee).len) && !is_upper(callee) &&
	       !name_borrows(callee) && is_released(fn, name, callee);
}

/* `open_it(&f)`, where f is released here. What is called later changes it only. */
static void acquire_filled(const struct scan_function *fn, struct resources *r,
			   uint32_t n, uint32_t top, uint32_t op, uint32_t block)
{
	const struct scan_lang *l = fn->lang;
	const struct source_tree *t = fn->t;
	uint32_t arguments = source_child(t, n, l->f_arguments), a, parent, target, value;
	struct text error = {"", 0};

	if (arguments == SOURCE_NONE || name_releases(text_last(effect_callee(l, t, n))))
		return;
	parent = n == top ? SOURCE_NONE : t->nodes[n].parent;
	/* Nobody asks whether it worked: it made an empty one, or copied a value. */
	if ((parent == SOURCE_NONE || parent == top) &&
	    text_among(text_last(effect_callee(l, t, n)),
		       "*_init *init *Init *_init_* *_get_* *_reset"))
		return;
	if (text_among(text_last(effect_callee(l, t, n)),
		       "*memzero *memset *bzero *memcpy *memmove *zero"))
		return;
	if (parent != SOURCE_NONE && source_has(&l->assigns, t->nodes[parent].kind) &&
	    l->assign(t, parent, &target, &value))
		error = effect_text(t, target);
	for (SOURCE_CHILDREN(t, arguments, a)) {
		struct text name = effect_text(t, a);

		if (!source_has(&l->addresses, t->nodes[a].kind) || name.len < 2 ||
		    name.at[0] != '&')
			continue;
		name.at++;
		name.len--;
		/* `&err`: set when it fails, and the caller asks for that. */
		if (text_last(name).len == name.len && !has_resource(r, name) &&
		    !text_among(name, "err errmsg *_err *error cause reason msg") &&
		    is_filled_by(fn, name, text_last(effect_callee(l, t, n))))
			add_resource(fn, r, name, NULL, n, error, true, op, block);
	}
}

static void acquire_in(const struct scan_function *fn, struct resources *r,
		       const struct scan_pair *pairs, size_t npairs, uint32_t op,
		       uint32_t block)
{
	const struct scan_lang *l = fn->lang;
	uint32_t node = fn->flow->ops[op].node;

	for (uint32_t n = node; n < fn->t->nodes[node].after;) {
		uint16_t kind = fn->t->nodes[n].kind;

		if (n != node && source_has(&l->opaque, kind)) {
			n = fn->t->nodes[n].after;
			continue;
		}
		if (source_has(&l->withs, kind))
			return;
		if (source_has(&l->assigns, kind)) {
			acquire_assigned(fn, r, pairs, npairs, n, op, block);
		} else if (source_has(&l->calls, kind)) {
			acquire_called(fn, r, pairs, npairs, n, op, block);
			if (l->part_is_own)
				acquire_filled(fn, r, n, node, op, block);
		}
		n++;
	}
}

static void add_aliases(const struct scan_function *fn, struct resource *r)
{
	const struct scan_lang *l = fn->lang;

	for (size_t i = 0; i < fn->flow->nops; i++) {
		uint32_t node = fn->flow->ops[i].node;

		for (uint32_t n = node; n < fn->t->nodes[node].after; n++) {
			uint32_t target, value, inner;
			bool chain = false;

			if (!source_has(&l->assigns, fn->t->nodes[n].kind) ||
			    !l->assign(fn->t, n, &target, &value) ||
			    value == SOURCE_NONE || r->naliases == MAX_ALIASES)
				continue;
			/* `a = b = make()` */
			if (source_has(&l->assigns, fn->t->nodes[value].kind))
				chain = l->assign(fn->t, value, &value, &inner);
			if (source_has(&l->identifiers, fn->t->nodes[target].kind) &&
			    text_same(effect_text(fn->t, value), r->name) &&
			    (is_local(fn, effect_text(fn->t, target))
				     ? is_declared(fn, effect_text(fn->t, target))
				     : chain) &&
			    !cleans_itself(fn, effect_text(fn->t, target)))
				r->alias[r->naliases++] = effect_text(fn->t, target);
		}
	}
}

/* ---- the search ---- */

struct reach {
	uint32_t block;
	bool error_counts; /* the error is that of the acquisition */
	uint32_t exit;	   /* the return or raise that it is on its way with, or NONE */
	uint32_t implicit; /* the operation that raised, or NONE */
	uint32_t test;	   /* the last test on the way, or NONE */
	bool yes;	   /* which way it went */
	bool given;	   /* a call that nothing is known of had it as an argument */
};

struct search {
	const struct scan_function *fn;
	const struct resource *r;
	uint32_t acquire_op;
	struct reach *queue;
	size_t n, cap, at;
	uint8_t *seen; /* per block: 1, 2: error_counts; 4: by an exception */
	bool released, escaped, replaced; /* somewhere on the way */
	struct reach explicit, implicit;  /* the first bad way out of each kind */
	bool has_explicit, has_implicit;
};

static void push(struct search *s, uint32_t block, struct reach from)
{
	uint8_t bit = (uint8_t)((from.error_counts ? 1 : 2)
				<< (from.implicit == FLOW_NONE ? 0 : 2));

	if (block == FLOW_NONE || s->seen[block] & bit)
		return;
	s->seen[block] |= bit;
	from.block = block;
	*VEC_ADD(s->queue, s->n, s->cap) = from;
}

/* Is it an argument of a call that may keep it, for all that is known? */
static bool is_given(const struct search *s, uint32_t node)
{
	const struct scan_lang *l = s->fn->lang;
	const struct source_tree *t = s->fn->t;

	for (uint32_t n = node; n < t->nodes[node].after; n++) {
		uint32_t list;

		if (!source_has(&l->identifiers, t->nodes[n].kind) ||
		    !text_same(effect_text(t, n), s->r->name))
			continue;
		list = t->nodes[n].parent;
		if (list != SOURCE_NONE &&
		    source_has(&l->argument_lists, t->nodes[list].kind) &&
		    !name_only_uses(
			    text_last(effect_callee(l, t, t->nodes[list].parent))))
			return true;
	}
	return false;
}

/* All went well, as far as the value that is returned says. */
static bool is_success(const struct search *s, uint32_t exit)
{
	const struct source_tree *t = s->fn->t;
	uint32_t node, value, body, up;
	struct text text;

	if (exit == FLOW_NONE)
		return true;
	node = s->fn->flow->ops[exit].node;
	value = source_named_child(t, node, 0);
	text = effect_text(t, value);
	if (value == SOURCE_NONE || text_among(text, "0 1 true TRUE *OK *SUCCESS *_OK"))
		return true;
	body = source_child(t, s->fn->flow->function, s->fn->lang->f_body);
	for (up = node; up != SOURCE_NONE && t->nodes[up].parent != body;)
		up = t->nodes[up].parent;
	return up == node;
}

static void way_out(struct search *s, const struct reach *at)
{
	if (at->given && at->implicit == FLOW_NONE && s->fn->lang->part_is_own &&
	    (!s->r->pair || !s->r->pair->lock) && is_success(s, at->exit)) {
		s->escaped = true;
		return;
	}
	if (at->implicit != FLOW_NONE) {
		if (!s->has_implicit)
			s->implicit = *at;
		s->has_implicit = true;
		return;
	}
	if (!s->has_explicit)
		s->explicit = *at;
	s->has_explicit = true;
}

/* false: the way ends here, as far as the resource goes. */
static bool step(struct search *s, struct reach *at, uint32_t index)
{
	const struct flow *f = s->fn->flow;
	const struct flow_op *op = &f->ops[index];
	const struct scan_lang *l = s->fn->lang;
	enum effect e = op->kind == FLOW_DEFER
				? effect_deferred(l, s->fn->t, op->node, s->r)
				: effect_of(l, s->fn->t, op->node, s->r);

	if (op->kind == FLOW_CATCH)
		return true;
	if (op->kind == FLOW_LEAVE)
		e = EFFECT_NONE;
	if (op->kind == FLOW_DEFER && e == EFFECT_USED)
		e = EFFECT_NONE;
	if (index == s->acquire_op) /* around a loop */
		return false;
	if (e == EFFECT_RELEASED) {
		s->released = true;
		return false;
	}
	if (e == EFFECT_ESCAPED) {
		s->escaped = true;
		return false;
	}
	if (e == EFFECT_REPLACED) {
		s->replaced = true;
		return false;
	}
	if (e == EFFECT_USED && is_given(s, op->node))
		at->given = true;
	if (op->kind == FLOW_RETURN || op->kind == FLOW_RAISE)
		at->exit = index;
	else if (scan_may_raise(l, s->fn->t, op->node)) {
		struct reach raised = *at;

		if (raised.implicit == FLOW_NONE)
			raised.implicit = index;
		raised.exit = FLOW_NONE;
		push(s, f->blocks[at->block].raise, raised);
	}
	if (s->r->error.len &&
	    effect_assigns(l, s->fn->t, op->node, s->r->error, s->r->node))
		at->error_counts = false;
	return true;
}

/* A test of something else, of which one way releases and comes back: `if (own)
 * close(f)`. Whether it holds is not ours to say. */
static bool is_conditional_release(const struct search *s, uint32_t test)
{
	const struct source_tree *t = s->fn->t;
	uint32_t p = t->nodes[test].parent, child;

	while (p != SOURCE_NONE &&
	       (source_has(&s->fn->lang->parens, t->nodes[p].kind) ||
		source_has(&s->fn->lang->binaries, t->nodes[p].kind) ||
		source_has(&s->fn->lang->nots, t->nodes[p].kind)))
		p = t->nodes[p].parent;
	if (p == SOURCE_NONE || !source_has(&s->fn->lang->ifs, t->nodes[p].kind))
		return false;
	for (SOURCE_CHILDREN(t, p, child)) {
		bool leaves = false;

		if (source_within(t, test, child) ||
		    effect_of(s->fn->lang, t, child, s->r) != EFFECT_RELEASED)
			continue;
		for (uint32_t n = child; n < t->nodes[child].after; n++)
			leaves |= source_has(&s->fn->lang->jumps, t->nodes[n].kind) &&
				  source_above(t, n, &s->fn->lang->ifs) == p;
		if (!leaves)
			return true;
	}
	return false;
}

/* The same condition is around the acquisition: it went this way there. */
static int known_way(const struct search *s, uint32_t test)
{
	const struct source_tree *t = s->fn->t;
	uint32_t child = s->r->node, p = t->nodes[child].parent;

	for (; p != SOURCE_NONE && p != s->fn->flow->function;
	     child = p, p = t->nodes[p].parent) {
		uint32_t condition;

		if (!source_has(&s->fn->lang->ifs, t->nodes[p].kind))
			continue;
		condition = source_child(t, p, s->fn->lang->f_condition);
		if (condition == SOURCE_NONE || child == condition)
			continue;
		if (source_text_equal(t, condition, t, test) ||
		    (source_has(&s->fn->lang->parens, t->nodes[condition].kind) &&
		     source_named_child(t, condition, 0) != SOURCE_NONE &&
		     source_text_equal(t, source_named_child(t, condition, 0), t, test)))
			return t->nodes[child].field == s->fn->lang->f_alternative ? 0
										   : 1;
	}
	return -1;
}

static void branch(struct search *s, struct reach at, const struct flow_op *op)
{
	const struct flow_block *block = &s->fn->flow->blocks[at.block];
	enum verdict v =
		effect_test(s->fn->lang, s->fn->t, op->node, s->r, at.error_counts);
	int known = known_way(s, op->node);

	if (v == SAYS_NOTHING && is_conditional_release(s, op->node)) {
		s->released = true;
		return;
	}
	at.test = op->node;
	at.yes = true;
	if (v != HELD_IF_FALSE && known != 0)
		push(s, block->next, at);
	at.yes = false;
	if (v != HELD_IF_TRUE && known != 1)
		push(s, block->other, at);
}

static void walk(struct search *s, struct reach at, uint32_t op)
{
	const struct flow *f = s->fn->flow;

	for (; op != FLOW_NONE; op = f->ops[op].next) {
		if (op != s->acquire_op || at.block == FLOW_NONE) {
			if (!step(s, &at, op))
				return;
		}
		if (f->ops[op].kind == FLOW_TEST) {
			branch(s, at, &f->ops[op]);
			return;
		}
	}
	push(s, f->blocks[at.block].next, at);
	push(s, f->blocks[at.block].other, at);
}

static void search(struct search *s, uint32_t block)
{
	struct reach at = {.block = block,
			   .error_counts = true,
			   .exit = FLOW_NONE,
			   .implicit = FLOW_NONE,
			   .test = FLOW_NONE};
	const struct flow *f = s->fn->flow;

	s->seen = xcalloc(f->nblocks, 1);
	if (f->ops[s->acquire_op].kind == FLOW_TEST)
		branch(s, at, &f->ops[s->acquire_op]);
	else {
		uint32_t next = f->ops[s->acquire_op].next;

		if (next == FLOW_NONE) {
			push(s, f->blocks[block].next, at);
			push(s, f->blocks[block].other, at);
		} else {
			walk(s, at, next);
		}
	}
	while (s->at < s->n) {
		at = s->queue[s->at++];
		if (at.block == FLOW_EXIT_RETURN || at.block == FLOW_EXIT_RAISE)
			way_out(s, &at);
		else
			walk(s, at, f->blocks[at.block].first);
	}
	free(s->seen);
	free(s->queue);
}

/* ---- what it means ---- */

static char *quote(const struct source_tree *t, uint32_t node)
{
	struct text x = effect_text(t, node);
	size_t n = 0;

	while (n < x.len && n < 60 && x.at[n] != '\n')
		n++;
	return xasprintf("%.*s%s", (int)n, x.at, n < x.len ? " …" : "");
}

static struct scan_finding *begin(const struct scan_function *fn,
				  struct scan_findings *out, const char *rule,
				  enum scan_shape shape, uint32_t node)
{
	uint32_t name = fn->lang->name(fn->t, fn->flow->function);
	struct scan_finding *f = scan_finding_at(out, fn->t, fn->path, name, node);

	f->rule = rule;
	f->shape = shape;
	f->severity = fn->severity;
	return f;
}

static void add_step(struct scan_finding *f, const struct source_tree *t, uint32_t node,
		     const char *what)
{
	CLEANUP_FREE char *text = quote(t, node);

	scan_step_add(f, source_line(t, node), xasprintf("%s: %s", what, text));
}

static const char *what_of(const struct resource *r)
{
	return r->pair ? r->pair->what : "resource";
}

/* A release of it that stands somewhere in the function. */
static uint32_t release_of(const struct scan_function *fn, const struct resource *r)
{
	for (size_t i = 0; i < fn->flow->nops; i++)
		if (effect_of(fn->lang, fn->t, fn->flow->ops[i].node, r) ==
		    EFFECT_RELEASED)
			return fn->flow->ops[i].node;
	return SOURCE_NONE;
}

static void add_way(struct scan_finding *f, const struct search *s,
		    const struct reach *at)
{
	const struct source_tree *t = s->fn->t;
	uint32_t release = release_of(s->fn, s->r);

	add_step(f, t, s->r->node, "acquired");
	if (at->test != FLOW_NONE)
		add_step(f, t, at->test, at->yes ? "when true" : "when false");
	if (at->implicit != FLOW_NONE)
		add_step(f, t, s->fn->flow->ops[at->implicit].node, "may raise");
	if (at->exit != FLOW_NONE)
		add_step(f, t, s->fn->flow->ops[at->exit].node, "leaves");
	if (release != SOURCE_NONE)
		add_step(f, t, release, "not reached");
}

static bool uses_labels(const struct scan_function *fn)
{
	for (uint32_t n = fn->flow->function; n < fn->t->nodes[fn->flow->function].after;
	     n++)
		if (source_has(&fn->lang->gotos, fn->t->nodes[n].kind))
			return true;
	return false;
}

/* `new DataInputStream(in)`, `socket.getInputStream()`: closing what it is made of is
 * enough. */
static bool is_derived(const struct scan_function *fn, const struct resource *r)
{
	const struct scan_lang *l = fn->lang;
	uint32_t target, value, call, arguments, first;

	if (r->pair->derived)
		return true;
	if (!l->assign(fn->t, r->node, &target, &value))
		return false;
	call = call_of(l, fn->t, value);
	arguments =
		call == SOURCE_NONE ? call : source_child(fn->t, call, l->f_arguments);
	first = arguments == SOURCE_NONE ? arguments
					 : source_named_child(fn->t, arguments, 0);
	/* `ZipFile(f)`, where f is closed here. */
	if (!l->closeable)
		return !l->part_is_own && first != SOURCE_NONE &&
		       source_has(&l->identifiers, fn->t->nodes[first].kind) &&
		       is_released(fn, effect_text(fn->t, first), r->name);
	return first != SOURCE_NONE &&
	       text_among(text_last(effect_callee(l, fn->t, call)),
			  "*Stream *Reader *Writer Scanner") &&
	       !text_among(text_last(effect_callee(l, fn->t, call)), "File*") &&
	       !source_has(&l->calls, fn->t->nodes[first].kind);
}

static void add_doubt(struct scan_finding *f, const struct search *s,
		      const struct reach *at, bool never)
{
	bool implicit = at->implicit != FLOW_NONE;
	uint32_t exit = implicit ? at->implicit : at->exit;
	const struct flow_op *op = exit == FLOW_NONE ? NULL : &s->fn->flow->ops[exit];
	struct scan_way way = {.exit = op ? op->node : SOURCE_NONE,
			       .test = at->test,
			       .raises = implicit || (op && op->kind == FLOW_RAISE),
			       .implicit = implicit,
			       .never = never};
	const char *doubt = scan_doubt(s->fn, s->r, &way);

	if (!doubt)
		return;
	f->severity = SCAN_NOTE;
	scan_step_add(f, f->line, xasprintf("in doubt: %s", doubt));
}

static void report_explicit(const struct search *s, struct scan_findings *out)
{
	const struct scan_function *fn = s->fn;
	const struct resource *r = s->r;
	const struct reach *at = &s->explicit;
	bool never = !s->released && !s->escaped && !s->replaced;
	uint32_t node = at->exit == FLOW_NONE ? r->node : fn->flow->ops[at->exit].node;
	bool body = r->pair && r->pair->body;
	struct scan_finding *f;

	if (never && (!r->pair || r->pair->lock || is_derived(fn, r)))
		return;
	if (never)
		f = begin(fn, out, body ? "body-not-closed" : "never-released",
			  body ? SHAPE_ROWS_BODY : SHAPE_UNPROTECTED, r->node);
	else if (uses_labels(fn))
		f = begin(fn, out, "exit-skips-label", SHAPE_SKIPPED_LABEL, node);
	else
		f = begin(fn, out, body ? "body-not-closed" : "early-exit",
			  body ? SHAPE_ROWS_BODY : SHAPE_EARLY_EXIT, node);
	f->message = never ? xasprintf("the %s `%.*s` is never released", what_of(r),
				       (int)r->name.len, r->name.at)
			   : xasprintf("the %s `%.*s` is still held on this way out",
				       what_of(r), (int)r->name.len, r->name.at);
	add_way(f, s, at);
	add_doubt(f, s, at, never);
}

static void report_implicit(const struct search *s, struct scan_findings *out)
{
	const struct scan_function *fn = s->fn;
	const struct resource *r = s->r;
	const struct flow_op *op = &fn->flow->ops[s->implicit.implicit];
	struct scan_finding *f;

	if (!s->released)
		return;
	if (op->cleanup) {
		f = begin(fn, out, "cleanup-skipped", SHAPE_DEPENDENT_CLEANUP, op->node);
		f->message = xasprintf("when this raises, the %s `%.*s` is not released",
				       what_of(r), (int)r->name.len, r->name.at);
	} else if (r->pair ? r->pair->held_when_raised : fn->lang->closeable) {
		f = begin(fn, out, "release-not-protected", SHAPE_UNPROTECTED, op->node);
		f->message = xasprintf("when this raises, the %s `%.*s` stays held",
				       what_of(r), (int)r->name.len, r->name.at);
	} else {
		return;
	}
	add_way(f, s, &s->implicit);
	add_doubt(f, s, &s->implicit, false);
}

/* `f, err := open(); defer f.Close(); if err != nil`: f is nil when it matters. */
static void report_early_defer(const struct scan_function *fn, const struct resource *r,
			       uint32_t acquire, struct scan_findings *out)
{
	uint32_t next = fn->flow->ops[acquire].next;
	const struct flow_op *op;
	struct scan_finding *f;

	if (!r->error.len || next == FLOW_NONE)
		return;
	op = &fn->flow->ops[next];
	if (op->kind != FLOW_DEFER ||
	    effect_deferred(fn->lang, fn->t, op->node, r) != EFFECT_RELEASED)
		return;
	f = begin(fn, out, "defer-before-check", SHAPE_EARLY_EXIT, op->node);
	f->message =
		xasprintf("`%.*s` is not looked at before `%.*s` is released",
			  (int)r->error.len, r->error.at, (int)r->name.len, r->name.at);
	add_step(f, fn->t, r->node, "acquired, or not");
	add_step(f, fn->t, op->node, "released in any case");
}

/* Within #if of the function, or SOURCE_NONE. */
static uint32_t condition_above(const struct scan_function *fn, uint32_t n)
{
	uint32_t up = fn->lang->config_kinds ? source_above(fn->t, n, &fn->lang->configs)
					     : SOURCE_NONE;

	return up != SOURCE_NONE && source_within(fn->t, up, fn->flow->function)
		       ? up
		       : SOURCE_NONE;
}

/* Acquired under one #if and released under another: they go together, and ways that
 * take the one and not the other are of no build. */
static bool is_configured(const struct scan_function *fn, const struct resource *r)
{
	uint32_t own = condition_above(fn, r->node);

	if (own == SOURCE_NONE)
		return false;
	for (size_t i = 0; i < fn->flow->nops; i++) {
		uint32_t node = fn->flow->ops[i].node, other;

		if (effect_of(fn->lang, fn->t, node, r) < EFFECT_ESCAPED)
			continue;
		other = condition_above(fn, node);
		if (other != SOURCE_NONE && other != own)
			return true;
	}
	return false;
}

/* A closure that is deferred before the acquisition releases what the name then has. */
static bool is_deferred(const struct scan_function *fn, const struct resource *r)
{
	for (size_t i = 0; i < fn->flow->nops; i++) {
		const struct flow_op *op = &fn->flow->ops[i];

		if (op->kind == FLOW_DEFER && op->node < r->node &&
		    effect_deferred(fn->lang, fn->t, op->node, r) == EFFECT_RELEASED &&
		    effect_of(fn->lang, fn->t, op->node, r) == EFFECT_ESCAPED)
			return true;
	}
	return false;
}

void scan_paths(const struct scan_function *fn, const struct scan_pair *pairs,
		size_t npairs, struct scan_findings *out)
{
	struct resources r = {.n = 0};

	if (fn->flow->gave_up)
		return;
	for (uint32_t b = FLOW_FIRST; b < fn->flow->nblocks; b++)
		for (uint32_t op = fn->flow->blocks[b].first; op != FLOW_NONE;
		     op = fn->flow->ops[op].next)
			if (!fn->flow->ops[op].copy)
				acquire_in(fn, &r, pairs, npairs, op, b);
	for (size_t i = 0; i < r.n; i++) {
		struct search s = {.fn = fn, .r = &r.v[i], .acquire_op = r.op[i]};

		if (is_configured(fn, &r.v[i]) || is_deferred(fn, &r.v[i]))
			continue;
		add_aliases(fn, &r.v[i]);
		r.v[i].closed_here =
			fn->lang->closeable && is_released(fn, r.v[i].name, r.v[i].name);
		report_early_defer(fn, &r.v[i], r.op[i], out);
		search(&s, r.block[i]);
		if (s.has_explicit)
			report_explicit(&s, out);
		else if (s.has_implicit)
			report_implicit(&s, out);
	}
}
