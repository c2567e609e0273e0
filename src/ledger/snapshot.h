/* Reads what one process holds from /proc/PID, while it stands still at its exit. */
#ifndef EXITPATH_LEDGER_SNAPSHOT_H
#define EXITPATH_LEDGER_SNAPSHOT_H

#include "model/resource.h"
#include "proc/tree.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum { SNAPSHOT_CAP = 4096 }; /* things of one process that are listed */

struct held {
	enum resource resource;
	int fd;	      /* -1: not a descriptor */
	char *target; /* of the link, a socket's description, a thread's name */
	char *from;   /* the process that it was inherited from over exec, or NULL */
};

struct snapshot {
	struct proc_stat stat; /* zeros until snapshot_identify() */
	char exe[64]; /* file name of the executable, comm where that is hidden */
	struct held *held;
	size_t nheld, held_cap;
	bool more;	 /* beyond SNAPSHOT_CAP */
	char hidden[64]; /* a part that could not be read, and why; "": none */
};

/*
 * Descriptors above 2, sockets, locks and other threads. What a forked child that runs
 * the program of its parent shares with the parent is the parent's, not the child's.
 * supervisor is the process that must not be taken for a parent. False: pid is gone.
 */
bool snapshot_take(struct snapshot *s, pid_t pid, pid_t supervisor);
/* Fills stat and exe where the snapshot had no need for them. False: pid is gone. */
bool snapshot_identify(struct snapshot *s, pid_t pid);
struct held *snapshot_add(struct snapshot *s, enum resource r, int fd,
			  const char *target);
/* The name that snapshots give to a process. */
void snapshot_name(pid_t pid, const char *comm, char *ret, size_t size);
void snapshot_release(struct snapshot *s);

static inline void snapshot_cleanup(struct snapshot *s)
{
	snapshot_release(s);
}

#endif
