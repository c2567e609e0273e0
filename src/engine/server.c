#include "engine/server.h"

#include "base/fs.h"
#include "base/mem.h"
#include "detect/pg_server.h"
#include "engine/isolation.h"

#include <errno.h>
#include <stdlib.h>

char *server_of(const struct lifecycle *l)
{
	CLEANUP_FREE char *variable = l->pg ? server_variable(l->pg) : NULL;

	return xstrdup(variable ? getenv(variable) : l->pg);
}

/* The directory that the run is shown. Runs have their own /tmp, whole of the machine's
 * cannot be shown. */
static int socket_dir(const struct session *s, const char *url, char **ret,
		      struct err *err)
{
	CLEANUP_FREE char *dir = pg_socket_dir(url, err), *real = NULL;
	const char *why;

	if (!dir)
		return -1;
	real = realpath(dir, NULL);
	if (!real)
		return err_errno(err, ERR_USAGE, errno, "pg: %s", dir);
	why = isolation_refused(s, dir);
	if (!why)
		why = isolation_refused(s, real);
	if (why) {
		err_set(err, ERR_USAGE, "pg: %s %s", dir, why);
		err_hint(err, "let the server have its socket in a directory of its own: "
			      "unix_socket_directories");
		return -1;
	}
	*ret = TAKE_PTR(dir);
	return 0;
}

static int check_one(const struct session *s, const struct lifecycle *l, struct err *err)
{
	CLEANUP_FREE char *url = server_of(l), *dir = NULL;

	if (!l->pg)
		return 0;
	/* Also of a flag, which no contract has checked. */
	if (server_url_refused(l->pg))
		return err_set(err, ERR_USAGE, "pg %s", server_url_refused(l->pg));
	if (!url || !*url) {
		err_set(err, ERR_USAGE, "pg: %s is not set", l->pg);
		err_hint(err, "set it to the URL of a PostgreSQL server");
		return -1;
	}
	if (pg_check_url(url, err) < 0)
		return -1;
	return session_sandboxed(s) ? socket_dir(s, url, &dir, err) : 0;
}

int server_check(const struct session *s, struct err *err)
{
	for (size_t i = 0; i < s->contract.nlifecycles; i++) {
		const struct lifecycle *l = &s->contract.lifecycles[i];

		if (check_one(s, l, err) < 0)
			return err_prefix(err, "%s: ", l->name);
		if (!l->pg && strv_contains(&l->detectors, "pg")) {
			err_set(err, ERR_USAGE, "%s: the detector pg needs a server",
				l->name);
			err_hint(err, "name it with `pg: URL` in the lifecycle, or with "
				      "--pg URL");
			return -1;
		}
	}
	return 0;
}

int server_show(const struct session *s, const struct lifecycle *l, struct sandbox *sb,
		struct err *err)
{
	CLEANUP_FREE char *url = server_of(l), *dir = NULL, *real = NULL;

	if (!url)
		return 0;
	if (socket_dir(s, url, &dir, err) < 0)
		return -1;
	real = realpath(dir, NULL);
	if (!real)
		return err_errno(err, ERR_ENVIRONMENT, errno, "pg: %s", dir);
	sandbox_add_view(sb, real, dir, VIEW_WRITE);
	return 0;
}

int server_prove(const char *url, const char *dir, struct strv *env, struct sandbox *sb,
		 struct err *err)
{
	CLEANUP_FREE char *file = path_join(dir, "service");
	CLEANUP_FREE char *program = find_program("psql");
	CLEANUP_FREE char *socket = NULL, *real = NULL;

	if (!program) {
		err_set(err, ERR_ENVIRONMENT,
			"psql, which plants the transaction, is "
			"not installed");
		err_hint(err, "apt-get install postgresql-client");
		return -1;
	}
	if (pg_service_file(url, file, err) < 0)
		return -1;
	env_set(env, "PGSERVICEFILE", file);
	env_set(env, "PGSERVICE", PG_NAME);
	if (!sb)
		return 0;
	socket = pg_socket_dir(url, err);
	if (!socket)
		return -1;
	real = realpath(socket, NULL);
	if (!real)
		return err_errno(err, ERR_ENVIRONMENT, errno, "pg: %s", socket);
	sandbox_add_view(sb, real, socket, VIEW_WRITE);
	return 0;
}
