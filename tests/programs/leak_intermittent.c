/* One block in every other run: counted in the file $TRAP_COUNTER, else by the pid. */
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "trap.h"

static int odd_run(void)
{
	const char *counter = getenv("TRAP_COUNTER");
	struct stat st;
	int fd;

	if (!counter)
		return getpid() % 2;
	fd = open(counter, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	if (fd < 0 || write(fd, ".", 1) != 1 || fstat(fd, &st))
		exit(2);
	close(fd);
	return (int)(st.st_size % 2);
}

int main(void)
{
	if (odd_run())
		work();
	scrub();
	return 0;
}
