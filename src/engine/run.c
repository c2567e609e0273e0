/*
 * One command: a pool of one worker. The supervisor in it takes the output at any speed
 * and keeps it in memory; from there it goes on as fast as our reader takes it, so a
 * reader that is slow moves no deadline.
 */
#include "engine/run.h"

#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"
#include "engine/run_session.h"
#include "proc/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define LOOK_MS 20		       /* how often output is looked for */
#define DROP_BYTES ((uint64_t)1 << 20) /* memory that was passed on is given back */

struct stream {
	int from, to; /* to -1: nobody takes it any more */
	uint64_t passed, dropped;
};

struct single {
	const struct run_opts *opts;
	struct pool *pool;
	struct stream stream[2];
	struct buf json;
	size_t json_done;
	bool live; /* the streams are passed on */
	bool ended, cancelled;
	uint64_t give_up; /* 0: not yet */
	struct run_report *report;
};

void run_report_release(struct run_report *r)
{
	free(r->error);
	free(r->hint);
	*r = (struct run_report){0};
}

static uint64_t unread(const struct stream *s)
{
	struct stat st;

	if (s->from < 0 || s->to < 0 || fstat(s->from, &st) < 0 ||
	    (uint64_t)st.st_size <= s->passed)
		return 0;
	return (uint64_t)st.st_size - s->passed;
}

static void drop_passed(struct stream *s)
{
	if (s->passed - s->dropped < DROP_BYTES)
		return;
	if (fallocate(s->from, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
		      (off_t)s->dropped, (off_t)(s->passed - s->dropped)) == 0)
		s->dropped = s->passed;
}

static void cancel(struct single *s)
{
	if (!s->cancelled && !s->ended)
		pool_cancel(s->pool);
	s->cancelled = true;
}

/* 0, or -1 with err: output is lost, though somebody waits for it. */
static int closed(struct single *s, enum sink_state state, bool is_out, struct err *err)
{
	if (state == SINK_OPEN)
		return 0;
	if (state == SINK_BROKEN)
		return err_errno(err, ERR_ENVIRONMENT, errno, "cannot write to %s",
				 is_out ? "standard output" : "standard error");
	if (is_out) {
		s->report->out_closed = true;
		cancel(s);
	}
	return 0;
}

static int pass(struct single *s, size_t i, const struct pollfd *p, struct err *err)
{
	struct stream *t = &s->stream[i];
	enum sink_state state = SINK_OPEN;
	char chunk[SINK_CHUNK];
	size_t done = 0;
	ssize_t n;

	if (sink_gone(p)) {
		state = SINK_CLOSED;
	} else if (p->revents & POLLOUT) {
		n = pread(t->from, chunk, sizeof(chunk), (off_t)t->passed);
		if (n > 0)
			state = sink_write(t->to, chunk, (size_t)n, &done);
		t->passed += done;
		drop_passed(t);
	}
	if (state != SINK_OPEN)
		t->to = -1;
	return closed(s, state, i == 0, err);
}

static int pass_json(struct single *s, const struct pollfd *p, struct err *err)
{
	enum sink_state state = SINK_OPEN;

	if (sink_gone(p))
		state = SINK_CLOSED;
	else if (p->revents & POLLOUT)
		state = sink_write(s->opts->out, s->json.data + s->json_done,
				   s->json.len - s->json_done, &s->json_done);
	if (state == SINK_CLOSED)
		s->json_done = s->json.len;
	return closed(s, state, true, err);
}

static void take(struct single *s, bool json)
{
	CLEANUP(pool_result) struct pool_result r = {0};

	if (s->ended || !pool_take(s->pool, &r))
		return;
	s->ended = true;
	s->report->run = r.run;
	if (json) {
		CLEANUP_FREE char *text = run_json(&r, s->opts, 0, NULL);

		buf_addf(&s->json, "%s\n", text);
	}
	s->report->error = TAKE_PTR(r.error);
	s->report->hint = TAKE_PTR(r.hint);
}

static bool all_written(const struct single *s)
{
	return !unread(&s->stream[0]) && !unread(&s->stream[1]) &&
	       (s->json_done == s->json.len || s->report->out_closed);
}

/* A signal: what runs is cancelled, and a reader that does not read is left alone. */
static bool given_up(struct single *s)
{
	if (!proc_interrupted())
		return false;
	cancel(s);
	if (s->ended && !s->give_up)
		s->give_up = clock_us() + SINK_PATIENCE_MS * 1000;
	return s->give_up && clock_us() > s->give_up;
}

static int wait_ms(const struct single *s)
{
	if (s->give_up)
		return SINK_PATIENCE_MS / 20;
	return s->ended || !s->live ? -1 : LOOK_MS;
}

static int loop(struct single *s, bool json, struct err *err)
{
	for (;;) {
		enum { SINKS = 2, INTERRUPT = SINKS, POOL };
		struct pollfd p[POOL + 1];
		size_t n;

		if (pool_dispatch(s->pool, err) < 0)
			return -1;
		take(s, json);
		if (given_up(s) || (s->ended && all_written(s)))
			return 0;
		p[0] = s->live ? sink_poll(s->stream[0].to, unread(&s->stream[0]))
			       : sink_poll(s->report->out_closed ? -1 : s->opts->out,
					   s->json_done < s->json.len);
		p[1] = sink_poll(s->live ? s->stream[1].to : -1, unread(&s->stream[1]));
		p[INTERRUPT] = (struct pollfd){
			.fd = s->give_up ? -1 : proc_interrupt_fd(), .events = POLLIN};
		n = pool_fds(s->pool, p + POOL, 1);
		if (poll(p, POOL + n, wait_ms(s)) <= 0)
			continue;
		if (!s->live ? pass_json(s, &p[0], err) < 0
			     : pass(s, 0, &p[0], err) < 0 || pass(s, 1, &p[1], err) < 0)
			return -1;
	}
}

static int run_in(struct single *s, char *const *argv, bool json, struct err *err)
{
	const struct run_opts *opts = s->opts;
	CLEANUP(strv) struct strv args = {0}, env = {0};
	const struct pool_run run = {
		.argv = &args,
		.env = &env,
		.cwd = opts->dir,
		.timeout_ms = opts->wall_ms,
		.limits = opts->limits,
		.network = opts->network,
		.discard = opts->discard,
		.warm = opts->warm,
	};
	int from[2], rc;

	strv_copy(&args, argv);
	run_env(opts, &env);
	if (pool_submit(s->pool, &run, err) < 0)
		return -1;
	pool_streams(s->pool, from);
	s->live = !json;
	s->stream[0] = (struct stream){.from = -1, .to = opts->out};
	s->stream[1] = (struct stream){.from = -1, .to = opts->err};
	/* A worker that is lost takes its own with it. */
	for (int i = 0; i < 2 && s->live; i++)
		s->stream[i].from = fcntl(from[i], F_DUPFD_CLOEXEC, 3);
	rc = loop(s, json, err);
	fd_cleanup(&s->stream[0].from);
	fd_cleanup(&s->stream[1].from);
	buf_release(&s->json);
	return rc;
}

int engine_run(const struct run_opts *opts, char *const *argv, bool json,
	       struct run_report *ret, struct err *err)
{
	CLEANUP(sandbox) struct sandbox sandbox = {0};
	const struct pool_opts pool = {
		.workers = 1,
		.sandbox = opts->isolation == ISOLATION_SANDBOX ? &sandbox : NULL,
		.pass_stdin = true,
		.stream = !json,
	};
	struct single s = {.opts = opts, .report = ret};
	int rc;

	if (pool.sandbox && run_sandbox(opts, &sandbox, err) < 0)
		return -1;
	s.pool = pool_new(&pool, err);
	if (!s.pool)
		return -1;
	rc = run_in(&s, argv, json, err);
	pool_free(s.pool);
	return rc;
}
