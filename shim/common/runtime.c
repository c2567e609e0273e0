#include "runtime.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#define OPTIONAL __attribute__((weak, visibility("default")))

/* NOLINTBEGIN(bugprone-reserved-identifier): the names of the sanitizer runtimes. */
void __asan_init(void) OPTIONAL;
void __lsan_init(void) OPTIONAL;
void __lsan_do_leak_check(void) OPTIONAL;
/* NOLINTEND(bugprone-reserved-identifier) */

/*
 * A runtime that is linked in with -static-libasan exports no symbol but malloc. It is
 * known by where its allocator lives (kAllocatorSpace and kAllocatorSize of compiler-rt,
 * until and since LLVM 18), and AddressSanitizer by its shadow at a fixed place.
 */
static const char *instrumented_static(void)
{
#if defined(__x86_64__)
	const uintptr_t spaces[] = {0x600000000000, 0x500000000000};
	const uintptr_t space_size = 0x40000000000;
	const uintptr_t asan_shadow = 0x7fff8000;
	void *probe = malloc(1);
	uintptr_t at = (uintptr_t)probe;
	unsigned char resident;
	long unmapped = syscall(SYS_mincore, asan_shadow, 1, &resident);

	__asm__ volatile("" : "+r"(probe) : : "memory");
	free(probe);
	for (size_t i = 0; i < sizeof(spaces) / sizeof(spaces[0]); i++)
		if (at - spaces[i] < space_size)
			return unmapped ? "lsan" : "asan";
#endif
	return "none";
}

const char *instrumented(void)
{
	if (__asan_init)
		return "asan";
	if (__lsan_init || __lsan_do_leak_check)
		return "lsan";
	return instrumented_static();
}
