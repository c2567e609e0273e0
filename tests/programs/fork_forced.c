/* A forked child that leaks and leaves through _exit(); the parent is clean. */
#include <sys/wait.h>
#include <unistd.h>

#include "trap.h"

int main(void)
{
	int status = 1;
	pid_t child = fork();

	if (child == 0) {
		work();
		scrub();
		if (LEAKS)
			_exit(0);
		exit(0);
	}
	return waitpid(child, &status, 0) != child || status != 0;
}
