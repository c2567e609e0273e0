/* Files of /proc: the first byte chooses which, the rest is its text. */
#include "ledger/procfs.h"

#include "base/mem.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void parse_link(const char *text, size_t len)
{
	CLEANUP_FREE char *target = xstrndup(text, len);
	uint64_t inode;

	procfs_socket_inode(target, &inode);
	if (net_file_of(target) >= NET_FILES)
		abort();
}

static void parse_net(enum net_file file, const char *text, size_t len)
{
	CLEANUP(buf) struct buf out = {0};

	if (procfs_socket(file, text, len, 4242, &out) != (out.len > 0))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data + 1;
	struct sysv_segment segment;

	if (!size)
		return 0;
	size--;
	switch (data[0]) {
	case 'l':
		parse_link(text, size);
		break;
	case 'i':
		procfs_fdinfo_locks(text, size);
		procfs_fdinfo_flags(text, size);
		break;
	case 'n':
		procfs_cmdline_names(text, size, "script");
		break;
	case 'c':
		procfs_syscall(text, size);
		break;
	case 'v':
		procfs_sysv_line(text, size, &segment);
		break;
	default:
		parse_net((enum net_file)(data[0] % NET_FILES), text, size);
	}
	return 0;
}
