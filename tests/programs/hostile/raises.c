/* raises SIGNAL: ends itself by a signal, as the first process of the command; abort()
 * for SIGABRT. SIGSTOP: stops, and so does never end. */
#include "hostile.h"
#include <signal.h>

int main(int argc, char **argv)
{
	int s = argc > 1 ? atoi(argv[1]) : 0;

	alarm(20);
	if (s == SIGABRT)
		abort();
	raise(s);
	printf("contained: lived on after signal %d\n", s);
	return 0;
}
