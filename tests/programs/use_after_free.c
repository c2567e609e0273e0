/* Reads a block after it was freed: an error that is no leak. */
#include "trap.h"

int main(void)
{
	char *block = malloc(33);
	char *stale = block;

	if (!block)
		return 2;
	block[0] = 0;
	OPAQUE(stale); /* else the compiler sees the error and warns */
	if (LEAKS)
		free(block);
	if (*(volatile char *)stale == 1)
		return 2;
	if (!LEAKS)
		free(block);
	return 0;
}
