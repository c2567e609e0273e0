/*
 * Makes namespaces through the other ABIs of x86-64: a filter that knows one table of
 * call numbers lets `int $0x80` and x32 pass. Elsewhere there is nothing to try.
 */
#include "hostile.h"
#include <sched.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#ifdef __x86_64__
static long int80(long nr, long a)
{
	long r;

	__asm__ volatile("int $0x80"
			 : "=a"(r)
			 : "a"(nr), "b"(a)
			 : "memory", "r8", "r9", "r10", "r11");
	return r;
}

static long unshare_i386(void)
{
	return int80(310, CLONE_NEWUSER);
}

static long unshare_x32(void)
{
	return syscall(SYS_unshare | 0x40000000, CLONE_NEWUSER) < 0 ? -errno : 0;
}

static void attempt(const char *name, long (*call)(void))
{
	int status;
	pid_t pid = fork();

	if (pid == 0)
		_exit((int)-call());
	if (waitpid(pid, &status, 0) != pid)
		return;
	if (WIFSIGNALED(status))
		printf("contained: %s: killed by %d\n", name, WTERMSIG(status));
	else
		report(name, (errno = WEXITSTATUS(status)) != 0);
}

int main(void)
{
	attempt("i386", unshare_i386);
	attempt("x32", unshare_x32);
	return 0;
}
#else
int main(void)
{
	puts("contained: no other ABI here");
	return 0;
}
#endif
