/* Walks /proc: who descends from whom. Works without /proc/PID/task/TID/children. */
#ifndef EXITPATH_PROC_TREE_H
#define EXITPATH_PROC_TREE_H

#include <stddef.h>
#include <sys/types.h>

struct proc_stat { /* /proc/PID/stat, proc(5) */
	pid_t pid, ppid;
	char comm[64];
	char state;	     /* R S D Z T X … */
	unsigned long flags; /* PF_EXITING 0x4 */
	long threads;
	unsigned long long cpu;	  /* ticks, its own and of children it waited for */
	unsigned long long start; /* ticks after boot: pid + start is unique */
};
#define PF_EXITING 0x4UL

/* text is the file's content; pure, for fuzzing. 0 or -1. */
int proc_stat_parse(const char *text, size_t len, struct proc_stat *ret);
int proc_stat_read(pid_t pid, struct proc_stat *ret);
/* Live or zombie descendants of pid, at most cap of them; returns how many there are. */
size_t proc_descendants(pid_t pid, pid_t *ret, size_t cap);
/* The same by /proc/PID/task/TID/children, which costs as much as there are descendants,
 * not as there are processes; one may be missed while its sibling exits. At most cap
 * are looked for. -1: the kernel has no such file (CONFIG_PROC_CHILDREN). */
ssize_t proc_descendants_quick(pid_t pid, pid_t *ret, size_t cap);
/* The quick way where there is one, else the other; never more than cap. */
size_t proc_descendants_some(pid_t pid, pid_t *ret, size_t cap);
/* SIGKILLs all descendants of pid until none is left but zombies; reaps those that are
 * children of the caller. Returns how many were killed. */
unsigned proc_kill_descendants(pid_t pid);

#endif
