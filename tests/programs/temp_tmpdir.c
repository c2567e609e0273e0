/* A file left in $TMPDIR, which must be set; prints its name. */
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "trap.h"

int main(void)
{
	const char *dir = getenv("TMPDIR");
	char path[4096];
	int length = dir ? snprintf(path, sizeof(path), "%s/trap-%d", dir, getpid()) : -1;
	int fd;

	if (length < 0 || (size_t)length >= sizeof(path))
		return 2;
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return 2;
	close(fd);
	if (LEAKS)
		puts(path);
	else
		unlink(path);
	return 0;
}
