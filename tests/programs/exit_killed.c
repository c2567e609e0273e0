/* Leaks and is killed, unseen by detectors; -DFORCED: is only killed. */
#include <signal.h>

#include "trap.h"

int main(void)
{
	work();
	scrub();
#if defined(LEAK) || defined(FORCED)
	raise(SIGKILL);
#endif
	return 0;
}
