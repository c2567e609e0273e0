/*
 * bwrap reads options from --args FD: the sandboxed child must not inherit that fd.
 * Run with no argument it becomes bwrap; with one it is the child.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

static const char options[] = "--unshare-user\0--unshare-pid\0--ro-bind\0/\0/";

int main(int argc, char **argv)
{
	char number[16];
	int fd;

	if (argc > 1)
		return 0;

	fd = memfd_create("bwrap-args", 0);
	if (fd < 0 || write(fd, options, sizeof(options)) != (ssize_t)sizeof(options) ||
	    lseek(fd, 0, SEEK_SET) != 0) {
		perror("bwrap-args");
		return 1;
	}
	snprintf(number, sizeof(number), "%d", fd);
	execl("corpus/bwrap", "bwrap", "--args", number, argv[0], "child", (char *)NULL);
	perror("corpus/bwrap");
	return 1;
}
