/*
 * What the kernel says about cgroups, as text: pure functions. Formats: proc(5)
 * mountinfo, cgroups(7), the kernel's admin-guide/cgroup-v2.rst and cgroup-v1/.
 */
#ifndef EXITPATH_SANDBOX_CGROUP_PARSE_H
#define EXITPATH_SANDBOX_CGROUP_PARSE_H

#include "base/macros.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define CGROUP_NO_LIMIT UINT64_MAX /* "max", "-1" */

struct cgroup_mount {
	char *at;      /* the mount point */
	char *root;    /* the group of the hierarchy that is seen there */
	char *options; /* of the file system; v1: its controllers are among them */
	bool v2, read_only;
};

struct cgroup_mounts {
	struct cgroup_mount *v;
	size_t n, cap;
};

/* text: /proc/self/mountinfo. Lines that are none are skipped. */
void cgroup_mounts_parse(const char *text, struct cgroup_mounts *ret);
void cgroup_mounts_release(struct cgroup_mounts *m);
DEFINE_CLEANUP(cgroup_mounts)

/* Is word in a list whose words are parted by commas, blanks or newlines? */
bool cgroup_has_word(const char *list, const char *word);

/* text: /proc/self/cgroup. Our group in the v1 hierarchy of a controller, or in v2 when
 * controller is NULL. The caller frees; NULL: not in it. */
char *cgroup_own_path(const char *text, const char *controller);

/* Where the group of that path is seen below the mount. The caller frees; NULL: the
 * mount shows another part of the hierarchy. */
char *cgroup_seen_at(const struct cgroup_mount *m, const char *path);

/* The number of a line "key number". 0, or -1 when there is no such line. */
int cgroup_parse_key(const char *text, const char *key, uint64_t *ret);
/* A file of one number, or "max". 0 or -1. */
int cgroup_parse_number(const char *text, uint64_t *ret);
/* Microseconds, of v2's cpu.stat or of v1's cpuacct.usage (nanoseconds). 0 or -1. */
int cgroup_parse_cpu(const char *text, uint64_t *ret_us);

/* Who made a group: its name is exitpath-NAMESPACE-PID-START-N. */
struct cgroup_owner {
	unsigned long long pid_namespace; /* inode: the pid means nothing elsewhere */
	pid_t pid;
	unsigned long long start; /* ticks after boot: tells a reused pid */
	unsigned n;		  /* of the groups that this process made */
};
#define CGROUP_NAME_MAX 96
void cgroup_name(const struct cgroup_owner *o, char ret_name[CGROUP_NAME_MAX]);
/* 0, or -1: a name that cgroup_name() does not give. */
int cgroup_name_parse(const char *name, struct cgroup_owner *ret);

/* text: /proc/PID/stat. State and start time; 0 or -1. */
int cgroup_parse_start(const char *text, char *ret_state, unsigned long long *ret_start);

#endif
