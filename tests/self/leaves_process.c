#include "harness.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

static void test_leaves_process(void **state)
{
	(void)state;
	if (fork() == 0) {
		if (fork() == 0)
			execlp("sleep", "sleep", "30", (char *)NULL);
		_exit(0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		HARNESS_TEST(test_leaves_process),
	};

	return HARNESS_RUN(tests);
}
