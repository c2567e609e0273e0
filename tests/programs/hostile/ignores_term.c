/* Ignores every signal that can be ignored, and stays for 20 s. */
#include "hostile.h"
#include <signal.h>
#include <time.h>

int main(void)
{
	time_t end = time(NULL) + 20;

	for (int s = 1; s < NSIG; s++)
		signal(s, SIG_IGN);
	puts("ready");
	fflush(stdout);
	while (time(NULL) < end)
		sleep(1);
	puts("escaped: lived for 20 s");
	return 0;
}
