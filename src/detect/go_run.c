#include "detect/go_run.h"

#include "base/buf.h"
#include "base/fs.h"
#include "base/mem.h"
#include "detect/merge.h"
#include "detect/report_file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
	REPORT_CAP = 256 << 20, /* bytes of one binary's report */
	OUTPUT_CAP = 1 << 20,
	FILES_MAX = 32,
	NOTES_MAX = 20,
};

struct collection {
	struct go_run *state;
	const struct run_result *result;
	const struct detect_run *run;
	struct source_root root;
	struct probe *probe;
};

/* --- reading ---------------------------------------------------------------------- */

static int read_reports(struct go_run *s, struct err *err)
{
	CLEANUP_FREE pid_t *pids = NULL;
	size_t n;

	if (pids_in_dir(s->dir, "report.", "", &pids, &n) < 0)
		return err_errno(err, ERR_ENVIRONMENT, errno, "cannot read %s", s->dir);
	s->reports = xcalloc(n + 1, sizeof(*s->reports));
	s->paths = xcalloc(n + 1, sizeof(*s->paths));
	for (size_t i = 0; i < n; i++) {
		CLEANUP(buf) struct buf text = {0};
		struct go_report *r = &s->reports[i];

		s->paths[i] = xasprintf("%s/report.%d", s->dir, pids[i]);
		s->nreports++;
		if (read_regular(s->paths[i], REPORT_CAP, &text) < 0)
			r->fault = xstrdup(strerror(errno));
		else
			go_report_parse(buf_str(&text), text.len, s->paths[i], r);
	}
	return 0;
}

static bool starts(const char *s, const char *prefix)
{
	return !strncmp(s, prefix, strlen(prefix));
}

static bool contains(const char *s, size_t len, const char *word)
{
	return memmem(s, len, word, strlen(word)) != NULL;
}

/* What go says when it would have had to download. */
static bool wants_network(const char *line, size_t len)
{
	static const char *const signs[] = {
		"dial tcp",
		"GOPROXY=off",
		"no required module provides package",
		"cannot find module providing package",
		"missing go.sum entry",
		"download go1.",
		"requires go >=",
		"toolchain not available",
	};

	for (size_t i = 0; i < ARRAY_SIZE(signs); i++)
		if (contains(line, len, signs[i]))
			return true;
	return false;
}

/* "./a.go:3:2: undefined: x", as the compiler and vet say it. */
static bool is_compile_error(const char *line, size_t len)
{
	size_t at = strcspn(line, ": \t\n");

	if (at < 4 || at >= len || memcmp(line + at - 3, ".go", 3) != 0)
		return false;
	for (int i = 0; i < 2; i++) {
		size_t digits = line[at] == ':' ? strspn(line + at + 1, "0123456789") : 0;

		if (!digits)
			return false;
		at += 1 + digits;
	}
	return line[at] == ':';
}

char *go_output_error(const char *text, bool *ret_modules)
{
	const char *first = NULL;
	size_t first_len = 0;

	*ret_modules = false;
	for (const char *line = text, *end; *line; line = end + (*end == '\n')) {
		size_t len;

		end = strchrnul(line, '\n');
		len = (size_t)(end - line);
		if (wants_network(line, len)) {
			*ret_modules = true;
			return xstrndup(line, len);
		}
		/* "# PACKAGE" heads the compiler's messages. */
		if (!first && len &&
		    (starts(line, "go: ") || is_compile_error(line, len) ||
		     starts(line, "panic: ") || starts(line, "fatal error: ") ||
		     starts(line, "--- FAIL: "))) {
			first = line;
			first_len = len;
		}
	}
	return first ? xstrndup(first, first_len) : NULL;
}

/* Of stderr before stdout: go's own messages are there, the tests' are not. */
static char *output_error(const char *dir, bool *ret_modules)
{
	static const char *const streams[] = {"stderr", "stdout"};

	for (size_t i = 0; i < ARRAY_SIZE(streams); i++) {
		CLEANUP_FREE char *path = path_join(dir, streams[i]), *line = NULL;
		CLEANUP(buf) struct buf text = {0};

		if (read_regular(path, OUTPUT_CAP, &text) < 0)
			continue;
		line = go_output_error(buf_str(&text), ret_modules);
		if (line)
			return TAKE_PTR(line);
	}
	return NULL;
}

/* --- how the run went ------------------------------------------------------------- */

static const char *name_of(const struct go_report *r)
{
	return r->package ? r->package : r->cwd ? r->cwd : "a test binary";
}

/* The cycles that were begun. */
static size_t counted(const struct go_report *r)
{
	size_t n = 0;

	for (size_t k = 0; k < r->ncycles; k++)
		n += r->cycles[k].counted;
	return n;
}

/* Tests that pass the first time and not later, and that leaving tests out did not help.
 */
static char *second_time(const struct go_report *r)
{
	size_t failed = 0, at = 0, n = 0;

	for (size_t k = 0; k < r->ncycles; k++) {
		n += r->cycles[k].counted;
		if (r->cycles[k].counted && r->cycles[k].code && !failed++)
			at = n;
	}
	if (failed && failed < n - at + 1)
		return xasprintf(
			"the tests of %s fail at times: in cycle %zu, and not in "
			"a later one",
			name_of(r), at);
	if (failed && at > 1)
		return xasprintf("the tests of %s pass once and fail in cycle %zu: they "
				 "cannot run twice in one process; see go test -count=2",
				 name_of(r), at);
	if (!failed && r->package && !r->done && n)
		return xasprintf("the tests of %s pass once and end the process in a "
				 "later cycle; see go test -count=2",
				 name_of(r));
	return NULL;
}

static char *run_failure(const struct collection *c)
{
	bool modules = false;
	CLEANUP_FREE char *line = NULL;

	for (size_t i = 0; i < c->state->nreports; i++) {
		char *failure = second_time(&c->state->reports[i]);

		if (failure)
			return failure;
	}
	line = output_error(c->run->dir, &modules);
	if (modules)
		return xasprintf("a module or a toolchain is not in the cache, and the "
				 "tests have no network: let setup run `go mod "
				 "download`, or expose the module cache: %s",
				 line);
	return TAKE_PTR(line);
}

/* The cycle of r that the engine calls k. */
static const struct go_cycle *cycle_of(const struct go_report *r, size_t k,
				       size_t *ret_at)
{
	size_t at = 0;

	for (; at < r->ncycles; at++)
		if (r->cycles[at].counted && !k--)
			break;
	*ret_at = at;
	return at < r->ncycles && r->cycles[at].whole ? &r->cycles[at] : NULL;
}

static void judge_incomplete(struct collection *c, const struct go_report *r)
{
	bool passed = run_result_passed(c->result);
	enum probe_state state = passed ? PROBE_FORCED_EXIT : PROBE_INTERRUPTED;

	if (!r->package)
		probe_worsen(c->probe, state,
			     xasprintf("the tests of %s were not run: its TestMain left "
				       "without calling m.Run(); leave the package out",
				       name_of(r)));
	else
		probe_worsen(
			c->probe, state,
			xasprintf("the test binary of %s left in cycle %zu: os.Exit, "
				  "log.Fatal or a panic",
				  name_of(r), counted(r) + 1));
}

static void judge_report(struct collection *c, const struct go_report *r,
			 uint64_t *ret_tests)
{
	const struct go_cycle *cycle;
	size_t at;

	if (r->fault) {
		probe_worsen(c->probe, PROBE_UNPARSED,
			     xasprintf("the report of %s: %s", name_of(r), r->fault));
		return;
	}
	cycle = cycle_of(r, c->run->cycle, &at);
	if (!cycle) {
		judge_incomplete(c, r);
		return;
	}
	if (!cycle->canary || (at && !r->cycles[at - 1].canary))
		probe_worsen(
			c->probe, PROBE_SILENT,
			xasprintf("the planted goroutine or descriptor is missing in "
				  "the report of %s",
				  name_of(r)));
	*ret_tests += cycle->tests;
}

static void judge_absent(struct collection *c)
{
	if (!run_result_passed(c->result))
		probe_worsen(c->probe, PROBE_INTERRUPTED,
			     xasprintf("no test was reached: %s",
				       c->state->failure ? c->state->failure
							 : "go test ended first"));
	else
		probe_worsen(
			c->probe, PROBE_NOT_FITTING,
			xstrdup("no test binary of `go test` was started with the "
				"adapter: are there tests, and does the command keep "
				"GOFLAGS, and no -overlay of its own"));
}

static void judge(struct collection *c)
{
	uint64_t tests = 0;
	bool left_out = false;

	if (c->state->refused) {
		probe_worsen(c->probe, PROBE_SILENT, xstrdup(c->state->refused));
		return;
	}
	if (!c->state->nreports) {
		judge_absent(c);
		return;
	}
	for (size_t i = 0; i < c->state->nreports; i++) {
		judge_report(c, &c->state->reports[i], &tests);
		left_out |= c->state->reports[i].once.n > 0;
	}
	if (c->probe->state == PROBE_COMPLETE && !tests)
		probe_worsen(
			c->probe, PROBE_NOT_FITTING,
			left_out ? xstrdup("every test passes once and fails when it "
					   "runs again; see go test -count=2")
				 : xstrdup("no test was run: they were skipped, or none "
					   "matches -run"));
}

/* --- leaks ------------------------------------------------------------------------ */

/* "example.com/m/pkg.(*T).f" is pkg.(*T).f to people. */
static char *short_name(const char *function)
{
	const char *end = function + strcspn(function, "[("), *s = end;

	while (s > function && s[-1] != '/')
		s--;
	return xstrdup(s);
}

/* Code that others wrote and the repository only carries. */
static bool is_vendored(const char *file)
{
	return file && (starts(file, "vendor/") || strstr(file, "/vendor/") ||
			strstr(file, "/pkg/mod/"));
}

static void fill_frames(struct leak *l, const struct go_held *h,
			const struct source_root *root)
{
	frames_fill(l, &h->stack, root, NULL);
	for (size_t i = 0; i < l->nframes; i++) {
		struct frame *f = &l->frames[i];
		char *name = f->function ? short_name(f->function) : NULL;

		free(f->function);
		f->function = name;
		f->project &= !is_vendored(f->file);
	}
}

static void add_leak(struct collection *c, const struct go_report *r,
		     const struct go_held *h, uint64_t units, bool released)
{
	struct leak *l = probe_leak(c->probe, h->resource, units, 0);

	l->growth = true;
	l->process = xstrdup(r->binary ? path_base(r->binary) : "?");
	if (h->resource == RESOURCE_GOROUTINE || h->resource == RESOURCE_TIMER) {
		l->signature = xasprintf("%s|%s|%s", resource_name(h->resource),
					 l->process, h->key);
		l->what = xstrdup(h->what);
		fill_frames(l, h, &c->root);
		return;
	}
	l->what = xstrdup(h->what);
	leak_sign(l);
	if (released) {
		free(l->what);
		l->what = xasprintf("%s, closed by the garbage collector only", h->what);
	}
}

static void add_note(struct collection *c, const struct go_held *h, size_t growing)
{
	char *text;

	if (c->probe->notes.n >= NOTES_MAX)
		return;
	text = xasprintf("%s %s: more after %zu of %u cycles, no growth",
			 resource_name(h->resource), h->stack.n ? h->key : h->what,
			 growing, c->run->cycles);
	probe_note(c->probe, text);
}

/*
 * A leak grows in every cycle. What grows in half of them or fewer was made when it was
 * needed first, as a pool is; what does so in more of them is measured again.
 */
static void add_held(struct collection *c, const struct go_report *r,
		     const struct go_held *h)
{
	size_t growing = 0, at;
	uint64_t units;

	for (unsigned k = 0; k < c->run->cycles; k++)
		if (cycle_of(r, c->run->warmup + k, &at))
			growing += go_held_added(r, h, at) > 0;
	cycle_of(r, c->run->cycle, &at);
	units = go_held_added(r, h, at);
	if (2 * growing > c->run->cycles) {
		if (units)
			add_leak(c, r, h, units, go_held_released(h, at) == units);
	} else if (growing) {
		add_note(c, h, growing);
	}
}

/*
 * A test that fails when it runs again has left something behind that it did not find:
 * judged against base. What fails at times is nobody's.
 */
static void add_repeats(struct collection *c, const struct go_report *r)
{
	for (size_t i = 0; i < r->once.n; i++) {
		struct leak *l = probe_leak(c->probe, RESOURCE_STATE, 1, 0);

		l->process = xstrdup(r->binary ? path_base(r->binary) : "?");
		l->what = xasprintf("%s of %s", r->once.v[i], name_of(r));
		leak_sign(l);
	}
	for (size_t i = 0; i < r->unsteady.n; i++) {
		char *text = xasprintf("%s of %s passes at times and fails at times",
				       r->unsteady.v[i], name_of(r));

		if (c->probe->notes.n < NOTES_MAX)
			probe_note(c->probe, text);
		else
			free(text);
	}
}

static void collect_leaks(struct collection *c)
{
	for (size_t i = 0; i < c->state->nreports; i++) {
		const struct go_report *r = &c->state->reports[i];
		size_t at;

		if (r->fault || !cycle_of(r, c->run->cycle, &at))
			continue;
		for (size_t j = 0; j < r->nhelds; j++)
			add_held(c, r, &r->helds[j]);
		add_repeats(c, r);
		if (r->cut)
			probe_note(c->probe,
				   xasprintf("%s holds more kinds of things than are "
					     "read",
					     name_of(r)));
	}
	probe_merge(c->probe);
}

/* --- all of it -------------------------------------------------------------------- */

static void go_run_free(struct go_run *s)
{
	for (size_t i = 0; i < s->nreports; i++) {
		go_report_release(&s->reports[i]);
		free(s->paths[i]);
	}
	free(s->reports);
	free(s->paths);
	free(s->dir);
	free(s->refused);
	free(s->failure);
	free(s);
}

/* Is it known that the tests failed in another cycle than this one? */
static bool passed_here(const struct collection *c)
{
	const struct go_run *s = c->state;
	bool elsewhere = false;

	if (c->result->end != RUN_EXITED || !c->result->status)
		return false;
	for (size_t i = 0; i < s->nreports; i++) {
		const struct go_report *r = &s->reports[i];
		size_t at;
		const struct go_cycle *cycle = cycle_of(r, c->run->cycle, &at);

		if (r->fault || !r->done || !cycle || cycle->code)
			return false;
		for (size_t k = 0; k < r->ncycles; k++)
			elsewhere |= r->cycles[k].counted && r->cycles[k].code;
	}
	return elsewhere;
}

static int collect(struct collection *c, struct err *err)
{
	struct go_run *s = c->state;

	if (!s->read) {
		s->read = true;
		if (read_reports(s, err) < 0)
			return -1;
		if (!run_result_passed(c->result))
			s->failure = run_failure(c);
	}
	judge(c);
	collect_leaks(c);
	c->probe->passed = passed_here(c);
	if (s->failure && c->result->end == RUN_EXITED && !c->probe->passed) {
		c->probe->failed = true;
		c->probe->failure = xstrdup(s->failure);
	}
	for (size_t i = 0; i < s->nreports && i < FILES_MAX; i++)
		strv_add(&c->probe->files, s->paths[i]);
	return 0;
}

int go_collect(struct detect_run *run, const struct run_result *result, struct probe *ret,
	       struct err *err)
{
	struct collection c = {
		.state = run->state,
		.result = result,
		.run = run,
		.root = {.seen = detect_seen(run), .path = run->checkout},
		.probe = ret,
	};
	int rc;

	if (!run->state) { /* lost, and collected */
		probe_worsen(ret, PROBE_INTERRUPTED, run_result_describe(result));
		return 0;
	}
	rc = collect(&c, err);
	/* A run that was never started is collected once. */
	if (!--c.state->left || result->end == RUN_LOST) {
		go_run_free(c.state);
		run->state = NULL;
	}
	return rc;
}
