/* A daemon: forked twice, in its own session, with no descriptor of ours. Lives for 20 s.
 */
#include "hostile.h"
#include <sys/wait.h>

int main(void)
{
	int status;
	pid_t child = fork();

	if (child == 0) {
		setsid();
		if (fork() == 0) {
			closefrom(0);
			if (chdir("/") == 0)
				sleep(20);
		}
		_exit(0);
	}
	return waitpid(child, &status, 0) != child || status != 0;
}
