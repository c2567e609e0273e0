/* A test that fails: a message and exit status 1; nothing leaks. */
#include <stdio.h>

#include "trap.h"

int main(void)
{
	int sum = LEAKS ? 5 : 4;

	if (sum != 4) {
		fprintf(stderr, "assertion failed: sum is %d, expected 4\n", sum);
		return 1;
	}
	return 0;
}
