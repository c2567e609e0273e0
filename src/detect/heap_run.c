#include "detect/heap_run.h"

#include "base/buf.h"
#include "base/fs.h"
#include "base/mem.h"
#include "detect/frames.h"
#include "detect/heap_report.h"
#include "detect/merge.h"
#include "detect/report_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>

enum {
	REPORT_CAP = 128 << 20, /* bytes; a full one has some 50 MiB */
	LEAKS_MAX = 5000,
	FILES_MAX = 32,
	SIGNAL_STATUS = 128, /* a shell's status for a signal's death */
};

struct process {
	pid_t pid;
	struct heap_report report;
	const char *wrong; /* NULL: the record can be read */
	bool usable;	   /* a whole report that can be trusted */
};

struct collection {
	const struct heap_run *state;
	const struct run_result *result;
	struct source_root root;
	struct process *v; /* by pid */
	size_t n;
	size_t observed;	/* processes with a whole report … */
	size_t ours;		/* … whose program is of the checkout */
	size_t unfinished;	/* forked children that left none */
	size_t dropped;		/* leaks above the limit */
	const char *unobserved; /* a program that is of the checkout, and … */
	const char *why;	/* … why its heap was not seen */
	struct symbols *symbols;
	struct probe *probe;
};

static const char *name_of(const struct process *p)
{
	return *p->report.header.exe ? path_base(p->report.header.exe) : "?";
}

static bool is_forked(const struct process *p)
{
	return p->report.header.flags & HEAP_FORKED;
}

/* --- reading --------------------------------------------------------------------- */

static int read_reports(struct collection *c, struct err *err)
{
	CLEANUP_FREE pid_t *pids = NULL;
	size_t n;

	if (pids_in_dir(c->state->dir, "heap.", "", &pids, &n) < 0)
		return err_errno(err, ERR_ENVIRONMENT, errno, "cannot read %s",
				 c->state->dir);
	c->v = xcalloc(n + 1, sizeof(*c->v));
	for (size_t i = 0; i < n; i++) {
		CLEANUP_FREE char *path = xasprintf("%s/heap.%d", c->state->dir, pids[i]);
		CLEANUP(buf) struct buf data = {0};
		struct process *p = &c->v[c->n++];

		p->pid = pids[i];
		p->wrong =
			read_regular(path, REPORT_CAP, &data) < 0
				? "it cannot be read"
				: heap_report_parse(buf_str(&data), data.len, &p->report);
	}
	return 0;
}

/* --- what each process did -------------------------------------------------------- */

static bool is_whole(const struct process *p)
{
	return !p->wrong && p->report.header.state == HEAP_ENDED;
}

/* Its file lies in the checkout, as far as its name says. */
static bool is_ours(const struct collection *c, const struct process *p)
{
	const char *exe = p->report.header.exe;

	return path_is_below(exe, c->root.seen) ||
	       (exe[0] != '/' && strchr(exe, '/') != NULL);
}

/* The command itself: nobody of those that left a record started it. */
static bool is_root(const struct collection *c, const struct process *p)
{
	for (size_t i = 0; i < c->n; i++)
		if (c->v[i].pid == p->report.header.ppid)
			return false;
	return true;
}

/* Of what else runs, a shell's tools and what it kills, nothing depends on a report. */
static bool matters(const struct collection *c, const struct process *p)
{
	return is_ours(c, p) || is_root(c, p);
}

static void note_unobserved(struct collection *c, const struct process *p,
			    const char *why)
{
	if (!matters(c, p))
		return;
	probe_note(c->probe,
		   xasprintf("the heap of %s was not seen: %s", name_of(p), why));
	if (!c->unobserved) {
		c->unobserved = name_of(p);
		c->why = why;
	}
}

static void judge_running(struct collection *c, const struct process *p)
{
	const struct run_result *r = c->result;
	CLEANUP_FREE char *how = run_result_describe(r);

	if (is_forked(p))
		c->unfinished++;
	else if (!matters(c, p))
		probe_note(c->probe, xasprintf("%s made no report: it was killed, or "
					       "still ran when the command ended",
					       name_of(p)));
	else if (r->end != RUN_EXITED || r->status > SIGNAL_STATUS || r->left_behind)
		probe_worsen(c->probe, PROBE_INTERRUPTED,
			     xasprintf("%s (pid %d) made no report: it was killed, or "
				       "still ran when the command ended (%s)",
				       name_of(p), p->pid, how));
	else
		probe_worsen(
			c->probe, PROBE_FORCED_EXIT,
			xasprintf("forced exit: %s (pid %d) left through quick_exit(), "
				  "was killed, or cannot write its record (%s)",
				  name_of(p), p->pid, how));
}

/* Why a report that is whole cannot be trusted; NULL: it can. The caller frees. */
static char *doubt(const struct heap_header *h)
{
	if (h->flags & HEAP_UNSCANNED)
		return xstrdup("its memory could not be looked through, or is too large");
	if (!h->canary_lost || !h->canary_held)
		return xstrdup("what was planted is not in its report as it is");
	if (h->lost_blocks || h->lost_stacks)
		return xasprintf("%" PRIu64 " allocations and %" PRIu64
				 " stacks found no room in the ledger",
				 h->lost_blocks, h->lost_stacks);
	return NULL;
}

static void judge_whole(struct collection *c, struct process *p)
{
	const struct heap_header *h = &p->report.header;
	CLEANUP_FREE char *why = doubt(h);

	p->usable = !why;
	if (!h->canary_lost && h->flags & HEAP_FOREIGN) {
		note_unobserved(c, p,
				"its allocator keeps pointers to what it has given out, "
				"as jemalloc does");
		return;
	}
	if (why && !matters(c, p))
		probe_note(c->probe,
			   xasprintf("the heap of %s was not seen: %s", name_of(p), why));
	else if (why)
		probe_worsen(c->probe, PROBE_SILENT,
			     xasprintf("%s (pid %d): %s", name_of(p), p->pid, why));
	/* A shell leaves like that. What counts is whether the project's handlers ran. */
	else if (h->flags & HEAP_FORCED && is_ours(c, p) && !is_forked(p))
		probe_worsen(c->probe, PROBE_FORCED_EXIT,
			     xasprintf("forced exit: %s (pid %d) left through _exit()",
				       name_of(p), p->pid));
	c->observed++;
	c->ours += is_ours(c, p);
}

static void judge_process(struct collection *c, struct process *p)
{
	const struct heap_header *h = &p->report.header;

	if (p->wrong)
		probe_worsen(c->probe, PROBE_UNPARSED,
			     xasprintf("the record of pid %d: %s", p->pid, p->wrong));
	else if (h->flags & HEAP_SANITIZED)
		note_unobserved(c, p, "it is built with a sanitizer: use detector lsan");
	else if (h->flags & HEAP_OWN_MALLOC)
		note_unobserved(c, p,
				"it has an allocator of its own, runs under "
				"valgrind, or may not map memory (ulimit -v)");
	else if (h->state == HEAP_EXEC)
		note_unobserved(c, p,
				"it is static or set-user-ID, or its environment "
				"was cleared");
	else if (h->state == HEAP_RUNNING)
		judge_running(c, p);
	else
		judge_whole(c, p);
}

/* No process left a whole report, and nothing else is known to be wrong. */
static void judge_nothing(struct collection *c)
{
	if (c->result->end != RUN_EXITED)
		probe_worsen(c->probe, PROBE_INTERRUPTED, run_result_describe(c->result));
	else if (c->state->root_static)
		probe_worsen(c->probe, PROBE_NOT_FITTING,
			     xstrdup("the program is static: nothing can be preloaded"));
	else if (!c->unobserved)
		probe_worsen(
			c->probe, PROBE_SILENT,
			xstrdup("no process loaded the preloaded library: a set-user-ID "
				"program, a cleared environment, or a directory mounted "
				"noexec"));
}

static void judge(struct collection *c)
{
	for (size_t i = 0; i < c->n; i++)
		judge_process(c, &c->v[i]);
	if (c->unfinished)
		strv_addf(&c->probe->notes,
			  "%zu forked process%s ended without a report: killed, or "
			  "still running",
			  c->unfinished, c->unfinished == 1 ? "" : "es");
	/* What a shell holds says nothing about the program that it started. */
	if (c->unobserved && !c->ours)
		probe_worsen(c->probe, PROBE_NOT_FITTING,
			     xasprintf("no heap of a program of the repository was seen: "
				       "%s: %s",
				       c->unobserved, c->why));
	if (!c->observed && c->probe->state == PROBE_COMPLETE)
		judge_nothing(c);
	else if (c->result->end != RUN_EXITED && c->probe->state == PROBE_COMPLETE)
		probe_worsen(c->probe, PROBE_INTERRUPTED, run_result_describe(c->result));
}

/* --- leaks ------------------------------------------------------------------------ */

static bool is_of_exitpath(const char *module)
{
	return module && !strncmp(path_base(module), "exitpath-", 9);
}

static void fill_stack(const struct heap_report *r, const struct heap_stack *s,
		       struct raw_stack *ret)
{
	for (uint32_t i = 0; i < s->nframes; i++) {
		const struct heap_frame *f = &r->frames[s->first_frame + i];
		const char *module = heap_report_module(r, f);
		struct raw_frame *raw;

		if (is_of_exitpath(module))
			continue;
		raw = raw_stack_add(ret);
		if (!raw)
			return;
		raw->module = xstrdup(module);
		raw->offset = f->offset;
	}
	/* Stripped programs name neither. */
	if (ret->n && s->flags & HEAP_WHOLE) {
		struct raw_frame *last = &ret->frames[ret->n - 1];
		const char *module = last->module ? path_base(last->module) : "";

		last->function =
			xstrdup(!strncmp(module, "libc.", 5) ? "clone" : "_start");
	}
}

static bool has_ours(const struct collection *c, const struct raw_stack *s)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->frames[i].module &&
		    path_is_below(s->frames[i].module, c->root.seen))
			return true;
	return false;
}

static struct leak *add_leak(struct collection *c, struct probe *p, const char *process,
			     enum resource resource, const struct raw_stack *stack,
			     uint64_t units, uint64_t bytes)
{
	struct leak *l;

	if (p->nleaks >= LEAKS_MAX) {
		c->dropped++;
		return NULL;
	}
	l = probe_leak(p, resource, units, bytes);
	l->process = xstrdup(process);
	l->what = xasprintf("%" PRIu64 " bytes", bytes);
	frames_fill(l, stack, &c->root, c->symbols);
	leak_sign(l);
	return l;
}

/* stdio's own buffers: those of the standard streams are never given back. The FILE of a
 * stream that is not closed is a block of its own. */
static bool is_stdio(const struct leak *l)
{
	const char *innermost = l->nframes ? l->frames[0].function : NULL;

	return innermost && strstr(innermost, "IO_file_doallocate");
}

/* What is reachable is compared with base, and only where the project's code took it:
 * what a runtime keeps is its own affair. A forked child holds what its parent does. */
static void leaks_of_stack(struct collection *c, const struct process *p,
			   const struct heap_stack *s, struct probe *to)
{
	struct raw_stack stack = {0};
	struct leak *l;

	fill_stack(&p->report, s, &stack);
	if (s->lost_blocks)
		add_leak(c, to, name_of(p), RESOURCE_HEAP, &stack, s->lost_blocks,
			 s->lost_bytes);
	if (!is_forked(p) && (s->reachable_blocks || s->freed) && has_ours(c, &stack)) {
		l = add_leak(c, to, name_of(p), RESOURCE_REACHABLE, &stack,
			     s->reachable_blocks, s->reachable_bytes);
		if (l && is_stdio(l)) {
			leak_release(l);
			to->nleaks--;
		} else if (l) {
			l->released = s->freed > 0;
		}
	}
	raw_stack_release(&stack);
}

static void leaks_of_process(struct collection *c, const struct process *p,
			     struct probe *to)
{
	const struct heap_report *r = &p->report;
	uint64_t blocks = 0, bytes = 0;

	for (uint32_t i = 0; i < r->header.nstacks; i++) {
		leaks_of_stack(c, p, &r->stacks[i], to);
		blocks += r->stacks[i].indirect_blocks;
		bytes += r->stacks[i].indirect_bytes;
	}
	if (blocks)
		strv_addf(&c->probe->notes,
			  "%s: %" PRIu64 " more blocks (%" PRIu64
			  " bytes) hang off the leaked ones",
			  name_of(p), blocks, bytes);
	probe_merge(to);
}

static void collect_leaks(struct collection *c)
{
	for (int forked = 0; forked < 2; forked++) {
		for (size_t i = 0; i < c->n; i++) {
			CLEANUP(probe) struct probe one = {0};
			const struct process *p = &c->v[i];

			if (!p->usable || is_forked(p) != forked)
				continue;
			leaks_of_process(c, p, forked ? &one : c->probe);
			probe_take_most(c->probe, &one);
		}
	}
	if (c->dropped)
		strv_addf(&c->probe->notes, "%zu more stacks are not listed", c->dropped);
}

/* --- the report for people -------------------------------------------------------- */

static void add_frame(struct buf *out, const struct frame *f)
{
	buf_addf(out, "    %s", f->function ? f->function : "?");
	if (f->file)
		buf_addf(out, " %s:%u", f->file, f->line);
	else if (f->module)
		buf_addf(out, " (%s+0x%" PRIx64 ")", f->module, f->offset);
	buf_addc(out, '\n');
}

static void write_text(struct collection *c)
{
	CLEANUP_FREE char *path = path_join(c->state->dir, "report");
	CLEANUP(buf) struct buf out = {0};
	CLEANUP_FD int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	for (size_t i = 0; i < c->n && i < FILES_MAX; i++) {
		const struct heap_header *h = &c->v[i].report.header;

		buf_addf(&out,
			 "%s (pid %d): %" PRIu64 " allocations, at exit %" PRIu64
			 " blocks (%" PRIu64 " bytes) held%s\n",
			 name_of(&c->v[i]), c->v[i].pid, h->allocations, h->held_blocks,
			 h->held_bytes, is_whole(&c->v[i]) ? "" : " (no whole report)");
	}
	for (size_t i = 0; i < c->probe->nleaks; i++) {
		const struct leak *l = &c->probe->leaks[i];

		if (!l->units[0])
			continue;
		buf_addf(&out,
			 "\n%s: %s of %" PRIu64 " bytes in %" PRIu64 " blocks from\n",
			 l->process, l->resource == RESOURCE_HEAP ? "leak" : "reachable",
			 l->bytes[0], l->units[0]);
		for (size_t k = 0; k < l->nframes; k++)
			add_frame(&out, &l->frames[k]);
	}
	if (fd >= 0 && write_all(fd, buf_str(&out), out.len) == 0)
		strv_add(&c->probe->files, path);
}

int heap_collect(struct detect_run *run, const struct run_result *result,
		 struct probe *ret, struct err *err)
{
	struct heap_run *state = run->state;
	struct collection c = {
		.state = state,
		.result = result,
		.root = {.seen = detect_seen(run), .path = run->checkout},
		.symbols = symbols_new(state->cwd, run->sandbox),
		.probe = ret,
	};
	int rc = read_reports(&c, err);

	if (rc == 0) {
		judge(&c);
		collect_leaks(&c);
		write_text(&c);
	}
	for (size_t i = 0; i < c.n; i++)
		heap_report_release(&c.v[i].report);
	free(c.v);
	symbols_free(c.symbols);
	free(state->dir);
	free(state->cwd);
	free(state);
	run->state = NULL;
	return rc;
}
