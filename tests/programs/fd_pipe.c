/* Both ends of a pipe, open at exit. */
#define _GNU_SOURCE 1
#include <fcntl.h>
#include <unistd.h>

#include "trap.h"

int main(void)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC))
		return 2;
	if (!LEAKS) {
		close(ends[0]);
		close(ends[1]);
	}
	return 0;
}
