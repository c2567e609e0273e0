#include "object.h"

#include <link.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

struct search {
	uintptr_t address;
	char *path;
	size_t size;
	uint64_t offset;
};

/* The tail says more than the head. */
static void keep_tail(char *to, size_t size, const char *path)
{
	size_t n = strlen(path);
	const char *from = n < size ? path : path + n - (size - 1);

	memcpy(to, from, strlen(from) + 1);
}

/* Asked for once: a stack has many frames of the program. */
static const char *own_path(void)
{
	static char exe[4096];

	if (!*exe) {
		long n = syscall(SYS_readlinkat, -100 /* AT_FDCWD */, "/proc/self/exe",
				 exe, sizeof(exe) - 1);

		exe[n > 0 ? n : 0] = '\0';
	}
	return exe;
}

static int look(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct search *s = arg;
	uintptr_t offset = s->address - info->dlpi_addr;
	int inside = 0;

	(void)size;
	for (int i = 0; i < info->dlpi_phnum && !inside; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];

		inside = p->p_type == PT_LOAD && offset >= p->p_vaddr &&
			 offset - p->p_vaddr < p->p_memsz;
	}
	if (!inside)
		return 0;
	s->offset = offset;
	if (info->dlpi_name && *info->dlpi_name) {
		keep_tail(s->path, s->size, info->dlpi_name);
		return 1;
	}
	keep_tail(s->path, s->size, own_path());
	return 1;
}

int object_of(uintptr_t address, char *ret_path, size_t size, uint64_t *ret_offset)
{
	struct search s = {.address = address, .path = ret_path, .size = size};

	if (!dl_iterate_phdr(look, &s))
		return 0;
	*ret_offset = s.offset;
	return 1;
}
