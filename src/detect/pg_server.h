/*
 * A PostgreSQL server, as exitpath asks it: through libpq, from its own processes, never
 * from a run. Nothing here waits longer than PG_WAIT_US for an answer.
 */
#ifndef EXITPATH_DETECT_PG_SERVER_H
#define EXITPATH_DETECT_PG_SERVER_H

#include "base/err.h"
#include "base/json.h"

#include <stdbool.h>
#include <stdint.h>

#define PG_WAIT_US UINT64_C(3000000)
/* The names that sessions of exitpath and of its runs go by begin so. A name has at most
 * 63 bytes (NAMEDATALEN). */
#define PG_NAME "exitpath"

struct pg_conn; /* a session */

/* NULL with err (ERR_ENVIRONMENT; the text never has the password). */
struct pg_conn *pg_open(const char *url, const char *name, struct err *err);
void pg_close(struct pg_conn *c);	 /* NULL is fine */
int pg_backend(const struct pg_conn *c); /* pid of its server process */
/* "15.18". */
char *pg_server_version(const struct pg_conn *c);

/* One statement with n text parameters. ret_rows: an array of arrays of strings; may be
 * NULL. After -1 the session is of no more use. */
int pg_ask(struct pg_conn *c, const char *sql, const char *const *params, int n,
	   json_t **ret_rows, struct err *err);

/* The server's clock, for pg_sessions(). The caller frees. */
char *pg_now(struct pg_conn *c, struct err *err);
/*
 * How many sessions the database has had. 1: counted; 0: the server does not tell
 * (before PostgreSQL 15); -1. Own sessions are counted from pg_counted() on.
 */
int pg_session_count(struct pg_conn *c, int64_t *ret, struct err *err);
int pg_counted(struct pg_conn *c, struct err *err);

/*
 * The sessions named name, and those of other names that began in the same database since
 * then, but exitpath's: [{pid, start, state, wait, ms, query, name, xact, ours}], all
 * but ours strings.
 */
int pg_sessions(struct pg_conn *c, const char *name, const char *since, json_t **ret,
		struct err *err);

/* Where the socket of the URL lies: a directory. NULL with a hint when it is reached
 * otherwise, or is no URL. The caller frees. */
char *pg_socket_dir(const char *url, struct err *err);
/* Writes what the URL says as a service file of libpq, its one service named PG_NAME,
 * which may have a password: in a private directory. */
int pg_service_file(const char *url, const char *path, struct err *err);
/* Can it be parsed? */
int pg_check_url(const char *url, struct err *err);

#endif
