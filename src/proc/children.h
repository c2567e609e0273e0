/*
 * The processes of exitpath that supervise runs. Each must see that exitpath dies, by
 * the EOF of a pipe that only exitpath may hold; and what is left below one that was
 * killed must be told apart from the others. Internal to proc.
 */
#ifndef EXITPATH_PROC_CHILDREN_H
#define EXITPATH_PROC_CHILDREN_H

#include <sys/types.h>

enum { CHILD_FDS = 6 };

struct child {
	pid_t pid;
	unsigned long long started; /* as proc_stat.start */
	int fds[CHILD_FDS];	    /* ours, not for its siblings; -1: none */
	struct child *next;
};

/* Makes orphans of our descendants come to us, not to init. Before the first fork. */
void children_adopt(void);
/* c lives until child_remove(); pid and fds are filled in. */
void child_add(struct child *c);
void child_remove(struct child *c);
/* In a forked child: closes the fds of all that were added. */
void children_close(void);
/* After the child was reaped and removed: kills and reaps what it left. */
void child_kill_orphans(const struct child *c);

#endif
