/*
 * Stacks: at a glance, by what looks like return addresses near the frame; and whole,
 * through libgcc's unwinder, with the objects that hold their addresses.
 */
#include "fault.h"
#include "object.h"
#include "walk.h"

#include <link.h>

/* NOLINTBEGIN(bugprone-reserved-identifier): the linker's. */
extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char _end[] __attribute__((visibility("hidden")));
/* NOLINTEND(bugprone-reserved-identifier) */

uint32_t fault_unwind(uintptr_t *ret, uint32_t max)
{
	return walk_slowly(ret, max);
}

/* ---- at a glance ---- */

enum { RANGES = 256, GLANCE_WORDS = 96, PAGE = 4096 };

struct range {
	uintptr_t from, to;
};

static struct range ranges[RANGES]; /* executable segments, ascending */
static uint32_t nranges;
static unsigned long long loaded; /* objects so far, when they were listed */
static int listing;

extern void *__libc_stack_end; /* NOLINT(bugprone-reserved-identifier): the loader's */

static int list_object(struct dl_phdr_info *info, size_t size, void *arg)
{
	(void)size;
	if (info->dlpi_adds == loaded)
		return 1;
	*(unsigned long long *)arg = info->dlpi_adds;
	for (int i = 0; i < info->dlpi_phnum && nranges < RANGES; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uintptr_t from = info->dlpi_addr + p->p_vaddr;
		uint32_t at = nranges;

		if (p->p_type != PT_LOAD || !(p->p_flags & PF_X) ||
		    (from >= (uintptr_t)__ehdr_start && from < (uintptr_t)_end))
			continue;
		for (; at && ranges[at - 1].from > from; at--)
			ranges[at] = ranges[at - 1];
		ranges[at] = (struct range){from, from + p->p_memsz};
		nranges++;
	}
	return 0;
}

/* Objects that come later are listed at the next new stack. Of several threads one does
 * it; others may see a range twice or not at all: then stacks look different that are
 * not, or the other way round until the next walk. */
void fault_list_objects(void)
{
	unsigned long long now = loaded;
	uint32_t before = nranges;

	if (__atomic_exchange_n(&listing, 1, __ATOMIC_ACQUIRE))
		return;
	nranges = 0;
	dl_iterate_phdr(list_object, &now);
	if (now == loaded)
		nranges = before;
	loaded = now;
	__atomic_store_n(&listing, 0, __ATOMIC_RELEASE);
}

static int is_code(uintptr_t at)
{
	uint32_t from = 0, to = nranges;

	while (from < to) {
		uint32_t mid = from + (to - from) / 2;

		if (at < ranges[mid].from)
			to = mid;
		else if (at >= ranges[mid].to)
			from = mid + 1;
		else
			return 1;
	}
	return 0;
}

/* Where reading must stop: the end of the main stack, else of the page. Thread stacks
 * begin at the same offset in a page in every run, so that this one is stable, too. */
static uintptr_t end_of(uintptr_t frame)
{
	uintptr_t top = (uintptr_t)__libc_stack_end;

	if (frame < top && top - frame < (UINT64_C(64) << 20))
		return top;
	return (frame | (PAGE - 1)) + 1;
}

uint64_t fault_glance(const void *frame)
{
	uintptr_t at = (uintptr_t)frame, end = end_of(at);
	uint64_t h = at;

	if (end - at > GLANCE_WORDS * sizeof(uintptr_t))
		end = at + GLANCE_WORDS * sizeof(uintptr_t);
	for (; at < end; at += sizeof(uintptr_t)) {
		uintptr_t word = *(const uintptr_t *)at;

		if (!is_code(word))
			continue;
		h = (h ^ word) * UINT64_C(0x9E3779B97F4A7C15);
		h ^= h >> 29;
	}
	return h;
}

/* ---- objects ---- */

int fault_module_of(uintptr_t address, char *ret_path, uint64_t *ret_offset)
{
	return object_of(address, ret_path, FAULT_PATH, ret_offset);
}
