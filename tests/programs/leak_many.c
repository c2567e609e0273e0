/* Ten blocks of 77 bytes from one place. */
#include "trap.h"

int main(void)
{
	for (int i = 0; i < 10; i++)
		work();
	scrub();
	return 0;
}
