/*
 * The file that a run with mutants maps: exitpath says which are wanted, the program's
 * code which were reached, and the preloaded library how each fork ended. Behind the
 * head: a byte for each mutant that is wanted, one for each that was reached, and an
 * int32_t for how it ended.
 */
#ifndef EXITPATH_ABI_MUTANTS_H
#define EXITPATH_ABI_MUTANTS_H

#include <stdint.h>

#define MUTANTS_ENV "EXITPATH_MUTANTS" /* path of the file, for the library */
#define MUTANTS_NAME "mutants.map"

enum mutants_mode {
	MUTANTS_OFF,
	MUTANTS_RECORD, /* note which are reached */
	MUTANTS_ONE,	/* the mutant `one` is in force */
	MUTANTS_FORK,	/* each is tried in a fork, where it is first reached */
};

enum mutants_end { /* a wait status ≥ 0, or: */
		   MUTANTS_NOT_TRIED = -1,
		   MUTANTS_LATE = -2,
		   MUTANTS_UNSAFE = -3, /* to be tried in a run of its own */
};

struct mutants_map {
	uint32_t n, mode, one;
	uint32_t jobs;	   /* forks at a time */
	uint32_t limit_ms; /* of each */
	int32_t root;	   /* the process that the run has started; 0: none yet */
};

static inline uint8_t *mutants_wanted(struct mutants_map *m)
{
	return (uint8_t *)(m + 1);
}
static inline uint8_t *mutants_reached(struct mutants_map *m)
{
	return (uint8_t *)(m + 1) + m->n;
}
static inline uint32_t mutants_ends_at(uint32_t n)
{
	return (uint32_t)((sizeof(struct mutants_map) + 2u * n + 3u) & ~3u);
}
static inline int32_t *mutants_ends(struct mutants_map *m)
{
	return (int32_t *)(void *)((uint8_t *)m + mutants_ends_at(m->n));
}
static inline uint32_t mutants_size(uint32_t n)
{
	return mutants_ends_at(n) + 4 * n;
}

#endif
