#include "detect/valgrind_run.h"

#include "base/buf.h"
#include "base/fs.h"
#include "base/mem.h"
#include "detect/canary.h"
#include "detect/merge.h"
#include "detect/report_file.h"
#include "detect/valgrind_parse.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DOCUMENT_CAP (UINT64_C(1) << 30) /* bytes read of one document */
enum {
	FILES_MAX = 32,
	NOTES_MAX = 20,
	SIGNAL_STATUS = 128,
	STDERR_CAP = 1 << 20,
};

struct document {
	struct valgrind_report report;
	char *path;
	bool forked; /* without exec: it repeats its parent's blocks */
};

struct collection {
	const struct valgrind_run *state;
	const struct run_result *result;
	struct source_root root;
	const struct sandbox *sandbox;
	struct document *docs; /* by pid */
	size_t ndocs, nleaks;
	size_t possible_blocks, possible_bytes, dropped;
	size_t watched;	       /* programs of the checkout whose heap was observed */
	const char *unwatched; /* the name of one whose heap was not, or NULL */
	struct probe *probe;
};

static int read_documents(struct collection *c, struct err *err)
{
	CLEANUP_FREE pid_t *pids = NULL;
	size_t n;

	if (pids_in_dir(c->state->dir, "x.", ".xml", &pids, &n) < 0)
		return err_errno(err, ERR_ENVIRONMENT, errno, "cannot read %s",
				 c->state->dir);
	c->docs = xcalloc(n + 1, sizeof(*c->docs));
	for (size_t i = 0; i < n; i++) {
		struct document *d = &c->docs[c->ndocs++];
		struct valgrind_parser *p = valgrind_parser_new(&d->report);
		int rc;

		d->path = xasprintf("%s/x.%d.xml", c->state->dir, pids[i]);
		rc = feed_regular(d->path, DOCUMENT_CAP, valgrind_parser_feed, p);
		valgrind_parser_finish(p);
		if (rc < 0 && errno != EINVAL)
			return err_errno(err, ERR_ENVIRONMENT, errno, "cannot read %s",
					 d->path);
		d->report.pid = pids[i];
		d->forked = d->report.finished && !d->report.running;
	}
	return 0;
}

static const char *name_of(const struct valgrind_report *r)
{
	return r->exe && *r->exe ? path_base(r->exe) : "?";
}

/* The command itself: nobody of those that reported started it. */
static const struct document *root_of(const struct collection *c)
{
	for (size_t i = 0; i < c->ndocs; i++) {
		bool child = false;

		for (size_t k = 0; k < c->ndocs && !child; k++)
			child = c->docs[k].report.pid == c->docs[i].report.ppid;
		if (!child)
			return &c->docs[i];
	}
	return NULL;
}

/* --- states ----------------------------------------------------------------------- */

/* The first line on stderr that says why, for people. */
static char *stderr_reason(const char *run_dir)
{
	static const char *const marks[] = {
		"Shadow memory range interleaves",
		"ASan runtime does not come first",
		"valgrind: ",
	};
	CLEANUP_FREE char *path = path_join(run_dir, "stderr");
	CLEANUP(buf) struct buf text = {0};

	if (read_regular(path, STDERR_CAP, &text) < 0)
		return NULL;
	for (size_t i = 0; i < ARRAY_SIZE(marks); i++) {
		const char *at = strstr(buf_str(&text), marks[i]);

		if (at && i < 2)
			return xstrdup("the program is built with AddressSanitizer, "
				       "which cannot run under valgrind: use detector "
				       "lsan");
		if (at)
			return xasprintf("%.*s", (int)strcspn(at, "\n"), at);
	}
	return NULL;
}

static bool was_killed(const struct collection *c)
{
	const struct run_result *r = c->result;

	return r->end != RUN_EXITED || r->status > SIGNAL_STATUS || r->left_behind;
}

/* A binary in the checkout. A script is run by a program from elsewhere. */
static bool is_project(const struct collection *c, const struct valgrind_report *r)
{
	CLEANUP_FREE char *path = NULL, *real = NULL, *outside = NULL;
	CLEANUP_FREE char *root = realpath(c->root.path, NULL);
	char magic[4] = "";
	size_t n = root ? strlen(root) : 0;

	if (!root || !r->exe || !strchr(r->exe, '/'))
		return false;
	path = r->exe[0] == '/' ? xstrdup(r->exe) : path_join(c->state->cwd, r->exe);
	outside = sandbox_outside(c->sandbox, path);
	real = realpath(outside, NULL);
	if (real && !strncmp(real, root, n) && real[n] == '/') {
		CLEANUP_FD int fd = open_regular(real, 0);

		return fd >= 0 && read(fd, magic, sizeof(magic)) == sizeof(magic) &&
		       !memcmp(magic, "\177ELF", sizeof(magic));
	}
	return false;
}

static void judge_cut(struct collection *c, const struct valgrind_report *r)
{
	if (was_killed(c) || (r->running && !r->finished))
		probe_worsen(c->probe, PROBE_INTERRUPTED,
			     xasprintf("%s (pid %d) was killed before valgrind had "
				       "reported",
				       name_of(r), r->pid));
	else
		probe_worsen(c->probe, PROBE_UNPARSED,
			     xasprintf("valgrind's report of %s (pid %d) is cut short: "
				       "it was killed, or the disk is full",
				       name_of(r), r->pid));
}

static void judge_unwatched_root(struct collection *c, const struct valgrind_report *r,
				 const char *why)
{
	if (c->state->root_static && !why)
		probe_worsen(c->probe, PROBE_NOT_FITTING,
			     xasprintf("%s is static: valgrind cannot see its heap",
				       name_of(r)));
	else
		probe_worsen(c->probe, PROBE_SILENT,
			     xasprintf("%s (pid %d): the planted leak is not in "
				       "valgrind's report: %s",
				       name_of(r), r->pid,
				       why	       ? why
				       : r->suppressed ? r->suppressed
						       : "the program is static, "
							 "set-user-ID, or its "
							 "environment was cleared"));
}

static void note_unwatched(struct collection *c, const struct valgrind_report *r)
{
	probe_note(c->probe, xasprintf("the heap of %s was not observed: it is "
				       "static, or its environment was cleared",
				       name_of(r)));
	if (is_project(c, r))
		c->unwatched = name_of(r);
}

static void judge_document(struct collection *c, const struct document *d, bool root,
			   const char *why)
{
	const struct valgrind_report *r = &d->report;

	if (r->malformed)
		probe_worsen(c->probe, PROBE_UNPARSED,
			     xasprintf("valgrind's report of %s (pid %d): %s", name_of(r),
				       r->pid, r->malformed));
	else if (!r->closed)
		judge_cut(c, r);
	else if (!r->finished)
		probe_worsen(c->probe, PROBE_SILENT,
			     xasprintf("valgrind gave up on %s (pid %d)%s%s", name_of(r),
				       r->pid, why ? ": " : "", why ? why : ""));
	else if (!r->canary && root)
		judge_unwatched_root(c, r, why);
	else if (!r->canary && !d->forked)
		note_unwatched(c, r);
	else if (r->canary)
		c->watched += is_project(c, r);
}

static void judge(struct collection *c, const char *run_dir)
{
	CLEANUP_FREE char *why = stderr_reason(run_dir);
	const struct document *root = root_of(c);

	/* valgrind reports from a fatal signal too, but what a program holds where it
	 * crashed is not what it would hold at its end. */
	if (c->result->end != RUN_EXITED)
		probe_worsen(c->probe, PROBE_INTERRUPTED, run_result_describe(c->result));
	for (size_t i = 0; i < c->ndocs; i++)
		judge_document(c, &c->docs[i], &c->docs[i] == root, why);
	if (c->unwatched && !c->watched)
		probe_worsen(c->probe, PROBE_NOT_FITTING,
			     xasprintf("no heap of a program of the repository was "
				       "observed: %s is static, or its environment was "
				       "cleared",
				       c->unwatched));
	if (!c->ndocs && c->result->end == RUN_EXITED)
		probe_worsen(c->probe, PROBE_SILENT,
			     xasprintf("valgrind wrote no report%s%s", why ? ": " : "",
				       why ? why : ""));
}

/* --- what was found --------------------------------------------------------------- */

/* The call that gave the descriptor: the innermost function, without its decoration. */
static const char *opener(const struct valgrind_leak *l)
{
	const char *f = l->stack.n ? l->stack.frames[0].function : NULL;

	return f ? f + strspn(f, "_") : "?";
}

static bool opens_socket(const char *call)
{
	static const char *const calls[] = {"socket", "accept", "accept4", "socketpair"};

	for (size_t i = 0; i < ARRAY_SIZE(calls); i++)
		if (!strcmp(call, calls[i]))
			return true;
	return false;
}

static void add_leak(struct collection *c, struct probe *p, const char *process,
		     const struct valgrind_leak *src)
{
	enum resource resource = RESOURCE_HEAP;
	struct leak *l;

	if (src->kind == VALGRIND_FD)
		resource = opens_socket(opener(src)) ? RESOURCE_SOCKET : RESOURCE_FD;
	l = probe_leak(p, resource, src->blocks, src->bytes);
	l->process = xstrdup(process);
	if (src->kind == VALGRIND_FD)
		l->what = xasprintf("from %s()", opener(src));
	else
		l->what = xasprintf("%" PRIu64 " bytes%s", src->bytes,
				    src->kind == VALGRIND_INDIRECT ? ", in a cycle" : "");
	frames_fill(l, &src->stack, &c->root, NULL);
	leak_sign(l);
	c->nleaks++;
}

static bool has_definite(const struct valgrind_report *r)
{
	for (size_t i = 0; i < r->nleaks; i++)
		if (r->leaks[i].kind == VALGRIND_DEFINITE)
			return true;
	return false;
}

/* What hangs off a lost block is lost with it, and is repaired with it. A pointer into
 * the middle of a block makes it "possibly lost": that is not shown to be a leak. */
static void leaks_of(struct collection *c, const struct valgrind_report *r,
		     struct probe *p)
{
	bool definite = has_definite(r);

	c->dropped += r->dropped;
	for (size_t i = 0; i < r->nleaks; i++) {
		const struct valgrind_leak *l = &r->leaks[i];

		if (l->kind == VALGRIND_POSSIBLE) {
			c->possible_blocks += l->blocks;
			c->possible_bytes += l->bytes;
		} else if (l->kind == VALGRIND_INDIRECT && definite) {
			continue;
		} else if (c->nleaks == VALGRIND_LEAKS_MAX) {
			c->dropped++;
		} else {
			add_leak(c, p, name_of(r), l);
		}
	}
	probe_merge(p);
}

/* Those of a runtime or an interpreter, which valgrind has many of, say nothing. */
static bool in_project_source(const struct raw_stack *s, const struct source_root *root)
{
	struct leak l = {0};
	bool found = false;

	frames_fill(&l, s, root, NULL);
	for (size_t i = 0; i < l.nframes; i++)
		found |= l.frames[i].project && l.frames[i].file;
	leak_release(&l);
	return found;
}

static void note_errors(struct collection *c, const struct valgrind_report *r)
{
	for (size_t i = 0; i < r->nerrors && c->probe->notes.n < NOTES_MAX; i++) {
		CLEANUP_FREE char *place = NULL;

		if (!in_project_source(&r->errors[i].stack, &c->root))
			continue;
		place = frames_place(&r->errors[i].stack, &c->root, NULL);
		probe_note(c->probe,
			   xasprintf("valgrind: %s%s%s, not a leak", r->errors[i].kind,
				     *place ? " in " : "", place));
	}
}

static void collect_leaks(struct collection *c)
{
	for (int forked = 0; forked < 2; forked++) {
		for (size_t i = 0; i < c->ndocs; i++) {
			CLEANUP(probe) struct probe one = {0};
			const struct document *d = &c->docs[i];

			if (d->forked != forked)
				continue;
			leaks_of(c, &d->report, forked ? &one : c->probe);
			probe_take_most(c->probe, &one);
			note_errors(c, &d->report);
		}
	}
	if (c->possible_blocks)
		probe_note(c->probe,
			   xasprintf("%zu block%s (%zu bytes) possibly lost: only "
				     "pointers into the middle are left",
				     c->possible_blocks,
				     c->possible_blocks == 1 ? "" : "s",
				     c->possible_bytes));
	if (c->dropped)
		probe_note(c->probe,
			   xasprintf("%zu more leaks are not listed", c->dropped));
}

/* --- all of it -------------------------------------------------------------------- */

static int collect(struct collection *c, const char *run_dir, struct err *err)
{
	if (read_documents(c, err) < 0)
		return -1;
	judge(c, run_dir);
	collect_leaks(c);
	for (size_t i = 0; i < c->ndocs && i < FILES_MAX; i++)
		strv_add(&c->probe->files, c->docs[i].path);
	return 0;
}

static void collection_release(struct collection *c)
{
	for (size_t i = 0; i < c->ndocs; i++) {
		valgrind_report_release(&c->docs[i].report);
		free(c->docs[i].path);
	}
	free(c->docs);
}

int valgrind_collect(struct detect_run *run, const struct run_result *result,
		     struct probe *ret, struct err *err)
{
	struct valgrind_run *state = run->state;
	struct collection c = {
		.state = state,
		.result = result,
		.root = {.seen = detect_seen(run), .path = run->checkout},
		.sandbox = run->sandbox,
		.probe = ret,
	};
	int rc = collect(&c, run->dir, err);

	collection_release(&c);
	free(state->dir);
	free(state->cwd);
	free(state);
	run->state = NULL;
	return rc;
}
