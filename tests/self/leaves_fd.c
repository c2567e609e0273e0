#include "harness.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

static void test_leaves_fd(void **state)
{
	(void)state;
	assert_true(open("/dev/null", O_RDONLY | O_CLOEXEC) >= 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		HARNESS_TEST(test_leaves_fd),
	};

	return HARNESS_RUN(tests);
}
