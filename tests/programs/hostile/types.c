/*
 * Types a command into the terminal it was started from (TIOCSTI), takes the terminal as
 * its own, and pastes into a virtual console (TIOCLINUX). Then the same on a terminal of
 * its own, where only a filter forbids it: the kernel reads 32 bits of the request, and a
 * filter that compares 64 lets the second try pass.
 */
#include "hostile.h"
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <termios.h>

static int type_into(int fd)
{
	for (const char *c = "echo typed\n"; *c; c++)
		if (ioctl(fd, TIOCSTI, c))
			return -1;
	return 0;
}

static void with_own_terminal(void)
{
	int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC), slave;

	setsid();
	if (master < 0 || grantpt(master) || unlockpt(master) ||
	    (slave = open(ptsname(master), O_RDWR | O_CLOEXEC)) < 0 ||
	    (tcgetsid(slave) != getpid() && ioctl(slave, TIOCSCTTY, 0))) {
		report("own terminal", 1);
		return;
	}
	report("TIOCSTI own terminal", ioctl(slave, TIOCSTI, "x"));
	report("TIOCSTI own terminal, high bits",
	       syscall(SYS_ioctl, slave, TIOCSTI | 1UL << 32, "x") != 0);
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
	if (fork() == 0) {
		with_own_terminal();
		_exit(0);
	}
	wait(NULL);
	return 0;
}
