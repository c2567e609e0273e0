/* Ends at once, and leaves a process in another session that holds stdout open for 20 s.
 */
#include "hostile.h"

int main(void)
{
	puts("ready");
	fflush(stdout);
	if (fork() == 0) {
		setsid();
		sleep(20);
		_exit(0);
	}
	return 0;
}
