/* What the traps share: LEAKS, and a leak from leak_here() in work() that always shows.
 */
#ifndef TRAP_H
#define TRAP_H

#include <stdlib.h>

/* 0 in the base build, 1 in the candidate build. */
enum {
#ifdef LEAK
	LEAKS = 1,
#else
	LEAKS = 0,
#endif
};

/* Hides a pointer from the optimiser, which may remove an allocation that is not used. */
#define OPAQUE(pointer) __asm__ volatile("" : "+r"(pointer) : : "memory")
#define TRAP __attribute__((noinline, unused)) static

TRAP void leak_here(void)
{
	char *block = malloc(77);

	OPAQUE(block);
	if (!LEAKS)
		free(block);
}

/* The gap puts the frames of the allocation where scrub() surely overwrites them. */
TRAP void work(void)
{
	volatile char gap[1024];

	gap[0] = 0;
	leak_here();
	gap[sizeof(gap) - 1] = 0;
}

/* A stale pointer in a dead frame would make the leak reachable. */
TRAP void scrub(void)
{
	volatile char dead[16384];

	for (size_t i = 0; i < sizeof(dead); i++)
		dead[i] = 0;
}

#endif
