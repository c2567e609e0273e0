/* Socket families that no network namespace holds back, or that a program needs not:
 * AF_VSOCK talks to the hypervisor, AF_ALG, AF_NETLINK, AF_PACKET to the kernel. */
#include "hostile.h"
#include <sys/socket.h>
#include <sys/syscall.h>

int main(void)
{
	static const struct {
		const char *name;
		int family, type;
	} table[] = {
		{"vsock", AF_VSOCK, SOCK_STREAM},      {"alg", AF_ALG, SOCK_SEQPACKET},
		{"packet", AF_PACKET, SOCK_RAW},       {"raw", AF_INET, SOCK_RAW},
		{"bluetooth", AF_BLUETOOTH, SOCK_RAW}, {"key", AF_KEY, SOCK_RAW},
		{"tipc", AF_TIPC, SOCK_RDM},	       {"xdp", AF_XDP, SOCK_RAW},
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		int fd = socket(table[i].family, table[i].type,
				table[i].family == AF_INET ? 255 : 0);

		report(table[i].name, fd < 0);
		if (fd >= 0)
			close(fd);
	}
	/* The kernel reads 32 bits of the family. */
	report("vsock, high bits",
	       syscall(SYS_socket, AF_VSOCK | 1L << 32, SOCK_STREAM, 0) < 0);
	return 0;
}
