/* A child that writes; its parent does not ask how it ended. FIXED: it does. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static int child(void)
{
	int fd = open("child.txt", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	if (fd < 0 || write(fd, "x", 1) != 1 || close(fd) < 0)
		return 1;
	return 0;
}

int main(void)
{
	int status = 0;
	pid_t pid = fork();

	if (pid == 0)
		_exit(child());
	if (pid < 0) {
		perror("fork");
		return 1;
	}
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
#ifdef FIXED
	if (status) {
		fputs("the child failed\n", stderr);
		return 1;
	}
#endif
	return 0;
}
