/* A descriptor of a file, open at exit. */
#include <fcntl.h>
#include <unistd.h>

#include "trap.h"

int main(void)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return 2;
	if (!LEAKS)
		close(fd);
	return 0;
}
