/* One block, leaked by a child that executes this program again; the parent is clean. */
#include <sys/wait.h>
#include <unistd.h>

#include "trap.h"

int main(int argc, char **argv)
{
	int status = 1;
	pid_t child;

	if (argc > 1) {
		work();
		scrub();
		return 0;
	}
	child = fork();
	if (child == 0) {
		execlp(argv[0], argv[0], "child", (char *)NULL);
		_exit(127);
	}
	return waitpid(child, &status, 0) != child || status != 0;
}
