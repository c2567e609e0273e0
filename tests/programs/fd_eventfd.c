/* An event descriptor, open at exit. */
#include <sys/eventfd.h>
#include <unistd.h>

#include "trap.h"

int main(void)
{
	int fd = eventfd(0, EFD_CLOEXEC);

	if (fd < 0)
		return 2;
	if (!LEAKS)
		close(fd);
	return 0;
}
