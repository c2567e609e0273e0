/*
 * A batch: lines in, runs on a pool, lines out, in one poll loop that waits for nothing
 * but poll(). Whatever is full stops what fills it: with as many results to write as
 * OUT_MAX no result is taken from the pool, whose queue then has no room, and with no
 * room standard input is not read, so that its writer blocks.
 */
#include "engine/run.h"

#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"
#include "engine/run_line.h"
#include "engine/run_session.h"
#include "proc/proc.h"
#include "sandbox/sandbox.h"

#include <errno.h>
#include <string.h>

#define IN_CHUNK 8192		/* little is read ahead of what is run */
#define OUT_MAX ((size_t)65536) /* bytes that wait to be written, but for one result */

/* A line that was read, until its result is written. */
struct job {
	uint64_t line;
	json_t *id;
	char *bad; /* its result, when it was refused */
	struct job *next;
};

struct batch {
	const struct run_opts *opts;
	struct pool *pool;
	struct strv env;
	struct lines in;
	struct job *jobs, **jobs_end; /* in the order of lines */
	size_t nbad;		      /* of them are refused ones that wait for others */
	size_t queue;
	struct buf out;
	size_t out_done;
	bool read_done, cancelled;
	uint64_t give_up; /* 0: not yet */
	struct batch_report *report;
};

/* ---- out ---- */

static void write_line(struct batch *b, const char *text)
{
	b->report->lines++;
	if (b->report->out_closed)
		return;
	if (b->out_done == b->out.len) {
		buf_clear(&b->out);
		b->out_done = 0;
	}
	buf_adds(&b->out, text);
	buf_addc(&b->out, '\n');
}

static bool out_is_full(const struct batch *b)
{
	return b->out.len - b->out_done >= OUT_MAX;
}

static void remove_job(struct batch *b, struct job *j)
{
	struct job **at = &b->jobs;

	while (*at != j)
		at = &(*at)->next;
	*at = j->next;
	if (!j->next)
		b->jobs_end = at;
	json_decref(j->id);
	free(j->bad);
	free(j);
}

/* Refused lines whose turn it is. */
static void write_bad(struct batch *b)
{
	while (b->jobs && b->jobs->bad) {
		write_line(b, b->jobs->bad);
		remove_job(b, b->jobs);
		b->nbad--;
	}
}

/* True: a result came. */
static bool take(struct batch *b)
{
	CLEANUP(pool_result) struct pool_result r = {0};
	struct job *j;

	/* At the end all must come home: what was cancelled has written little more. */
	if ((out_is_full(b) && !b->cancelled) || !pool_take(b->pool, &r))
		return false;
	j = (struct job *)(uintptr_t)r.id;
	if (r.run.end == RUN_SANDBOX_FAILED || r.run.end == RUN_LOST)
		b->report->broken++;
	if (!b->report->out_closed) {
		CLEANUP_FREE char *text = run_json(&r, b->opts, j->line, j->id);

		write_line(b, text);
	}
	remove_job(b, j);
	write_bad(b);
	return true;
}

/* ---- in ---- */

static struct job *add_job(struct batch *b)
{
	struct job *j = xcalloc(1, sizeof(*j));

	j->line = b->in.number;
	*b->jobs_end = j;
	b->jobs_end = &j->next;
	return j;
}

static void refuse(struct batch *b, struct job *j, const struct err *err)
{
	CLEANUP_FREE char *text =
		xasprintf("line %llu: %s", (unsigned long long)j->line, err->message);

	j->bad = run_json_bad(text, err->hint, j->line, j->id);
	b->report->bad++;
	b->nbad++;
	if (b->opts->ordered) {
		write_bad(b);
		return;
	}
	write_line(b, j->bad);
	remove_job(b, j);
	b->nbad--;
}

static int submit(struct batch *b, struct job *j, struct run_line *l, struct err *err)
{
	CLEANUP(strv) struct strv env = {0};
	CLEANUP_FREE char *cwd = xstrdup(b->opts->dir);
	struct pool_run run = {
		.argv = &l->argv,
		.env = &env,
		.timeout_ms = l->wall_ms,
		.limits = l->limits,
		.network = l->network,
		.discard = l->discard,
		.warm = l->warm,
		.id = (uint64_t)(uintptr_t)j,
	};

	if (l->boxed && b->opts->isolation == ISOLATION_NONE)
		return err_set(err, ERR_USAGE, "%s: only a sandbox can do that",
			       l->boxed);
	if (l->cwd) {
		free(cwd);
		cwd = *l->cwd == '/' ? xstrdup(l->cwd) : path_join(b->opts->dir, l->cwd);
	}
	strv_copy(&env, b->env.v);
	for (size_t i = 0; i < l->env.n; i++) {
		char *equals = strchr(l->env.v[i], '=');

		*equals = '\0';
		env_set(&env, l->env.v[i], equals + 1);
	}
	run.cwd = cwd;
	return pool_submit(b->pool, &run, err);
}

static void use_line(struct batch *b, enum line_kind kind, const char *text, size_t len)
{
	CLEANUP(run_line)
	struct run_line l = {
		.wall_ms = b->opts->wall_ms,
		.limits = b->opts->limits,
		.network = b->opts->network,
		.discard = b->opts->discard,
		.warm = b->opts->warm,
	};
	struct err err = {0};
	struct job *j = add_job(b);
	int rc;

	if (kind == LINE_TOO_LONG) {
		err_set(&err, ERR_USAGE, "longer than %zu bytes", RUN_LINE_MAX);
		refuse(b, j, &err);
		return;
	}
	rc = run_line_parse(text, len, &l, &err);
	j->id = json_incref(l.id);
	if (rc < 0 || submit(b, j, &l, &err) < 0)
		refuse(b, j, &err);
}

static bool may_read(const struct batch *b)
{
	return !b->cancelled && pool_has_room(b->pool) && b->nbad < b->queue &&
	       !out_is_full(b);
}

/* True: a line was used. */
static bool next_line(struct batch *b)
{
	const char *text;
	size_t len;
	enum line_kind kind;

	if (!may_read(b))
		return false;
	kind = lines_next(&b->in, &text, &len);
	if (kind == LINE_NONE)
		return false;
	use_line(b, kind, text, len);
	return true;
}

static int read_more(struct batch *b, struct err *err)
{
	char chunk[IN_CHUNK];
	ssize_t n = read(b->opts->in, chunk, sizeof(chunk));

	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return 0;
	if (n < 0)
		return err_errno(err, ERR_ENVIRONMENT, errno, "cannot read the batch");
	if (n == 0) {
		b->read_done = true;
		lines_end(&b->in);
	} else {
		lines_add(&b->in, chunk, (size_t)n);
	}
	return 0;
}

/* ---- the loop ---- */

static void cancel(struct batch *b)
{
	if (!b->cancelled)
		pool_cancel(b->pool);
	b->cancelled = b->read_done = true;
}

static int write_some(struct batch *b, const struct pollfd *p, struct err *err)
{
	enum sink_state state = SINK_OPEN;

	if (sink_gone(p))
		state = SINK_CLOSED;
	else if (p->revents & POLLOUT)
		state = sink_write(b->opts->out, b->out.data + b->out_done,
				   b->out.len - b->out_done, &b->out_done);
	if (state == SINK_BROKEN)
		return err_errno(err, ERR_ENVIRONMENT, errno,
				 "cannot write to standard output");
	if (state == SINK_OPEN)
		return 0;
	b->report->out_closed = true;
	b->out_done = b->out.len;
	cancel(b);
	return 0;
}

static bool given_up(struct batch *b, size_t written)
{
	if (!proc_interrupted())
		return false;
	cancel(b);
	if (!b->give_up || written) /* a slow reader is no dead one */
		b->give_up = clock_us() + SINK_PATIENCE_MS * 1000;
	return !pool_pending(b->pool) && clock_us() > b->give_up;
}

static bool is_over(const struct batch *b)
{
	return b->read_done && !pool_pending(b->pool) && !b->jobs &&
	       b->out_done == b->out.len && (b->cancelled || b->in.at == b->in.text.len);
}

static int work(struct batch *b, struct err *err)
{
	bool moved;

	do {
		moved = false;
		while (next_line(b))
			moved = true;
		if (pool_dispatch(b->pool, err) < 0)
			return -1;
		while (take(b))
			moved = true;
	} while (moved);
	return 0;
}

static int loop(struct batch *b, struct err *err)
{
	size_t written = 0;

	for (;;) {
		enum { IN, OUT, INTERRUPT, POOL };
		struct pollfd p[POOL + POOL_MAX_WORKERS];
		size_t n, before;

		if (work(b, err) < 0)
			return -1;
		if (given_up(b, written) || is_over(b))
			return 0;
		p[IN] = (struct pollfd){.fd = b->read_done || !may_read(b) ? -1
									   : b->opts->in,
					.events = POLLIN};
		p[OUT] = sink_poll(b->report->out_closed ? -1 : b->opts->out,
				   b->out_done < b->out.len);
		p[INTERRUPT] = (struct pollfd){
			.fd = b->cancelled ? -1 : proc_interrupt_fd(), .events = POLLIN};
		n = pool_fds(b->pool, p + POOL, POOL_MAX_WORKERS);
		if (poll(p, POOL + n, b->give_up ? SINK_PATIENCE_MS / 20 : -1) <= 0) {
			written = 0;
			continue;
		}
		before = b->out_done;
		if (p[OUT].revents && write_some(b, &p[OUT], err) < 0)
			return -1;
		written = b->out_done - before;
		if (p[IN].revents && read_more(b, err) < 0)
			return -1;
	}
}

static int batch_in(struct batch *b, struct err *err)
{
	int rc;

	b->jobs_end = &b->jobs;
	b->queue = b->opts->queue ? b->opts->queue : POOL_QUEUE;
	run_env(b->opts, &b->env);
	rc = loop(b, err);
	while (b->jobs)
		remove_job(b, b->jobs);
	strv_release(&b->env);
	buf_release(&b->out);
	lines_release(&b->in);
	return rc;
}

int engine_run_batch(const struct run_opts *opts, struct batch_report *ret,
		     struct err *err)
{
	CLEANUP(sandbox) struct sandbox sandbox = {0};
	const struct pool_opts pool = {
		.workers = opts->workers,
		.queue = opts->queue,
		.ordered = opts->ordered,
		.sandbox = opts->isolation == ISOLATION_SANDBOX ? &sandbox : NULL,
	};
	struct batch b = {.opts = opts, .report = ret};
	int rc;

	if (pool_can_warm(opts->warm, err) < 0)
		return -1;
	if (pool.sandbox &&
	    (run_sandbox(opts, &sandbox, err) < 0 || sandbox_check(&sandbox, err) < 0))
		return -1;
	b.pool = pool_new(&pool, err);
	if (!b.pool)
		return -1;
	rc = batch_in(&b, err);
	pool_free(b.pool);
	return rc;
}
