/* floods [FD]: writes 1 GB to stdout (or FD). */
#include "hostile.h"

int main(int argc, char **argv)
{
	static char block[1 << 20];
	int fd = argc > 1 ? atoi(argv[1]) : 1, left = 1024;

	memset(block, 'x', sizeof(block));
	while (left > 0 && write(fd, block, sizeof(block)) > 0)
		left--;
	dprintf(2, left ? "contained: 1 GB of output\n" : "escaped: 1 GB of output\n");
	return left > 0;
}
