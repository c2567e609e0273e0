/* What one run may use, and by which means that is enforced. */
#ifndef EXITPATH_MODEL_LIMITS_H
#define EXITPATH_MODEL_LIMITS_H

#include <stdint.h>

/* 0: not limited. All but files count the processes of the run together. The deadline
 * (wall) is run_spec.timeout_ms. */
struct limits {
	uint64_t memory; /* bytes: resident memory, and files in /tmp and /dev/shm */
	uint64_t disk;	 /* bytes written, there and below writable views */
	uint64_t output; /* bytes on stdout and stderr; more ends the run */
	uint64_t cpu_ms;
	uint64_t pids;	/* processes and threads at the same time */
	uint64_t files; /* open descriptors of each process */
};

/* Those of a generated test (issue: sandboxed runs). */
#define GENERATED_WALL_MS UINT64_C(5000)
#define GENERATED_LIMITS                                                                \
	{                                                                               \
		.memory = UINT64_C(256) << 20, .cpu_ms = 5000, .pids = 64,              \
		.disk = UINT64_C(64) << 20, .output = UINT64_C(1) << 20, .files = 1024, \
	}

/* How memory and processes are counted and capped; chosen by trying. */
enum limit_tier {
	TIER_NONE,     /* nothing is limited */
	TIER_POLLING,  /* /proc is read every few milliseconds: a cap may be overrun */
	TIER_CGROUP_1, /* memory and pids controllers of cgroup v1 */
	TIER_CGROUP_2, /* of cgroup v2, with memory.oom.group */
	TIERS,
};
const char *limit_tier_name(enum limit_tier t); /* "cgroup v2", "polling" … */
/* TIER_NONE for an unknown name. */
enum limit_tier limit_tier_parse(const char *name);

#endif
