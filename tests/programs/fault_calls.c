/*
 * Calls that have wrappers of their own kind, each on its way when nothing fails: a list
 * of arguments, a va_list, two returns, less than was asked for, a library that was
 * loaded for one caller alone. FIXED: what is written is written to its end.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;
static char path[4096];

static void check(int ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "%s: %s\n", what, strerror(errno));
	unlink(path);
	exit(1);
}

static void wait_for(pid_t pid, const char *what)
{
	int status = 0;

	while (waitpid(pid, &status, 0) < 0)
		check(errno == EINTR, what);
	check(WIFEXITED(status) && WEXITSTATUS(status) == 7, what);
}

static void processes(void)
{
	char *argv[] = {"sh", "-c", "exit 7", NULL};
	pid_t pid;

	pid = fork();
	check(pid >= 0, "fork");
	if (pid == 0) {
		execl("/bin/sh", "sh", "-c", "exit $1", "sh", "7", NULL);
		_exit(7);
	}
	wait_for(pid, "execl");
	pid = fork();
	check(pid >= 0, "fork");
	if (pid == 0) {
		char *env[] = {"SEVEN=7", NULL};

		execle("/bin/sh", "sh", "-c", "exit $SEVEN", NULL, env);
		_exit(7);
	}
	wait_for(pid, "execle");
	pid = vfork();
	check(pid >= 0, "vfork");
	if (pid == 0) {
		execv("/bin/sh", argv);
		_exit(7);
	}
	wait_for(pid, "vfork");
	errno = posix_spawnp(&pid, "sh", NULL, NULL, argv, environ);
	check(errno == 0, "posix_spawnp");
	wait_for(pid, "posix_spawnp");
}

static int put(int fd, const char *text, size_t n)
{
#ifdef FIXED
	while (n) {
		ssize_t done = write(fd, text, n);

		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0)
			return -1;
		text += done;
		n -= (size_t)done;
	}
	return 0;
#else
	ssize_t done;

	while ((done = write(fd, text, n)) < 0 && errno == EINTR)
		;
	return done < 0 ? -1 : 0;
#endif
}

static void files(void)
{
	char *name = NULL;
	int fd = open(path, O_WRONLY | O_CREAT, 0600);

	check(fd >= 0, "open");
	check(put(fd, "some text", 9) == 0, "write");
	check(close(fd) == 0, "close");
	check(asprintf(&name, "%s %d", "text", 3) > 0, "asprintf");
	check(printf("%s %s %d %d %d %d %d %.1f\n", name, "a", 1, 2, 3, 4, 5, 6.5) > 0,
	      "printf");
	free(name);
	check(unlink(path) == 0, "unlink");
}

static void database(void)
{
	void *lib = dlopen("libsqlite3.so.0", RTLD_NOW | RTLD_LOCAL);
	int (*begin)(const char *, void **), (*end)(void *);
	int (*run)(void *, const char *, void *, void *, char **);
	void *db = NULL;
	int rc;

	if (!lib)
		return;
	begin = (int (*)(const char *, void **))dlsym(lib, "sqlite3_open");
	end = (int (*)(void *))dlsym(lib, "sqlite3_close");
	/* As a module of an interpreter finds it, bound by the loader: the global first.
	 */
	run = (int (*)(void *, const char *, void *, void *, char **))dlsym(
		RTLD_DEFAULT, "sqlite3_exec");
	if (!run)
		run = (int (*)(void *, const char *, void *, void *, char **))dlsym(
			lib, "sqlite3_exec");
	check(begin(":memory:", &db) == 0, "sqlite3_open");
	rc = run(db, "CREATE TABLE t (a)", NULL, NULL, NULL);
#ifdef FIXED
	if (rc)
		fprintf(stderr, "sqlite3_exec: %d\n", rc);
#else
	(void)rc;
#endif
	end(db);
	dlclose(lib);
}

/* d: the database, else the rest */
int main(int argc, char **argv)
{
	const char *tmp = getenv("TMPDIR");

	snprintf(path, sizeof(path), "%s/calls", tmp ? tmp : "/tmp");
	(void)argv;
	if (argc > 1) {
		database();
		return 0;
	}
	processes();
	files();
	return 0;
}
