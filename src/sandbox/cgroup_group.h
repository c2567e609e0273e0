/* The groups of one struct cgroup: what both versions of cgroups share. Internal. */
#ifndef EXITPATH_SANDBOX_CGROUP_GROUP_H
#define EXITPATH_SANDBOX_CGROUP_GROUP_H

#include "base/buf.h"
#include "sandbox/cgroup.h"
#include "sandbox/cgroup_parse.h"

/* Files that stay open. */
enum cgroup_file {
	CGROUP_MEMORY_MAX,
	CGROUP_MEMSW_MAX, /* v1: memory and swap together */
	CGROUP_MEMORY_NOW,
	CGROUP_MEMORY_PEAK,
	CGROUP_MEMORY_EVENTS, /* has a line "oom_kill N" */
	CGROUP_PIDS_MAX,
	CGROUP_PIDS_EVENTS, /* has a line "max N" */
	CGROUP_CPU,
	CGROUP_FILES,
};

struct cgroup_dir {
	char *path;
	int procs; /* its cgroup.procs */
	int tasks; /* v1: moves one thread; -1: not there */
};

struct cgroup {
	enum limit_tier tier;
	const struct cgroup_version *version;
	struct cgroup_dir dirs[3]; /* v1: memory, pids, CPU time, where they differ */
	size_t ndirs;
	int files[CGROUP_FILES];       /* -1: not there */
	uint64_t memory_max, pids_max; /* as last written; 0: not known */
	uint64_t own_memory, own_pids;
	struct cgroup_usage before; /* the counters at cgroup_begin() */
	int fatal; /* errno that means that the machine is broken, not that we may not */
};

/* What is mounted, and where we are. */
struct cgroup_world {
	struct cgroup_mounts mounts;
	struct buf own; /* /proc/self/cgroup */
};

struct cgroup_version {
	enum limit_tier tier;
	const char *name;
	/* Makes the groups and opens the files. 0, or -1 with a clause in why, which is
	 * left empty by v1 when the machine has none. */
	int (*open)(struct cgroup *c, const struct cgroup_world *w, struct buf *why);
	int (*set_memory)(struct cgroup *c, uint64_t cap); /* 0, or -1 with errno */
	const char *peak_reset; /* what is written to MEMORY_PEAK */
};
extern const struct cgroup_version cgroup_v1, cgroup_v2;

/*
 * Makes a group below parent, a group of that version, and removes those that dead
 * exitpaths left there. Returns the index in dirs, or -1 with errno; when parent has a
 * group of ours already, the index of that.
 */
int cgroup_make(struct cgroup *c, const char *parent, bool v2);
/* Opens a file of a group for later. 0, or -1 with errno. */
int cgroup_keep(struct cgroup *c, enum cgroup_file f, int dir, const char *name,
		int flags);
/* Writes to a file below a directory. 0, or -1 with errno. */
int cgroup_write(const char *dir, const char *name, const char *text);
/* Reads one; the text is empty when it cannot be read. */
void cgroup_read(const char *dir, const char *name, char *ret_text, size_t cap);
/* Reads one that is kept. */
void cgroup_read_kept(const struct cgroup *c, enum cgroup_file f, char *ret_text,
		      size_t cap);
/* Writes a limit to an open file. 0, or -1 with errno. */
int cgroup_write_limit(int fd, uint64_t limit, const char *no_limit);
/* -1 with errno, or 0: a process was put there. To be called where it cannot be known:
 * a move waits for all processors, some milliseconds for each group. */
int cgroup_try_attach(struct cgroup *c);
/* Removes the groups and closes the files; c is as new. */
void cgroup_drop(struct cgroup *c);

#endif
