/* Leaks and waits for ever, here 20 s; -DFORCED: only waits. */
#include <unistd.h>

#include "trap.h"

int main(void)
{
	work();
	scrub();
#if defined(LEAK) || defined(FORCED)
	alarm(20);
	pause();
#endif
	return 0;
}
