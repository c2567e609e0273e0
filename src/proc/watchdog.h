/*
 * Sees that a run stays within its limits. The cgroup caps memory and processes by
 * itself and is asked what it had to do; all else is read every few milliseconds.
 * Internal to proc.
 */
#ifndef EXITPATH_PROC_WATCHDOG_H
#define EXITPATH_PROC_WATCHDOG_H

#include "model/run.h"

#include <stdbool.h>

struct cgroup;

struct watchdog {
	struct limits limits;
	const struct cgroup *cgroup; /* NULL, or TIER_POLLING: /proc is read */
	pid_t root;		     /* whose descendants are counted … */
	bool with_root;		     /* … and itself: init waited for some */
	bool alone;		     /* root has no descendants any more */
	int private_dir;  /* a directory of the run's bounded tmpfs; -1: none */
	int sysvipc;	  /* /proc/sysvipc/shm of its IPC namespace; -1: none */
	uint64_t written; /* by those whom root waited for, as it says itself */
	uint64_t shm_low; /* the least shared memory that the machine had; 0: not seen */
	uint64_t cpu_us;  /* as last seen */
};

/* How long until the next look, or -1: there is nothing to look at. */
int watchdog_pause_ms(const struct watchdog *w);
/* A look. True: a limit was reached, *ret says which. output: bytes so far. */
bool watchdog_look(struct watchdog *w, uint64_t output, enum run_end *ret);

#endif
