/* hog MIB: touches that much memory. */
#include "hostile.h"

int main(int argc, char **argv)
{
	int wanted = argc > 1 ? atoi(argv[1]) : 1, have = 0;
	char *block = NULL;

	for (; have < wanted; have++) {
		block = malloc(1 << 20);
		if (!block)
			break;
		memset(block, have + 1, 1 << 20);
		__asm__ volatile("" : "+r"(block) : : "memory");
	}
	report("memory", have < wanted);
	return have < wanted;
}
