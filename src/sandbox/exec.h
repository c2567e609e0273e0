/* The last steps of a child on its way to exec. libc alone. */
#ifndef EXITPATH_SANDBOX_EXEC_H
#define EXITPATH_SANDBOX_EXEC_H

/* No signal is ignored, handled or blocked, as a new process expects it. */
void reset_signals(void);

/* As execvpe(3): searched in PATH of env, relative to the working directory; a script
 * without "#!" goes to /bin/sh. Returns only with errno. */
void exec_search(char *const *argv, char *const *env);
/* Which program that would be. 0, or -1 with errno: ENOEXEC when it is a script. ret has
 * PATH_MAX bytes. */
int exec_find(const char *name, char *const *env, char *ret);

#endif
