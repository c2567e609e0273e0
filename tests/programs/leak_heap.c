/* One block of 77 bytes. */
#include "trap.h"

int main(void)
{
	work();
	scrub();
	return 0;
}
