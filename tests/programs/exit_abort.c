/* Leaks and aborts, unseen by detectors; -DFORCED: only aborts. */
#include "trap.h"

int main(void)
{
	work();
	scrub();
#if defined(LEAK) || defined(FORCED)
	abort();
#endif
	return 0;
}
