/* A descriptor of anonymous memory, open at exit. */
#define _GNU_SOURCE 1
#include <sys/mman.h>
#include <unistd.h>

#include "trap.h"

int main(void)
{
	int fd = memfd_create("trap", MFD_CLOEXEC);

	if (fd < 0)
		return 2;
	if (!LEAKS)
		close(fd);
	return 0;
}
