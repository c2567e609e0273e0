/* Leaks in a binary that turns LeakSanitizer off by its hook. */
#include "trap.h"

#ifdef LEAK
int __lsan_is_turned_off(void);

int __lsan_is_turned_off(void)
{
	return 1;
}
#endif

int main(void)
{
	work();
	scrub();
	return 0;
}
