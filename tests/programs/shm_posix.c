/* POSIX shared memory that is not unlinked; prints its name. */
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "trap.h"

int main(void)
{
	char name[64];
	int fd;

	snprintf(name, sizeof(name), "/trap-%d", getpid());
	fd = shm_open(name, O_RDWR | O_CREAT | O_EXCL, 0600);
	if (fd < 0 || ftruncate(fd, 4096))
		return 2;
	close(fd);
	if (LEAKS)
		puts(name);
	else
		shm_unlink(name);
	return 0;
}
