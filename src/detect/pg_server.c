#include "detect/pg_server.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"

#include <errno.h>
#include <libpq-fe.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

struct pg_conn {
	PGconn *c;
};

static void options_cleanup(PQconninfoOption **o)
{
	if (*o)
		PQconninfoFree(*o);
}
#define CLEANUP_OPTIONS __attribute__((cleanup(options_cleanup)))

static void result_cleanup(PGresult **r)
{
	PQclear(*r);
}
#define CLEANUP_RESULT __attribute__((cleanup(result_cleanup)))

/* libpq's messages end in a newline and may have several lines. */
static int fail(const PGconn *c, const char *what, struct err *err)
{
	CLEANUP_FREE char *text = xstrdup(PQerrorMessage(c));
	size_t len = strlen(text);

	while (len && text[len - 1] == '\n')
		text[--len] = '\0';
	for (char *p = text; *p; p++)
		if (*p == '\n' || *p == '\t')
			*p = ' ';
	return err_set(err, ERR_ENVIRONMENT, "pg: %s: %s", what,
		       *text ? text : "no answer");
}

/* What libpq says about a URL may quote it. */
static PQconninfoOption *parse(const char *url, struct err *err)
{
	char *why = NULL;
	PQconninfoOption *o = PQconninfoParse(url, &why);

	PQfreemem(why);
	if (!o)
		err_set(err, ERR_USAGE, "pg: this is no URL that libpq can read");
	return o;
}

int pg_check_url(const char *url, struct err *err)
{
	CLEANUP_OPTIONS PQconninfoOption *o = parse(url, err);

	return o ? 0 : -1;
}

static const char *option(const PQconninfoOption *o, const char *keyword)
{
	for (; o->keyword; o++)
		if (!strcmp(o->keyword, keyword))
			return o->val && *o->val ? o->val : NULL;
	return NULL;
}

char *pg_socket_dir(const char *url, struct err *err)
{
	CLEANUP_OPTIONS PQconninfoOption *o = parse(url, err);
	const char *host, *address;

	if (!o)
		return NULL;
	host = option(o, "host");
	address = option(o, "hostaddr");
	if (!host && !address)
		host = getenv("PGHOST");
	if (!address && host && host[0] == '/' && !strchr(host, ','))
		return xstrdup(host);
	err_set(err, ERR_USAGE, "pg: %s%s",
		address || host ? "a sandboxed run has no network and cannot reach "
				: "the URL does not say where the server's socket is",
		address ? address
		: host	? host
			: "");
	err_hint(err,
		 "name the directory of the server's Unix socket: "
		 "postgresql:///NAME?host=/run/postgresql; or give --isolation none");
	return NULL;
}

int pg_service_file(const char *url, const char *path, struct err *err)
{
	CLEANUP_OPTIONS PQconninfoOption *all = parse(url, err);
	CLEANUP(buf) struct buf text = {0};

	if (!all)
		return -1;
	buf_adds(&text, "[" PG_NAME "]\n");
	for (const PQconninfoOption *o = all; o->keyword; o++) {
		if (!o->val || !strcmp(o->keyword, "service"))
			continue;
		if (strchr(o->val, '\n'))
			return err_set(err, ERR_USAGE, "pg: the URL has a line break");
		buf_addf(&text, "%s=%s\n", o->keyword, o->val);
	}
	return write_file(path, buf_str(&text), text.len, err);
}

/* Until the socket is ready as asked; false: too late. */
static bool wait_for(const PGconn *c, short events, uint64_t deadline)
{
	for (;;) {
		struct pollfd p = {.fd = PQsocket(c), .events = events};
		uint64_t now = clock_us();
		int n;

		if (now >= deadline || p.fd < 0)
			return false;
		n = poll(&p, 1, (int)((deadline - now) / 1000) + 1);
		if (n > 0)
			return true;
		if (n < 0 && errno != EINTR)
			return false;
	}
}

static bool connected(PGconn *c)
{
	uint64_t deadline = clock_us() + PG_WAIT_US;
	PostgresPollingStatusType s = PGRES_POLLING_WRITING;

	if (PQstatus(c) == CONNECTION_BAD)
		return false;
	while (s != PGRES_POLLING_OK) {
		if (s == PGRES_POLLING_FAILED ||
		    !wait_for(c, s == PGRES_POLLING_READING ? POLLIN : POLLOUT, deadline))
			return false;
		s = PQconnectPoll(c);
	}
	return true;
}

static void ignore_notice(void *ctx, const char *text)
{
	(void)ctx;
	(void)text;
}

struct pg_conn *pg_open(const char *url, const char *name, struct err *err)
{
	const char *keys[] = {"dbname", "application_name", NULL};
	const char *values[] = {url, name, NULL};
	struct pg_conn *c;

	if (pg_check_url(url, err) < 0)
		return NULL;
	c = xcalloc(1, sizeof(*c));
	/* expand_dbname: dbname may be a URL, and what follows it wins. */
	c->c = PQconnectStartParams(keys, values, 1);
	if (!c->c || !connected(c->c)) {
		fail(c->c, "the server cannot be reached", err);
		err_hint(err, "is it running, and is the URL of `pg` right?");
		pg_close(c);
		return NULL;
	}
	PQsetNoticeProcessor(c->c, ignore_notice, NULL);
	return c;
}

void pg_close(struct pg_conn *c)
{
	if (!c)
		return;
	PQfinish(c->c);
	free(c);
}

int pg_backend(const struct pg_conn *c)
{
	return PQbackendPID(c->c);
}

char *pg_server_version(const struct pg_conn *c)
{
	int v = PQserverVersion(c->c);

	return xasprintf("%d.%d", v / 10000, v % 10000);
}

static json_t *rows_json(const PGresult *r)
{
	json_t *rows = json_array();

	for (int i = 0; i < PQntuples(r); i++) {
		json_t *row = json_array();

		for (int k = 0; k < PQnfields(r); k++)
			json_array_append_new(row, json_text(PQgetvalue(r, i, k)));
		json_array_append_new(rows, row);
	}
	return rows;
}

/* The next result, or NULL; *ret_late: it did not come in time. */
static PGresult *next_result(PGconn *c, uint64_t deadline, bool *ret_late)
{
	while (PQisBusy(c)) {
		if (!wait_for(c, POLLIN, deadline)) {
			*ret_late = true;
			return NULL;
		}
		if (!PQconsumeInput(c))
			break;
	}
	return PQgetResult(c);
}

int pg_ask(struct pg_conn *c, const char *sql, const char *const *params, int n,
	   json_t **ret_rows, struct err *err)
{
	uint64_t deadline = clock_us() + PG_WAIT_US;
	bool good = false, late = false;

	if (!PQsendQueryParams(c->c, sql, n, NULL, params, NULL, NULL, 0))
		return fail(c->c, "the server does not listen", err);
	for (;;) {
		CLEANUP_RESULT PGresult *r = next_result(c->c, deadline, &late);

		if (!r)
			break;
		good = PQresultStatus(r) == PGRES_TUPLES_OK ||
		       PQresultStatus(r) == PGRES_COMMAND_OK;
		if (good && ret_rows && !*ret_rows)
			*ret_rows = rows_json(r);
	}
	if (good && !late)
		return 0;
	return fail(c->c, late ? "the server does not answer" : "the server refuses",
		    err);
}

/* The one value of the first row. */
static int ask_one(struct pg_conn *c, const char *sql, char **ret, struct err *err)
{
	CLEANUP_JSON json_t *rows = NULL;
	const char *text;

	if (pg_ask(c, sql, NULL, 0, &rows, err) < 0)
		return -1;
	text = json_string_value(json_array_get(json_array_get(rows, 0), 0));
	*ret = xstrdup(text ? text : "");
	return 0;
}

char *pg_now(struct pg_conn *c, struct err *err)
{
	char *now = NULL;

	return ask_one(c, "SELECT clock_timestamp()::text", &now, err) < 0 ? NULL : now;
}

int pg_counted(struct pg_conn *c, struct err *err)
{
	if (PQserverVersion(c->c) < 150000)
		return 0;
	return pg_ask(c, "SELECT pg_stat_force_next_flush()", NULL, 0, NULL, err);
}

int pg_session_count(struct pg_conn *c, int64_t *ret, struct err *err)
{
	CLEANUP_FREE char *text = NULL;

	if (PQserverVersion(c->c) < 150000)
		return 0;
	if (ask_one(c,
		    "SELECT sessions::text FROM pg_stat_database "
		    "WHERE datname = current_database()",
		    &text, err) < 0)
		return -1;
	*ret = strtoll(text, NULL, 10);
	return *text ? 1 : 0;
}

int pg_sessions(struct pg_conn *c, const char *name, const char *since, json_t **ret,
		struct err *err)
{
	static const char sql[] =
		"SELECT pid::text, extract(epoch FROM backend_start)::text, "
		"coalesce(state, ''), coalesce(wait_event_type, ''), "
		"(extract(epoch FROM clock_timestamp() - "
		"coalesce(state_change, backend_start)) * 1000)::bigint::text, "
		"coalesce(query, ''), application_name, "
		"coalesce(extract(epoch FROM xact_start)::text, ''), application_name = "
		"$1 "
		"FROM pg_stat_activity "
		"WHERE backend_type = 'client backend' AND pid <> pg_backend_pid() "
		"AND (application_name = $1 OR (datname = current_database() "
		"AND backend_start >= $2::timestamptz "
		"AND application_name NOT LIKE '" PG_NAME "%')) "
		"ORDER BY backend_start, pid LIMIT 5000";
	static const char *const fields[] = {"pid", "start", "state", "wait",
					     "ms",  "query", "name",  "xact"};
	const char *const params[] = {name, since};
	CLEANUP_JSON json_t *rows = NULL;
	json_t *row;
	size_t i;

	if (pg_ask(c, sql, params, 2, &rows, err) < 0)
		return -1;
	*ret = json_array();
	json_array_foreach (rows, i, row) {
		const char *ours =
			json_string_value(json_array_get(row, ARRAY_SIZE(fields)));
		json_t *s = json_object();

		for (size_t k = 0; k < ARRAY_SIZE(fields); k++)
			json_object_set(s, fields[k], json_array_get(row, k));
		json_put_bool(s, "ours", ours && *ours == 't');
		json_array_append_new(*ret, s);
	}
	return 0;
}
