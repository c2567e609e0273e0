/*
 * The cgroups of one worker: memory and processes of a run are capped and counted there.
 *
 * v2 (memory and pids controllers, memory.oom.group) where a group can be made and the
 * controllers be had: below our own group, or where a parent was delegated to us, or at
 * the top; else v1, one group in each hierarchy. The zygote lives in the group, and what
 * it clones is born there: nothing is attached per run. A user who may make no group
 * gets TIER_POLLING, see proc/usage.h. The names hold our pid and its start time:
 * groups of dead exitpaths are removed by cgroup_open().
 */
#ifndef EXITPATH_SANDBOX_CGROUP_H
#define EXITPATH_SANDBOX_CGROUP_H

#include "base/err.h"
#include "model/limits.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct cgroup;

/* Never fails for want of rights: then the tier is TIER_POLLING. Only an error of the
 * machine (out of descriptors) is -1/NULL. */
struct cgroup *cgroup_open(struct err *err);
enum limit_tier cgroup_tier(const struct cgroup *c);
/* Puts a process (the zygote, before it clones anything) there. 0, or -1 with errno.
 * pid 0: the caller, which has one thread; with v1 that takes microseconds, where moving
 * another process takes milliseconds for each hierarchy. */
int cgroup_attach(const struct cgroup *c, pid_t pid);
/* Before a run: sets the caps (0: none) and notes the counters. own: processes of ours
 * in the group (zygote, init), which are not the run's. 0, or -1 with errno. */
int cgroup_begin(struct cgroup *c, const struct limits *l, unsigned own);

/* What of ours is in the group beside: no run is to pay for it. */
void cgroup_add_own(struct cgroup *c, unsigned processes, uint64_t memory);

struct cgroup_usage {
	uint64_t cpu_us;    /* since cgroup_begin(); 0 when it cannot be told */
	uint64_t memory;    /* bytes now */
	uint64_t peak;	    /* bytes, since cgroup_begin() where the kernel can reset it;
			       0 when it cannot be told */
	uint64_t oom_kills; /* since cgroup_begin() */
	uint64_t refused;   /* forks refused for pids, since cgroup_begin() */
};
/* Cheap: some reads of open files. All zero with TIER_POLLING. */
void cgroup_usage(const struct cgroup *c, struct cgroup_usage *ret);
/* Removes the groups; what is still in them must be dead already (bounded wait). */
void cgroup_close(struct cgroup *c);

/* For doctor: which tier, and why not a better one ("/sys/fs/cgroup is read-only"); the
 * caller frees. */
enum limit_tier cgroup_explain(char **ret_why);

#endif
