/* fills DIRECTORY MIB: writes that much there, in files of 16 MiB, until it is refused.
 * Removes what it wrote, when it was not refused. */
#include "hostile.h"
#include <fcntl.h>

enum { MIB = 1 << 20, FILE_MIB = 16 };

static char block[MIB];

static int fill_file(const char *path)
{
	int fd = open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
	int written = 0;

	if (fd < 0)
		return -1;
	while (written < FILE_MIB && write(fd, block, MIB) == MIB)
		written++;
	fsync(fd);
	close(fd);
	return written == FILE_MIB ? 0 : -1;
}

int main(int argc, char **argv)
{
	int wanted = argc > 2 ? atoi(argv[2]) / FILE_MIB : 1, made = 0, failed = 0;
	char path[4096];

	if (argc < 2)
		return 2;
	memset(block, 'x', sizeof(block));
	for (; made < wanted && !failed; made++) {
		snprintf(path, sizeof(path), "%s/fill-%d", argv[1], made);
		failed = fill_file(path);
	}
	report(argv[1], failed);
	for (int i = 0; i < made && !failed; i++) {
		snprintf(path, sizeof(path), "%s/fill-%d", argv[1], i);
		unlink(path);
	}
	return failed;
}
