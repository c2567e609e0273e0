/* Stacks through libgcc's unwinder, and the objects that hold their addresses. */
#include "fault.h"

#include <link.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <unwind.h>

/* NOLINTBEGIN(bugprone-reserved-identifier): the linker's. */
extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char _end[] __attribute__((visibility("hidden")));
/* NOLINTEND(bugprone-reserved-identifier) */

struct walk {
	uintptr_t *to;
	uint32_t n, max;
};

static _Unwind_Reason_Code step(struct _Unwind_Context *context, void *arg)
{
	struct walk *w = arg;
	int before = 0;
	uintptr_t at = _Unwind_GetIPInfo(context, &before);

	if (!at)
		return _URC_END_OF_STACK;
	if (at >= (uintptr_t)__ehdr_start && at < (uintptr_t)_end)
		return _URC_NO_REASON;
	w->to[w->n++] = before ? at : at - 1;
	return w->n == w->max ? _URC_END_OF_STACK : _URC_NO_REASON;
}

uint32_t fault_unwind(uintptr_t *ret, uint32_t max)
{
	struct walk w = {.to = ret, .max = max};

	_Unwind_Backtrace(step, &w);
	return w.n;
}

struct search {
	uintptr_t address;
	char *path;
	uint64_t offset;
};

/* The tail says more than the head. */
static void keep_tail(char *to, const char *path)
{
	size_t n = strlen(path);
	const char *from = n < FAULT_PATH ? path : path + n - (FAULT_PATH - 1);

	memcpy(to, from, strlen(from) + 1);
}

static int look(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct search *s = arg;
	uintptr_t offset = s->address - info->dlpi_addr;
	int inside = 0;
	char exe[4096];
	long n;

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
		keep_tail(s->path, info->dlpi_name);
		return 1;
	}
	n = syscall(SYS_readlinkat, -100 /* AT_FDCWD */, "/proc/self/exe", exe,
		    sizeof(exe) - 1);
	exe[n > 0 ? n : 0] = '\0';
	keep_tail(s->path, exe);
	return 1;
}

int fault_module_of(uintptr_t address, char *ret_path, uint64_t *ret_offset)
{
	struct search s = {.address = address, .path = ret_path};

	if (!dl_iterate_phdr(look, &s))
		return 0;
	*ret_offset = s.offset;
	return 1;
}
