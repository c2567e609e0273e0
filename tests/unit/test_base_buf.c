#include "harness.h"

#include "base/buf.h"

#include <string.h>

static void test_grows_and_stays_terminated(void **state)
{
	CLEANUP(buf) struct buf b = {0};

	(void)state;
	for (int i = 0; i < 5000; i++) {
		buf_addf(&b, "%d,", i % 10);
		assert_int_equal(b.data[b.len], '\0');
		assert_true(b.cap > b.len);
	}
	assert_int_equal(b.len, 10000);
	assert_memory_equal(b.data + 9990, "5,6,7,8,9,", 11);
}

static void test_empty(void **state)
{
	CLEANUP(buf) struct buf b = {0};
	char *s;

	(void)state;
	assert_string_equal(buf_str(&b), "");
	buf_clear(&b);
	buf_add(&b, "", 0);
	assert_string_equal(buf_str(&b), "");
	buf_release(&b);
	s = buf_detach(&b);
	assert_string_equal(s, "");
	free(s);
}

static void test_bytes_pass_unchanged(void **state)
{
	CLEANUP(buf) struct buf b = {0};

	(void)state;
	buf_add(&b, "a\0b", 3);
	buf_addc(&b, '\xff');
	buf_adds(&b, "c");
	assert_int_equal(b.len, 5);
	assert_memory_equal(b.data,
			    "a\0b\xff"
			    "c",
			    6);
}

static void test_detach_leaves_an_empty_one(void **state)
{
	CLEANUP(buf) struct buf b = {0};
	char *s;

	(void)state;
	buf_adds(&b, "text");
	s = buf_detach(&b);
	assert_string_equal(s, "text");
	free(s);
	assert_null(b.data);
	buf_adds(&b, "new");
	buf_clear(&b);
	assert_string_equal(buf_str(&b), "");
	assert_true(b.cap > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		HARNESS_TEST(test_grows_and_stays_terminated),
		HARNESS_TEST(test_empty),
		HARNESS_TEST(test_bytes_pass_unchanged),
		HARNESS_TEST(test_detach_leaves_an_empty_one),
	};

	return HARNESS_RUN(tests);
}
