#include "harness.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void test_leaves_file(void **state)
{
	(void)state;
	char path[4096];
	int fd;

	snprintf(path, sizeof(path), "%s/leftXXXXXX", getenv("TMPDIR"));
	fd = mkstemp(path);
	assert_true(fd >= 0);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		HARNESS_TEST(test_leaves_file),
	};

	return HARNESS_RUN(tests);
}
