/*
 * Runs commands where they can reach nothing but what a struct sandbox shows them.
 *
 *   supervisor ──request, descriptors──> zygote ──clone──> init ──vfork, exec──> root
 *       ^                                                   │
 *       └────────────── box_event messages ─────────────────┘
 *
 * The zygote is a child of the supervisor that has done once what is dear: user,
 * network, UTS and cgroup namespaces, a root of its own built from read-only mounts. It
 * holds its capabilities in a user namespace that owns nothing else, and waits. For each
 * run it clones an init in new pid, mount and IPC namespaces as a child of the
 * supervisor (CLONE_PARENT), which therefore can wait for it and kill it, and with it,
 * by the kernel's doing, every process of the run, whatever it forked.
 *
 * init mounts /proc and the private directories, gives up its capabilities for ever,
 * confines itself (no_new_privs, Landlock, seccomp), starts the command, reaps whatever
 * is orphaned, and says how the command ended. It is not dumpable: the command cannot
 * look into it. It waits to be killed, so that what is left can be looked at.
 *
 * Whatever of this cannot be had is an error with the next step (sandbox_check()), never
 * a weaker sandbox.
 */
#ifndef EXITPATH_SANDBOX_SANDBOX_H
#define EXITPATH_SANDBOX_SANDBOX_H

#include "base/err.h"
#include "base/strv.h"
#include "model/limits.h"
#include "model/sandbox.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Does a sandbox work here? Makes one and runs nothing in it. The error says which part
 * is missing and the hint what to do: Ubuntu's AppArmor rule against unprivileged user
 * namespaces, kernel.unprivileged_userns_clone, user.max_user_namespaces=0, a container
 * without nested namespaces, a chroot, an old kernel; or --isolation none.
 */
int sandbox_check(const struct sandbox *sb, struct err *err);

/* For doctor: can a user make this namespace (CLONE_NEWNS …) in a user namespace? */
bool sandbox_has_namespace(int flag);
int sandbox_landlock_abi(void); /* 0: the kernel has none */

struct zygote {
	pid_t pid; /* child of the caller; dies with it. Of a server: its process group */
	int socket;	 /* requests; its EOF ends the zygote. CLOEXEC */
	bool server;	 /* an interpreter */
	uint64_t memory; /* bytes that a server holds, which no run is to pay for */
};

struct cgroup;

/*
 * Starts a zygote in the sandbox, and in the cgroup (NULL: that of the caller), and waits
 * until its root stands. The caller's signal mask and handlers may be anything. On
 * failure errno says why, too.
 */
int zygote_start_in(const struct sandbox *sb, const struct cgroup *cgroup,
		    struct zygote *ret, struct err *err);
int zygote_start(const struct sandbox *sb, struct zygote *ret, struct err *err);
void zygote_stop(struct zygote *z); /* kills, reaps, closes */

/*
 * A zygote that is a Python interpreter, with the standard library and pytest loaded. It
 * stands in a pid namespace of its own, so that what an interpreter runs at its start
 * (.pth files, sitecustomize) sees no process. What it starts is a fork of itself, in
 * the namespaces, limits and confinement of any run; cgroup holds no other zygote.
 *
 * It serves commands that have the same interpreter, options, environment and working
 * directory; warm_fits() says which can be served at all. What it cannot do as a new
 * interpreter would it leaves to a new one, in the same run.
 */
struct warm_server {
	char *const *argv; /* of a command that it is for: the first `first` of them */
	size_t first;	   /* see warm_fits() */
	char *const *env;
	const char *cwd;
	int cancel; /* readable: waiting for it is given up; -1: nothing does */
};
/* ERR_ENVIRONMENT: there is none, or not this one (a script, writes at its start, has
 * threads …): commands are started anew. */
int zygote_start_warm(const struct sandbox *sb, const struct cgroup *cgroup,
		      const struct warm_server *w, struct zygote *ret, struct err *err);

/*
 * Pure. Is it a command for a server: python3 [OPTION…] FILE|-m MODULE|-c CODE [ARG…],
 * with nothing in the options or in the environment that a fork could not follow?
 * Returns how many words the interpreter and its options are; 0: it is not.
 */
size_t warm_fits(char *const *argv, char *const *env);

/* What runs; the strings are sent. */
struct box_request {
	char *const *argv, *const *env;
	const char *cwd; /* as it is seen inside */
	int in, out, err;
	bool watch; /* install the exit filter and send its listener … */
	bool names; /* … that sees names made, too */
	bool discard;
	struct limits limits; /* those that init enforces: files, disk (size of the
				 private directories), CPU and memory as a backstop */
};

struct box {
	pid_t init; /* child of the caller, pid 1 of the run's namespace */
	int events; /* struct box_event messages; CLOEXEC, nonblocking */
};

/* Asks for a run. 0, or -1 with errno. E2BIG: the strings are too long. Else the zygote
 * is gone and must be replaced. */
int zygote_run(struct zygote *z, const struct box_request *req, struct box *ret);

enum box_event_kind {
	BOX_FAILED,  /* step, errnum: nothing runs. With "exec" after BOX_STARTED */
	BOX_PRIVATE, /* fds: run_private.tmp, shm, sysvipc. First of all */
	BOX_STARTED, /* pid: the root, as the caller counts; fds: the listener, when watch
		      */
	BOX_ENDED,   /* status: of waitpid(2), of the root */
	BOX_EMPTY,   /* no process but init is left */
	BOX_WROTE,   /* written has grown; only with limits.disk */
};
/* Steps of BOX_FAILED that are the command's own fault, not the sandbox's. */
bool box_step_is_command(const char *step); /* "exec", "chdir" */

struct box_event {
	enum box_event_kind kind;
	char step[32];
	int errnum, status;
	/* Bytes that those wrote to disks whom init waited for, as far as it knows: only
	 * root can read that in /proc, for init is not dumpable. */
	uint64_t written;
	pid_t pid;
	int fds[3]; /* -1: none. The caller closes */
};
/* 1: an event; 0: none now; -1: no more will come (init is dead). */
int box_receive(const struct box *b, struct box_event *ret);

/* SIGKILLs init and waits until all of the run is gone. ret_cpu_us: CPU time of all that
 * was waited for. */
void box_kill(struct box *b, uint64_t *ret_cpu_us, uint64_t *ret_peak_kib);

#endif
