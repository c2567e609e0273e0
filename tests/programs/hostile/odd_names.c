/* odd_names DIRECTORY: file names with newlines, escapes, invalid UTF-8, and the longest;
 * prints them, with a NUL and every other byte. */
#include "hostile.h"
#include <fcntl.h>

int main(int argc, char **argv)
{
	static const char *const names[] = {
		"new\nline",	"\x1b]0;title\x07",
		"\xff\xfe\x80", "quote\"\\",
		"-rf",		" ",
		"\r",		"$(touch hostile-touched)",
		"..\n..",	"\xed\xa0\x80" /* a surrogate */,
	};
	char path[4200], longest[256];

	if (argc < 2)
		return 2;
	memset(longest, 'n', 255);
	longest[255] = '\0';
	for (size_t i = 0; i <= sizeof(names) / sizeof(*names); i++) {
		const char *name =
			i < sizeof(names) / sizeof(*names) ? names[i] : longest;
		int fd;

		snprintf(path, sizeof(path), "%s/%s", argv[1], name);
		fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0);
		if (fd < 0)
			return 1;
		close(fd);
		puts(path);
	}
	for (int c = 0; c < 256; c++)
		putchar(c);
	puts("\nall made");
	return 0;
}
