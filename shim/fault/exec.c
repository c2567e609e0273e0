/*
 * Calls whose wrappers no row of calls.def can say: execl() and the like have their
 * arguments as a list, and vfork() returns twice from the frame of its caller.
 */
#include "fault.h"

#include <alloca.h>
#include <errno.h>
#include <stdarg.h>
#include <unistd.h>

#define SYMBOL(name) __asm__(#name) __attribute__((visibility("default")))
#pragma GCC diagnostic ignored "-Wpedantic" /* data pointers that are functions */

static int fails(int call, const char *path, const void *frame)
{
	const struct subject s = {.kind = SUBJECT_PATH, .path = path};
	int error = fault_decide((uint32_t)call, &s, frame);

	if (error)
		errno = error;
	return error != 0;
}

static size_t count(va_list list)
{
	size_t n = 1;

	while (va_arg(list, char *))
		n++;
	return n;
}

/* first, what follows it, NULL; and list stands behind that. */
static void fill(char **argv, char *first, va_list list)
{
	argv[0] = first;
	for (size_t i = 1; (argv[i] = va_arg(list, char *)); i++)
		;
}

/* What execv() and so on do within themselves is no call of the program's. */
#define EXEC(name, through, type, arguments, before)                            \
	int wrap_##name(const char *path, const char *first, ...) SYMBOL(name); \
	int wrap_##name(const char *path, const char *first, ...)               \
	{                                                                       \
		int(*real) type = (int(*) type)fault_next(CALL_##through);      \
		char **argv, *const *env = NULL;                                \
		va_list list;                                                   \
                                                                                \
		if (fails(CALL_##name, path, __builtin_frame_address(0)))       \
			return -1;                                              \
		va_start(list, first);                                          \
		argv = alloca((first ? count(list) + 1 : 1) * sizeof(*argv));   \
		va_end(list);                                                   \
		va_start(list, first);                                          \
		if (first)                                                      \
			fill(argv, (char *)(uintptr_t)first, list);             \
		else                                                            \
			argv[0] = NULL;                                         \
		before;                                                         \
		va_end(list);                                                   \
		(void)env;                                                      \
		return real arguments;                                          \
	}

EXEC(execl, execv, (const char *, char *const *), (path, argv), )
EXEC(execlp, execvp, (const char *, char *const *), (path, argv), )
EXEC(execle, execve, (const char *, char *const *, char *const *), (path, argv, env),
     env = va_arg(list, char *const *))

/* The function to go on with; NULL: it fails, and errno is set. */
void *fault_vfork(void) __attribute__((visibility("hidden"), used));
void *fault_vfork(void)
{
	const struct subject s = {.kind = SUBJECT_NOTHING};
	void *real = fault_next(CALL_vfork);
	int error = fault_decide(CALL_vfork, &s, __builtin_frame_address(0));

	if (!error)
		return real;
	errno = error;
	return NULL;
}

/* It leaves no frame behind: the child would return into it, and the parent find it
 * gone. */
#if defined(__x86_64__)
__asm__(".text\n"
	".globl vfork\n"
	".type vfork, @function\n"
	"vfork:\n"
	"	.cfi_startproc\n"
	"	sub $8, %rsp\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	call fault_vfork\n"
	"	add $8, %rsp\n"
	"	.cfi_adjust_cfa_offset -8\n"
	"	test %rax, %rax\n"
	"	je 1f\n"
	"	jmp *%rax\n"
	"1:	mov $-1, %eax\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size vfork, . - vfork\n");
#elif defined(__aarch64__)
__asm__(".text\n"
	".globl vfork\n"
	".type vfork, %function\n"
	"vfork:\n"
	"	.cfi_startproc\n"
	"	stp x29, x30, [sp, -16]!\n"
	"	.cfi_adjust_cfa_offset 16\n"
	"	.cfi_rel_offset x30, 8\n"
	"	bl fault_vfork\n"
	"	ldp x29, x30, [sp], 16\n"
	"	.cfi_adjust_cfa_offset -16\n"
	"	.cfi_restore x30\n"
	"	cbz x0, 1f\n"
	"	br x0\n"
	"1:	mov w0, -1\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size vfork, . - vfork\n");
#endif
