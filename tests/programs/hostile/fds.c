/* fds LIMIT: opens 100,000 descriptors, or as many as it gets; raises its limit first, as
 * far as it can. Escaped when there are more than LIMIT. */
#include "hostile.h"
#include <fcntl.h>
#include <sys/resource.h>

int main(int argc, char **argv)
{
	struct rlimit limit = {110000, 110000};
	int made = 0, allowed = argc > 1 ? atoi(argv[1]) : 0;

	if (setrlimit(RLIMIT_NOFILE, &limit) && getrlimit(RLIMIT_NOFILE, &limit) == 0) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
	while (made < 100000 && open("/dev/null", O_RDONLY) >= 0)
		made++;
	report("more descriptors than its limit", made <= allowed);
	printf("opened %d\n", made);
	return 0;
}
