#include "proc/wire.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

#define REQUEST_MAGIC UINT64_C(0x7165722d68747865) /* "exth-req" */
#define REPLY_MAGIC UINT64_C(0x7965722d68747865)
#define MAX_TEXT ((size_t)1700) /* of error and hint: two fit into a reply */

static void put_number(struct buf *b, uint64_t n)
{
	buf_add(b, &n, sizeof(n));
}

static void put_bytes(struct buf *b, const char *s, size_t len)
{
	put_number(b, len);
	buf_add(b, s, len);
}

static void put_strings(struct buf *b, const struct strv *s)
{
	put_number(b, s->n);
	for (size_t i = 0; i < s->n; i++)
		put_bytes(b, s->v[i], strlen(s->v[i]));
}

/* What is left to read; bad: it ended too early, or held what cannot be. */
struct reader {
	const char *at;
	size_t left;
	bool bad;
};

static void get_raw(struct reader *r, void *ret, size_t len)
{
	memset(ret, 0, len);
	if (r->bad || len > r->left) {
		r->bad = true;
		return;
	}
	memcpy(ret, r->at, len);
	r->at += len;
	r->left -= len;
}

static uint64_t get_number(struct reader *r)
{
	uint64_t n;

	get_raw(r, &n, sizeof(n));
	return n;
}

static uint64_t get_below(struct reader *r, uint64_t bound)
{
	uint64_t n = get_number(r);

	if (n < bound)
		return n;
	r->bad = true;
	return 0;
}

/* Never NULL; a NUL inside would cut the string, and is refused. */
static char *get_string(struct reader *r)
{
	uint64_t len = get_number(r);
	char *s;

	if (r->bad || len > r->left || memchr(r->at, '\0', len)) {
		r->bad = true;
		return xstrdup("");
	}
	s = xstrndup(r->at, len);
	r->at += len;
	r->left -= len;
	return s;
}

static void get_strings(struct reader *r, struct strv *ret)
{
	uint64_t n = get_below(r, WIRE_MAX_STRINGS + 1);

	/* An empty one, too, is for execve(). */
	ret->cap = 8;
	ret->v = xcalloc(ret->cap, sizeof(*ret->v));
	for (uint64_t i = 0; i < n && !r->bad; i++)
		strv_take(ret, get_string(r));
}

static void put_limits(struct buf *b, const struct limits *l)
{
	put_number(b, l->memory);
	put_number(b, l->disk);
	put_number(b, l->output);
	put_number(b, l->cpu_ms);
	put_number(b, l->pids);
	put_number(b, l->files);
}

static void get_limits(struct reader *r, struct limits *ret)
{
	ret->memory = get_number(r);
	ret->disk = get_number(r);
	ret->output = get_number(r);
	ret->cpu_ms = get_number(r);
	ret->pids = get_number(r);
	ret->files = get_number(r);
}

void wire_put_request(struct buf *b, const struct pool_run *run, uint64_t output_cap)
{
	put_number(b, REQUEST_MAGIC);
	put_number(b, run->timeout_ms);
	put_number(b, output_cap);
	put_limits(b, &run->limits);
	put_number(b, run->network);
	put_number(b, run->warm);
	put_number(b, run->discard);
	put_bytes(b, run->cwd, strlen(run->cwd));
	put_strings(b, run->argv);
	put_strings(b, run->env);
}

int wire_get_request(const void *data, size_t len, struct wire_request *ret)
{
	struct reader r = {.at = data, .left = len};
	struct wire_request q = {0};

	r.bad = get_number(&r) != REQUEST_MAGIC;
	q.timeout_ms = get_number(&r);
	q.output_cap = get_number(&r);
	get_limits(&r, &q.limits);
	q.network = (enum network)get_below(&r, NETWORK_HOST + 1);
	q.warm = (enum warm)get_below(&r, WARM_NODE + 1);
	q.discard = get_below(&r, 2);
	q.cwd = get_string(&r);
	get_strings(&r, &q.argv);
	get_strings(&r, &q.env);
	if (r.bad || r.left || !q.argv.n || *q.cwd != '/') {
		wire_request_release(&q);
		return -1;
	}
	*ret = q;
	return 0;
}

void wire_request_release(struct wire_request *r)
{
	strv_release(&r->argv);
	strv_release(&r->env);
	free(r->cwd);
	*r = (struct wire_request){0};
}

/* NULL is told apart from "". */
static void put_text(struct buf *b, const char *s)
{
	size_t len = s ? strlen(s) : 0;

	put_number(b, s != NULL);
	put_bytes(b, s ? s : "", len < MAX_TEXT ? len : MAX_TEXT);
}

static char *get_text(struct reader *r)
{
	bool there = get_below(r, 2);
	char *s = get_string(r);

	if (there)
		return s;
	free(s);
	return NULL;
}

static void put_result(struct buf *b, const struct run_result *r)
{
	put_number(b, r->end);
	put_number(b, r->tier);
	buf_add(b, &r->status, sizeof(r->status));
	buf_add(b, &r->signal, sizeof(r->signal));
	buf_add(b, &r->errnum, sizeof(r->errnum));
	buf_add(b, r->step, sizeof(r->step));
	put_number(b, r->wall_us);
	put_number(b, r->cpu_us);
	put_number(b, r->peak_kib);
	put_number(b, r->stdout_bytes);
	put_number(b, r->stderr_bytes);
	put_number(b, r->stdout_cut);
	put_number(b, r->stderr_cut);
	put_number(b, r->left_behind);
	put_number(b, r->warm);
	put_number(b, r->watch_failed);
}

static void get_result(struct reader *r, struct run_result *ret)
{
	ret->end = (enum run_end)get_below(r, RUN_ENDS);
	ret->tier = (enum limit_tier)get_below(r, TIERS);
	get_raw(r, &ret->status, sizeof(ret->status));
	get_raw(r, &ret->signal, sizeof(ret->signal));
	get_raw(r, &ret->errnum, sizeof(ret->errnum));
	get_raw(r, ret->step, sizeof(ret->step));
	if (!memchr(ret->step, '\0', sizeof(ret->step)))
		r->bad = true;
	ret->wall_us = get_number(r);
	ret->cpu_us = get_number(r);
	ret->peak_kib = get_number(r);
	ret->stdout_bytes = get_number(r);
	ret->stderr_bytes = get_number(r);
	ret->stdout_cut = get_below(r, 2);
	ret->stderr_cut = get_below(r, 2);
	ret->left_behind = (unsigned)get_below(r, UINT64_C(1) << 32);
	ret->warm = get_below(r, 2);
	ret->watch_failed = get_below(r, 2);
}

void wire_put_reply(struct buf *b, const struct wire_reply *reply)
{
	put_number(b, REPLY_MAGIC);
	put_result(b, &reply->run);
	put_text(b, reply->error);
	put_text(b, reply->hint);
}

int wire_get_reply(const void *data, size_t len, struct wire_reply *ret)
{
	struct reader r = {.at = data, .left = len};
	struct wire_reply reply = {0};

	r.bad = get_number(&r) != REPLY_MAGIC;
	get_result(&r, &reply.run);
	reply.error = get_text(&r);
	reply.hint = get_text(&r);
	if (r.bad || r.left) {
		wire_reply_release(&reply);
		return -1;
	}
	*ret = reply;
	return 0;
}

void wire_reply_release(struct wire_reply *r)
{
	free(r->error);
	free(r->hint);
	*r = (struct wire_reply){0};
}
