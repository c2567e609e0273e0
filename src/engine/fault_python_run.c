/* One run of the command with the adapter in it. What it writes below the project is
 * thrown away. */
#include "engine/fault_python_run.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"
#include "detect/embed.h"
#include "detect/python_command.h"
#include "detect/report_file.h"
#include "engine/fault_check.h"
#include "engine/fault_gate.h"
#include "engine/fault_run.h"
#include "engine/run_session.h"
#include "proc/proc.h"
#include "rev/changes.h"
#include "sandbox/sandbox.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>

enum { REPORT_CAP = 64 << 20, OUTPUT_CAP = 1 << 20, TICK_MS = 200 };

int sites_open(struct sites *s, struct err *err)
{
	s->scratch = scratch_make_alone(err);
	if (!s->scratch)
		return -1;
	s->adapter = path_join(s->scratch, "adapter.zip");
	if (write_file(s->adapter, embed_python_start,
		       (size_t)(embed_python_end - embed_python_start), err) < 0)
		return -1;
	if (fault_views_open(s->opts, s->adapter, &s->views, &s->project, &s->cwd, err) <
	    0)
		return -1;
	return s->opts->isolation == ISOLATION_SANDBOX ? sandbox_check(&s->views, err)
						       : 0;
}

void sites_close(struct sites *s)
{
	scratch_remove(s->scratch);
	free(s->scratch);
	free(s->adapter);
	free(s->project);
	free(s->said);
	sandbox_release(&s->views);
	site_report_release(&s->found);
}

/* ---- one run ---- */

static uint64_t time_left_ms(const struct sites *s)
{
	uint64_t spent = (clock_us() - s->start_us) / 1000;

	if (!s->opts->time_ms)
		return 0;
	return spent < s->opts->time_ms ? s->opts->time_ms - spent : 1;
}

/* The places of what was found on the other revision: there the keys may be others. */
static void places_of(const struct fault_finding *list, size_t n, json_t *places)
{
	for (size_t i = 0; i < n; i++) {
		const struct frame *f =
			list[i].chain.nframes ? list[i].chain.frames : NULL;
		json_t *one = json_array();

		json_array_append_new(one, json_text(f && f->file ? f->file : "?"));
		json_array_append_new(one,
				      json_text(f && f->function ? f->function : "?"));
		json_array_append_new(one, json_text(list[i].call));
		json_array_append_new(places, one);
	}
}

static json_t *changed_of(const struct rev_ranges *changed)
{
	json_t *all = json_array();

	for (size_t i = 0; i < changed->n; i++) {
		json_t *one = json_array();

		json_array_append_new(one, json_text(changed->v[i].path));
		json_array_append_new(one, json_integer(changed->v[i].first));
		json_array_append_new(one, json_integer(changed->v[i].last));
		json_array_append_new(all, one);
	}
	return all;
}

/* Which points are tried, and which first. */
static void put_choice(const struct fault_opts *opts, json_t *fault)
{
	uint32_t all = faults_usable(0) | 1u << FAULT_CLASS_DATABASE;

	if (opts->only) {
		json_t *places = json_array();

		places_of(opts->only->findings, opts->only->nfindings, places);
		places_of(opts->only->unsettled, opts->only->nunsettled, places);
		json_object_set_new(fault, "places", places);
	}
	if (opts->changed)
		json_object_set_new(fault, "changed", changed_of(opts->changed));
	if (opts->classes && (opts->classes | 1u << FAULT_CLASS_DATABASE) != all) {
		json_t *classes = json_array();

		for (unsigned c = 0; c < FAULT_CLASSES; c++)
			if (opts->classes & 1u << c)
				json_array_append_new(classes,
						      json_text(engine_fault_class_name(
							      (enum fault_class)c)));
		json_object_set_new(fault, "classes", classes);
	}
}

bool sites_late(const struct sites *s)
{
	return s->opts->time_ms && time_left_ms(s) <= 1;
}

/* Some is kept for what is found to be confirmed. */
static uint64_t time_for(const struct sites *s, const struct site_ask *a)
{
	uint64_t left = time_left_ms(s);

	return a->all && left > 1 ? left * 3 / 4 : left;
}

static json_t *settings_of(const struct site_run *r, const struct site_ask *a,
			   enum python_use use)
{
	const struct fault_opts *opts = r->s->opts;
	bool program = use == PYTHON_CODE || use == PYTHON_PROGRAM;
	json_t *j = json_object(), *fault = json_object();

	json_put(j, "dir", r->dir);
	json_put(j, "token", r->token);
	json_put(j, "root", r->s->project);
	json_put(j, "mode", program ? "program" : "tests");
	if (a->keys)
		json_object_set(fault, "keys", a->keys);
	if (a->tests)
		json_object_set(fault, "tests", a->tests);
	if (a->first)
		json_object_set(fault, "first", a->first);
	if (a->bare || a->check) {
		CLEANUP_FREE char *key = xasprintf("%016" PRIx64, a->bare);

		json_put(fault, "bare", key);
		json_put_bool(fault, "must", a->must);
	}
	put_choice(opts, fault);
	json_put(fault, "call", opts->call);
	json_put(fault, "caller", opts->caller);
	json_put_int(fault, "points", opts->points);
	json_put_int(fault, "time_ms", (int64_t)time_for(r->s, a));
	json_put_bool(fault, "forever", opts->forever);
	json_put_bool(fault, "fork", !a->here);
	json_object_set_new(j, "fault", fault);
	return j;
}

/* ret_clean: without what we add. */
static void fill_env(const struct site_run *r, const struct site_ask *a,
		     struct run_spec *spec, struct strv *ret_clean)
{
	const struct run_opts opts = {.isolation = r->s->opts->isolation};
	CLEANUP_JSON json_t *settings = NULL;
	CLEANUP_FREE char *text = NULL, *all = NULL;
	const char *path;

	if (r->s->opts->place)
		strv_copy(&spec->env, r->s->opts->place->env->v);
	else
		run_env(&opts, &spec->env);
	path = env_get(&spec->env, "PYTHONPATH");
	all = path && *path ? xasprintf("%s:%s", r->s->adapter, path)
			    : xstrdup(r->s->adapter);
	settings = settings_of(r, a, python_command_use(&spec->argv));
	text = json_canonical(settings);
	env_set(&spec->env, "TMPDIR", r->tmpdir);
	strv_copy(ret_clean, spec->env.v);
	env_set(&spec->env, "PYTHONPATH", all);
	env_set(&spec->env, "EXITPATH_PYTHON", text);
	python_command_lead(&spec->argv, r->s->adapter);
}

static int make_token(char *ret, struct err *err)
{
	unsigned char bytes[SITE_TOKEN_BYTES];

	if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
		return err_errno(err, ERR_ENVIRONMENT, errno, "no random bytes");
	for (size_t i = 0; i < sizeof(bytes); i++)
		snprintf(ret + 2 * i, 3, "%02x", bytes[i]);
	return 0;
}

/* In a file: an environment has not room for many. */
static int put_known(const struct site_run *r, const json_t *known, struct err *err)
{
	CLEANUP_FREE char *path = path_join(r->dir, "known"),
			  *text = json_canonical(known);

	return write_file(path, text, strlen(text), err);
}

int site_run_prepare(struct site_run *r, struct sites *s, const struct site_ask *a,
		     struct run_spec *spec, struct err *err)
{
	CLEANUP(strv) struct strv clean = {0};

	*r = (struct site_run){.s = s};
	r->dir = xasprintf("%s/%zu", s->scratch, s->next++);
	r->tmpdir = path_join(r->dir, "tmp");
	if (make_token(r->token, err) < 0 || make_dirs(r->tmpdir, 0700, err) < 0)
		return -1;
	if (s->opts->isolation == ISOLATION_SANDBOX) {
		sandbox_copy(&r->sandbox, &s->views);
		sandbox_add_view(&r->sandbox, r->dir, r->dir, VIEW_WRITE);
		spec->sandbox = &r->sandbox;
	}
	if (a->known && put_known(r, a->known, err) < 0)
		return -1;
	strv_copy(&spec->argv, s->argv);
	fill_env(r, a, spec, &clean);
	spec->cwd = xstrdup(s->cwd);
	if (s->opts->place)
		spec->limits = s->opts->place->limits;
	/* Of one run of the tests; here they run for each point. */
	if (!a->check) {
		spec->limits.cpu_ms = 0;
		spec->limits.disk = 0;
		spec->limits.output = 0;
	}
	spec->dir = xstrdup(r->dir);
	spec->timeout_ms = a->timeout_ms;
	if (a->check)
		fault_check_add(s->opts->check, r->dir, &clean, spec);
	return 0;
}

/* Each process that ran tests has a report. */
static int read_reports(const struct site_run *r, struct site_report *ret,
			struct err *err)
{
	CLEANUP_FREE pid_t *pids = NULL;
	size_t n;

	if (pids_in_dir(r->dir, "report.", "", &pids, &n) < 0)
		return err_errno(err, ERR_ENVIRONMENT, errno, "cannot read %s", r->dir);
	for (size_t i = 0; i < n; i++) {
		CLEANUP_FREE char *path = xasprintf("%s/report.%d", r->dir, pids[i]);
		CLEANUP(buf) struct buf text = {0};

		if (read_regular(path, REPORT_CAP, &text) == 0)
			site_report_parse(buf_str(&text), text.len, r->token, ret);
		else if (!ret->malformed)
			ret->malformed = xasprintf("report.%d is no file", pids[i]);
	}
	return 0;
}

/* The last line that a run that failed wrote: how it failed. */
static void take_words(const struct site_run *r, struct sites *s)
{
	static const char *const files[] = {"stderr", "stdout"};

	free(TAKE_PTR(s->said));
	for (size_t i = 0; i < ARRAY_SIZE(files) && !s->said; i++) {
		CLEANUP_FREE char *path = path_join(r->dir, files[i]);
		CLEANUP(buf) struct buf text = {0};

		if (read_regular(path, OUTPUT_CAP, &text) == 0)
			s->said = fault_last_line(&text);
	}
}

int site_run_finish(struct site_run *r, const struct run_result *result,
		    struct site_report *ret, struct err *err)
{
	int rc = 0;

	r->s->report->runs++;
	r->s->report->cpu_us += result->cpu_us;
	if (ret && r->dir && path_exists(r->dir)) {
		rc = read_reports(r, ret, err);
		if (!run_result_passed(result))
			take_words(r, r->s);
		fault_check_read(r->dir, &ret->fired.checked, &ret->fired.check_status,
				 &ret->fired.check_said);
	}
	if (r->dir && remove_tree(r->dir, rc == 0 ? err : NULL) < 0)
		rc = -1;
	free(r->dir);
	free(r->tmpdir);
	sandbox_release(&r->sandbox);
	return rc;
}

static void tell_progress(const struct site_run *r)
{
	CLEANUP_FREE char *path = path_join(r->dir, "progress");
	CLEANUP(buf) struct buf text = {0};
	size_t done, all;

	if (read_regular(path, 100, &text) < 0 ||
	    sscanf(buf_str(&text), "%zu %zu", &done, &all) != 2)
		progress_tell(r->s->opts->progress, "fault", "the tests without a fault",
			      NULL, 0, 0);
	else
		progress_tell(r->s->opts->progress, "fault", "points", NULL, done, all);
}

int sites_run(struct sites *s, const struct site_ask *a, struct run_result *result,
	      struct site_report *ret, struct err *err)
{
	CLEANUP(run_spec) struct run_spec spec = {0};
	struct site_run run;
	struct proc *p = NULL;
	int rc = site_run_prepare(&run, s, a, &spec, err);

	*result = (struct run_result){.end = RUN_LOST};
	if (rc == 0 && !(p = proc_start(&spec, err)))
		rc = -1;
	if (p) {
		struct pollfd fds[] = {{.fd = proc_fd(p), .events = POLLIN},
				       {.fd = proc_interrupt_fd(), .events = POLLIN}};

		while (poll(fds, 2, TICK_MS) <= 0)
			tell_progress(&run);
		if (proc_interrupted())
			proc_cancel(p);
		proc_finish(p, result);
	}
	if (site_run_finish(&run, result, ret, rc == 0 ? err : NULL) < 0)
		rc = -1;
	if (rc == 0 && proc_interrupted())
		rc = err_set(err, ERR_INTERRUPTED, "stopped by signal %d (%s)",
			     proc_interrupted(), strsignal(proc_interrupted()));
	return rc;
}
