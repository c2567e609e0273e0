/*
 * makes_setuid PATH…: makes a setuid program of itself at each PATH: on the machine,
 * where the file stays, another user would start it with the rights of this one.
 */
#include "hostile.h"
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#ifndef SYS_fchmodat2
#define SYS_fchmodat2 452
#endif

static int is_setuid(const char *path, int failed)
{
	struct stat st;

	if (failed || stat(path, &st))
		return -1;
	errno = EPERM;
	return st.st_mode & S_ISUID ? 0 : -1;
}

int main(int argc, char **argv)
{
	const char *path = argc > 1 ? argv[1] : "setuid-made";
	int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0755);

	if (fd < 0 || write(fd, "#!/bin/id\n", 10) != 10)
		return 2;
	report("chmod", is_setuid(path, chmod(path, 04755)));
	fchmod(fd, 0755);
	report("fchmod", is_setuid(path, fchmod(fd, 04755)));
	fchmod(fd, 0755);
	report("fchmodat", is_setuid(path, fchmodat(AT_FDCWD, path, 04755, 0)));
	fchmod(fd, 0755);
	report("fchmodat2",
	       is_setuid(path, (int)syscall(SYS_fchmodat2, AT_FDCWD, path, 04755, 0)));
	fchmod(fd, 0755);
	report("chmod, high bits",
	       is_setuid(path, (int)syscall(SYS_fchmod, fd, 04755L | 1L << 32)));
	fchmod(fd, 0755);
	close(fd);
	return 0;
}
