/*
 * Each worker is a run of the tests' command in a sandbox of its own, with a share of the
 * mutants; a mutant's verdict comes from forks of that run alone. What was late is tried
 * once more, when nothing else runs. A worker that ends loses the mutant it was at, which
 * is undecided, and a new one does the rest.
 */
#include "engine/mutate_python.h"

#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"
#include "detect/python_command.h"
#include "detect/report_file.h"
#include "engine/fault_python_run.h"
#include "model/report_lines.h"
#include "proc/proc.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

enum { MAX_WORKERS = 16, TICK_MS = 200, FEW = 8, REPORT_CAP = 64 << 20 };

struct worker {
	struct mutate_python *m;
	struct site_run run;
	struct run_spec spec;
	struct run_result result;
	struct proc *proc;
	json_t *mutants; /* its share */
	size_t said;	 /* verdicts */
	size_t at;	 /* the row that it tries, or SIZE_MAX */
	bool done;
};

/* ---- what it is told ---- */

static json_t *share_json(const struct worker *w, bool alone)
{
	json_t *j = json_object();

	json_object_set(j, "mutants", w->mutants);
	json_put_bool(j, "alone", alone);
	return j;
}

static void add_mutant(struct worker *w, size_t i)
{
	const struct mutate_row *r = &w->m->report->v[i];
	const struct mutate_try *t = &w->m->tries[i];
	json_t *j = json_array();

	json_array_append_new(j, json_integer((json_int_t)i));
	json_array_append_new(j, json_text(t->path));
	json_array_append_new(j, json_integer(r->start));
	json_array_append_new(j, json_integer(r->end));
	json_array_append_new(j, json_integer(t->first));
	json_array_append_new(j, json_integer(r->end_line));
	json_array_append_new(j, json_text(r->after));
	json_array_append_new(w->mutants, j);
}

static int start(struct worker *w, struct sites *s, bool alone, struct err *err)
{
	const struct site_ask ask = {.timeout_ms = SITE_TIMEOUT_MS};
	CLEANUP_JSON json_t *share = share_json(w, alone), *settings = json_object();
	CLEANUP_FREE char *text = json_dumps(share, JSON_COMPACT), *path = NULL,
			  *line = NULL;

	w->at = SIZE_MAX;
	if (site_run_prepare(&w->run, s, &ask, &w->spec, err) < 0)
		return -1;
	path = path_join(w->run.dir, "mutants.json");
	if (write_file(path, text, strlen(text), err) < 0)
		return -1;
	json_put(settings, "dir", w->run.dir);
	json_put(settings, "token", w->run.token);
	json_put(settings, "root", s->project);
	json_put(settings, "mode", "tests");
	json_object_set_new(settings, "mutate", json_object());
	line = json_canonical(settings);
	env_set(&w->spec.env, "EXITPATH_PYTHON", line);
	w->proc = proc_start(&w->spec, err);
	return w->proc ? 0 : -1;
}

/* ---- what it says ---- */

static enum mutant_verdict verdict_of(const char *name, bool *ret_late)
{
	*ret_late = !strcmp(name, "late");
	for (int v = 0; v < MUTANT_VERDICTS; v++)
		if (!strcmp(name, mutant_verdict_name((enum mutant_verdict)v)))
			return (enum mutant_verdict)v;
	return MUTANT_UNDECIDED;
}

static bool take_verdict(struct worker *w, size_t i, const json_t *j)
{
	struct mutate_row *r = &w->m->report->v[i];
	struct mutate_try *t = &w->m->tries[i];
	const char *by = json_get(j, "by", NULL), *why = json_get(j, "why", NULL);
	json_t *test;
	size_t k;

	t->tried = true;
	r->verdict = verdict_of(json_get(j, "verdict", ""), &t->late);
	r->reached = (size_t)json_get_int(j, "reached", 0);
	strv_release(&r->tests);
	json_array_foreach (json_object_get(j, "tests"), k, test)
		if (json_is_string(test))
			strv_add(&r->tests, json_string_value(test));
	free(TAKE_PTR(r->by));
	free(TAKE_PTR(r->why));
	r->by = by && r->verdict == MUTANT_KILLED ? xstrdup(by) : NULL;
	r->why = why && r->verdict == MUTANT_UNDECIDED ? xstrdup(why) : NULL;
	if (r->verdict != MUTANT_UNREACHED && r->verdict != MUTANT_INVALID &&
	    r->verdict != MUTANT_EQUIVALENT && !json_get_bool(j, "fresh", false))
		w->m->report->forked++;
	w->said++;
	w->at = SIZE_MAX;
	return true;
}

static bool take_line(void *ctx, const json_t *j)
{
	struct worker *w = ctx;
	struct mutate_python *m = w->m;
	const char *event = json_get(j, "event", ""), *text = json_get(j, "text", "");
	int64_t id = json_get_int(j, "id", -1);
	bool valid = id >= 0 && (size_t)id < m->report->n;

	if (!strcmp(event, "try"))
		w->at = valid ? (size_t)id : SIZE_MAX;
	else if (!strcmp(event, "mutant"))
		return valid && take_verdict(w, (size_t)id, j);
	else if (!strcmp(event, "done"))
		w->done = true;
	else if (!strcmp(event, "failed") && !m->failed)
		m->failed = xstrdup(text);
	else if (!strcmp(event, "note") && !strv_contains(&m->report->notes, text))
		strv_add(&m->report->notes, text);
	else if (!strcmp(event, "tests")) {
		m->recorded = true;
		m->tests = (uint64_t)json_get_int(j, "run", 0);
		m->report->test_us =
			(uint64_t)(1e6 *
				   json_number_value(json_object_get(j, "seconds")));
	}
	return true;
}

static int read_reports(struct worker *w, struct err *err)
{
	CLEANUP_FREE pid_t *pids = NULL;
	size_t n;

	if (pids_in_dir(w->run.dir, "report.", "", &pids, &n) < 0)
		return err_errno(err, ERR_ENVIRONMENT, errno, "cannot read %s",
				 w->run.dir);
	for (size_t i = 0; i < n; i++) {
		CLEANUP_FREE char *path = xasprintf("%s/report.%d", w->run.dir, pids[i]);
		CLEANUP(buf) struct buf text = {0};

		if (read_regular(path, REPORT_CAP, &text) == 0)
			report_lines_parse(buf_str(&text), text.len, w->run.token,
					   take_line, w, &w->m->malformed);
	}
	if (!w->done && w->at != SIZE_MAX) {
		struct mutate_row *r = &w->m->report->v[w->at];

		w->m->tries[w->at].tried = true;
		r->verdict = MUTANT_UNDECIDED;
		r->why = r->why ? r->why : xstrdup("the process that tried it ended");
		w->said++;
	}
	return 0;
}

/* ---- a round ---- */

static void tell(const struct mutate_python *m, const struct worker *workers, size_t n)
{
	size_t done = 0;

	for (size_t i = 0; i < m->report->n; i++)
		done += m->tries[i].tried;
	for (size_t i = 0; i < n; i++) {
		CLEANUP_FREE char *path = path_join(workers[i].run.dir, "progress");
		CLEANUP(buf) struct buf text = {0};
		size_t mine;

		if (read_regular(path, 100, &text) == 0 &&
		    sscanf(buf_str(&text), "%zu", &mine) == 1)
			done += mine;
	}
	progress_tell(m->opts->progress, "mutate", "mutants", NULL, done, m->report->n);
}

static void wait_for(struct mutate_python *m, struct worker *workers, size_t n)
{
	bool cancelled = false;

	for (size_t left = n; left;) {
		struct pollfd fds[MAX_WORKERS + 1];

		for (size_t i = 0; i < n; i++)
			fds[i] = (struct pollfd){
				.fd = workers[i].proc ? proc_fd(workers[i].proc) : -1,
				.events = POLLIN};
		fds[n] = (struct pollfd){.fd = cancelled ? -1 : proc_interrupt_fd(),
					 .events = POLLIN};
		if (poll(fds, n + 1, TICK_MS) <= 0) {
			tell(m, workers, n);
			continue;
		}
		if (proc_interrupted() && !cancelled) {
			cancelled = true;
			for (size_t i = 0; i < n; i++)
				if (workers[i].proc)
					proc_cancel(workers[i].proc);
		}
		for (size_t i = 0; i < n; i++) {
			if (!workers[i].proc || !(fds[i].revents))
				continue;
			proc_finish(workers[i].proc, &workers[i].result);
			workers[i].proc = NULL;
			left--;
		}
	}
}

/* Why there is nothing: said once, as the user's or ours. */
static int no_result(const struct mutate_python *m, struct sites *s,
		     const struct worker *w, struct err *err)
{
	CLEANUP_FREE char *how = run_result_describe(&w->result);

	if (m->malformed)
		return err_set(err, ERR_ENVIRONMENT, "%s", m->malformed);
	if (m->failed) {
		err_set(err, ERR_USAGE, "the tests do not pass without a mutant: %s",
			m->failed);
		err_hint(err, "mutants are judged by tests that pass");
		return -1;
	}
	if (!m->recorded || !m->tests) {
		err_set(err, ERR_USAGE,
			"%s: no test of pytest or unittest has run: %s%s%s",
			m->opts->argv[0], how, s->said ? ": " : "",
			s->said ? s->said : "");
		err_hint(err, "python -I, -E and -S keep the adapter out, as does a "
			      "cleared environment");
		return -1;
	}
	return err_set(err, ERR_ENVIRONMENT, "the tests end before the mutants: %s", how);
}

/* *ret_said: verdicts that came of it. late: only those, one after the other, alone. */
static int round_(struct mutate_python *m, struct sites *s, bool late, size_t *ret_said,
		  struct err *err)
{
	struct worker workers[MAX_WORKERS] = {0};
	size_t todo = 0, n, k = 0;
	int rc = 0;

	for (size_t i = 0; i < m->report->n; i++)
		todo += late ? m->tries[i].late : !m->tries[i].tried;
	*ret_said = 0;
	if (!todo)
		return 0;
	n = late || !m->opts->jobs ? 1 : m->opts->jobs;
	n = n > MAX_WORKERS ? MAX_WORKERS : n;
	n = n > todo / FEW + 1 ? todo / FEW + 1 : n;
	for (size_t i = 0; i < n; i++)
		workers[i] = (struct worker){.m = m, .mutants = json_array()};
	for (size_t i = 0; i < m->report->n; i++) {
		if (late ? !m->tries[i].late : m->tries[i].tried)
			continue;
		/* Neighbours together: who kills one kills the next. */
		add_mutant(&workers[k * n / todo], i);
		k++;
		if (late)
			m->tries[i].late = false;
	}
	for (size_t i = 0; i < n && rc == 0; i++)
		rc = start(&workers[i], s, late, err);
	if (rc < 0)
		for (size_t i = 0; i < n; i++)
			if (workers[i].proc)
				proc_cancel(workers[i].proc);
	for (size_t i = 0; i < n; i++)
		if (!workers[i].proc)
			n = i; /* none after it was started */
	wait_for(m, workers, n);
	for (size_t i = 0; i < n; i++) {
		if (rc == 0)
			rc = read_reports(&workers[i], err);
		*ret_said += workers[i].said;
		m->report->reruns++;
	}
	if (rc == 0 && proc_interrupted())
		rc = err_set(err, ERR_INTERRUPTED, "interrupted");
	for (size_t i = 0; i < ARRAY_SIZE(workers); i++) {
		if (workers[i].run.s &&
		    site_run_finish(&workers[i].run, &workers[i].result, NULL,
				    rc == 0 ? err : NULL) < 0)
			rc = -1;
		run_spec_release(&workers[i].spec);
		json_decref(workers[i].mutants);
	}
	if (rc == 0 && !*ret_said)
		rc = no_result(m, s, &workers[0], err);
	return rc;
}

int mutate_python_try(struct mutate_python *m, struct err *err)
{
	const struct fault_opts opts = {.dir = m->opts->dir,
					.isolation = m->opts->isolation};
	CLEANUP(fault_report) struct fault_report unused = {0};
	struct sites s = {
		.opts = &opts,
		.argv = m->opts->argv,
		.report = &unused,
		.start_us = clock_us(),
	};
	size_t said = 1;
	int rc = sites_open(&s, err);

	while (rc == 0 && said)
		rc = round_(m, &s, false, &said, err);
	if (rc == 0)
		rc = round_(m, &s, true, &said, err);
	if (rc == 0 && m->malformed)
		rc = err_set(err, ERR_ENVIRONMENT, "%s", m->malformed);
	m->report->fork_us = clock_us() - s.start_us;
	sites_close(&s);
	return rc;
}
