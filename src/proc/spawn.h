/* fork, the child's side up to exec, and how its failure comes back. Internal to proc. */
#ifndef EXITPATH_PROC_SPAWN_H
#define EXITPATH_PROC_SPAWN_H

#include "base/strv.h"

#include <stdbool.h>
#include <sys/types.h>

enum spawn_step {
	SPAWN_FORK,
	SPAWN_STDIO,
	SPAWN_CHDIR,
	SPAWN_SECCOMP,
	SPAWN_EXEC,
};
const char *spawn_step_name(enum spawn_step s); /* "fork", "stdio", … */

struct spawn_failure {
	enum spawn_step step;
	int errnum;
};

struct spawn {
	char *const *argv;
	char *const *env;
	const char *cwd; /* NULL: here */
	int in, out, err;
	bool session; /* a session and process group of its own, and no core files */
	bool watch;   /* install the exit filter … */
	bool names;   /* … which sees names made, too … */
	int watch_fd; /* … and send its listener through this socket */
};

/*
 * Returns the pid, or -1 with errno. *ret_report is the read end of a pipe that gives
 * a struct spawn_failure if anything fails before exec, and EOF when exec succeeded.
 */
pid_t spawn(const struct spawn *s, int *ret_report);

/* As pipe2(O_CLOEXEC), above the standard descriptors even when those are closed, so
 * that dup2() onto them never hits the other. */
int spawn_pipe(int ret_fds[2]);
int spawn_raise(int fd); /* moves fd to 3 or above; closes the old one; -1: errno */

#endif
