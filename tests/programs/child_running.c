/* A child that outlives its parent, by 20 s at most. */
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "trap.h"

int main(void)
{
	pid_t child = fork();

	if (child < 0)
		return 2;
	if (child == 0) {
		sleep(20);
		_exit(0);
	}
	if (!LEAKS) {
		kill(child, SIGTERM);
		waitpid(child, NULL, 0);
	}
	return 0;
}
