/* A pair of connected Unix sockets, open at exit. */
#include <sys/socket.h>
#include <unistd.h>

#include "trap.h"

int main(void)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
		return 2;
	if (!LEAKS) {
		close(pair[0]);
		close(pair[1]);
	}
	return 0;
}
