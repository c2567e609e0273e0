#include "detect/canary.h"

#include "base/buf.h"
#include "base/fs.h"
#include "base/mem.h"
#include "detect/embed.h"
#include "detect/preload.h"
#include "detect/report_file.h"

#include <errno.h>
#include <string.h>

enum { RECORD_CAP = 1 << 20 }; /* bytes read of one record */

int canary_preload(const char *dir, struct strv *env, struct err *err)
{
	if (preload_add(dir, CANARY_LIBRARY, embed_lsan_canary_start,
			embed_lsan_canary_end, env, err) < 0)
		return -1;
	env_set(env, "EXITPATH_RUN_DIR", dir);
	return 0;
}

/* The rest of a line that starts with key, or NULL. */
static const char *value_of(const char *line, size_t len, const char *key,
			    size_t *ret_len)
{
	size_t n = strlen(key);

	if (len < n || memcmp(line, key, n) != 0)
		return NULL;
	*ret_len = len - n;
	return line + n;
}

static pid_t parse_pid(const char *s, size_t len)
{
	pid_t pid = 0;

	for (size_t i = 0; i < len; i++) {
		if (s[i] < '0' || s[i] > '9' || pid > (1 << 22))
			return 0;
		pid = pid * 10 + (s[i] - '0');
	}
	return pid;
}

static enum instrumented parse_instrumented(const char *s, size_t len)
{
	if (len == 4 && !memcmp(s, "asan", 4))
		return INSTRUMENTED_ASAN;
	if (len == 4 && !memcmp(s, "lsan", 4))
		return INSTRUMENTED_LSAN;
	return INSTRUMENTED_NONE;
}

static void parse_line(const char *line, size_t len, struct start_record *r,
		       bool *ret_whole)
{
	const char *value;
	size_t n;

	if ((value = value_of(line, len, "exe ", &n))) {
		free(r->exe);
		*r = (struct start_record){.pid = r->pid, .exe = xstrndup(value, n)};
		*ret_whole = false;
	} else if ((value = value_of(line, len, "ppid ", &n))) {
		r->ppid = parse_pid(value, n);
	} else if ((value = value_of(line, len, "forked", &n))) {
		r->forked = true;
	} else if ((value = value_of(line, len, "suppressions", &n))) {
		r->by_name = true;
	} else if ((value = value_of(line, len, "instrumented ", &n))) {
		r->instrumented = parse_instrumented(value, n);
		*ret_whole = r->exe != NULL;
	} else if ((value = value_of(line, len, "exit normal", &n))) {
		r->exited = true;
	}
}

bool start_record_parse(const char *text, size_t len, struct start_record *ret)
{
	struct start_record r = {.pid = ret->pid};
	bool whole = false;

	for (size_t at = 0; at < len;) {
		const char *end = memchr(text + at, '\n', len - at);

		if (!end)
			break;
		parse_line(text + at, (size_t)(end - text) - at, &r, &whole);
		at = (size_t)(end - text) + 1;
	}
	if (whole)
		*ret = r;
	else
		start_record_release(&r);
	return whole;
}

static int by_pid(const void *a, const void *b)
{
	const struct start_record *x = a, *y = b;

	return (x->pid > y->pid) - (x->pid < y->pid);
}

int start_records_read(const char *dir, struct start_records *ret, struct err *err)
{
	CLEANUP_FREE pid_t *pids = NULL;
	size_t n;

	if (pids_in_dir(dir, "proc.", "", &pids, &n) < 0)
		return err_errno(err, ERR_ENVIRONMENT, errno, "cannot read %s", dir);
	for (size_t i = 0; i < n; i++) {
		CLEANUP_FREE char *path = xasprintf("%s/proc.%d", dir, pids[i]);
		CLEANUP(buf) struct buf text = {0};
		struct start_record r = {.pid = pids[i]};

		if (read_regular(path, RECORD_CAP, &text) == 0 &&
		    start_record_parse(buf_str(&text), text.len, &r))
			*VEC_ADD(ret->v, ret->n, ret->cap) = r;
	}
	return 0;
}

const struct start_record *start_record_find(const struct start_records *r, pid_t pid)
{
	const struct start_record key = {.pid = pid};

	return r->n ? bsearch(&key, r->v, r->n, sizeof(*r->v), by_pid) : NULL;
}

bool canary_matches(uint64_t bytes, const char *function, const char *module)
{
	if (!bytes || bytes % CANARY_SIZE)
		return false;
	if (function && !strcmp(function, CANARY_FUNCTION))
		return true;
	return module && !strcmp(path_base(module), CANARY_LIBRARY);
}

void start_record_release(struct start_record *r)
{
	free(r->exe);
	*r = (struct start_record){0};
}

void start_records_release(struct start_records *r)
{
	for (size_t i = 0; i < r->n; i++)
		start_record_release(&r->v[i]);
	free(r->v);
	*r = (struct start_records){0};
}
