/*
 * Runs one command under a supervisor of its own.
 *
 * exitpath (single-threaded) forks a supervisor per run. The supervisor is a child
 * subreaper, so every descendant of the command, whatever it forks or setsid()s, ends
 * up below it; it starts the command, keeps its output on disk with a cap, holds the
 * deadline (pidfd, timerfd), serves exit notifications for the watch, and at the
 * root's end (not at EOF of the pipes) kills what is left of the tree. It dies, and
 * kills the tree, when exitpath dies. Results come back through a pipe, so that
 * several runs can be waited for with poll().
 */
#ifndef EXITPATH_PROC_PROC_H
#define EXITPATH_PROC_PROC_H

#include "base/buf.h"
#include "base/err.h"
#include "model/run.h"

struct proc;

/* Starts a run. spec and what it points to must live until proc_finish(). */
struct proc *proc_start(const struct run_spec *spec, struct err *err);
/* Becomes readable when the run has ended. */
int proc_fd(const struct proc *p);
/* Asks the supervisor to kill the tree; the result will be RUN_CANCELLED. */
void proc_cancel(struct proc *p);
/* Waits for the end, reaps, frees p. Always fills *ret. */
void proc_finish(struct proc *p, struct run_result *ret);
/* All three in turn. A signal in the meantime makes it RUN_CANCELLED; after a signal
 * nothing is started any more: -1 with ERR_INTERRUPTED. */
int proc_run(const struct run_spec *spec, struct run_result *ret, struct err *err);

/* Installs SIGINT/SIGTERM/SIGHUP handlers that only note the signal; a second SIGINT
 * changes nothing. proc_interrupted() gives the signal, or 0. proc_interrupt_fd()
 * becomes readable then. */
void proc_catch_interrupts(void);
int proc_interrupted(void);
int proc_interrupt_fd(void);

/* Runs a helper program (git, valgrind --version) and captures its stdout. No
 * supervisor, no watch. Nonzero exit is an error that quotes stderr's last line,
 * and the first that begins with "error:".
 * ret_status NULL: as said; else the exit status is stored and is no error. */
struct capture_opts {
	const char *cwd;   /* NULL: here */
	char *const *env;  /* NULL: ours */
	const char *input; /* stdin; NULL: empty */
	size_t cap;	   /* of stdout; 0: 64 MiB */
};
int proc_capture(char *const *argv, const struct capture_opts *opts, struct buf *ret_out,
		 int *ret_status, struct err *err);

#endif
