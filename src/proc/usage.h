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

enum usage_what {
	USAGE_CPU = 1,
	USAGE_MEMORY = 2,
	USAGE_DISK = 4,
	USAGE_PIDS = 8,
	USAGE_ALONE = 16, /* root has no descendants any more: none are looked for */
};

/*
 * Adds up root's descendants, and root itself when with_root. what: USAGE_* bits, the
 * rest stays 0. memory_cap: above it shared pages are told apart (smaps_rollup is slow);
 * 0: they never are. A process that vanishes meanwhile, or whose file we may not read,
 * is left out; so is all above 4,096 processes. What root waited for counts only
 * with_root.
 */
void usage_read(pid_t root, int with_root, unsigned what, uint64_t memory_cap,
		struct usage *ret);

/* Bytes that pid and those whom it waited for wrote to disks; 0 when we may not know. */
uint64_t usage_written(pid_t pid);

/*
 * Memory of root's descendants that need not be mapped by any: memfds, and segments of
 * System V shared memory (sysvipc: /proc/sysvipc/shm of their namespace, or -1). Mapped:
 * what they map of shared memory, of whatever kind, added up. Slow: reads a link for
 * each descriptor.
 */
struct usage_shared {
	uint64_t objects, mapped; /* bytes */
};
void usage_read_shared(pid_t root, int sysvipc, struct usage_shared *ret);
/* Pure. The bytes of a line of /proc/sysvipc/shm, resident or swapped; 0: none. */
uint64_t usage_parse_sysv(const char *line);

enum { USAGE_TEXT_MAX = 4096 }; /* smaps_rollup: 23 lines of some 30 bytes */
/* A file of /proc/PID as text. 0, or -1: it is gone, or we may not. */
int usage_read_file(pid_t pid, const char *name, char ret_text[USAGE_TEXT_MAX]);
/* Pure. The number of a line "key: number" of /proc/PID/io or smaps_rollup; 0 or -1. */
int usage_parse_line(const char *text, const char *key, uint64_t *ret);
/* The resident pages of /proc/PID/statm. 0 or -1. */
int usage_parse_resident(const char *text, uint64_t *ret_pages);

#endif
