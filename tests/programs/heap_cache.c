/* The candidate keeps something for good in a global: no leak. */
#include "trap.h"

static char *cache;

__attribute__((noinline)) static void fill(void)
{
	if (LEAKS && !cache)
		cache = malloc(77);
}

int main(void)
{
	fill();
	fill();
	__asm__ volatile("" : "+m"(cache));
	return 0;
}
