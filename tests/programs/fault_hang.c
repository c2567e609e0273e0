/* A write that fails is repeated for ever. FIXED: not. */
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

int main(void)
{
	int fd = open("out.txt", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	if (fd < 0)
		return 1;
	if (write(fd, "x", 1) < 0) {
#ifndef FIXED
		for (;;)
			pause();
#endif
		perror("out.txt");
		return 1;
	}
	if (close(fd) < 0) {
		perror("out.txt");
		return 1;
	}
	return 0;
}
