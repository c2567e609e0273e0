/* Fills the buffers of socket pairs with 256 MiB: memory of the kernel, of no process. */
#include "hostile.h"
#include <sys/socket.h>

int main(void)
{
	static char block[65536];
	size_t left = (256 << 20) / sizeof(block);
	int fds[2];

	memset(block, 1, sizeof(block));
	while (left > 0 && socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds) == 0)
		while (left > 0 && send(fds[0], block, sizeof(block), MSG_NOSIGNAL) > 0)
			left--;
	report("256 MiB in sockets", left > 0);
	return 0;
}
