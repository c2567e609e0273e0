/*
 * One hierarchy for each controller, or for some together. A group of any of them may
 * hold processes and groups, so ours lie below our own. CPU time is counted by cpuacct
 * or, without it, by a group in a v2 hierarchy that has no controllers ("hybrid").
 */
#include "sandbox/cgroup_group.h"

#include "base/macros.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool mount_has(const struct cgroup_mount *m, const char *controller)
{
	return controller ? !m->v2 && cgroup_has_word(m->options, controller) : m->v2;
}

/* Makes a group in the hierarchy of a controller, or of v2 when that is NULL. Returns
 * its index, or -1, with a clause in why when the controller is mounted. */
static int make_in(struct cgroup *c, const struct cgroup_world *w, const char *controller,
		   struct buf *why)
{
	CLEANUP_FREE char *own = cgroup_own_path(buf_str(&w->own), controller);
	CLEANUP(buf) struct buf reason = {0};

	for (size_t i = 0; i < w->mounts.n && !c->fatal; i++) {
		const struct cgroup_mount *m = &w->mounts.v[i];
		CLEANUP_FREE char *parent = own ? cgroup_seen_at(m, own) : NULL;
		int dir;

		if (!mount_has(m, controller))
			continue;
		if (!parent)
			parent = strdup(m->at);
		buf_clear(&reason);
		if (m->read_only) {
			buf_addf(&reason, "%s is read-only", m->at);
			continue;
		}
		dir = cgroup_make(c, parent, m->v2);
		if (dir >= 0)
			return dir;
		buf_addf(&reason, "no group can be made in %s: %s", parent,
			 strerror(errno));
	}
	buf_adds(why, buf_str(&reason));
	return -1;
}

static int open_memory(struct cgroup *c, int dir)
{
	char events[256];
	uint64_t n;

	if (cgroup_keep(c, CGROUP_MEMORY_MAX, dir, "memory.limit_in_bytes", O_WRONLY) <
		    0 ||
	    cgroup_keep(c, CGROUP_MEMORY_NOW, dir, "memory.usage_in_bytes", O_RDONLY) <
		    0 ||
	    cgroup_keep(c, CGROUP_MEMORY_PEAK, dir, "memory.max_usage_in_bytes", O_RDWR) <
		    0 ||
	    cgroup_keep(c, CGROUP_MEMORY_EVENTS, dir, "memory.oom_control", O_RDONLY) < 0)
		return -1;
	cgroup_read(c->dirs[dir].path, "memory.oom_control", events, sizeof(events));
	if (cgroup_parse_key(events, "oom_kill", &n) < 0) { /* before 4.13 */
		errno = ENOSYS;
		return -1;
	}
	/* Without swap accounting the second best: never swap. */
	if (cgroup_keep(c, CGROUP_MEMSW_MAX, dir, "memory.memsw.limit_in_bytes",
			O_WRONLY) < 0)
		cgroup_write(c->dirs[dir].path, "memory.swappiness", "0");
	return 0;
}

static void open_cpu(struct cgroup *c, const struct cgroup_world *w)
{
	CLEANUP(buf) struct buf unused = {0};
	int dir = make_in(c, w, "cpuacct", &unused);

	if (dir >= 0) {
		cgroup_keep(c, CGROUP_CPU, dir, "cpuacct.usage", O_RDONLY);
	} else {
		dir = make_in(c, w, NULL, &unused);
		if (dir >= 0)
			cgroup_keep(c, CGROUP_CPU, dir, "cpu.stat", O_RDONLY);
	}
}

static int open_v1(struct cgroup *c, const struct cgroup_world *w, struct buf *why)
{
	int memory = make_in(c, w, "memory", why);
	int pids = memory < 0 ? -1 : make_in(c, w, "pids", why);

	if (memory >= 0 && pids < 0 && !why->len)
		buf_adds(why, "its pids controller is not mounted");
	if (memory < 0 || pids < 0)
		goto failed;
	if (open_memory(c, memory) < 0 ||
	    cgroup_keep(c, CGROUP_PIDS_MAX, pids, "pids.max", O_WRONLY) < 0 ||
	    cgroup_keep(c, CGROUP_PIDS_EVENTS, pids, "pids.events", O_RDONLY) < 0) {
		buf_addf(why, "a group lacks a file: %s", strerror(errno));
		goto failed;
	}
	open_cpu(c, w);
	return 0;
failed:
	cgroup_drop(c);
	return -1;
}

/* The limit of both may not be below that of memory: it is lifted first. */
static int set_memory(struct cgroup *c, uint64_t cap)
{
	int memory = c->files[CGROUP_MEMORY_MAX], both = c->files[CGROUP_MEMSW_MAX];

	if (both >= 0 && cgroup_write_limit(both, CGROUP_NO_LIMIT, "-1") < 0)
		return -1;
	if (cgroup_write_limit(memory, cap, "-1") < 0)
		return -1;
	return both < 0 ? 0 : cgroup_write_limit(both, cap, "-1");
}

const struct cgroup_version cgroup_v1 = {
	.tier = TIER_CGROUP_1,
	.name = "cgroup v1",
	.open = open_v1,
	.set_memory = set_memory,
	.peak_reset = "0",
};
