/*
 * One wrapper for each row of calls.def. They have names of their own and the symbol of
 * the call, so that no prototype of a header stands in the way.
 */
#include "fault.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/select.h>
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
#define OUTPUT STREAM(stdout)
#define STATEMENT(sql)                                   \
	{                                                \
		.kind = SUBJECT_STATEMENT, .path = (sql) \
	}
#define PREPARED(s)                                       \
	{                                                 \
		.kind = SUBJECT_PREPARED, .prepared = (s) \
	}

enum how { PLAIN, AFTER, NEST };

/* NOLINTBEGIN(bugprone-reserved-identifier): glibc's. */
void *__libc_malloc(size_t n);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t n);
/* NOLINTEND(bugprone-reserved-identifier) */

static void *next[CALLS];
static __thread int resolving;

static const char *const names[CALLS] = {
#define CALL(name, ...) #name,
#include "abi/calls.def"
#undef CALL
};

/* A library whose file name begins so, wherever it was loaded from. */
struct named {
	const char *name;
	char path[4096];
};

static int has_name(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct named *n = arg;
	const char *slash = strrchr(info->dlpi_name, '/');
	const char *file = slash ? slash + 1 : info->dlpi_name;

	(void)size;
	if (strncmp(file, n->name, strlen(n->name)) != 0 ||
	    strlen(info->dlpi_name) >= sizeof(n->path))
		return 0;
	memcpy(n->path, info->dlpi_name, strlen(info->dlpi_name) + 1);
	return 1;
}

/* What was loaded RTLD_LOCAL, as the module of an interpreter is, comes after nobody. */
static void *find_local(const char *symbol)
{
	struct named n = {.name = !strncmp(symbol, "PQ", 2)	    ? "libpq"
				  : !strncmp(symbol, "sqlite3_", 8) ? "libsqlite3"
								    : NULL};
	void *library;

	if (!n.name || !dl_iterate_phdr(has_name, &n))
		return NULL;
	library = dlopen(n.path, RTLD_LAZY | RTLD_NOLOAD);
	return library ? dlsym(library, symbol) : NULL;
}

static void *find(const char *symbol)
{
	void *found = dlsym(RTLD_NEXT, symbol);

	return found ? found : find_local(symbol);
}

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
	fault_within++;
	found = find(names[call]);
	fault_within--;
	resolving--;
	__atomic_store_n(&next[call], found, __ATOMIC_RELAXED);
	errno = saved;
	return found;
}

void *fault_next(int call)
{
	void *found = __atomic_load_n(&next[call], __ATOMIC_RELAXED);

	return found ? found : resolve(call);
}

const char *fault_statement(void *prepared)
{
	static const char *(*sql)(void *);

	if (!sql) {
		resolving++;
		fault_within++;
		sql = (const char *(*)(void *))find("sqlite3_sql");
		fault_within--;
		resolving--;
	}
	return sql ? sql(prepared) : NULL;
}

#define IS_PARTLY_NONE 0
#define IS_PARTLY_INTERRUPT 0
#define IS_PARTLY_PARTLY(n) ((n) > 1)
#define CUT_NONE
#define CUT_INTERRUPT
#define CUT_PARTLY(n) (n)--

/* real_ is called, for what subject_ says. A database's library that is not there cannot
 * be. */
#define BODY(name, class, type, call, failure, how, variants)                     \
	int error;                                                                \
                                                                                  \
	subject_.partly = IS_PARTLY_##variants;                                   \
	error = fault_decide(CALL_##name, &subject_, __builtin_frame_address(0)); \
	if (error == FAULT_PART) {                                                \
		CUT_##variants;                                                   \
		error = 0;                                                        \
	}                                                                         \
	if (!error && FAULT_CLASS_##class == FAULT_CLASS_DATABASE && !real_)      \
		error = 1;                                                        \
	if (!error && how != NEST)                                                \
		return call;                                                      \
	if (!error) {                                                             \
		type result_;                                                     \
                                                                                  \
		fault_within++;                                                   \
		result_ = call;                                                   \
		fault_within--;                                                   \
		return result_;                                                   \
	}                                                                         \
	if (how == AFTER)                                                         \
		(void)call;                                                       \
	if (FAULT_CLASS_##class != FAULT_CLASS_DATABASE)                          \
		errno = error;                                                    \
	return failure;

#define CALL(name, class, type, parameters, arguments, failure, errnos, reported, how, \
	     what, variants)                                                           \
	type wrap_##name parameters SYMBOL(name);                                      \
	type wrap_##name parameters                                                    \
	{                                                                              \
		type(*real_) parameters = (type(*) parameters)fault_next(CALL_##name); \
		struct subject subject_ = what;                                        \
                                                                                       \
		BODY(name, class, type, real_ arguments, failure, how, variants)       \
	}

/* va_end() does nothing with the calling conventions of either machine. */
#define CALLV(name, class, type, parameters, last, through, arguments, failure, errnos, \
	      reported, how, what, variants)                                            \
	type wrap_##name parameters SYMBOL(name);                                       \
	type wrap_##name parameters                                                     \
	{                                                                               \
		__typeof__(wrap_##through) *real_ =                                     \
			(__typeof__(wrap_##through) *)fault_next(CALL_##through);       \
		struct subject subject_ = what;                                         \
		va_list list;                                                           \
                                                                                        \
		va_start(list, last);                                                   \
		BODY(name, class, type, real_ arguments, failure, how, variants)        \
	}

#define LISTED(...)			    /* exec.c */
#pragma GCC diagnostic ignored "-Wpedantic" /* data pointers that are functions */
#include "abi/calls.def"
