/* A client of PostgreSQL: HOW is what it leaves behind. argv[1]: the URL. */
#include <libpq-fe.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CLOSED, IN_TRANSACTION, IDLE, ACTIVE, LOCKED, KILLED };

static PGconn *connect_to(const char *url)
{
	PGconn *c = PQconnectdb(url);

	if (PQstatus(c) == CONNECTION_OK)
		return c;
	fprintf(stderr, "%s", PQerrorMessage(c));
	exit(1);
}

/* Until the server says yes to a question. */
static void wait_until(PGconn *c, const char *sql)
{
	for (int i = 0; i < 500; i++) {
		PGresult *r = PQexec(c, sql);
		int yes = PQntuples(r) > 0;

		PQclear(r);
		if (yes)
			return;
		usleep(10000);
	}
	exit(1);
}

/* A second session waits for what the first one holds. */
static void wait_for_lock(PGconn *c, const char *url)
{
	PGconn *second = connect_to(url);

	PQclear(PQexec(c, "SELECT pg_advisory_lock(42)"));
	PQsendQuery(second, "SELECT pg_advisory_lock(42), 'secret'");
	PQflush(second);
	wait_until(c, "SELECT FROM pg_locks WHERE NOT granted AND locktype = 'advisory'");
}

/* A child is killed while the server works for it. */
static void kill_client(PGconn *c, const char *url)
{
	pid_t pid = fork();

	if (pid == 0) {
		PGconn *own = connect_to(url);

		PQclear(PQexec(own, "SELECT pg_sleep(100)"));
		_exit(0);
	}
	wait_until(c, "SELECT FROM pg_stat_activity WHERE state = 'active' AND "
		      "query LIKE 'SELECT pg_sleep%'");
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

int main(int argc, char **argv)
{
	const char *url = argc > 1 ? argv[1] : "";
	PGconn *c = connect_to(url);

	PQclear(PQexec(c, "BEGIN"));
	PQclear(PQexec(c, "CREATE TEMP TABLE t AS SELECT 'secret' AS a, 42 AS b"));
	if (HOW == IN_TRANSACTION)
		return 0;
	PQclear(PQexec(c, "COMMIT"));
	if (HOW == ACTIVE) {
		PQsendQuery(c, "SELECT pg_sleep(100)");
		PQflush(c);
	}
	if (HOW == LOCKED)
		wait_for_lock(c, url);
	if (HOW == KILLED)
		kill_client(c, url);
	if (HOW == CLOSED || HOW == KILLED)
		PQfinish(c);
	return 0;
}
