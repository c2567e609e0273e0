/* A leak that the binary's built-in suppressions match by the name of its function. */
#include "trap.h"

#ifdef LEAK
const char *__lsan_default_suppressions(void);

const char *__lsan_default_suppressions(void)
{
	return "leak:leak_here\n";
}
#endif

int main(void)
{
	work();
	scrub();
	return 0;
}
