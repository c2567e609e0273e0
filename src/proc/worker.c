/*
 * A worker is a supervisor (supervisor.c) that is kept. It needs no signal to learn that
 * exitpath died: then its socket and its control pipe are at their end, the run under
 * way is killed as a cancelled one is, with all that descends from it, and the worker
 * ends. A death signal would leave what it supervises to itself.
 */
#include "proc/worker.h"

#include "base/fs.h"
#include "base/mem.h"
#include "proc/lane.h"
#include "proc/spawn.h"
#include "proc/supervisor.h"
#include "proc/warm.h"
#include "proc/wire.h"
#include "sandbox/cgroup.h"
#include "sandbox/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* In a build for coverage: _exit() would throw the worker's counters away. */
extern void __gcov_dump(void) __attribute__((weak));

struct worker {
	const struct worker_opts *opts;
	int in;				     /* -1: /dev/null */
	struct lane lanes[NETWORK_HOST + 1]; /* each made for the first run */
	struct warm_servers warm;
	struct buf text;
};

static int own_stdin(const struct worker_opts *opts)
{
	if (!opts->pass_stdin || isatty(STDIN_FILENO))
		return -1;
	return fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
}

static int read_request(struct worker *w, uint64_t len, struct wire_request *ret)
{
	if (len > WIRE_MAX_REQUEST)
		return -1;
	buf_clear(&w->text);
	if (lseek(w->opts->request, 0, SEEK_SET) < 0 ||
	    (len && read_fd(w->opts->request, len, &w->text) < 0))
		return -1;
	return wire_get_request(buf_str(&w->text), w->text.len, ret);
}

static void not_made(struct wire_reply *reply, enum run_end end, const char *step,
		     int errnum)
{
	reply->run = (struct run_result){.end = end, .errnum = errnum};
	snprintf(reply->run.step, sizeof(reply->run.step), "%s", step);
}

static int lane_open(struct worker *w, enum network network, struct err *err)
{
	struct lane *l = &w->lanes[network];

	if (l->zygote.pid > 0)
		return 0;
	if (lane_prepare(l, w->opts->sandbox, network, err) < 0)
		return -1;
	return zygote_start_in(&l->sandbox, l->cgroup, &l->zygote, err);
}

static void no_sandbox(struct wire_reply *reply, const struct err *err)
{
	not_made(reply, RUN_SANDBOX_FAILED, "zygote", 0);
	reply->error = xstrdup(err->message);
	reply->hint = *err->hint ? xstrdup(err->hint) : NULL;
}

static void supervise_in(struct lane *l, struct run_spec *spec,
			 struct supervise_opts *opts, struct run_result *ret)
{
	spec->sandbox = &l->sandbox;
	opts->zygote = &l->zygote;
	opts->cgroup = l->cgroup;
	supervise_run(spec, opts, ret);
}

static void drop_broken(struct lane *l, const struct run_result *r)
{
	if (r->end == RUN_SANDBOX_FAILED && l->zygote.pid > 0)
		zygote_stop(&l->zygote);
}

/* A zygote that died while it waited has run nothing: another one is asked. */
static void run_boxed(struct worker *w, enum network network, struct run_spec *spec,
		      struct supervise_opts *opts, struct wire_reply *reply)
{
	struct lane *l = &w->lanes[network];
	struct err err = {0};
	bool fresh;

	do {
		fresh = l->zygote.pid <= 0;
		if (lane_open(w, network, &err) < 0) {
			no_sandbox(reply, &err);
			return;
		}
		supervise_in(l, spec, opts, &reply->run);
	} while (reply->run.end == RUN_SANDBOX_FAILED && l->zygote.pid <= 0 && !fresh);
	drop_broken(l, &reply->run);
}

/* By an interpreter that is ready. False: there is none, and nothing was run. */
static bool run_warm(struct worker *w, const struct wire_request *q,
		     struct run_spec *spec, struct supervise_opts *opts,
		     struct wire_reply *reply)
{
	struct lane *l = warm_lane(&w->warm, w->opts->sandbox, q, w->opts->control);

	if (!l)
		return false;
	supervise_in(l, spec, opts, &reply->run);
	drop_broken(l, &reply->run);
	if (reply->run.end == RUN_SANDBOX_FAILED && !strcmp(reply->run.step, "zygote"))
		return false;
	reply->run.warm = true;
	return true;
}

static void run(struct worker *w, struct wire_request *q, struct wire_reply *reply)
{
	struct supervise_opts opts = {
		.control = w->opts->control,
		.out = w->opts->out,
		.err = w->opts->err,
		.in = w->in,
		.discard = q->discard,
	};
	struct run_spec spec = {
		.argv = q->argv,
		.env = q->env,
		.cwd = q->cwd,
		.timeout_ms = q->timeout_ms,
		.output_cap = q->output_cap,
		.limits = q->limits,
	};

	if (w->opts->sandbox && run_warm(w, q, &spec, &opts, reply))
		return;
	if (w->opts->sandbox)
		run_boxed(w, q->network, &spec, &opts, reply);
	else
		supervise_run(&spec, &opts, &reply->run);
}

/* False: exitpath does not listen any more. */
static bool serve(struct worker *w, uint64_t len)
{
	CLEANUP(wire_request) struct wire_request q = {0};
	CLEANUP(wire_reply) struct wire_reply reply = {0};
	ssize_t n;

	if (read_request(w, len, &q) < 0)
		not_made(&reply, RUN_NOT_STARTED, "request", EBADMSG);
	else
		run(w, &q, &reply);
	buf_clear(&w->text);
	wire_put_reply(&w->text, &reply);
	n = send(w->opts->socket, w->text.data, w->text.len, MSG_NOSIGNAL);
	return n == (ssize_t)w->text.len;
}

void worker_main(const struct worker_opts *opts)
{
	struct worker w = {.opts = opts, .in = own_stdin(opts)};
	uint64_t len;
	ssize_t n;

	supervisor_become();
	for (size_t i = 0; i < ARRAY_SIZE(w.lanes); i++)
		lane_init(&w.lanes[i]);
	warm_init(&w.warm);
	for (;;) {
		n = recv(opts->socket, &len, sizeof(len), 0);
		if (n < 0 && errno == EINTR)
			continue;
		if (n != (ssize_t)sizeof(len) || !serve(&w, len))
			break;
	}
	for (size_t i = 0; i < ARRAY_SIZE(w.lanes); i++)
		lane_close(&w.lanes[i]);
	warm_close(&w.warm);
	if (__gcov_dump)
		__gcov_dump();
	_exit(n != 0);
}
