/* Leaks and leaves through _exit(), unseen by detectors; -DFORCED: only leaves. */
#include <unistd.h>

#include "trap.h"

int main(void)
{
	work();
	scrub();
#if defined(LEAK) || defined(FORCED)
	_exit(0);
#endif
	return 0;
}
