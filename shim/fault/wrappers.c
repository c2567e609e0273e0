/*
 * One wrapper for each row of calls.def. They have names of their own and the symbol of
 * the call, so that no prototype of a header stands in the way.
 */
#include "fault.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>

#define SYMBOL(name) __asm__(#name) __attribute__((visibility("default")))
#define NOTHING                         \
	{                               \
		.kind = SUBJECT_NOTHING \
	}
#define PATH(p)                                   \
	{                                         \
		.kind = SUBJECT_PATH, .path = (p) \
	}
#define FD(d)                                 \
	{                                     \
		.kind = SUBJECT_FD, .fd = (d) \
	}
#define STREAM(f)                                     \
	{                                             \
		.kind = SUBJECT_STREAM, .stream = (f) \
	}

enum how { PLAIN, AFTER, NEST };

/* NOLINTBEGIN(bugprone-reserved-identifier): glibc's. */
void *__libc_malloc(size_t n);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t n);
/* NOLINTEND(bugprone-reserved-identifier) */

enum {
#define CALL(name, ...) CALL_##name,
#include "abi/calls.def"
#undef CALL
	CALLS,
};

static void *next[CALLS];
static __thread int resolving;

static const char *const names[CALLS] = {
#define CALL(name, ...) #name,
#include "abi/calls.def"
#undef CALL
};

/* dlsym() allocates on some paths: then libc's own allocator is the next one. */
static void *resolve(int call)
{
	int saved = errno;
	void *found;

	if (resolving) {
		if (call == CALL_malloc)
			return (void *)(uintptr_t)__libc_malloc;
		if (call == CALL_calloc)
			return (void *)(uintptr_t)__libc_calloc;
		if (call == CALL_realloc)
			return (void *)(uintptr_t)__libc_realloc;
	}
	resolving++;
	found = dlsym(RTLD_NEXT, names[call]);
	resolving--;
	__atomic_store_n(&next[call], found, __ATOMIC_RELAXED);
	errno = saved;
	return found;
}

static inline void *next_of(int call)
{
	void *found = __atomic_load_n(&next[call], __ATOMIC_RELAXED);

	return found ? found : resolve(call);
}

#define CALL(name, class, type, parameters, arguments, failure, errnos, reported, how, \
	     what)                                                                     \
	type wrap_##name parameters SYMBOL(name);                                      \
	type wrap_##name parameters                                                    \
	{                                                                              \
		type(*real_) parameters = (type(*) parameters)next_of(CALL_##name);    \
		const struct subject subject_ = what;                                  \
		int error = fault_decide(CALL_##name, &subject_,                       \
					 __builtin_frame_address(0));                  \
                                                                                       \
		if (!error && how != NEST)                                             \
			return real_ arguments;                                        \
		if (!error) {                                                          \
			type result_;                                                  \
                                                                                       \
			fault_within++;                                                \
			result_ = real_ arguments;                                     \
			fault_within--;                                                \
			return result_;                                                \
		}                                                                      \
		if (how == AFTER)                                                      \
			(void)real_ arguments;                                         \
		errno = error;                                                         \
		return failure;                                                        \
	}
#pragma GCC diagnostic ignored "-Wpedantic" /* data pointers that are functions */
#include "abi/calls.def"
