/* Programs under test, and what debuggers are told in them, through libelf and libdw. */
#include "detect/symbolize.h"

#include "base/fs.h"
#include "base/mem.h"

#include <string.h>
#include <sys/mman.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void look_up(struct symbols *s, const char *path, uint64_t address)
{
	const struct symbol_place *p;
	size_t n = symbols_find(s, path, address, &p);

	for (size_t i = 0; i < n; i++)
		if (!p[i].function || (p[i].file && !*p[i].file && p[i].line > 1u << 31))
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP_FD int fd = memfd_create("program", MFD_CLOEXEC);
	CLEANUP_FREE char *path = xasprintf("/proc/self/fd/%d", fd);
	struct symbols *s = symbols_new("/", NULL);

	if (fd < 0 || write_all(fd, data, size) < 0)
		abort();
	/* The text of the seeds is there. */
	for (uint64_t address = 0x1000; address < 0x1100; address += 7)
		look_up(s, path, address);
	for (uint64_t address = 0x401000; address < 0x401100; address += 7)
		look_up(s, path, address);
	symbols_defines(s, path, "__lsan_default_suppressions");
	symbols_free(s);
	return 0;
}
