/* A file left in /tmp by mkostemp(); prints its name. */
#define _GNU_SOURCE 1
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "trap.h"

int main(void)
{
	char path[] = "/tmp/trap-XXXXXX";
	int fd = mkostemp(path, O_CLOEXEC);

	if (fd < 0)
		return 2;
	close(fd);
	if (LEAKS)
		puts(path);
	else
		unlink(path);
	return 0;
}
