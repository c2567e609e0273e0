/* A client of PostgreSQL: HOW is what it leaves behind. argv[1]: the URL. */
#include <libpq-fe.h>
#include <stdio.h>

enum { CLOSED, IN_TRANSACTION, IDLE, ACTIVE };

int main(int argc, char **argv)
{
	PGconn *c = PQconnectdb(argc > 1 ? argv[1] : "");

	if (PQstatus(c) != CONNECTION_OK) {
		fprintf(stderr, "%s", PQerrorMessage(c));
		return 1;
	}
	PQclear(PQexec(c, "BEGIN"));
	PQclear(PQexec(c, "CREATE TEMP TABLE t AS SELECT 'secret' AS a, 42 AS b"));
	if (HOW == IN_TRANSACTION)
		return 0;
	PQclear(PQexec(c, "COMMIT"));
	if (HOW == ACTIVE) {
		PQsendQuery(c, "SELECT pg_sleep(100)");
		PQflush(c);
	}
	if (HOW == CLOSED)
		PQfinish(c);
	return 0;
}
