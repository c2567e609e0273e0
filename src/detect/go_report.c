#include "detect/go_report.h"

#include "base/buf.h"
#include "base/mem.h"
#include "model/normalize.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define CANARY_ENTRY "testing.exitpathCanary"

enum snapshot { SNAPSHOT_NONE, SNAPSHOT_HELD, SNAPSHOT_COLLECTED };

struct parser {
	struct go_report *r;
	const char *path;
	enum snapshot snapshot;
	bool open; /* a cycle is open */
	bool canary_goroutine, canary_fd;
	/* The goroutine that is being read. */
	uint64_t count;
	enum resource resource; /* it may be a ticker */
	char *state;
	struct raw_stack stack;
	char *entry, *creator;
};

static void fault(struct parser *p, const char *why, const char *line)
{
	if (!p->r->fault)
		p->r->fault = xasprintf("%s: %.80s", why, line);
}

/* The rest of line after the word, or NULL. */
static const char *after(const char *line, const char *word)
{
	size_t n = strlen(word);

	if (strncmp(line, word, n) != 0)
		return NULL;
	return !line[n] ? line + n : line[n] == ' ' ? line + n + 1 : NULL;
}

static bool number(const char **s, uint64_t *ret)
{
	char *end;

	if (**s < '0' || **s > '9')
		return false;
	errno = 0;
	*ret = strtoull(*s, &end, 10);
	if (errno || *ret > UINT32_MAX)
		return false;
	*s = *end == ' ' ? end + 1 : end;
	return *end == ' ' || !*end;
}

/* --- what is held ----------------------------------------------------------------- */

static struct go_held *find(struct go_report *r, enum resource resource, const char *key)
{
	for (size_t i = 0; i < r->nhelds; i++)
		if (r->helds[i].resource == resource && !strcmp(r->helds[i].key, key))
			return &r->helds[i];
	return NULL;
}

static void make_room(struct go_held *h, size_t n)
{
	h->held = xrealloc(h->held, n, sizeof(*h->held));
	h->collected = xrealloc(h->collected, n, sizeof(*h->collected));
	for (; h->ncycles < n; h->ncycles++)
		h->held[h->ncycles] = h->collected[h->ncycles] = 0;
}

/* Takes key; gives NULL when there are too many. */
static struct go_held *count(struct parser *p, enum resource resource, char *key,
			     uint64_t units)
{
	struct go_held *h = find(p->r, resource, key);
	size_t at = p->r->ncycles - 1;

	if (!h && p->r->nhelds == GO_HELD_MAX) {
		p->r->cut = true;
		free(key);
		return NULL;
	}
	if (!h) {
		h = VEC_ADD(p->r->helds, p->r->nhelds, p->r->helds_cap);
		h->resource = resource;
		h->key = key;
	} else {
		free(key);
	}
	make_room(h, p->r->ncycles);
	*(p->snapshot == SNAPSHOT_HELD ? &h->held[at] : &h->collected[at]) += units;
	return h;
}

/*
 * Closures are numbered in the order of the source, and a goroutine that runs a method
 * value or a deferred call is too: a patch that adds one above must not rename those
 * below. "pkg.F.func2.1" and "pkg.F.gowrap3" become "pkg.F.func", "pkg.F.gowrap".
 */
static void add_function(struct buf *b, const char *function)
{
	static const char *const generated[] = {".func", ".gowrap", ".deferwrap"};

	for (const char *s = function; *s;) {
		bool hit = false;

		for (size_t i = 0; i < ARRAY_SIZE(generated) && !hit; i++) {
			size_t n = strlen(generated[i]);

			if (strncmp(s, generated[i], n) != 0 || s[n] < '0' || s[n] > '9')
				continue;
			hit = true;
			buf_add(b, s, n);
			s += n;
			s += strspn(s, "0123456789");
			while (*s == '.' && s[1] >= '0' && s[1] <= '9')
				s += 1 + strspn(s + 1, "0123456789");
		}
		if (!hit)
			buf_addc(b, *s++);
	}
}

/*
 * A goroutine is known by what it runs and by who started it: where it stands changes
 * with the moment.
 */
static void key_of_goroutine(struct buf *b, const char *entry, const char *creator)
{
	add_function(b, entry ? entry : "?");
	buf_addc(b, '<');
	add_function(b, creator ? creator : "?");
}

/* time.Tick calls time.NewTicker. */
static void key_of_ticker(struct buf *b, const struct raw_stack *s)
{
	size_t i = 0;

	while (i + 1 < s->n && !strncmp(s->frames[i].function, "time.", 5))
		i++;
	add_function(b, s->n ? s->frames[i].function : "?");
	buf_addc(b, '<');
	add_function(b, i + 1 < s->n ? s->frames[i + 1].function : "?");
}

static void end_goroutine(struct parser *p)
{
	CLEANUP(buf) struct buf key = {0};
	struct go_held *h;

	if (!p->state)
		return;
	if (p->entry && !strcmp(p->entry, CANARY_ENTRY)) {
		p->canary_goroutine = true;
	} else if (p->entry || p->creator) {
		if (p->resource == RESOURCE_TIMER)
			key_of_ticker(&key, &p->stack);
		else
			key_of_goroutine(&key, p->entry, p->creator);
		h = count(p, p->resource, buf_detach(&key), p->count);
		if (h && !h->what) {
			h->what = TAKE_PTR(p->state);
			h->stack = p->stack;
			p->stack = (struct raw_stack){0};
		}
	}
	free(TAKE_PTR(p->state));
	free(TAKE_PTR(p->entry));
	free(TAKE_PTR(p->creator));
	raw_stack_release(&p->stack);
	p->stack = (struct raw_stack){0};
}

static void begin_goroutine(struct parser *p, enum resource resource, const char *text,
			    const char *line)
{
	p->resource = resource;
	if (!number(&text, &p->count) || !p->count)
		fault(p, "no count", line);
	else
		p->state = xstrdup(text);
}

/* "FUNCTION\tFILE:LINE" */
static void add_frame(struct parser *p, const char *text, bool created)
{
	const char *tab = strchr(text, '\t'), *colon = tab ? strrchr(tab, ':') : NULL;
	const char *digits = colon ? colon + 1 : NULL;
	CLEANUP_FREE char *function = NULL;
	struct raw_frame *f;
	uint64_t line = 0;

	if (!p->state || !tab || tab == text || !colon || !number(&digits, &line)) {
		fault(p, "no frame", text);
		return;
	}
	function = xstrndup(text, (size_t)(tab - text));
	free(created ? p->creator : p->entry);
	*(created ? &p->creator : &p->entry) = xstrdup(function);
	f = raw_stack_add(&p->stack);
	if (!f)
		return;
	f->function = TAKE_PTR(function);
	f->file = xstrndup(tab + 1, (size_t)(colon - tab - 1));
	f->line = (unsigned)line;
}

static void add_target(struct parser *p, enum resource resource, const char *target)
{
	struct go_held *h;

	if (resource == RESOURCE_FD && !strcmp(target, p->path)) {
		p->canary_fd = true;
		return;
	}
	h = count(p, resource, normalize_target(target), 1);
	if (h && !h->what)
		h->what = xstrdup(target);
}

/* --- lines ------------------------------------------------------------------------ */

enum pass { PASS_START, PASS_CYCLE, PASS_VOID };

static void begin_cycle(struct parser *p, const char *text, enum pass pass,
			const char *line)
{
	bool start = pass == PASS_START;
	struct go_cycle *c;
	uint64_t tests = 0, code = 0;

	if (p->open || p->r->done || !p->r->package || p->r->ncycles == GO_CYCLES_MAX ||
	    (start && p->r->ncycles) || (pass == PASS_VOID && !p->r->ncycles) ||
	    (!start && (!number(&text, &tests) || !number(&text, &code)))) {
		fault(p, "a cycle out of place", line);
		return;
	}
	c = VEC_ADD(p->r->cycles, p->r->ncycles, p->r->cycles_cap);
	*c = (struct go_cycle){.tests = tests,
			       .code = (int64_t)code,
			       .counted = pass == PASS_CYCLE,
			       .canary = true};
	p->open = true;
	p->snapshot = SNAPSHOT_NONE;
}

static void end_snapshot(struct parser *p)
{
	end_goroutine(p);
	p->r->cycles[p->r->ncycles - 1].canary &= p->canary_goroutine && p->canary_fd;
	p->canary_goroutine = p->canary_fd = false;
}

static void change_snapshot(struct parser *p, enum snapshot to, const char *line)
{
	enum snapshot from = to == SNAPSHOT_HELD	? SNAPSHOT_NONE
			     : to == SNAPSHOT_COLLECTED ? SNAPSHOT_HELD
							: SNAPSHOT_COLLECTED;

	if (!p->open || p->snapshot != from) {
		fault(p, "a snapshot out of place", line);
		return;
	}
	if (from != SNAPSHOT_NONE)
		end_snapshot(p);
	p->snapshot = to;
	if (to == SNAPSHOT_NONE) {
		p->r->cycles[p->r->ncycles - 1].whole = true;
		p->open = false;
	}
}

static void parse_held(struct parser *p, const char *line)
{
	const char *rest;

	if (!p->open || p->snapshot == SNAPSHOT_NONE) {
		fault(p, "unknown line", line);
	} else if ((rest = after(line, "goroutine"))) {
		end_goroutine(p);
		begin_goroutine(p, RESOURCE_GOROUTINE, rest, line);
	} else if ((rest = after(line, "ticker"))) {
		end_goroutine(p);
		begin_goroutine(p, RESOURCE_TIMER, rest, line);
	} else if ((rest = after(line, "frame"))) {
		add_frame(p, rest, false);
	} else if ((rest = after(line, "created"))) {
		add_frame(p, rest, true);
	} else if ((rest = after(line, "fd"))) {
		end_goroutine(p);
		add_target(p, RESOURCE_FD, rest);
	} else if ((rest = after(line, "socket"))) {
		end_goroutine(p);
		add_target(p, RESOURCE_SOCKET, rest);
	} else {
		fault(p, "unknown line", line);
	}
}

static void set_once(struct parser *p, char **field, const char *value, const char *line)
{
	if (*field || p->r->ncycles)
		fault(p, "said twice", line);
	else
		*field = xstrdup(value);
}

static void add_test(struct parser *p, struct strv *to, const char *test,
		     const char *line)
{
	if (p->open || p->r->done || !*test || to->n == GO_TESTS_MAX)
		fault(p, "a test out of place", line);
	else
		strv_add(to, test);
}

static void parse_line(struct parser *p, const char *line, bool first)
{
	const char *rest;

	if (first) {
		if (strcmp(line, "exitpath-go 1") != 0)
			fault(p, "unknown format", line);
	} else if ((rest = after(line, "binary"))) {
		set_once(p, &p->r->binary, rest, line);
	} else if ((rest = after(line, "cwd"))) {
		set_once(p, &p->r->cwd, rest, line);
	} else if ((rest = after(line, "run"))) {
		set_once(p, &p->r->package, rest, line);
	} else if ((rest = after(line, "start"))) {
		begin_cycle(p, rest, PASS_START, line);
	} else if ((rest = after(line, "cycle"))) {
		begin_cycle(p, rest, PASS_CYCLE, line);
	} else if ((rest = after(line, "void"))) {
		begin_cycle(p, rest, PASS_VOID, line);
	} else if ((rest = after(line, "once"))) {
		add_test(p, &p->r->once, rest, line);
	} else if ((rest = after(line, "unsteady"))) {
		add_test(p, &p->r->unsteady, rest, line);
	} else if (after(line, "held")) {
		change_snapshot(p, SNAPSHOT_HELD, line);
	} else if (after(line, "collected")) {
		change_snapshot(p, SNAPSHOT_COLLECTED, line);
	} else if (after(line, "end")) {
		change_snapshot(p, SNAPSHOT_NONE, line);
	} else if (after(line, "done")) {
		if (p->open || !p->r->package)
			fault(p, "done out of place", line);
		p->r->done = true;
	} else {
		parse_held(p, line);
	}
}

void go_report_parse(const char *text, size_t len, const char *path,
		     struct go_report *ret)
{
	struct parser p = {.r = ret, .path = path};
	const char *end;
	bool first = true;

	/* What follows the last newline was being written when the process ended. */
	for (size_t at = 0; at < len && !ret->fault; at = (size_t)(end - text) + 1) {
		CLEANUP_FREE char *line = NULL;

		end = memchr(text + at, '\n', len - at);
		if (!end)
			break;
		line = xstrndup(text + at, (size_t)(end - text) - at);
		parse_line(&p, line, first);
		first = false;
	}
	if (first && !ret->fault)
		ret->fault = xstrdup("it is empty");
	p.count = 0;
	free(p.state);
	free(p.entry);
	free(p.creator);
	raw_stack_release(&p.stack);
	for (size_t i = 0; i < ret->nhelds; i++)
		make_room(&ret->helds[i], ret->ncycles);
}

/* --- growth ----------------------------------------------------------------------- */

/* What stays from cycle k on: no later cycle has less. */
static uint64_t staying(const struct go_report *r, const struct go_held *h, size_t k)
{
	uint64_t min = h->collected[k];

	for (size_t i = k + 1; i < r->ncycles && r->cycles[i].whole; i++)
		if (h->collected[i] < min)
			min = h->collected[i];
	return min;
}

uint64_t go_held_released(const struct go_held *h, size_t k)
{
	return h->held[k] > h->collected[k] ? h->held[k] - h->collected[k] : 0;
}

uint64_t go_held_added(const struct go_report *r, const struct go_held *h, size_t k)
{
	uint64_t added = k ? staying(r, h, k) - staying(r, h, k - 1) : 0;

	if (h->resource != RESOURCE_GOROUTINE && h->resource != RESOURCE_TIMER)
		added += go_held_released(h, k);
	return added;
}

void go_report_release(struct go_report *r)
{
	for (size_t i = 0; i < r->nhelds; i++) {
		struct go_held *h = &r->helds[i];

		free(h->key);
		free(h->what);
		raw_stack_release(&h->stack);
		free(h->held);
		free(h->collected);
	}
	free(r->helds);
	free(r->cycles);
	free(r->binary);
	free(r->cwd);
	free(r->package);
	free(r->fault);
	strv_release(&r->once);
	strv_release(&r->unsteady);
	*r = (struct go_report){0};
}
