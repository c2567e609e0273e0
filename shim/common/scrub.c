#include "scrub.h"

#include <stddef.h>

#define SCRUB_BYTES (32 * 1024)

__attribute__((noinline)) static void scrub_stack(void)
{
	volatile char dead[SCRUB_BYTES];

	for (size_t i = 0; i < sizeof(dead); i++)
		dead[i] = 0;
}

__attribute__((noinline)) static void scrub_registers(void)
{
#if defined(__x86_64__)
	__asm__ volatile(
		"xor %%eax, %%eax\n\txor %%ebx, %%ebx\n\txor %%ecx, %%ecx\n\t"
		"xor %%edx, %%edx\n\txor %%esi, %%esi\n\txor %%edi, %%edi\n\t"
		"xor %%r8d, %%r8d\n\txor %%r9d, %%r9d\n\txor %%r10d, %%r10d\n\t"
		"xor %%r11d, %%r11d\n\txor %%r12d, %%r12d\n\txor %%r13d, %%r13d\n\t"
		"xor %%r14d, %%r14d\n\txor %%r15d, %%r15d\n\t"
		"pxor %%xmm0, %%xmm0\n\tpxor %%xmm1, %%xmm1"
		:
		:
		: "rax", "rbx", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11",
		  "r12", "r13", "r14", "r15", "xmm0", "xmm1", "cc");
#endif
}

void scrub(void)
{
	scrub_stack();
	scrub_registers();
}
