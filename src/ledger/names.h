/*
 * What the processes of a run put into the directories that the whole machine shares.
 * Other programs write there too, and nothing in a directory says who made an entry: only
 * what a process of this run was seen to name is the run's.
 */
#ifndef EXITPATH_LEDGER_NAMES_H
#define EXITPATH_LEDGER_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum shared_dir { SHARED_TMP, SHARED_SHM, SHARED_DIRS };
const char *shared_dir_path(enum shared_dir d); /* "/tmp", "/dev/shm" */

struct shared_name {
	enum shared_dir dir;
	char *name;
	char process[64]; /* file name of the executable that made it */
	bool was_there;	  /* it existed when it was named: opened, not made */
	size_t seen;	  /* ordinal */
};

struct shared_names {
	struct shared_name *v;
	size_t n, cap;
	size_t tidy_at; /* entries that are gone are dropped then */
	size_t seen;
	char hidden[64]; /* a process whose names could not be read; "": none */
};

/* As run_watch.at_name. */
void shared_names_add(struct shared_names *s, pid_t tid, int dirfd, const char *path);
/* Sorts, keeps one element for each name, with was_there only when nobody made it anew.
 * Drops what does not exist, but for the latest. */
void shared_names_tidy(struct shared_names *s);
bool shared_name_exists(const struct shared_name *n);
void shared_names_release(struct shared_names *s);

#endif
