#include "sandbox/exec.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define DEFAULT_PATH "/bin:/usr/bin" /* as execvp(3) when PATH is not set */

static const char *path_of(char *const *env)
{
	for (; *env; env++)
		if (!strncmp(*env, "PATH=", 5))
			return *env + 5;
	return DEFAULT_PATH;
}

/* By number: the wrapper of execve() in coverage builds writes its counters into files,
 * which the exit watch would stop before anybody serves it. */
static void exec(const char *path, char *const *argv, char *const *env)
{
	syscall(SYS_execve, path, argv, env);
}

static void exec_script(const char *path, char *const *argv, char *const *env)
{
	static char shell[] = "/bin/sh";
	size_t n = 0;
	char **with;

	while (argv[n])
		n++;
	with = calloc(n + 2, sizeof(*with));
	if (!with)
		return;
	with[0] = shell;
	with[1] = (char *)(uintptr_t)path;
	for (size_t i = 1; i < n; i++)
		with[i + 1] = argv[i];
	exec(shell, with, env);
}

/* False: errno says that there is no use in going on. */
static bool try(const char *path, char *const *argv, char *const *env, int *told)
{
	exec(path, argv, env);
	switch (errno) {
	case ENOEXEC:
		exec_script(path, argv, env);
		return false;
	case EACCES:
		*told = EACCES;
		return true;
	case ENOENT:
	case ENOTDIR:
	case ESTALE:
	case ENODEV:
	case ETIMEDOUT:
		return true;
	default:
		return false;
	}
}

void exec_search(char *const *argv, char *const *env)
{
	const char *name = argv[0];
	char path[PATH_MAX];
	size_t len = strlen(name);
	int told = ENOENT;

	if (strchr(name, '/')) {
		if (try(name, argv, env, &told))
			errno = told == EACCES ? EACCES : errno;
		return;
	}
	errno = ENOENT;
	for (const char *dir = path_of(env); len; dir++) {
		size_t n = strcspn(dir, ":");
		/* An empty entry is the working directory. */
		const char *at = n ? dir : ".";
		size_t atlen = n ? n : 1;

		if (atlen + 1 + len < sizeof(path)) {
			memcpy(path, at, atlen);
			path[atlen] = '/';
			memcpy(path + atlen + 1, name, len + 1);
			if (!try(path, argv, env, &told))
				return;
		}
		dir += n;
		if (!*dir)
			break;
	}
	errno = told;
}

void reset_signals(void)
{
	sigset_t none;

	/* exec resets handlers, but keeps what is ignored. */
	for (int sig = 1; sig < NSIG; sig++)
		if (sig != SIGKILL && sig != SIGSTOP)
			/* glibc's signal() refuses 32 and 33, which make leaves
			 * ignored; the kernel's struct sigaction is at most this. */
			syscall(SYS_rt_sigaction, sig, (const long[4]){0}, NULL,
				(size_t)_NSIG / 8);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

/* 0: it is a program; 1: go on; -1: errno says why not. */
static int look(const char *path)
{
	char magic[4] = "";
	struct stat st;
	ssize_t n;
	int fd;

	if (stat(path, &st) < 0 || !S_ISREG(st.st_mode) || access(path, X_OK) < 0)
		return 1;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	n = read(fd, magic, sizeof(magic));
	close(fd);
	errno = ENOEXEC;
	return n == (ssize_t)sizeof(magic) && !memcmp(magic, "\177ELF", sizeof(magic))
		       ? 0
		       : -1;
}

int exec_find(const char *name, char *const *env, char *ret)
{
	const char *dir = path_of(env);

	if (strchr(name, '/')) {
		snprintf(ret, PATH_MAX, "%s", name);
		return look(ret) == 0 ? 0 : -1;
	}
	for (;; dir++) {
		size_t n = strcspn(dir, ":");
		int rc = 1;

		if (n + strlen(name) + 2 < PATH_MAX) {
			snprintf(ret, PATH_MAX, "%.*s%s%s", (int)n, dir, n ? "/" : "./",
				 name);
			rc = look(ret);
		}
		if (rc <= 0)
			return rc;
		dir += n;
		if (!*dir)
			break;
	}
	errno = ENOENT;
	return -1;
}
