/* A daemon in its own session, forked twice, that outlives the test by at most 20 s. */
#include <sys/wait.h>
#include <unistd.h>

#include "trap.h"

static void daemon_start(void)
{
	pid_t daemon;

	setsid();
	daemon = fork();
	if (daemon == 0) {
		if (LEAKS)
			sleep(20);
		_exit(0);
	}
	if (!LEAKS)
		waitpid(daemon, NULL, 0);
	_exit(0);
}

int main(void)
{
	int status = 1;
	pid_t child = fork();

	if (child == 0)
		daemon_start();
	return waitpid(child, &status, 0) != child || status != 0;
}
