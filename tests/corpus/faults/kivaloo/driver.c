/* A daemon that says so and goes on when it cannot write its pid to a file. */
#include "daemonize.c"

int main(void)
{
	if (writepid("daemon.pid"))
		fputs("going on without the pid\n", stderr);
	return 0;
}
