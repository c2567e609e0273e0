/* Leaks in a binary whose built-in options turn leak detection off. */
#include "trap.h"

#ifdef LEAK
const char *__asan_default_options(void);
const char *__lsan_default_options(void);

const char *__asan_default_options(void)
{
	return "detect_leaks=0";
}

const char *__lsan_default_options(void)
{
	return "detect_leaks=0";
}
#endif

int main(void)
{
	work();
	scrub();
	return 0;
}
