/* Types a command into the terminal it was started from (TIOCSTI), takes the terminal as
 * its own, and pastes into a virtual console (TIOCLINUX). */
#include "hostile.h"
#include <fcntl.h>
#include <sys/ioctl.h>

static int type_into(int fd)
{
	for (const char *c = "echo typed\n"; *c; c++)
		if (ioctl(fd, TIOCSTI, c))
			return -1;
	return 0;
}

int main(void)
{
	int tty = open("/dev/tty", O_RDWR | O_CLOEXEC);
	char paste = 3;

	report("TIOCSTI stdin", type_into(0));
	report("TIOCSTI stdout", type_into(1));
	report("TIOCSTI stderr", type_into(2));
	report("/dev/tty", tty < 0);
	report("TIOCSTI /dev/tty", type_into(tty));
	report("TIOCLINUX", ioctl(tty, TIOCLINUX, &paste));
	return 0;
}
