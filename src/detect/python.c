/*
 * Python: all cycles of the selected tests pass within the one process that runs them,
 * and an adapter (adapters/python) looks between cycles at what it holds.
 *
 * The adapter is a zip file in the run's directory that PYTHONPATH names; nothing is
 * installed, and no file of the project changes. Its sitecustomize prepares every
 * interpreter, the first that runs tests claims the settings, and all others stay as they
 * were. What the adapter says is read from files of the run: a test shares its process,
 * so one that means to forge them can; the token keeps out accidents and other processes.
 */
#include "detect/detect.h"

#include "base/buf.h"
#include "base/fs.h"
#include "base/json.h"
#include "base/mem.h"
#include "detect/embed.h"
#include "detect/merge.h"
#include "detect/python_command.h"
#include "detect/python_report.h"
#include "detect/report_file.h"
#include "proc/proc.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

enum {
	REPORT_CAP = 16 << 20, /* bytes of one process' report */
	CURRENT_CAP = 4096,
	SIGNAL_STATUS = 128, /* a shell's: the command was killed */
	TOKEN_BYTES = 16,
	/* The engine gives each cycle the deadline of a run. Those that find what cannot
	 * be repeated and where things were acquired, with tracemalloc, come on top. */
	TIMEOUT_FACTOR = 10,
};

struct python_run {
	char *dir, token[2 * TOKEN_BYTES + 1];
	enum python_use use;
	bool read;
	struct python_report report; /* of all processes */
	struct strv files;
	char *current; /* the test that ran last */
	size_t nreports;
};

static int python_probe(char **ret_version, struct err *err)
{
	CLEANUP_FREE char *path = find_program("python3");
	char *argv[] = {path, (char[]){"--version"}, NULL};
	CLEANUP(buf) struct buf out = {0};
	const char *text;

	if (!path)
		return err_set(err, ERR_ENVIRONMENT, "python3 is not installed");
	if (proc_capture(argv, &(struct capture_opts){.cap = 100}, &out, NULL, err) < 0)
		return -1;
	text = buf_str(&out);
	if (!strncmp(text, "Python ", 7))
		text += 7;
	*ret_version = xstrndup(text, strcspn(text, " \n"));
	return 0;
}

static bool python_fits(const struct strv *argv, const char *dir)
{
	enum python_use use = python_command_use(argv);

	(void)dir;
	return (use == PYTHON_TESTS || use == PYTHON_CODE) &&
	       !python_command_isolated(argv);
}

static const char *python_stays_out(const struct strv *argv)
{
	enum python_use use = python_command_use(argv);

	return (use == PYTHON_TESTS || use == PYTHON_CODE) &&
			       python_command_isolated(argv)
		       ? "python -I, -E or -S leave PYTHONPATH out, and so the adapter"
		       : NULL;
}

static int make_token(char *ret, struct err *err)
{
	unsigned char bytes[TOKEN_BYTES];

	if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
		return err_errno(err, ERR_ENVIRONMENT, errno, "no random bytes");
	for (size_t i = 0; i < sizeof(bytes); i++)
		snprintf(ret + 2 * i, 3, "%02x", bytes[i]);
	return 0;
}

static void set_environment(const struct detect_run *run, const struct python_run *state,
			    const char *adapter, struct run_spec *spec)
{
	bool program = state->use == PYTHON_CODE || state->use == PYTHON_PROGRAM;
	const char *path = env_get(&spec->env, "PYTHONPATH");
	CLEANUP_FREE char *all =
		path && *path ? xasprintf("%s:%s", adapter, path) : xstrdup(adapter);
	CLEANUP_FREE char *text = NULL;
	CLEANUP_JSON json_t *j = json_object();

	json_put(j, "dir", state->dir);
	json_put(j, "token", state->token);
	json_put(j, "root", detect_seen(run));
	json_put(j, "mode", program ? "program" : "tests");
	json_put_int(j, "warmup", run->warmup);
	json_put_int(j, "cycles", run->cycles ? run->cycles : 1);
	text = json_canonical(j);
	env_set(&spec->env, "PYTHONPATH", all);
	env_set(&spec->env, "EXITPATH_PYTHON", text);
	python_command_lead(&spec->argv, adapter);
}

static int python_prepare(struct detect_run *run, struct run_spec *spec, struct err *err)
{
	CLEANUP_FREE char *dir = path_join(run->dir, "python");
	CLEANUP_FREE char *adapter = path_join(dir, "adapter.zip");
	struct python_run *state;

	if (make_dirs(dir, 0700, err) < 0 ||
	    write_file(adapter, embed_python_start,
		       (size_t)(embed_python_end - embed_python_start), err) < 0)
		return -1;
	state = xcalloc(1, sizeof(*state));
	if (make_token(state->token, err) < 0) {
		free(state);
		return -1;
	}
	state->dir = TAKE_PTR(dir);
	state->use = python_command_use(&spec->argv);
	set_environment(run, state, adapter, spec);
	spec->timeout_ms *= TIMEOUT_FACTOR;
	run->state = state;
	return 0;
}

/* --- the reports ------------------------------------------------------------------- */

static void read_current(struct python_run *s, pid_t pid)
{
	CLEANUP_FREE char *path = xasprintf("%s/current.%d", s->dir, pid);
	CLEANUP(buf) struct buf text = {0};

	if (read_regular(path, CURRENT_CAP, &text) == 0 && text.len) {
		free(s->current);
		s->current = xstrndup(text.data, strcspn(text.data, "\n"));
	}
}

/* Each process that ran tests has one; what they found adds up. */
static int read_reports(struct python_run *s, struct err *err)
{
	CLEANUP_FREE pid_t *pids = NULL;
	size_t n;

	if (pids_in_dir(s->dir, "report.", "", &pids, &n) < 0)
		return err_errno(err, ERR_ENVIRONMENT, errno, "cannot read %s", s->dir);
	for (size_t i = 0; i < n; i++) {
		CLEANUP_FREE char *path = xasprintf("%s/report.%d", s->dir, pids[i]);
		CLEANUP(buf) struct buf text = {0};
		struct python_report *r = &s->report;

		/* Each must say that it is done. */
		r->done = r->exited = false;
		if (read_regular(path, REPORT_CAP, &text) < 0) {
			if (!r->malformed)
				r->malformed = xasprintf("report.%d is no file", pids[i]);
			continue;
		}
		python_report_parse(buf_str(&text), text.len, s->token, r);
		strv_add(&s->files, path);
		s->nreports++;
		read_current(s, pids[i]);
		if (!r->done)
			break;
	}
	s->read = true;
	return 0;
}

/* --- states ------------------------------------------------------------------------ */

static void set(struct probe *p, enum probe_state state, char *detail)
{
	p->state = state;
	p->detail = detail;
}

static void judge_absent(const struct python_run *s, const struct run_result *result,
			 struct probe *p)
{
	if (!run_result_passed(result))
		set(p, PROBE_INTERRUPTED, run_result_describe(result));
	else
		set(p, PROBE_SILENT,
		    xasprintf(
			    "no Python loaded the adapter and ran tests: %s",
			    s->use == PYTHON_NONE
				    ? "the command runs no pytest, unittest or python"
				    : "python -I, -E or -S leave PYTHONPATH out, as does "
				      "a cleared environment"));
}

static void judge_untested(const struct python_run *s, struct probe *p)
{
	const struct python_report *r = &s->report;

	set(p, PROBE_SILENT,
	    r->skipped ? xasprintf("no test ran: %" PRIu64 " were skipped or failed as "
				   "expected",
				   r->skipped)
		       : xstrdup("no test ran: see which the command selects"));
}

/* Started, and not done. */
static void judge_cut(const struct python_run *s, const struct run_result *result,
		      struct probe *p)
{
	CLEANUP_FREE char *how = run_result_describe(result);
	const char *at = s->current ? s->current : "the start";

	if (s->report.failed)
		set(p, PROBE_INTERRUPTED, xstrdup(s->report.failed));
	else if (result->end != RUN_EXITED || result->status > SIGNAL_STATUS)
		set(p, PROBE_INTERRUPTED, xasprintf("%s, in %s", how, at));
	else if (!s->report.exited)
		set(p, PROBE_FORCED_EXIT,
		    xasprintf("forced exit: the process left through os._exit() in %s "
			      "(%s)",
			      at, how));
	else if (s->report.counted && !s->report.tests)
		judge_untested(s, p);
	else if (!run_result_passed(result))
		set(p, PROBE_INTERRUPTED, xasprintf("%s, in %s", how, at));
	else
		set(p, PROBE_SILENT,
		    xasprintf("%s ended before its cycles, in %s", s->report.runner, at));
}

static void judge(const struct python_run *s, const struct run_result *result,
		  struct probe *p)
{
	const struct python_report *r = &s->report;

	if (r->malformed)
		set(p, PROBE_UNPARSED, xstrdup(r->malformed));
	else if (!r->started)
		judge_absent(s, result, p);
	else if (r->refused)
		set(p, PROBE_NOT_FITTING, xstrdup(r->refused));
	else if (!r->done)
		judge_cut(s, result, p);
	else if (!r->tests)
		judge_untested(s, p);
	else if (r->missed || !r->canary)
		set(p, PROBE_SILENT,
		    xasprintf("in Python %s: %s", r->python,
			      r->missed ? r->missed : "its canary is missing"));
	else if (!r->exited && result->end == RUN_EXITED)
		set(p, PROBE_FORCED_EXIT,
		    xasprintf(
			    "forced exit: the process left through os._exit() after its "
			    "tests (%s)",
			    s->current ? s->current : "?"));
}

/* --- one cycle --------------------------------------------------------------------- */

static void add_cycle(const struct python_run *s, size_t cycle, struct probe *p)
{
	for (size_t i = 0; i < s->report.nleaks; i++) {
		const struct python_leak *src = &s->report.leaks[i];
		struct leak *l;

		if (cycle >= src->nunits || !src->units[cycle])
			continue;
		l = VEC_ADD(p->leaks, p->nleaks, p->leaks_cap);
		leak_copy(l, &src->leak, 1);
		l->units[0] = src->units[cycle];
		l->bytes[0] = src->bytes;
	}
	probe_merge(p);
}

static void python_run_free(struct python_run *s)
{
	python_report_release(&s->report);
	strv_release(&s->files);
	free(s->current);
	free(s->dir);
	free(s);
}

static int python_collect(struct detect_run *run, const struct run_result *result,
			  struct probe *ret, struct err *err)
{
	struct python_run *s = run->state;
	unsigned all = run->warmup + run->cycles;
	int rc = 0;

	if (!s) {
		set(ret, PROBE_INTERRUPTED, run_result_describe(result));
		return 0;
	}
	if (!s->read)
		rc = read_reports(s, err);
	judge(s, result, ret);
	for (size_t i = 0; i < s->report.notes.n; i++)
		probe_note(ret, xstrdup(s->report.notes.v[i]));
	if (s->report.dropped)
		probe_note(ret,
			   xasprintf("%zu more leaks are not listed", s->report.dropped));
	strv_copy(&ret->files, s->files.v ? s->files.v : (char *[]){NULL});
	if (run->cycle >= run->warmup)
		add_cycle(s, run->cycle - run->warmup, ret);
	if (run->cycle + 1 >= all || rc < 0 || result->end == RUN_LOST) {
		python_run_free(s);
		run->state = NULL;
	}
	return rc;
}

static const char *python_canary(void)
{
	return "exec python3 -c 'import os; os.open(\"/dev/null\", os.O_RDONLY)'";
}

extern const struct detector detector_python;
const struct detector detector_python = {
	.name = "python",
	.summary = "connections, sockets, threads, memory … of pytest and unittest",
	.wraps = true,
	.inside = true,
	.marks = true,
	.fits = python_fits,
	.stays_out = python_stays_out,
	.heap = true,
	.install = "apt-get install python3; tests that run under pytest or unittest",
	.probe = python_probe,
	.prepare = python_prepare,
	.collect = python_collect,
	.canary_command = python_canary,
};
