/* reads WORD PATH…: escaped when a file holds WORD (any file, when WORD is empty).
 * Follows whatever links there are. */
#include "hostile.h"
#include <fcntl.h>

static int read_for(const char *word, const char *path)
{
	char text[4096];
	ssize_t n;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0)
		return -1;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (n < 0)
		return -1;
	text[n] = '\0';
	errno = ENOMSG;
	return strstr(text, word) ? 0 : -1;
}

int main(int argc, char **argv)
{
	for (int i = 2; i < argc; i++)
		report(argv[i], read_for(argv[1], argv[i]));
	return 0;
}
