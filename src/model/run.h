/* One run of one command: what is asked, and how it ended. */
#ifndef EXITPATH_MODEL_RUN_H
#define EXITPATH_MODEL_RUN_H

#include "base/strv.h"
#include "model/limits.h"
#include "model/sandbox.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define DEFAULT_OUTPUT_CAP (UINT64_C(8) << 20) /* bytes kept of each stream */

/* Descriptors of what a sandboxed run has of its own: it is seen only from inside. */
struct run_private {
	int tmp, shm; /* the directories /tmp and /dev/shm */
	int sysvipc;  /* /proc/sysvipc/shm of its IPC namespace */
};

/*
 * Called in the supervisor process of the run, which is single-threaded, while the
 * process concerned is stopped. They must be quick and must not fail the run.
 */
struct run_watch {
	/* pid is about to exit with code; its /proc entry still shows what it holds. */
	void (*at_exit)(void *ctx, pid_t pid, int code, bool root);
	/* The root process has ended; left[] still live (after a short grace). own is
	 * NULL when the run was not sandboxed. */
	void (*at_end)(void *ctx, const pid_t *left, size_t nleft,
		       const struct run_private *own);
	void *ctx;
	/*
	 * The thread tid is about to make a name in the file system: a file, directory,
	 * link, socket. path is relative to its dirfd, or to its working directory with
	 * AT_FDCWD; NULL: it cannot be read. The call may still fail. NULL: not wanted;
	 * each such call costs a stop.
	 */
	void (*at_name)(void *ctx, pid_t tid, int dirfd, const char *path);
};

struct run_spec {
	struct strv argv; /* argv[0] is looked up in env's PATH, relative to cwd */
	struct strv env;  /* the whole environment */
	char *cwd;	  /* absolute */
	char *dir; /* absolute, exists: stdout, stderr, hang.txt are written there */
	uint64_t timeout_ms; /* 0: none */
	uint64_t output_cap; /* bytes kept of each of stdout and stderr; 0: default */
	struct limits limits;
	const struct sandbox *sandbox; /* NULL: no isolation. Not owned */
	const struct run_watch *watch; /* NULL: exits are not watched. Not owned */
};

/* An interpreter that is loaded already starts the run, as a fork of itself, where
 * argv[0] is it and the outcome is the same. */
enum warm { WARM_NONE, WARM_PYTHON, WARM_NODE };
/* 0, or -1 when there is none of that name: "none", "python", "node". */
int warm_parse(const char *name, enum warm *ret);

enum run_end {
	RUN_EXITED,	 /* status holds the exit code */
	RUN_SIGNALED,	 /* signal holds what killed it */
	RUN_TIMED_OUT,	 /* the deadline passed; hang.txt says where it stood */
	RUN_NOT_STARTED, /* step and errnum say what failed before or at exec */
	RUN_CANCELLED,	 /* exitpath was asked to stop */
	RUN_LOST,	 /* the supervisor itself died: nothing is known */
	/* A limit was reached; status and signal are those of the root, if it ended. */
	RUN_OVER_CPU,
	RUN_OVER_MEMORY, /* the kernel or we killed for memory, whoever the victim was */
	RUN_OVER_PIDS,	 /* a fork or clone was refused */
	RUN_OVER_OUTPUT,
	RUN_OVER_DISK,
	/* The sandbox could not be made (step, errnum), or broke while the run was on. */
	RUN_SANDBOX_FAILED,
	RUN_ENDS,
};

struct run_result {
	enum run_end end;
	int status, signal;
	char step[32];	      /* RUN_NOT_STARTED: "exec", "chdir", "seccomp", … */
	enum limit_tier tier; /* how memory and processes were capped */
	int errnum;
	uint64_t wall_us, cpu_us;
	uint64_t peak_kib;		     /* largest resident set of any process */
	uint64_t stdout_bytes, stderr_bytes; /* written by the program, kept or not */
	bool stdout_cut, stderr_cut;
	unsigned left_behind; /* processes that had to be killed after the root ended */
	bool warm;	      /* an interpreter that was ready started it */
	bool watch_failed;    /* the exit watch could not be installed or was lost */
};

bool run_result_passed(const struct run_result *r); /* it exited, with 0 */
bool run_result_over_limit(const struct run_result *r);
bool run_result_late(const struct run_result *r); /* out of time, wall or CPU */
const char *run_end_name(enum run_end e);	  /* "exited", "signaled", … */
/* The word of `exitpath run`: "exit", "signal", "wall", "cpu", "oom" … */
const char *run_verdict_name(enum run_end e);
/* "exit 1", "killed by SIGABRT", "timed out after 60 s" … The caller frees. */
char *run_result_describe(const struct run_result *r);
void run_spec_release(struct run_spec *s);
DEFINE_CLEANUP(run_spec)

#endif
