/*
 * Plants one leak in every process that loads it, so that a run in which LeakSanitizer
 * does not report exitpath_canary() proves nothing.
 */
#include <stdlib.h>

#define CANARY_SIZE 4242

__attribute__((noinline, visibility("default"))) void *exitpath_canary(void);

__attribute__((noinline)) void *exitpath_canary(void)
{
	return malloc(CANARY_SIZE);
}

/* Overwrites what is left of the pointer on the stack, else it would still be reachable.
 */
__attribute__((noinline)) static void clobber(void)
{
	volatile char stack[4096];

	for (size_t i = 0; i < sizeof(stack); i++)
		stack[i] = 0;
}

__attribute__((constructor)) static void plant(void)
{
	void *volatile leaked = exitpath_canary();

	leaked = NULL;
	(void)leaked;
	clobber();
}
