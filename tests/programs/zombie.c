/* A child that has ended and that nobody has waited for. */
#include <sys/wait.h>
#include <unistd.h>

#include "trap.h"

int main(void)
{
	siginfo_t info;
	pid_t child = fork();

	if (child < 0)
		return 2;
	if (child == 0)
		_exit(0);
	return waitid(P_PID, (id_t)child, &info, LEAKS ? WEXITED | WNOWAIT : WEXITED) !=
	       0;
}
