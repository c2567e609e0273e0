/* The database server that a lifecycle names with `pg`. */
#ifndef EXITPATH_ENGINE_SERVER_H
#define EXITPATH_ENGINE_SERVER_H

#include "engine/session.h"

/* Its URL, with the variable's value in place of $NAME; NULL: none. The caller frees. */
char *server_of(const struct lifecycle *l);
/* Are the URLs of all lifecycles such that their runs can get there? Before anything
 * runs: ERR_USAGE. */
int server_check(const struct session *s, struct err *err);
/* Shows a sandboxed run the directory of the server's socket: nothing else of it. */
int server_show(const struct session *s, const struct lifecycle *l, struct sandbox *sb,
		struct err *err);
/* For doctor: a program in dir finds the server at url through env, without an argument
 * that everybody can read; sb, when there is one, shows its socket. */
int server_prove(const char *url, const char *dir, struct strv *env, struct sandbox *sb,
		 struct err *err);

#endif
