/* A descriptor without close-on-exec, which a child inherits and holds at its exit. */
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "trap.h"

int main(int argc, char **argv)
{
	int status;
	pid_t child;
	int fd;

	if (argc > 1)
		return 0;
	fd = open("/proc/self/exe", LEAKS ? O_RDONLY : O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 2;
	child = fork();
	if (child == 0) {
		execlp(argv[0], argv[0], "child", (char *)NULL);
		_exit(127);
	}
	if (waitpid(child, &status, 0) != child || status != 0)
		return 1;
	return close(fd) < 0;
}
