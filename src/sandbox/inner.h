/*
 * The parts that run inside: zygote, init, command. They use libc alone, allocate little
 * and print nothing: what fails is reported as a step and an errno. Internal to sandbox.
 */
#ifndef EXITPATH_SANDBOX_INNER_H
#define EXITPATH_SANDBOX_INNER_H

#include "sandbox/message.h"
#include "sandbox/plan.h"

#include <signal.h>
#include <stdbool.h>

/* What stands in the zygote's root and is covered from the command. */
#define INNER_DIR "/.exitpath"
#define INNER_VIEWS INNER_DIR "/views"	   /* /N: the views */
#define INNER_PRIVATE INNER_DIR "/private" /* one bounded tmpfs per run */

/* Each returns 0, or -1 with errno and *step set to a string constant. */
int inner_namespaces(const struct plan *p, const char **step);
int inner_root(const struct plan *p, const char **step);
/* A second user namespace in a second mount namespace: what it inherits is locked. */
int inner_lock(int proc_fd, const char **step);
int inner_loopback_up(void); /* 0, or -1 with errno */

/* Makes parents and, in the end, a directory or an empty file. 0, or -1 with errno. */
int inner_make_point(const char *path, bool is_dir);

/* The zygote's loop; returns at EOF of the socket. run_child is called in the child that
 * is to become the command, in place of exec: for interpreters. NULL: exec. */
typedef void (*inner_child_fn)(const struct message_request *req);
void inner_serve(const struct plan *p, int socket, inner_child_fn run_child);

/* pid 1 of a run. */
_Noreturn void inner_init(const struct plan *p, const struct message_request *req,
			  inner_child_fn run_child);

/*
 * The process becomes an interpreter that serves: in a new pid namespace, whose first
 * process is another one. The descriptors of server.h are open. Returns only in the
 * caller, who has made both and ends: 0, or -1 with errno and *step.
 */
struct inner_server {
	char *const *argv, *const *env; /* what is executed */
	const char *cwd;
};
int inner_server_start(const struct plan *p, const struct inner_server *s,
		       const char **step);
int inner_server_capabilities(void);
int inner_server_seccomp(const struct plan *p);

/* Gives up all capabilities for ever; no_new_privs. */
int inner_drop_capabilities(void);
int inner_landlock(const struct plan *p); /* none in the kernel: 0 */
int inner_seccomp(const struct plan *p);
int inner_rlimits(const struct limits *l);

#endif
