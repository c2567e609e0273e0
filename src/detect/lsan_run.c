#include "detect/lsan_run.h"

#include "base/buf.h"
#include "base/fs.h"
#include "base/mem.h"
#include "detect/canary.h"
#include "detect/lsan_parse.h"
#include "detect/lsan_report.h"
#include "detect/merge.h"
#include "detect/report_file.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#define LOG_CAP (UINT64_C(1) << 30)	    /* bytes read of one log */
#define OUTPUT_CAP (2 * DEFAULT_OUTPUT_CAP) /* of stdout and of stderr */
enum { FILES_MAX = 32, SIGNAL_STATUS = 128 /* a shell's status for a signal's death */ };

struct process_log {
	pid_t pid;
	struct lsan_log log;
	const struct start_record *owner; /* or NULL: it forked and left no record */
	char *path;
};

static bool is_forked(const struct process_log *l)
{
	return !l->owner || l->owner->forked;
}

struct collection {
	const struct lsan_run *state;
	const struct run_result *result;
	struct source_root root;
	struct start_records records;
	struct process_log *logs; /* by pid */
	size_t nlogs;
	size_t instrumented;
	size_t unchecked; /* forked children that made no report */
	char *stray;	  /* a runtime's text on stdout or stderr of … */
	int stray_pid;	  /* … this process, which has no log; 0: not known */
	struct symbols *symbols;
	bool bare; /* leaks stay without names */
	struct probe *probe;
};

static const char *name_of(const struct start_record *r)
{
	return r && r->exe ? path_base(r->exe) : "?";
}

/* What a text of the runtime means, and what to do. */
static const char *advice(const char *text)
{
	static const struct {
		const char *part, *advice;
	} table[] = {
		{"fatal error", "it does not work under ptrace: run without strace or a "
				"debugger"},
		{"suppressions file",
		 "correct the `suppressions=` of the user's options"},
		{"failed to allocate", "ulimit -v kills sanitized programs: lift it"},
		{"CHECK failed", "is `ulimit -v` set? It kills sanitized programs"},
		{"Out of memory", "ulimit -v kills sanitized programs: lift it"},
		{"Can't open file", "the program changed its user, its root or what is "
				    "mounted, and cannot write its report"},
		{"symbolizer path", "correct external_symbolizer_path or "
				    "*SAN_SYMBOLIZER_PATH"},
		{"come first", "the command replaced ASAN_OPTIONS or LD_PRELOAD"},
		{"ERROR: expected", "correct the options that the command sets"},
		{"parsing failed", "correct the options that the command sets"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(table); i++)
		if (strstr(text, table[i].part))
			return table[i].advice;
	return "its report is not where it was asked for: the command replaced "
	       "ASAN_OPTIONS or LSAN_OPTIONS, or cleared the environment";
}

static void worsen_silent(struct collection *c, const char *who, int pid,
			  const char *text)
{
	if (pid)
		probe_worsen(c->probe, PROBE_SILENT,
			     xasprintf("%s (pid %d) says \"%.200s\": %s", who, pid, text,
				       advice(text)));
	else
		probe_worsen(
			c->probe, PROBE_SILENT,
			xasprintf("%s says \"%.200s\": %s", who, text, advice(text)));
}

/* --- reading --------------------------------------------------------------------- */

static int read_logs(struct collection *c, struct err *err)
{
	CLEANUP_FREE pid_t *pids = NULL;
	size_t n;

	if (pids_in_dir(c->state->dir, "log.", "", &pids, &n) < 0)
		return err_errno(err, ERR_ENVIRONMENT, errno, "cannot read %s",
				 c->state->dir);
	c->logs = xcalloc(n + 1, sizeof(*c->logs));
	for (size_t i = 0; i < n; i++) {
		struct process_log *l = &c->logs[c->nlogs++];
		struct lsan_parser *p = lsan_parser_new(&l->log);
		int rc;

		l->pid = pids[i];
		l->path = xasprintf("%s/log.%d", c->state->dir, pids[i]);
		l->owner = start_record_find(&c->records, pids[i]);
		rc = feed_regular(l->path, LOG_CAP, lsan_parser_feed, p);
		lsan_parser_finish(p);
		if (rc < 0 && errno != EINVAL)
			return err_errno(err, ERR_ENVIRONMENT, errno, "cannot read %s",
					 l->path);
	}
	return 0;
}

static const struct process_log *log_find(const struct collection *c, pid_t pid)
{
	size_t from = 0, to = c->nlogs;

	while (from < to) {
		size_t mid = from + (to - from) / 2;

		if (c->logs[mid].pid == pid)
			return &c->logs[mid];
		if (c->logs[mid].pid < pid)
			from = mid + 1;
		else
			to = mid;
	}
	return NULL;
}

/* The loader went on without it: another user, root, mount, or word size. */
static void note_not_preloaded(struct collection *c, const char *line)
{
	const char *why = strstr(line, "cannot be preloaded");

	if (why && strstr(line, CANARY_LIBRARY))
		probe_note(c->probe, xasprintf("a program ran without the preloaded "
					       "library, and its leaks were not checked: "
					       "%.150s",
					       why));
}

/* A runtime that lost our options reports where its own defaults say. */
static void scan_output(struct collection *c, const char *run_dir, const char *name)
{
	CLEANUP_FREE char *path = path_join(run_dir, name);
	CLEANUP(buf) struct buf text = {0};

	if (read_regular(path, OUTPUT_CAP, &text) < 0 || !text.len)
		return;
	for (char *line = text.data, *end; *line; line = end) {
		const char *headline;
		int pid;

		end = strchrnul(line, '\n');
		if (*end)
			*end++ = '\0';
		note_not_preloaded(c, line);
		headline = c->stray ? NULL : lsan_headline(line, &pid);
		if (headline && !(pid && log_find(c, pid))) {
			c->stray = xasprintf("%.300s", headline);
			c->stray_pid = pid;
		}
	}
}

/* --- what each process did ------------------------------------------------------- */

static void add_failure(struct collection *c, const struct lsan_log *log)
{
	CLEANUP_FREE char *place = NULL;

	if (c->probe->failed)
		return;
	place = frames_place(&log->error_stack, &c->root, c->symbols);
	c->probe->failed = true;
	c->probe->failure = xasprintf("%s%s%s", log->error,
				      !*place || *place == '(' ? "" : " in ", place);
}

static void judge_silent_log(struct collection *c, const struct process_log *l)
{
	const char *name = name_of(l->owner);

	if (l->log.fatal)
		worsen_silent(c, name, l->pid, l->log.fatal);
	else if (l->log.nsuppressions)
		probe_worsen(
			c->probe, PROBE_SILENT,
			xasprintf(
				"%s (pid %d): the suppression `%.100s` hides every leak, "
				"the planted one too",
				name, l->pid, l->log.suppressions[0].pattern));
	else
		probe_worsen(
			c->probe, PROBE_SILENT,
			xasprintf("%s (pid %d): the planted leak is not in its report",
				  name, l->pid));
}

/* A suppression of main() or of the program's file leaves nothing to be checked. */
static bool judge_wide_suppressions(struct collection *c, const struct process_log *l)
{
	for (size_t i = 0; i < l->log.nsuppressions; i++) {
		const char *pattern = l->log.suppressions[i].pattern;

		if (!lsan_template_matches(pattern, "main") &&
		    !(l->owner && lsan_template_matches(pattern, l->owner->exe)))
			continue;
		probe_worsen(c->probe, PROBE_SILENT,
			     xasprintf("%s (pid %d): the suppression `%.100s` covers the "
				       "whole program: name the function that leaks",
				       name_of(l->owner), l->pid, pattern));
		return true;
	}
	return false;
}

static void judge_log(struct collection *c, const struct process_log *l)
{
	const struct lsan_log *log = &l->log;

	if (log->error)
		add_failure(c, log);
	if (judge_wide_suppressions(c, l) || (log->canary && log->summary))
		return;
	if (log->leaks_reported && !log->summary && c->result->end == RUN_EXITED)
		probe_worsen(
			c->probe, PROBE_UNPARSED,
			xasprintf("the report of %s (pid %d) is cut short: is the disk "
				  "full, or was it killed?",
				  name_of(l->owner), l->pid));
	else if (log->error || (log->leaks_reported && !log->summary))
		probe_worsen(c->probe, PROBE_INTERRUPTED,
			     xasprintf("%s (pid %d) ended before its leaks were checked",
				       name_of(l->owner), l->pid));
	else
		judge_silent_log(c, l);
}

/* An instrumented process without a log. */
static void judge_missing(struct collection *c, const struct start_record *r)
{
	const struct run_result *result = c->result;
	CLEANUP_FREE char *how = run_result_describe(result);
	const char *name = name_of(r);

	if (c->stray && (!c->stray_pid || c->stray_pid == r->pid))
		worsen_silent(c, name, r->pid, c->stray);
	else if (r->forked && !r->exited)
		c->unchecked++;
	else if (result->end != RUN_EXITED || result->status > SIGNAL_STATUS)
		probe_worsen(
			c->probe, PROBE_INTERRUPTED,
			xasprintf("%s (pid %d) ended before its leaks were checked: %s",
				  name, r->pid, how));
	else if (r->exited)
		probe_worsen(
			c->probe, PROBE_SILENT,
			xasprintf("%s (pid %d) ended through exit() and made no report: "
				  "the leak check is turned off by the program "
				  "(__lsan_is_turned_off) or by options that the command "
				  "sets",
				  name, r->pid));
	else if (result->left_behind)
		probe_worsen(
			c->probe, PROBE_INTERRUPTED,
			xasprintf("%s (pid %d) made no report: it was still running when "
				  "the command ended, or left through _exit()",
				  name, r->pid));
	else
		probe_worsen(c->probe, PROBE_FORCED_EXIT,
			     xasprintf("forced exit: %s (pid %d) left through _exit() or "
				       "quick_exit(), or was killed: no leak check (%s)",
				       name, r->pid, how));
}

/* No process reported, and none that is instrumented was seen to start. */
static void judge_nothing(struct collection *c)
{
	CLEANUP_FREE char *how = run_result_describe(c->result);

	if (c->stray)
		worsen_silent(c, "a program", c->stray_pid, c->stray);
	else if (c->result->end != RUN_EXITED && !c->records.n)
		probe_worsen(c->probe, PROBE_INTERRUPTED, TAKE_PTR(how));
	else if (!c->records.n && !c->state->root_static)
		probe_worsen(
			c->probe, PROBE_SILENT,
			xstrdup("no process loaded the preloaded library: a static or "
				"set-user-ID program, a cleared environment, or a "
				"directory mounted noexec"));
	else
		probe_worsen(
			c->probe, PROBE_NOT_FITTING,
			xasprintf("%s is not instrumented: build with -fsanitize=address "
				  "(or leak), or use --detector valgrind",
				  c->records.n ? name_of(&c->records.v[0])
					       : "the static program"));
}

/*
 * A forked child may leave through _exit(), which is good practice, be killed as a
 * server is, or run a program that cannot be watched: the rest of the run counts.
 */
static void note_unchecked(struct collection *c)
{
	size_t n = c->unchecked;

	if (n)
		strv_addf(&c->probe->notes,
			  "%zu forked process%s ended without a leak check: _exit(), a "
			  "signal, or another program without the preloaded library",
			  n, n == 1 ? "" : "es");
}

/* Of the repository, and built without: its leaks are not seen beside the others'. */
static void note_bare_program(struct collection *c, const struct start_record *r)
{
	if (path_is_below(r->exe, c->root.seen))
		probe_note(c->probe, xasprintf("%s is not instrumented: its heap was not "
					       "checked",
					       name_of(r)));
}

static void judge_processes(struct collection *c)
{
	for (size_t i = 0; i < c->records.n; i++) {
		const struct start_record *r = &c->records.v[i];

		if (r->instrumented == INSTRUMENTED_NONE) {
			note_bare_program(c, r);
			continue;
		}
		c->instrumented++;
		if (!log_find(c, r->pid))
			judge_missing(c, r);
	}
	note_unchecked(c);
	for (size_t i = 0; i < c->nlogs; i++)
		judge_log(c, &c->logs[i]);
	if (!c->instrumented && !c->nlogs)
		judge_nothing(c);
	else if (c->stray)
		worsen_silent(c, "a program", c->stray_pid, c->stray);
}

/* --- names ------------------------------------------------------------------------ */

/* Suppressions that match functions by name did nothing in a run without names: those
 * compiled in, those that the command itself asks for. */
static bool suppresses_by_name(const struct collection *c)
{
	static const char *const hooks[] = {"__lsan_default_suppressions",
					    "__lsan_default_options",
					    "__asan_default_options"};

	for (size_t i = 0; i < c->records.n; i++) {
		const struct start_record *r = &c->records.v[i];

		if (r->instrumented == INSTRUMENTED_NONE)
			continue;
		if (r->by_name)
			return true;
		/* Within a static runtime they are not seen from outside. */
		for (size_t k = 0; k < ARRAY_SIZE(hooks); k++)
			if (symbols_defines(c->symbols, r->exe, hooks[k]))
				return true;
	}
	return false;
}

static void look_up_all(struct collection *c)
{
	const struct symbol_place *places;

	for (size_t i = 0; i < c->nlogs; i++) {
		const struct lsan_log *log = &c->logs[i].log;

		for (size_t k = 0; k < log->nleaks; k++) {
			const struct raw_stack *s = &log->leaks[k].stack;

			for (size_t f = 0; f < s->n; f++)
				if (s->frames[f].module && s->frames[f].offset)
					symbols_find(c->symbols, s->frames[f].module,
						     s->frames[f].offset, &places);
		}
	}
}

/*
 * All leaks get their names here, or none, so that those of one run compare with those
 * of another; the engine measures those without names once more, `precise`.
 */
static void choose_names(struct collection *c)
{
	bool leaks = false;

	for (size_t i = 0; i < c->nlogs; i++)
		leaks |= c->logs[i].log.nleaks > 0;
	if (!leaks || c->state->named)
		return;
	if (!suppresses_by_name(c))
		look_up_all(c);
	else
		c->bare = true;
	c->bare |= symbols_incomplete(c->symbols);
}

/* --- leaks ------------------------------------------------------------------------ */

/* The one suppression that every runtime has, for a bug of old C libraries
 * (kStdSuppressions of lsan_common.cpp). */
static bool suppressed_by_default(const struct leak *l)
{
	for (size_t i = 0; i < l->nframes; i++)
		if (l->frames[i].function &&
		    strstr(l->frames[i].function, "tls_get_addr"))
			return true;
	return false;
}

/* A forked child's log has no record: the program is one whose file is in its stacks. */
static const struct start_record *guess_owner(const struct collection *c,
					      const struct lsan_log *log)
{
	const struct start_record *first = NULL;

	for (size_t i = 0; i < c->records.n; i++) {
		const struct start_record *r = &c->records.v[i];

		if (r->instrumented == INSTRUMENTED_NONE)
			continue;
		first = first ? first : r;
		for (size_t k = 0; k < log->nleaks; k++) {
			const struct raw_stack *s = &log->leaks[k].stack;

			for (size_t f = 0; f < s->n; f++)
				if (s->frames[f].module &&
				    !strcmp(s->frames[f].module, r->exe))
					return r;
		}
	}
	return first;
}

static void add_leak(struct collection *c, struct probe *p, const char *process,
		     const struct lsan_leak *src)
{
	struct leak *l = probe_leak(p, RESOURCE_HEAP, src->objects, src->bytes);

	l->process = xstrdup(process);
	l->what = xasprintf("%" PRIu64 " bytes%s", src->bytes,
			    src->direct ? "" : ", in a cycle");
	frames_fill(l, &src->stack, &c->root, c->bare ? NULL : c->symbols);
	if (!c->state->named && suppressed_by_default(l)) {
		leak_release(l);
		p->nleaks--;
		return;
	}
	leak_sign(l);
}

/* What a block that leaked points to leaks with it: it is repaired with it, and says
 * nothing of its own. Where nothing is direct there is a cycle. */
static void leaks_of_log(struct collection *c, const struct process_log *l,
			 struct probe *p)
{
	const struct start_record *owner = l->owner ? l->owner : guess_owner(c, &l->log);
	uint64_t blocks = 0, bytes = 0;
	bool direct = false;

	for (size_t i = 0; i < l->log.nleaks; i++)
		direct |= l->log.leaks[i].direct;
	for (size_t i = 0; i < l->log.nleaks; i++) {
		const struct lsan_leak *k = &l->log.leaks[i];

		if (k->direct || !direct) {
			add_leak(c, p, name_of(owner), k);
			continue;
		}
		blocks += k->objects;
		bytes += k->bytes;
	}
	if (blocks)
		strv_addf(&c->probe->notes,
			  "%s: %" PRIu64 " more blocks (%" PRIu64
			  " bytes) hang off the leaked ones",
			  name_of(owner), blocks, bytes);
	probe_merge(p);
}

static void collect_leaks(struct collection *c)
{
	size_t dropped = 0;

	for (int forked = 0; forked < 2; forked++) {
		for (size_t i = 0; i < c->nlogs; i++) {
			CLEANUP(probe) struct probe one = {0};
			const struct process_log *l = &c->logs[i];

			if (is_forked(l) != forked)
				continue;
			dropped += l->log.dropped;
			if (c->probe->nleaks + l->log.nleaks > LSAN_LEAKS_MAX) {
				dropped += l->log.nleaks;
				continue;
			}
			leaks_of_log(c, l, forked ? &one : c->probe);
			probe_take_most(c->probe, &one);
		}
	}
	if (dropped)
		strv_addf(&c->probe->notes, "%zu more leaks are not listed", dropped);
}

static void add_notes(struct collection *c)
{
	for (size_t i = 0; i < c->nlogs; i++) {
		const struct lsan_log *log = &c->logs[i].log;

		for (size_t k = 0; log->canary && k < log->nsuppressions; k++) {
			const struct lsan_suppression *s = &log->suppressions[k];
			CLEANUP_FREE char *note = xasprintf(
				"%" PRIu64 " leak%s (%" PRIu64
				" bytes) suppressed by options or by the program: %.100s",
				s->count, s->count == 1 ? "" : "s", s->bytes, s->pattern);

			if (!strv_contains(&c->probe->notes, note))
				strv_add(&c->probe->notes, note);
		}
	}
}

static void add_report(struct collection *c, const struct process_log *l)
{
	CLEANUP_FREE char *named = xasprintf("%s/report.%d", c->state->dir, l->pid);

	if (!c->state->named && (l->log.nleaks || l->log.error) && !c->bare &&
	    lsan_report_write(l->path, named, c->symbols) == 0)
		strv_add(&c->probe->files, named);
	else
		strv_add(&c->probe->files, l->path);
}

/* Reports with nothing but the planted leak are all alike: one of them will do. */
static void add_files(struct collection *c)
{
	for (int telling = 1; telling >= 0; telling--) {
		for (size_t i = 0; i < c->nlogs; i++) {
			const struct lsan_log *log = &c->logs[i].log;
			bool tells = log->nleaks || log->error || !log->canary;
			size_t most = telling ? FILES_MAX : 1;

			if (tells == telling && log->text && c->probe->files.n < most)
				add_report(c, &c->logs[i]);
		}
	}
}

/* --- all of it -------------------------------------------------------------------- */

static int collect(struct collection *c, const char *run_dir, struct err *err)
{
	if (start_records_read(c->state->dir, &c->records, err) < 0 ||
	    read_logs(c, err) < 0)
		return -1;
	scan_output(c, run_dir, "stderr");
	scan_output(c, run_dir, "stdout");
	if (c->state->refused)
		probe_worsen(c->probe, PROBE_SILENT, xstrdup(c->state->refused));
	judge_processes(c);
	choose_names(c);
	collect_leaks(c);
	add_notes(c);
	add_files(c);
	return 0;
}

static void collection_release(struct collection *c)
{
	for (size_t i = 0; i < c->nlogs; i++) {
		lsan_log_release(&c->logs[i].log);
		free(c->logs[i].path);
	}
	free(c->logs);
	free(c->stray);
	start_records_release(&c->records);
	symbols_free(c->symbols);
}

int lsan_collect(struct detect_run *run, const struct run_result *result,
		 struct probe *ret, struct err *err)
{
	struct lsan_run *state = run->state;
	struct collection c = {
		.state = state,
		.result = result,
		.root = {.seen = detect_seen(run), .path = run->checkout},
		.symbols = symbols_new(state->cwd, run->sandbox),
		.probe = ret,
	};
	int rc = collect(&c, run->dir, err);

	collection_release(&c);
	free(state->refused);
	free(state->dir);
	free(state->cwd);
	free(state);
	run->state = NULL;
	return rc;
}
