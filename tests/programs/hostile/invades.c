/*
 * invades PID…: every way into another process: ptrace, its memory, its descriptors, its
 * root, a signal. 0 stands for the parent. What it reaches it leaves as it was; the
 * signal is SIGUSR1, which the driver's victim counts.
 */
#include "hostile.h"
#include <fcntl.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>

static void say(const char *what, pid_t pid, int failed)
{
	char text[64];

	snprintf(text, sizeof(text), "%s %d", what, (int)pid);
	report(text, failed);
}

static int attach(pid_t pid)
{
	int status;

	if (ptrace(PTRACE_ATTACH, pid, NULL, NULL))
		return -1;
	waitpid(pid, &status, __WALL);
	return (int)ptrace(PTRACE_DETACH, pid, NULL, NULL);
}

static int open_of(pid_t pid, const char *name, int flags)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	fd = open(path, flags | O_CLOEXEC);
	if (fd < 0)
		return -1;
	close(fd);
	return 0;
}

static int read_of(pid_t pid, const char *name)
{
	char path[64], byte;
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	n = read(fd, &byte, 1);
	close(fd);
	errno = n ? errno : ENODATA;
	return n == 1 ? 0 : -1;
}

static int read_memory(pid_t pid)
{
	static char here;
	char byte;
	struct iovec local = {&byte, 1}, remote = {&here, 1};

	/* EFAULT: one may, but there is nothing at that address. */
	return process_vm_readv(pid, &local, 1, &remote, 1, 0) < 0 && errno != EFAULT ? -1
										      : 0;
}

static int steal_descriptor(pid_t pid)
{
	int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);

	return pidfd < 0 ? -1 : (int)syscall(SYS_pidfd_getfd, pidfd, 0, 0);
}

static void invade(pid_t pid)
{
	say("ptrace", pid, attach(pid));
	say("seize", pid, (int)ptrace(PTRACE_SEIZE, pid, NULL, NULL));
	say("mem", pid, open_of(pid, "mem", O_RDWR));
	say("environ", pid, read_of(pid, "environ"));
	say("maps", pid, read_of(pid, "maps"));
	say("root", pid, open_of(pid, "root/etc/passwd", O_RDONLY));
	say("cwd", pid, open_of(pid, "cwd", O_RDONLY));
	say("fd", pid, open_of(pid, "fd/0", O_RDONLY));
	say("vm_readv", pid, read_memory(pid));
	say("pidfd_getfd", pid, steal_descriptor(pid) < 0);
	if (pid != 1 && pid != getppid())
		say("kill", pid, kill(pid, SIGUSR1));
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		invade(atoi(argv[i]) ? atoi(argv[i]) : getppid());
	return 0;
}
