/* A file of a fixed name in /tmp, made when it is not there: trap- and FIXED. */
#include <fcntl.h>
#include <unistd.h>

#include "trap.h"

#ifndef FIXED
#define FIXED fixed
#endif
#define QUOTE(word) #word
#define PATH(word) "/tmp/trap-" QUOTE(word)

int main(void)
{
	int fd = open(PATH(FIXED), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	if (fd < 0)
		return 2;
	close(fd);
	return !LEAKS && unlink(PATH(FIXED)) < 0;
}
