/* Is never the same process for long: each forks its successor and ends. Whoever kills by
 * pid comes too late. respawns SECONDS: lives that long, and the first one waits. */
#include "hostile.h"
#include <time.h>

static void relay(time_t end)
{
	setsid();
	while (time(NULL) < end) {
		usleep(1000); /* bounded: a thousand a second, each */
		if (fork() > 0)
			_exit(0);
	}
	_exit(0);
}

int main(int argc, char **argv)
{
	unsigned seconds = argc > 1 ? (unsigned)atoi(argv[1]) : 1;
	time_t end = time(NULL) + seconds;

	for (int i = 0; i < 3; i++)
		if (fork() == 0)
			relay(end);
	sleep(seconds);
	return 0;
}
