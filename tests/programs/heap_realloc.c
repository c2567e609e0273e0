/* A block that realloc() moves several times, by other stacks, and that is lost. */
#include "trap.h"

TRAP void *first(void)
{
	return malloc(16);
}

TRAP void *grow(void *block, size_t to)
{
	void *wider = realloc(block, to);

	return wider ? wider : block;
}

TRAP void chain(void)
{
	void *block = first();

	for (size_t to = 32; to < 300000; to *= 3)
		block = grow(block, to);
	OPAQUE(block);
	if (!LEAKS)
		free(block);
}

TRAP void deep(void)
{
	volatile char gap[1024];

	gap[0] = 0;
	chain();
	gap[sizeof(gap) - 1] = 0;
}

int main(void)
{
	deep();
	scrub();
	return 0;
}
