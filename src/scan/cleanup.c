/*
 * Shape A without an acquisition in sight: the session is a parameter, the socket a
 * field. In a section that is there to clean up (a finally, a handler, a function called
 * close), a release stands behind a call that may raise, in the same list of statements.
 */
#include "scan/paths.h"

#include "base/mem.h"
#include "scan/effect.h"
#include "scan/finding.h"
#include "scan/names.h"

#include <stdlib.h>

/* Calls that talk to the other side, or write: they fail when it is gone. */
static const char fails_often[] =
	"commit rollback flush shutdown invalidate send sendall write wait join stop "
	"terminate communicate execute drain finish finalize logout quit unsubscribe "
	"unregister sync fsync close_all end";
/* The release that must not be skipped. */
static const char releases[] = "close release disconnect aclose unlock dispose destroy "
			       "free shutdown end finish";
static const char cleanup_functions[] =
	"close aclose disconnect __exit__ __aexit__ __del__ shutdown stop cleanup "
	"dispose "
	"release teardown tearDown session_cleanup _close finish terminate destroy";

static uint32_t call_in(const struct scan_function *fn, uint32_t statement)
{
	const struct source_tree *t = fn->t;
	uint32_t n = statement;

	/* Only statements that are a call and nothing else. */
	while (n != SOURCE_NONE && !source_has(&fn->lang->calls, t->nodes[n].kind)) {
		if (n != statement &&
		    !source_has(&fn->lang->transparent, t->nodes[n].kind))
			return SOURCE_NONE;
		n = source_named_child(t, n, 0);
	}
	return n;
}

/* What the method is called on: `self._sock` of `self._sock.close()`. */
static struct text receiver(const struct scan_function *fn, uint32_t call)
{
	uint32_t callee = source_child(fn->t, call, fn->lang->f_callee);

	if (fn->lang->call_is_member)
		return effect_text(fn->t, source_child(fn->t, call, fn->lang->f_object));
	if (callee == SOURCE_NONE ||
	    !source_has(&fn->lang->members, fn->t->nodes[callee].kind))
		return (struct text){"", 0};
	return effect_text(fn->t, source_child(fn->t, callee, fn->lang->f_object));
}

enum section { NO_SECTION, FINALLY, HANDLER, FUNCTION };

static enum section section_of(const struct scan_function *fn, uint32_t block)
{
	const struct source_tree *t = fn->t;
	uint32_t p = t->nodes[block].parent, name;

	for (uint32_t up = p; up != SOURCE_NONE && up != fn->flow->function;
	     up = t->nodes[up].parent) {
		if (source_has(&fn->lang->finallys, t->nodes[up].kind))
			return FINALLY;
		if (source_has(&fn->lang->handlers, t->nodes[up].kind))
			return HANDLER;
		/* Inside of a try of its own: what raises is taken there. */
		if (source_has(&fn->lang->tries, t->nodes[up].kind))
			break;
	}
	name = fn->lang->name(t, fn->flow->function);
	return name != SOURCE_NONE && text_among(effect_text(t, name), cleanup_functions)
		       ? FUNCTION
		       : NO_SECTION;
}

/* The first call in a statement (not inside of a try of its own) that may well fail. */
static uint32_t risk_in(const struct scan_function *fn, uint32_t statement,
			enum section where, struct text released)
{
	const struct source_tree *t = fn->t;

	if (source_has(&fn->lang->tries, t->nodes[statement].kind) ||
	    source_has(&fn->lang->opaque, t->nodes[statement].kind))
		return SOURCE_NONE;
	for (uint32_t n = statement; n < t->nodes[statement].after; n++) {
		struct text last, on;

		if (source_has(&fn->lang->tries, t->nodes[n].kind) ||
		    source_has(&fn->lang->opaque, t->nodes[n].kind))
			n = t->nodes[n].after - 1;
		if (!source_has(&fn->lang->calls, t->nodes[n].kind))
			continue;
		last = text_last(effect_callee(fn->lang, t, n));
		on = receiver(fn, n);
		if (!text_among(last, fails_often))
			continue;
		/* Deflater, Inflater, Matcher: no exception. */
		if (fn->lang->closeable && text_is(last, "end"))
			continue;
		/* Elsewhere than in a finally: only what the release is about. */
		if (where == FINALLY || text_same(on, released))
			return n;
	}
	return SOURCE_NONE;
}

static void report(const struct scan_function *fn, uint32_t risk, uint32_t release,
		   struct scan_findings *out)
{
	const struct source_tree *t = fn->t;
	uint32_t name = fn->lang->name(t, fn->flow->function);
	struct scan_finding *f = scan_finding_at(out, t, fn->path, name, risk);
	CLEANUP_FREE char *call = source_text_dup(t, risk);
	CLEANUP_FREE char *rest = source_text_dup(t, release);

	f->rule = "cleanup-skipped";
	f->shape = SHAPE_DEPENDENT_CLEANUP;
	f->severity = fn->severity;
	scan_finding_whole(f, t, risk);
	f->message = xasprintf("when `%.60s` raises, `%.60s` is not reached", call, rest);
	scan_step_add(f, f->line, xasprintf("may raise: %.60s", call));
	scan_step_add(f, source_line(t, release), xasprintf("not reached: %.60s", rest));
}

/* One list of statements. */
static void look_at(const struct scan_function *fn, uint32_t block,
		    struct scan_findings *out)
{
	const struct source_tree *t = fn->t;
	enum section where = section_of(fn, block);
	uint32_t statement, before;

	if (where == NO_SECTION)
		return;
	for (SOURCE_CHILDREN(t, block, statement)) {
		uint32_t call = call_in(fn, statement);
		struct text on;

		if (call == SOURCE_NONE ||
		    !text_among(text_last(effect_callee(fn->lang, t, call)), releases))
			continue;
		on = receiver(fn, call);
		for (SOURCE_CHILDREN(t, block, before)) {
			uint32_t risk;

			if (before >= statement)
				break;
			risk = risk_in(fn, before, where, on);
			if (risk != SOURCE_NONE) {
				report(fn, risk, call, out);
				return;
			}
		}
	}
}

void scan_cleanup(const struct scan_function *fn, struct scan_findings *out)
{
	const struct source_tree *t = fn->t;
	uint32_t function = fn->flow->function;

	if (!fn->lang->exceptions)
		return;
	for (uint32_t n = function + 1; n < t->nodes[function].after; n++) {
		if (source_has(&fn->lang->functions, t->nodes[n].kind))
			n = t->nodes[n].after - 1;
		else if (source_has(&fn->lang->blocks, t->nodes[n].kind))
			look_at(fn, n, out);
	}
}
