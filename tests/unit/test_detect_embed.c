#include "harness.h"

#include "detect/embed.h"

static void test_canary_is_an_elf_file(void **state)
{
	(void)state;
	assert_true(embed_lsan_canary_end - embed_lsan_canary_start > 1000);
	assert_memory_equal(embed_lsan_canary_start, "\177ELF", 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		HARNESS_TEST(test_canary_is_an_elf_file),
	};

	return HARNESS_RUN(tests);
}
