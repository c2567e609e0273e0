/*
 * A process that becomes another program has no exit, and no leak: what it held is gone
 * with it. It says so before, so that its record is not that of a forced exit; should
 * the other program be one that this library is preloaded into, it begins the record
 * anew. The record that stays names a program that was not observed. system() starts a
 * shell, which is.
 */
#include "heap.h"

#include <dlfcn.h>
#include <errno.h>
#include <spawn.h>
#include <stdarg.h>
#include <unistd.h>

#define SYMBOL(name) __asm__(#name) __attribute__((visibility("default")))
#pragma GCC diagnostic ignored "-Wpedantic" /* data pointers that are functions */

enum { MOST = 1024 }; /* arguments of a list */

typedef int exec_call(const char *, char *const *, char *const *);

static int become(const char *call, const char *file, char *const *argv, char *const *env)
{
	exec_call *real = (exec_call *)dlsym(RTLD_NEXT, call);
	int rc, saved;

	if (!real) {
		errno = ENOSYS;
		return -1;
	}
	saved = errno;
	heap_becomes(0, file, 0);
	errno = saved;
	rc = real(file, argv, env);
	saved = errno;
	heap_stays();
	errno = saved;
	return rc;
}

int wrap_execve(const char *file, char *const *argv, char *const *env) SYMBOL(execve);
int wrap_execve(const char *file, char *const *argv, char *const *env)
{
	return become("execve", file, argv, env);
}

int wrap_execvpe(const char *file, char *const *argv, char *const *env) SYMBOL(execvpe);
int wrap_execvpe(const char *file, char *const *argv, char *const *env)
{
	return become("execvpe", file, argv, env);
}

int wrap_execv(const char *file, char *const *argv) SYMBOL(execv);
int wrap_execv(const char *file, char *const *argv)
{
	return become("execve", file, argv, environ);
}

int wrap_execvp(const char *file, char *const *argv) SYMBOL(execvp);
int wrap_execvp(const char *file, char *const *argv)
{
	return become("execvpe", file, argv, environ);
}

/* The arguments up to NULL; 0: too many. */
static int gather(char **to, char *first, va_list *rest)
{
	int n = 0;

	for (to[n++] = first; to[n - 1]; n++) {
		if (n == MOST)
			return 0;
		to[n] = va_arg(*rest, char *);
	}
	return 1;
}

#define LIST(name, call, environment)                                     \
	int wrap_##name(const char *file, char *first, ...) SYMBOL(name); \
	int wrap_##name(const char *file, char *first, ...)               \
	{                                                                 \
		char *argv[MOST];                                         \
		va_list rest;                                             \
		int fits;                                                 \
                                                                          \
		va_start(rest, first);                                    \
		fits = gather(argv, first, &rest);                        \
		if (fits) {                                               \
			char *const *env = environment;                   \
                                                                          \
			va_end(rest);                                     \
			return become(call, file, argv, env);             \
		}                                                         \
		va_end(rest);                                             \
		errno = E2BIG;                                            \
		return -1;                                                \
	}
LIST(execl, "execve", environ)
LIST(execlp, "execvpe", environ)
LIST(execle, "execve", va_arg(rest, char **))

#define SPAWN(name)                                                                 \
	int wrap_##name(pid_t *pid, const char *file,                               \
			const posix_spawn_file_actions_t *a,                        \
			const posix_spawnattr_t *attr, char *const *argv,           \
			char *const *env) SYMBOL(name);                             \
	int wrap_##name(                                                            \
		pid_t *pid, const char *file, const posix_spawn_file_actions_t *a,  \
		const posix_spawnattr_t *attr, char *const *argv, char *const *env) \
	{                                                                           \
		__typeof__(&wrap_##name) real =                                     \
			(__typeof__(&wrap_##name))dlsym(RTLD_NEXT, #name);          \
		pid_t made = 0;                                                     \
		int rc = real ? real(&made, file, a, attr, argv, env) : ENOSYS;     \
		int saved = errno;                                                  \
                                                                                    \
		if (rc == 0 && pid)                                                 \
			*pid = made;                                                \
		if (rc == 0)                                                        \
			heap_becomes(made, file, 1);                                \
		errno = saved;                                                      \
		return rc;                                                          \
	}
SPAWN(posix_spawn)
SPAWN(posix_spawnp)
