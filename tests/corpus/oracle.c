/*
 * oracle CMD…: what each process of the tree of CMD holds open when it exits, a line each
 * on stderr; exits as CMD did. It stops them with ptrace, so that the corpus can be
 * checked by something that shares no mechanism with exitpath's own ledger.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#define TRACE                                                          \
	(PTRACE_O_EXITKILL | PTRACE_O_TRACEEXIT | PTRACE_O_TRACEFORK | \
	 PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE)

static void print_held(pid_t pid)
{
	char path[32];
	char target[4096];
	struct dirent *entry;
	ssize_t len;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	dir = opendir(path);
	if (!dir) {
		perror(path);
		return;
	}
	while ((entry = readdir(dir))) {
		len = readlinkat(dirfd(dir), entry->d_name, target, sizeof(target) - 1);
		if (len < 0)
			continue;
		target[len] = '\0';
		fprintf(stderr, "pid %d fd %s %s\n", (int)pid, entry->d_name, target);
	}
	closedir(dir);
}

static int trace(pid_t root)
{
	int status;
	int code = 1;
	pid_t pid;

	while ((pid = waitpid(-1, &status, __WALL)) > 0) {
		int sig;

		if (!WIFSTOPPED(status)) {
			if (pid == root)
				code = WIFEXITED(status) ? WEXITSTATUS(status) : 1;
			continue;
		}
		if (status >> 8 == (SIGTRAP | PTRACE_EVENT_EXIT << 8))
			print_held(pid);
		sig = WSTOPSIG(status);
		if (sig == SIGTRAP || sig == SIGSTOP)
			sig = 0;
		ptrace(PTRACE_CONT, pid, NULL, sig);
	}
	return code;
}

int main(int argc, char **argv)
{
	pid_t root;

	if (argc < 2) {
		fprintf(stderr, "usage: oracle CMD…\n");
		return 2;
	}
	root = fork();
	if (root < 0) {
		perror("fork");
		return 1;
	}
	if (root == 0) {
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		raise(SIGSTOP);
		execv(argv[1], argv + 1);
		perror(argv[1]);
		_exit(127);
	}
	if (waitpid(root, NULL, 0) != root ||
	    ptrace(PTRACE_SETOPTIONS, root, NULL, TRACE) != 0) {
		perror("ptrace");
		kill(root, SIGKILL);
		return 1;
	}
	ptrace(PTRACE_CONT, root, NULL, NULL);
	return trace(root);
}
