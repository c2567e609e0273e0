/* Forking at a point: inside of the fault library. Nothing here changes errno. */
#ifndef SHIM_FAULT_FORK_H
#define SHIM_FAULT_FORK_H

#include "abi/fault.h"

#include <limits.h>
#include <stddef.h>

enum { FORK_PATH = PATH_MAX };

/* ---- fork.c ---- */

/* At the start of a process. path: of the map. */
void fault_fork_init(struct fault_map *map, const char *path);
/* enum fault_flags: what stands against a fork here and now; whole 0: as far as is
 * quickly said. */
uint32_t fault_unsafe(int whole);
/* 1: this is the child, which fails; 0: go on. */
int fault_fork(struct fault_trial *t);

/* ---- fds.c ---- */

/* What is open; 0 when f said so each time, else what it said first. */
uint32_t fault_each_fd(uint32_t (*f)(int fd, void *arg), void *arg);
/* The path that a link of /proc has, "" when there is none. */
void fault_read_link(long dir, const char *link, char *to, size_t size);
/* "PREFIX" and a number. */
void fault_number(char *to, const char *prefix, uint64_t value);
/* enum fault_flags; outputs are the two files that may be written. */
struct fault_outputs {
	uint64_t dev[2], ino[2];
};
uint32_t fault_unsafe_fds(const struct fault_outputs *outputs);
/* In the child: descriptors of its own, at the same offsets; out[] in place of the
 * outputs. 0, or -1. */
int fault_private_fds(const struct fault_outputs *outputs, const int out[2]);
/* Descriptors above 2, and a sum of hashes of what they lead to. */
uint32_t fault_held(uint64_t *ret_names);

/* ---- scratch.c ---- */

/* Entries below the directory. UINT32_MAX: more than can be copied, or of a kind that
 * cannot. */
uint32_t fault_scratch_count(const char *dir);
/* The process goes on with a copy in place of dir, which is kept. 0, or -1: nothing has
 * changed. */
int fault_scratch_swap(const char *dir);
void fault_scratch_restore(const char *dir);
/* Of what is not swapped: all that is in it goes. */
void fault_scratch_clear(const char *dir);

/* ---- confine.c ---- */

/* In the child, for good: what it may change is in scratch; what it should not ends it
 * (TRIAL_LEFT). Its exit is noted in t. 0, or -1. */
int fault_confine(struct fault_trial *t, const char *scratch);

#endif
