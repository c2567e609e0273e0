/* The header cannot be read: the test goes on, and the descriptor stays open. FIXED: not.
 */
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

static int read_header(char *to)
{
	int fd = open("/etc/passwd", O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return -1;
	if (read(fd, to, 4) != 4) {
#ifdef FIXED
		close(fd);
#endif
		return -1;
	}
	close(fd);
	return 0;
}

int main(void)
{
	char header[4];

	if (read_header(header) < 0)
		puts("no header, defaults are used");
	return 0;
}
