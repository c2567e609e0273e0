/*
 * One hierarchy. A group with a memory cap needs a parent whose cgroup.subtree_control
 * names the controllers, and such a parent may hold no processes itself unless it is the
 * root of the machine (admin-guide/cgroup-v2.rst, "No Internal Process Constraint").
 * Hence the way up from our own group: below it, where nobody stands in it; beside it,
 * where the parent was delegated to our user (systemd's app.slice); or higher. The caps
 * of our own group do not hold there, those of the parent do.
 */
#include "sandbox/cgroup_group.h"

#include "base/fs.h"
#include "base/macros.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LIST_MAX 1024 /* controllers, subtree_control: a dozen words */

static const char *const needed[] = {"memory", "pids"};

/* The first reason is the one to tell: later ones are of groups further away. */
static void PRINTF(2, 3) because(struct buf *why, const char *fmt, ...)
{
	va_list ap;
	char text[512];

	if (why->len)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	buf_adds(why, text);
}

/* 0, or -1: groups below dir cannot have the controllers. */
static int enable_controllers(const char *dir, struct buf *why)
{
	char have[LIST_MAX], given[LIST_MAX];

	cgroup_read(dir, "cgroup.controllers", have, sizeof(have));
	cgroup_read(dir, "cgroup.subtree_control", given, sizeof(given));
	for (size_t i = 0; i < ARRAY_SIZE(needed); i++) {
		char add[32];

		if (cgroup_has_word(given, needed[i]))
			continue;
		if (!cgroup_has_word(have, needed[i])) {
			because(why, "%s is given no %s controller", dir, needed[i]);
			return -1;
		}
		snprintf(add, sizeof(add), "+%s", needed[i]);
		if (!cgroup_write(dir, "cgroup.subtree_control", add))
			continue;
		if (errno == EBUSY)
			because(why,
				"processes stand in %s, so that no group below it can "
				"have a cap: move all of them into a group below it",
				dir);
		else
			because(why, "%s/cgroup.subtree_control cannot be written: %s",
				dir, strerror(errno));
		return -1;
	}
	return 0;
}

static int open_files(struct cgroup *c, int dir)
{
	const char *path = c->dirs[dir].path;

	if (cgroup_keep(c, CGROUP_MEMORY_MAX, dir, "memory.max", O_WRONLY) < 0 ||
	    cgroup_keep(c, CGROUP_MEMORY_NOW, dir, "memory.current", O_RDONLY) < 0 ||
	    cgroup_keep(c, CGROUP_MEMORY_EVENTS, dir, "memory.events", O_RDONLY) < 0 ||
	    cgroup_keep(c, CGROUP_PIDS_MAX, dir, "pids.max", O_WRONLY) < 0 ||
	    cgroup_keep(c, CGROUP_PIDS_EVENTS, dir, "pids.events", O_RDONLY) < 0 ||
	    cgroup_keep(c, CGROUP_CPU, dir, "cpu.stat", O_RDONLY) < 0)
		return -1;
	/* Since 5.19; since 6.12 it can be reset, and only for the descriptor. */
	if (cgroup_keep(c, CGROUP_MEMORY_PEAK, dir, "memory.peak", O_RDWR) < 0)
		cgroup_keep(c, CGROUP_MEMORY_PEAK, dir, "memory.peak", O_RDONLY);
	/* Not there without swap in the kernel. */
	if (cgroup_write(path, "memory.swap.max", "0") < 0 && errno != ENOENT)
		return -1;
	return cgroup_write(path, "memory.oom.group", "1");
}

/* Who moves a process must be allowed to write to the nearest group that is above both
 * where it was and where it goes ("Delegation Containment"). */
static int may_attach(const char *ancestor)
{
	CLEANUP_FREE char *path = path_join(ancestor, "cgroup.procs");

	return faccessat(AT_FDCWD, path, W_OK, AT_EACCESS);
}

/* known: parent is our own group or one above it. */
static int open_below(struct cgroup *c, const char *parent, bool known, struct buf *why)
{
	int dir;

	if (enable_controllers(parent, why) < 0)
		return -1;
	dir = cgroup_make(c, parent, true);
	if (dir < 0)
		because(why, "no group can be made in %s: %s", parent, strerror(errno));
	else if (open_files(c, dir) < 0)
		because(why, "a group below %s lacks a file: %s", parent,
			strerror(errno));
	else if (known ? may_attach(parent) < 0 : cgroup_try_attach(c) < 0)
		because(why, "no process may be moved below %s: %s", parent,
			strerror(errno));
	else
		return 0;
	cgroup_drop(c);
	return -1;
}

static int open_mount(struct cgroup *c, const struct cgroup_mount *m, const char *own,
		      struct buf *why)
{
	CLEANUP_FREE char *dir = own ? cgroup_seen_at(m, own) : NULL;
	size_t top = strlen(m->at);
	bool known = dir != NULL;

	if (m->read_only) {
		because(why, "%s is read-only (a container can be given it writable)",
			m->at);
		return -1;
	}
	if (!dir)
		dir = strdup(m->at);
	while (dir && !c->fatal) {
		if (!open_below(c, dir, known, why))
			return 0;
		if (strlen(dir) <= top || !strrchr(dir + 1, '/'))
			break;
		*strrchr(dir, '/') = '\0';
	}
	return -1;
}

/* A controller is in one hierarchy only. */
static bool in_v1(const struct cgroup_world *w, const char *controller)
{
	for (size_t i = 0; i < w->mounts.n; i++)
		if (!w->mounts.v[i].v2 &&
		    cgroup_has_word(w->mounts.v[i].options, controller))
			return true;
	return false;
}

static int open_v2(struct cgroup *c, const struct cgroup_world *w, struct buf *why)
{
	CLEANUP_FREE char *own = cgroup_own_path(buf_str(&w->own), NULL);

	for (size_t i = 0; i < ARRAY_SIZE(needed); i++)
		if (in_v1(w, needed[i]))
			because(why,
				"the %s controller is with cgroup v1 on this machine",
				needed[i]);
	if (why->len)
		return -1;
	for (size_t i = 0; i < w->mounts.n && !c->fatal; i++)
		if (w->mounts.v[i].v2 && !open_mount(c, &w->mounts.v[i], own, why))
			return 0;
	because(why, "it is not mounted");
	return -1;
}

/* The kernel kills for a cap below what is in use; we refuse, as v1 does. */
static int make_room(const struct cgroup *c, uint64_t cap)
{
	for (int tries = 0;; tries++) {
		char text[64];
		uint64_t now;

		cgroup_read(c->dirs[0].path, "memory.current", text, sizeof(text));
		if (cgroup_parse_number(text, &now) < 0 || now <= cap)
			return 0;
		if (tries) {
			errno = EBUSY;
			return -1;
		}
		snprintf(text, sizeof(text), "%llu", (unsigned long long)(now - cap));
		cgroup_write(c->dirs[0].path, "memory.reclaim", text); /* since 5.19 */
	}
}

static int set_memory(struct cgroup *c, uint64_t cap)
{
	if ((!c->memory_max || cap < c->memory_max) && make_room(c, cap) < 0)
		return -1;
	return cgroup_write_limit(c->files[CGROUP_MEMORY_MAX], cap, "max");
}

const struct cgroup_version cgroup_v2 = {
	.tier = TIER_CGROUP_2,
	.name = "cgroup v2",
	.open = open_v2,
	.set_memory = set_memory,
	.peak_reset = "reset",
};
