/*
 * PostgreSQL: what the server still has of the run's sessions.
 *
 * The run's PGAPPNAME is a name of its own, by which the server knows its sessions; what
 * reads it is libpq and most drivers that speak the protocol themselves. The server is
 * asked while a process stands still at its exit (detect/pg_watch.h), or at each cycle
 * that an adapter inside the run tells of; and once more when all processes are gone.
 * A planted session of the same name must be in every answer.
 */
#include "detect/detect.h"

#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"
#include "detect/merge.h"
#include "detect/pg_report.h"
#include "detect/pg_server.h"
#include "detect/pg_watch.h"

#include <errno.h>
#include <inttypes.h>
#include <libpq-fe.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

enum {
	TOKEN_BYTES = 8,
	/* A server process that waits for its client notices its end at once; one that
	 * is rolling back takes a while. */
	GONE_US = 2000000,
	POLL_US = 20000,
};

#define REPORT_FILE "pg.txt"

struct pg_run {
	char name[sizeof(PG_NAME) + 1 + 2 * TOKEN_BYTES];
	char *since, *mark, *path;
	struct pg_conn *own;	 /* exitpath's, for before and after */
	struct pg_conn *planted; /* the canary */
	struct pg_watch *watch;
	int64_t before; /* sessions that the database has had */
	bool counted;	/* … is known */
	bool within;
	bool read;
	struct pg_report report;
	struct pg_sample after;
	bool new_sessions; /* there were some, of whatever name */
	char *lost;	   /* why the server could not be asked at the end */
};

static int pg_probe(char **ret_version, struct err *err)
{
	int v = PQlibVersion();

	(void)err;
	*ret_version = xasprintf("libpq %d.%d", v / 10000, v % 10000);
	return 0;
}

static int pg_reach(const char *server, char **ret_version, struct err *err)
{
	struct pg_conn *c = pg_open(server, PG_NAME, err);

	if (!c)
		return -1;
	*ret_version = pg_server_version(c);
	pg_close(c);
	return 0;
}

static int make_name(struct pg_run *s, struct err *err)
{
	unsigned char bytes[TOKEN_BYTES];
	size_t at = sizeof(PG_NAME);

	if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
		return err_errno(err, ERR_ENVIRONMENT, errno, "no random bytes");
	snprintf(s->name, sizeof(s->name), PG_NAME "-");
	for (size_t i = 0; i < sizeof(bytes); i++)
		snprintf(s->name + at + 2 * i, 3, "%02x", bytes[i]);
	return 0;
}

static void pg_run_free(struct pg_run *s)
{
	pg_watch_free(s->watch);
	pg_close(s->own);
	pg_close(s->planted);
	pg_report_release(&s->report);
	pg_sample_release(&s->after);
	free(s->since);
	free(s->mark);
	free(s->path);
	free(s->lost);
	free(s);
}

/* Three sessions: the supervisor has one to itself, since what two processes say on one
 * would mix. Theirs are counted before the first number is read. */
static int open_sessions(struct pg_run *s, const char *server, struct pg_conn **ret_watch,
			 struct err *err)
{
	int counted;

	s->own = pg_open(server, PG_NAME, err);
	s->planted = s->own ? pg_open(server, s->name, err) : NULL;
	*ret_watch = s->planted ? pg_open(server, PG_NAME, err) : NULL;
	if (!*ret_watch)
		return -1;
	if (pg_counted(s->own, err) < 0 || pg_counted(s->planted, err) < 0 ||
	    pg_counted(*ret_watch, err) < 0)
		return -1;
	if (pg_ask(s->planted, "BEGIN", NULL, 0, NULL, err) < 0)
		return -1;
	counted = pg_session_count(s->own, &s->before, err);
	if (counted < 0)
		return -1;
	s->counted = counted > 0;
	s->since = pg_now(s->own, err);
	return s->since ? 0 : -1;
}

static int start(struct pg_run *s, struct detect_run *run, struct run_spec *spec,
		 struct err *err)
{
	struct pg_conn *watch = NULL;
	struct pg_watch_opts opts;

	if (make_name(s, err) < 0)
		return -1;
	if (open_sessions(s, run->server, &watch, err) < 0) {
		pg_close(watch);
		return -1;
	}
	s->within = run->within;
	s->path = path_join(run->dir, REPORT_FILE);
	if (s->within)
		s->mark = xasprintf("%s/%s.", run->dir, s->name);
	opts = (struct pg_watch_opts){
		.conn = watch,
		.name = s->name,
		.since = s->since,
		.mark = s->mark,
		.inner = spec->watch,
	};
	s->watch = pg_watch_new(&opts, err);
	if (!s->watch)
		return -1;
	spec->watch = pg_watch_of(s->watch);
	env_set(&spec->env, "PGAPPNAME", s->name);
	env_set(&spec->env, PG_MARK_ENV, s->mark);
	return 0;
}

static int pg_prepare(struct detect_run *run, struct run_spec *spec, struct err *err)
{
	struct pg_run *s;

	if (!run->server) {
		err_set(err, ERR_USAGE, "pg: no server is named");
		err_hint(err, "`pg: URL` in the lifecycle, or --pg URL");
		return -1;
	}
	s = xcalloc(1, sizeof(*s));
	if (start(s, run, spec, err) < 0) {
		pg_run_free(s);
		return -1;
	}
	run->state = s;
	return 0;
}

/* --- after the run ------------------------------------------------------------------ */

static size_t count_ours(const struct pg_sample *s)
{
	size_t n = 0;

	for (size_t i = 0; i < s->nsessions; i++)
		n += s->sessions[i].ours && !s->sessions[i].canary;
	return n;
}

static int sample(struct pg_run *s, struct err *err)
{
	json_t *sessions = NULL;

	pg_sample_release(&s->after);
	if (pg_sessions(s->own, s->name, s->since, &sessions, err) < 0)
		return -1;
	pg_sample_add(&s->after, sessions, pg_backend(s->planted));
	json_decref(sessions);
	return 0;
}

/* Whatever runs on would hold locks when the next cycle comes. */
static void end_orphans(struct pg_run *s)
{
	CLEANUP_FREE char *canary = xasprintf("%d", pg_backend(s->planted));
	const char *const params[] = {s->name, canary};

	pg_ask(s->own,
	       "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
	       "WHERE application_name = $1 AND pid <> $2::int",
	       params, 2, NULL, NULL);
}

static int look_after(struct pg_run *s, struct err *err)
{
	const struct timespec pause = {.tv_nsec = POLL_US * 1000L};
	uint64_t deadline = clock_us() + GONE_US;
	int64_t sessions = 0;

	if (sample(s, err) < 0)
		return -1;
	while (count_ours(&s->after) && clock_us() < deadline) {
		nanosleep(&pause, NULL);
		if (sample(s, err) < 0)
			return -1;
	}
	if (count_ours(&s->after))
		end_orphans(s);
	if (s->counted && pg_session_count(s->own, &sessions, err) < 0)
		return -1;
	s->new_sessions = sessions > s->before;
	return 0;
}

static int read_all(struct pg_run *s, struct probe *ret, struct err *err)
{
	CLEANUP(buf) struct buf text = {0}, shown = {0};
	struct err why = {0};

	if (pg_watch_read(s->watch, &text, err) < 0)
		return -1;
	pg_report_parse(buf_str(&text), text.len, pg_backend(s->planted), &s->report);
	if (look_after(s, &why) < 0)
		s->lost = xstrdup(why.message);
	pg_report_text(&s->report, &s->after, &shown);
	s->read = true;
	/* Whatever a test has put in its place. */
	if (remove_tree(s->path, err) < 0 ||
	    write_file(s->path, buf_str(&shown), shown.len, err) < 0)
		return -1;
	strv_add(&ret->files, s->path);
	return 0;
}

static void set(struct probe *p, enum probe_state state, char *detail)
{
	p->state = state;
	p->detail = detail;
}

static char *not_named(const struct pg_run *s)
{
	CLEANUP_FREE char *names = strv_join(&s->report.others, ", ");

	if (s->report.others.n)
		return xasprintf("no session had the run's name, and some had others "
				 "(%s): the program or its driver does not take "
				 "application_name from PGAPPNAME",
				 *names ? names : "none");
	return xasprintf("the run opened no session in the database of `pg`%s",
			 s->counted ? ""
				    : ", or closed them all before its end, which only "
				      "PostgreSQL 15 and later tell");
}

/* The adapter ended before its cycles: it, or the run, says why. */
static void judge_cycles(const struct pg_run *s, const struct run_result *result,
			 unsigned cycles, struct probe *p)
{
	size_t n = pg_report_cycles(&s->report);

	if (n >= cycles)
		return;
	if (!run_result_passed(result))
		set(p, PROBE_INTERRUPTED, run_result_describe(result));
	else
		set(p, PROBE_NOT_FITTING,
		    xasprintf("the adapter inside the run told of %zu of %u cycles", n,
			      cycles));
}

static void judge(const struct pg_run *s, const struct run_result *result,
		  unsigned cycles, struct probe *p)
{
	const struct pg_report *r = &s->report;

	if (result->watch_failed)
		set(p, PROBE_SILENT,
		    xstrdup("exits could not be watched: is seccomp user notification "
			    "allowed here?"));
	else if (result->end != RUN_EXITED)
		set(p, PROBE_INTERRUPTED, run_result_describe(result));
	else if (r->failed || s->lost)
		set(p, PROBE_SILENT,
		    xasprintf("the server could not be asked any more: %s",
			      r->failed ? r->failed : s->lost));
	else if (r->malformed || !r->ended)
		set(p, PROBE_SILENT, xstrdup("the record of the run is not whole"));
	else if (r->no_canary)
		set(p, PROBE_SILENT,
		    xstrdup("the planted session is not in pg_stat_activity: does a "
			    "pooler "
			    "rename sessions, or does the server end transactions that "
			    "are idle (idle_in_transaction_session_timeout)?"));
	else if (r->hidden)
		set(p, PROBE_SILENT,
		    xstrdup("the sessions are of another role, and their states are not "
			    "told: GRANT pg_read_all_stats to the role of `pg`"));
	else if (s->within)
		judge_cycles(s, result, cycles, p);
	if (p->state == PROBE_COMPLETE && !r->seen && !count_ours(&s->after) &&
	    (!s->new_sessions || r->others.n))
		set(p, PROBE_NOT_FITTING, not_named(s));
}

static void add_notes(const struct pg_run *s, struct probe *p)
{
	CLEANUP_FREE char *names = strv_join(&s->report.others, ", ");

	if (s->report.others.n && s->report.seen)
		probe_note(p, xasprintf("sessions of other names began meanwhile (%s) "
					"and are not counted",
					*names ? names : "none"));
	if (s->within && count_ours(&s->after))
		probe_note(p, xasprintf("%zu sessions outlived the run",
					count_ours(&s->after)));
}

static int pg_collect(struct detect_run *run, const struct run_result *result,
		      struct probe *ret, struct err *err)
{
	struct pg_run *s = run->state;
	int rc = 0;

	if (!s || result->end == RUN_LOST || result->end == RUN_NOT_STARTED) {
		set(ret, PROBE_INTERRUPTED, run_result_describe(result));
	} else {
		if (!s->read)
			rc = read_all(s, ret, err);
		judge(s, result, run->cycles, ret);
		add_notes(s, ret);
		if (!s->within) {
			pg_report_exits(&s->report, &s->after, ret);
			pg_report_orphans(&s->after, ret);
		} else if (run->cycle >= run->warmup) {
			pg_report_cycle(&s->report, run->cycle - run->warmup + 1,
					run->cycles, ret);
		}
	}
	if (s && (!s->within || run->cycle + 1 >= run->warmup + run->cycles || rc < 0 ||
		  result->end == RUN_LOST)) {
		pg_run_free(s);
		run->state = NULL;
	}
	return rc;
}

/* psql stands in a transaction when the shell leaves. `\!` writes at once, psql does not.
 */
static const char *pg_canary(void)
{
	return "mkfifo ready || exit 1; { printf 'BEGIN;\\n\\\\! echo ready\\n'; sleep "
	       "60; } | "
	       "psql -Xqw >ready 2>err & read -r word <ready || { cat err >&2; exit 1; }";
}

extern const struct detector detector_pg;
const struct detector detector_pg = {
	.name = "pg",
	.summary = "sessions that a PostgreSQL server still has: transactions left open",
	.server = true,
	.install = "a server that can be reached, named by `pg: URL` in a lifecycle",
	.probe = pg_probe,
	.reach = pg_reach,
	.prepare = pg_prepare,
	.collect = pg_collect,
	.canary_command = pg_canary,
};
