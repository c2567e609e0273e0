/*
 * What the processes of a run use together, read from /proc. Needed where no cgroup
 * counts (TIER_POLLING), and for bytes written to disk, which no cgroup counts per run.
 */
#ifndef EXITPATH_PROC_USAGE_H
#define EXITPATH_PROC_USAGE_H

#include <stdint.h>
#include <sys/types.h>

struct usage {
	uint64_t cpu_us; /* of live ones and of children that they waited for */
	uint64_t
		memory; /* bytes resident: RSS, and PSS once the sum of RSS is over cap */
	uint64_t disk;	/* bytes that will reach a disk: write_bytes - cancelled */
	uint64_t pids;	/* threads of all */
};

enum usage_what { USAGE_CPU = 1, USAGE_MEMORY = 2, USAGE_DISK = 4, USAGE_PIDS = 8 };

/*
 * Adds up root's descendants, and root itself when with_root. what: USAGE_* bits, the
 * rest stays 0. memory_cap: above it shared pages are told apart (smaps_rollup is slow).
 * A process that vanishes meanwhile is left out.
 */
void usage_read(pid_t root, int with_root, unsigned what, uint64_t memory_cap,
		struct usage *ret);

#endif
