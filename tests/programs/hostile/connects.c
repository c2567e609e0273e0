/*
 * connects WORD unix:PATH | abstract:NAME | tcp:ADDRESS:PORT | udp:ADDRESS:PORT |
 * fifo:PATH … escaped when the other side answers with WORD: only a listener of the
 * driver, outside, does; and when a FIFO takes a byte, which has a reader outside. IPv4
 * only, but for ADDRESS = ::1 (written as tcp6:PORT, udp6:PORT).
 */
#include "hostile.h"
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

union address {
	struct sockaddr any;
	struct sockaddr_un un;
	struct sockaddr_in in;
	struct sockaddr_in6 in6;
};

static socklen_t parse_unix(const char *text, int abstract, union address *ret)
{
	size_t len = strlen(text);

	ret->un.sun_family = AF_UNIX;
	if (len + 2 > sizeof(ret->un.sun_path))
		return 0;
	memcpy(ret->un.sun_path + abstract, text, len);
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len + 1);
}

static socklen_t parse_inet(const char *text, union address *ret)
{
	char host[64] = "";
	unsigned port;

	if (sscanf(text, "%63[^:]:%u", host, &port) != 2)
		return 0;
	ret->in.sin_family = AF_INET;
	ret->in.sin_port = htons((unsigned short)port);
	return inet_pton(AF_INET, host, &ret->in.sin_addr) == 1 ? sizeof(ret->in) : 0;
}

static socklen_t parse(const char *text, union address *ret, int *ret_type)
{
	const char *rest = strchr(text, ':');

	memset(ret, 0, sizeof(*ret));
	*ret_type = strncmp(text, "udp", 3) ? SOCK_STREAM : SOCK_DGRAM;
	if (!rest++)
		return 0;
	if (strncmp(text, "unix:", 5) == 0)
		return parse_unix(rest, 0, ret);
	if (strncmp(text, "abstract:", 9) == 0)
		return parse_unix(rest, 1, ret);
	if (text[3] != '6')
		return parse_inet(rest, ret);
	ret->in6.sin6_family = AF_INET6;
	ret->in6.sin6_port = htons((unsigned short)atoi(rest));
	ret->in6.sin6_addr = in6addr_loopback;
	return sizeof(ret->in6);
}

static int reach(const char *word, const char *text)
{
	struct timeval patience = {.tv_usec = 700000};
	union address address;
	char answer[256] = "";
	int type, fd;
	socklen_t len = parse(text, &address, &type);

	errno = EINVAL;
	if (len == 0)
		return -1;
	fd = socket(address.any.sa_family, type | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -1;
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	if (connect(fd, &address.any, len) || send(fd, "hello\n", 6, MSG_NOSIGNAL) < 0 ||
	    recv(fd, answer, sizeof(answer) - 1, 0) < 0)
		return -1;
	close(fd);
	errno = ENOMSG;
	return strstr(answer, word) ? 0 : -1;
}

static int write_fifo(const char *path)
{
	int fd = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return -1;
	n = write(fd, "x", 1);
	close(fd);
	return n == 1 ? 0 : -1;
}

int main(int argc, char **argv)
{
	for (int i = 2; i < argc; i++)
		report(argv[i], strncmp(argv[i], "fifo:", 5) ? reach(argv[1], argv[i])
							     : write_fifo(argv[i] + 5));
	return 0;
}
