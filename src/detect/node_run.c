#include "detect/node_run.h"

#include "base/fs.h"
#include "base/mem.h"
#include "detect/merge.h"
#include "detect/node_report.h"
#include "detect/report_file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
	FILES_MAX = 32,
	/* Descriptors of one name, opened at one place and all still open: one is a log
	 * file, two may be its reader and its writer. */
	GROWTH_UNITS = 3,
	RECORD_CAP = 16 << 20, /* bytes read of one record */
};

struct collection {
	const struct node_run *state;
	const struct run_result *result;
	/* The checkout as the run saw it, without its symbolic links, and on the machine;
	 * some may be NULL. */
	const char *roots[3];
	struct node_process *processes;
	size_t n;
	uint64_t tests;
	struct probe *probe;
};

static int read_records(struct collection *c, struct err *err)
{
	CLEANUP_FREE pid_t *pids = NULL;
	size_t n;

	if (pids_in_dir(c->state->dir, "node.", "", &pids, &n) < 0)
		return err_errno(err, ERR_ENVIRONMENT, errno, "cannot read %s",
				 c->state->dir);
	c->processes = xcalloc(n + 1, sizeof(*c->processes));
	for (size_t i = 0; i < n; i++) {
		struct node_process *p = &c->processes[c->n];
		CLEANUP_FREE char *path = xasprintf("%s/node.%d", c->state->dir, pids[i]);
		CLEANUP(buf) struct buf text = {0};

		if (read_regular(path, RECORD_CAP, &text) < 0 && errno != EINVAL)
			return err_errno(err, ERR_ENVIRONMENT, errno, "cannot read %s",
					 path);
		if (!node_report_parse(buf_str(&text), text.len, p))
			probe_worsen(c->probe, PROBE_UNPARSED,
				     xasprintf("the record of node (pid %d) cannot be "
					       "read: something else wrote to it",
					       pids[i]));
		if (p->script)
			c->n++;
		else
			node_process_release(p);
		if (c->probe->files.n < FILES_MAX)
			strv_add(&c->probe->files, path);
	}
	return 0;
}

/* --- frames ----------------------------------------------------------------------- */

static const char *below(const char *path, const char *dir)
{
	size_t n = dir ? strlen(dir) : 0;

	while (n && dir[n - 1] == '/')
		n--;
	return n && !strncmp(path, dir, n) && path[n] == '/' ? path + n + 1 : NULL;
}

static const char *in_checkout(const struct collection *c, const char *path)
{
	const char *inside = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(c->roots) && !inside; i++)
		inside = below(path, c->roots[i]);
	return inside;
}

/* What npm installed lies in the checkout and is not the project's. */
static void add_frame(const struct collection *c, struct leak *l,
		      const struct raw_frame *raw)
{
	const char *inside = in_checkout(c, raw->file);
	struct frame *f = leak_frame(l);

	f->function = xstrdup(raw->function);
	f->module = xstrdup(path_base(raw->file));
	f->file = xstrdup(inside ? inside : raw->file);
	f->line = raw->line;
	f->project = inside && strncmp(inside, "node_modules/", 13) != 0 &&
		     !strstr(inside, "/node_modules/");
}

/* Places in notes, too. */
static char *without_checkout(const struct collection *c, const char *text)
{
	struct buf b = {0};

	while (*text) {
		const char *inside = *text == '/' ? in_checkout(c, text) : NULL;
		size_t skip = inside ? (size_t)(inside - text) : 0;

		if (!skip)
			buf_addc(&b, *text);
		text += skip ? skip : 1;
	}
	return buf_detach(&b);
}

static char *place_of(const struct collection *c, const struct raw_stack *s)
{
	const struct raw_frame *f = s->n ? &s->frames[0] : NULL;
	const char *inside = f ? in_checkout(c, f->file) : NULL;

	return f ? xasprintf(" at %s (%s:%u)", f->function, inside ? inside : f->file,
			     f->line)
		 : xstrdup("");
}

/* --- one process ------------------------------------------------------------------ */

static void add_held(const struct collection *c, const struct node_held *h)
{
	struct leak *l = probe_leak(c->probe, h->resource, h->units, 0);

	l->process = xstrdup("node");
	for (size_t i = 0; i < h->stack.n; i++)
		add_frame(c, l, &h->stack.frames[i]);
	l->what = xstrdup(h->what);
	leak_sign(l);
}

static const char *name_of(const struct node_process *p)
{
	return *p->script ? path_base(p->script) : "node";
}

static void judge_unended(struct collection *c, const struct node_process *p)
{
	if (c->result->end != RUN_EXITED)
		probe_worsen(c->probe, PROBE_INTERRUPTED, run_result_describe(c->result));
	else
		probe_worsen(c->probe, PROBE_FORCED_EXIT,
			     xasprintf("%s (pid %d) left without its exit handlers: it "
				       "was killed, or called process.abort() or "
				       "process.reallyExit()",
				       name_of(p), p->pid));
}

static void judge_not_over(struct collection *c, const struct node_process *p)
{
	CLEANUP_FREE char *place = place_of(c, &p->asked);

	if (p->exit == NODE_EXIT_ASKED)
		probe_worsen(c->probe, PROBE_FORCED_EXIT,
			     xasprintf("process.exit(%d) was called in %s%s%s", p->code,
				       name_of(p), place,
				       p->role == NODE_PLAIN
					       ? ""
					       : " before the tests were over"));
	else
		probe_worsen(c->probe, PROBE_INTERRUPTED,
			     xasprintf("%s (pid %d) ended with code %d before its tests "
				       "were over",
				       name_of(p), p->pid, p->code));
}

static void add_process(struct collection *c, const struct node_process *p)
{
	c->tests += p->tests;
	for (size_t i = 0; i < p->nheld; i++)
		add_held(c, &p->held[i]);
	for (size_t i = 0; i < p->notes.n; i++)
		probe_note(c->probe, without_checkout(c, p->notes.v[i]));
	if (p->exit == NODE_EXIT_ENDED)
		probe_note(c->probe,
			   xasprintf("%s did not exit by itself after its tests, and was "
				     "ended by exitpath after its report",
				     name_of(p)));
	else if (p->exit == NODE_EXIT_ASKED)
		probe_note(c->probe,
			   xasprintf("%s was left through process.exit() when the tests "
				     "were over (--forceExit, --exit): what was still "
				     "open then was seen",
				     name_of(p)));
}

static void judge_process(struct collection *c, const struct node_process *p)
{
	if (!p->ended)
		judge_unended(c, p);
	else if (p->refused)
		probe_worsen(c->probe, PROBE_NOT_FITTING, xstrdup(p->refused));
	else if (!p->canary)
		probe_worsen(c->probe, PROBE_SILENT,
			     xasprintf("%s (pid %d): the planted handles are not in its "
				       "report: did the tests replace async_hooks, fs "
				       "or timers?",
				       name_of(p), p->pid));
	else if (!p->over)
		judge_not_over(c, p);
	else
		add_process(c, p);
}

/*
 * What one process opens over and over is a leak by itself, on base as well: descriptors
 * of one name (but for random parts) that were opened at one place.
 */
static void mark_growth(struct probe *p)
{
	CLEANUP(strv) struct strv keys = {0};

	for (size_t i = 0; i < p->nleaks; i++) {
		const struct leak *l = &p->leaks[i];
		CLEANUP_FREE char *name = normalize_target(l->what);
		bool is = l->resource == RESOURCE_FD && l->nframes;

		strv_take(&keys,
			  is ? xasprintf("%s %s", l->signature, name) : xstrdup(""));
	}
	for (size_t i = 0; i < p->nleaks; i++) {
		uint64_t units = 0;

		for (size_t k = 0; *keys.v[i] && k < p->nleaks; k++)
			units += strcmp(keys.v[i], keys.v[k]) ? 0 : p->leaks[k].units[0];
		p->leaks[i].growth = units >= GROWTH_UNITS;
	}
}

/* The first of each signature stays when they are merged. */
static void share_growth(struct probe *p)
{
	for (size_t i = 0; i < p->nleaks; i++)
		for (size_t k = 0; p->leaks[i].growth && k < p->nleaks; k++)
			if (!strcmp(p->leaks[i].signature, p->leaks[k].signature))
				p->leaks[k].growth = true;
}

/* --- all of them ------------------------------------------------------------------ */

static bool has_role(const struct collection *c, enum node_role role)
{
	for (size_t i = 0; i < c->n; i++)
		if (c->processes[i].role == role)
			return true;
	return false;
}

static bool is_runner(enum node_role r)
{
	return r == NODE_TEST || r == NODE_JEST || r == NODE_MOCHA || r == NODE_VITEST;
}

static const struct node_process *parent_of(const struct collection *c,
					    const struct node_process *p)
{
	for (size_t i = 0; i < c->n; i++)
		if (c->processes[i].pid == p->ppid)
			return &c->processes[i];
	return NULL;
}

/* Without a runner: the command itself must have ended well; of the programs that it
 * starts, those that are killed are its own business. */
static void judge_plain(struct collection *c)
{
	for (size_t i = 0; i < c->n; i++) {
		const struct node_process *p = &c->processes[i];

		if (!parent_of(c, p) || (p->ended && p->over && p->canary))
			judge_process(c, p);
	}
}

static void judge_runners(struct collection *c)
{
	for (size_t i = 0; i < c->n; i++)
		if (is_runner(c->processes[i].role) ||
		    c->processes[i].role == NODE_VITEST_PARENT)
			judge_process(c, &c->processes[i]);
	if (c->tests || c->probe->state != PROBE_COMPLETE)
		return;
	/* A file that cannot be loaded, a configuration that cannot be read. */
	if (c->result->end == RUN_EXITED && c->result->status)
		probe_note(c->probe, xstrdup("no test was executed"));
	else
		probe_worsen(c->probe, PROBE_SILENT,
			     xstrdup("no test was executed: does the command find the "
				     "test files?"));
}

static void judge_none(struct collection *c)
{
	if (c->result->end != RUN_EXITED)
		probe_worsen(c->probe, PROBE_INTERRUPTED, run_result_describe(c->result));
	else if (c->state->expected)
		probe_worsen(c->probe, PROBE_SILENT,
			     xstrdup("no node of the command loaded the adapter: it "
				     "replaced NODE_OPTIONS, or ran no node"));
	else
		probe_worsen(c->probe, PROBE_NOT_FITTING, xstrdup("no node program ran"));
}

static void judge(struct collection *c)
{
	bool runner = false;

	for (size_t i = 0; i < c->n; i++)
		runner |= is_runner(c->processes[i].role);
	if (runner || has_role(c, NODE_TEST_PARENT) || has_role(c, NODE_VITEST_PARENT))
		judge_runners(c);
	else if (c->n)
		judge_plain(c);
	else if (c->probe->state == PROBE_COMPLETE)
		judge_none(c);
}

int node_collect(struct detect_run *run, const struct run_result *result,
		 struct probe *ret, struct err *err)
{
	struct node_run *state = run->state;
	CLEANUP_FREE char *real = realpath(run->checkout, NULL);
	struct collection c = {
		.state = state,
		.result = result,
		.roots = {detect_seen(run), run->checkout, real},
		.probe = ret,
	};
	int rc = read_records(&c, err);

	if (rc == 0)
		judge(&c);
	mark_growth(ret);
	share_growth(ret);
	probe_merge(ret);
	for (size_t i = 0; i < c.n; i++)
		node_process_release(&c.processes[i]);
	free(c.processes);
	free(state->dir);
	free(state);
	run->state = NULL;
	return rc;
}
