/* setuid UID: installed setuid by the driver. Escaped when it runs as another than UID,
 * who started it. */
#include "hostile.h"

int main(int argc, char **argv)
{
	errno = EPERM;
	report("a setuid program has its owner's rights",
	       argc < 2 || (int)geteuid() == atoi(argv[1]));
	return 0;
}
