/* Leaks in a binary whose built-in suppressions match every leak. */
#include "trap.h"

#ifdef LEAK
const char *__lsan_default_suppressions(void);

const char *__lsan_default_suppressions(void)
{
	return "leak:*\n";
}
#endif

int main(void)
{
	work();
	scrub();
	return 0;
}
