/* A flock() lock on this program, shared so that runs do not wait, held at exit. */
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include "trap.h"

int main(void)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	if (fd < 0 || flock(fd, LOCK_SH | LOCK_NB))
		return 2;
	if (!LEAKS) {
		flock(fd, LOCK_UN);
		close(fd);
	}
	return 0;
}
