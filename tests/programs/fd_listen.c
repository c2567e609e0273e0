/* A TCP socket that listens on a free port of the loopback, open at exit. */
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "trap.h"

int main(void)
{
	struct sockaddr_in address = {
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof(address)) ||
	    listen(fd, 1))
		return 2;
	if (!LEAKS)
		close(fd);
	return 0;
}
