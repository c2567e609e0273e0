#include "ledger/procfs.h"

#include "base/macros.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
	TCP_LISTEN_STATE = 10, /* include/net/tcp_states.h: TCP_LISTEN */
	UNIX_CONNECTED = 3,    /* include/uapi/linux/net.h: SS_CONNECTED */
	UNIX_ACCEPTS = 0x10000 /* __SO_ACCEPTCON of the same header */
};
#define SYSV_DEST 01000 /* include/linux/shm.h: SHM_DEST */
#define LINE_MAX_LEN 512
/* "sh -e -u script": options come before it. */
#define SCRIPT_ARGUMENTS 4

static const char *const net_names[NET_FILES] = {
	[NET_TCP] = "tcp",   [NET_TCP6] = "tcp6", [NET_UDP] = "udp",
	[NET_UDP6] = "udp6", [NET_UNIX] = "unix",
};

const char *net_file_name(enum net_file f)
{
	return net_names[f];
}

int net_file_of(const char *protocol)
{
	static const struct {
		const char *protocol;
		enum net_file file;
	} table[] = {
		{"TCP", NET_TCP},	  {"TCPv6", NET_TCP6},
		{"MPTCP", NET_TCP},	  {"MPTCPv6", NET_TCP6},
		{"UDP", NET_UDP},	  {"UDPv6", NET_UDP6},
		{"UNIX", NET_UNIX},	  {"UNIX-STREAM", NET_UNIX},
		{"UNIX-DGRAM", NET_UNIX},
	};

	for (size_t i = 0; i < ARRAY_SIZE(table); i++)
		if (!strcmp(table[i].protocol, protocol))
			return (int)table[i].file;
	return -1;
}

static const char *line_end(const char *s, const char *end)
{
	const char *newline = memchr(s, '\n', (size_t)(end - s));

	return newline ? newline : end;
}

bool procfs_socket_inode(const char *target, uint64_t *ret_inode)
{
	uint64_t inode;
	int used = 0;

	if (sscanf(target, "socket:[%20" SCNu64 "]%n", &inode, &used) != 1 || !used ||
	    target[used])
		return false;
	*ret_inode = inode;
	return true;
}

unsigned procfs_fdinfo_locks(const char *text, size_t len)
{
	const char *end = text + len;
	unsigned n = 0;

	for (const char *s = text; s < end; s = line_end(s, end) + 1)
		n += end - s > 5 && !memcmp(s, "lock:", 5);
	return n;
}

/* Copies a line, NUL-terminated, cut to the size of ret: for sscanf(). */
static void copy_line(const char *s, const char *end, char *ret, size_t size)
{
	size_t n = (size_t)(line_end(s, end) - s);

	if (n >= size)
		n = size - 1;
	memcpy(ret, s, n);
	ret[n] = '\0';
}

unsigned procfs_fdinfo_flags(const char *text, size_t len)
{
	const char *end = text + len;
	char line[32];
	unsigned flags;

	for (const char *s = text; s < end; s = line_end(s, end) + 1) {
		copy_line(s, end, line, sizeof(line));
		if (sscanf(line, "flags: %10o", &flags) == 1)
			return flags;
	}
	return 0;
}

bool procfs_cmdline_names(const char *text, size_t len, const char *name)
{
	const char *end = text + len;
	size_t want = strlen(name);
	int argument = 0;

	for (const char *s = text; s < end && argument <= SCRIPT_ARGUMENTS; argument++) {
		const char *stop = memchr(s, '\0', (size_t)(end - s)), *base;

		if (!stop)
			stop = end;
		base = memrchr(s, '/', (size_t)(stop - s));
		base = base ? base + 1 : s;
		if (argument && want == (size_t)(stop - base) &&
		    !memcmp(base, name, want))
			return true;
		s = stop + 1;
	}
	return false;
}

long procfs_syscall(const char *text, size_t len)
{
	char line[32];
	long n;

	copy_line(text, text + len, line, sizeof(line));
	return sscanf(line, "%9ld ", &n) == 1 && n >= 0 ? n : -1;
}

struct endpoint {
	char address[INET6_ADDRSTRLEN];
	unsigned port;
	bool v6;
};

/* "0100007F:1F90": the address as 32-bit words in the machine's order. */
static bool parse_endpoint(const char *text, bool v6, struct endpoint *ret)
{
	uint32_t words[4] = {0};
	int n = v6 ? 4 : 1, used = 0;

	for (int i = 0; i < n; i++, text += 8)
		if (sscanf(text, "%8" SCNx32 "%n", &words[i], &used) != 1 || used != 8)
			return false;
	if (sscanf(text, ":%4x", &ret->port) != 1)
		return false;
	ret->v6 = v6;
	/* An IPv4 peer of an IPv6 socket, ::ffff:127.0.0.1, is written as IPv4. */
	if (v6 && !words[0] && !words[1] && words[2] == htonl(0xffff)) {
		words[0] = words[3];
		ret->v6 = false;
	}
	return inet_ntop(ret->v6 ? AF_INET6 : AF_INET, words, ret->address,
			 sizeof(ret->address)) != NULL;
}

static void add_endpoint(struct buf *out, const struct endpoint *e)
{
	buf_addf(out, e->v6 ? "[%s]:%u" : "%s:%u", e->address, e->port);
}

/* The peer of a remote host: names that resolve to many addresses differ by the run. */
static void add_peer(struct buf *out, const struct endpoint *e)
{
	if (!strncmp(e->address, "127.", 4) || !strcmp(e->address, "::1"))
		add_endpoint(out, e);
	else
		buf_addf(out, "*:%u", e->port);
}

static bool inet_socket(enum net_file f, const char *line, uint64_t inode,
			struct buf *out)
{
	bool v6 = f == NET_TCP6 || f == NET_UDP6, tcp = f == NET_TCP || f == NET_TCP6;
	char local_text[64], peer_text[64];
	struct endpoint local, peer;
	uint64_t found;
	unsigned state;

	if (sscanf(line, " %*[0-9]: %63s %63s %2x %*s %*s %*s %*s %*s %20" SCNu64,
		   local_text, peer_text, &state, &found) != 4 ||
	    found != inode || !parse_endpoint(local_text, v6, &local) ||
	    !parse_endpoint(peer_text, v6, &peer))
		return false;
	buf_addf(out, "%s ", net_names[f]);
	if (tcp && state == TCP_LISTEN_STATE) {
		buf_adds(out, "listening on ");
		add_endpoint(out, &local);
	} else if (peer.port) {
		add_endpoint(out, &local);
		buf_adds(out, " connected to ");
		add_peer(out, &peer);
	} else {
		buf_adds(out, "bound to ");
		add_endpoint(out, &local);
	}
	return true;
}

static bool unix_socket(const char *line, uint64_t inode, struct buf *out)
{
	unsigned flags, state;
	uint64_t found;
	int path = 0;

	/* Num: RefCount Protocol Flags Type St Inode Path */
	if (sscanf(line, "%*[0-9a-fA-F]: %*x %*x %8x %*x %2x %20" SCNu64 "%n", &flags,
		   &state, &found, &path) != 3 ||
	    found != inode)
		return false;
	while (line[path] == ' ')
		path++;
	buf_adds(out, flags & UNIX_ACCEPTS	? "unix listening"
		      : state == UNIX_CONNECTED ? "unix connected"
						: "unix");
	if (line[path])
		buf_addf(out, " on %s", line + path);
	return true;
}

bool procfs_socket(enum net_file f, const char *text, size_t len, uint64_t inode,
		   struct buf *out)
{
	const char *end = text + len;
	char line[LINE_MAX_LEN], number[24];
	int n = snprintf(number, sizeof(number), " %" PRIu64, inode);

	for (const char *s = text; s < end; s = line_end(s, end) + 1) {
		/* Parsing is for the line that has the number; there are thousands. */
		if (!memmem(s, (size_t)(line_end(s, end) - s), number, (size_t)n))
			continue;
		copy_line(s, end, line, sizeof(line));
		if (f == NET_UNIX ? unix_socket(line, inode, out)
				  : inet_socket(f, line, inode, out))
			return true;
	}
	return false;
}

bool procfs_sysv_line(const char *line, size_t len, struct sysv_segment *ret)
{
	char text[LINE_MAX_LEN];
	struct sysv_segment s;
	unsigned perms;
	int creator;

	/* key shmid perms size cpid lpid nattch uid gid cuid cgid … */
	copy_line(line, line + len, text, sizeof(text));
	if (sscanf(text, " %*d %9d %6o %20" SCNu64 " %9d", &s.id, &perms, &s.size,
		   &creator) != 4)
		return false;
	s.creator = creator;
	s.removed = (perms & SYSV_DEST) != 0;
	*ret = s;
	return true;
}
