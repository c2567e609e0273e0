/* One block, leaked by a forked child that exits normally; the parent is clean. */
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
		exit(0);
	}
	return waitpid(child, &status, 0) != child || status != 0;
}
