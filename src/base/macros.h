/*
 * Ownership helpers. A pointer marked CLEANUP(free) is released when its scope
 * ends; TAKE_PTR() hands it to somebody else.
 */
#ifndef EXITPATH_BASE_MACROS_H
#define EXITPATH_BASE_MACROS_H

#include <stdlib.h>

#define CLEANUP(fn) __attribute__((cleanup(fn##_cleanup)))
#define CLEANUP_FREE __attribute__((cleanup(free_cleanup)))
#define PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#define NODISCARD __attribute__((warn_unused_result))
#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

#define TAKE_PTR(p)                       \
	__extension__({                   \
		__auto_type taken_ = (p); \
		(p) = NULL;               \
		taken_;                   \
	})

/* Declares NAME_cleanup() for CLEANUP(NAME): calls NAME_release() on a struct NAME. */
#define DEFINE_CLEANUP(name)                              \
	static inline void name##_cleanup(struct name *p) \
	{                                                 \
		name##_release(p);                        \
	}

static inline void free_cleanup(void *p)
{
	free(*(void **)p);
}

#endif
