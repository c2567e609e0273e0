#include "harness.h"

#include "contract/load.h"

#include <string.h>

static void test_durations(void **state)
{
	static const struct {
		const char *text;
		uint64_t ms;
	} rows[] = {{"1ms", 1},	       {"500ms", 500},
		    {"5s", 5000},      {"2m", 120000},
		    {"1h", 3600000},   {"90s", 90000},
		    {"24h", 86400000}, {"9223372036854775807ms", INT64_MAX}};
	struct err err = {0};
	uint64_t ms;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_int_equal(parse_duration(rows[i].text, "x", &ms, &err), 0);
		assert_true(ms == rows[i].ms);
	}
}

static void test_sizes(void **state)
{
	static const struct {
		const char *text;
		uint64_t bytes;
	} rows[] = {
		{"1", 1},
		{"512", 512},
		{"64K", 65536},
		{"256M", 268435456},
		{"1G", 1073741824},
		{"2T", UINT64_C(2) << 40},
		{"8388607T", UINT64_C(8388607) << 40},
		{"9223372036854775807", INT64_MAX},
	};
	struct err err = {0};
	uint64_t bytes;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_int_equal(parse_size(rows[i].text, "x", &bytes, &err), 0);
		assert_true(bytes == rows[i].bytes);
	}
}

/* The same text for both, so that every row is wrong for both. */
static void test_what_is_refused(void **state)
{
	static const struct {
		const char *text, *message;
	} rows[] = {
		{"", "is not a"},
		{"0", "is not a"},
		{"0s", "is not a"},
		{"0M", "is not a"},
		{"05s", "is not a"},
		{"05M", "is not a"},
		{"-1s", "is not a"},
		{"-1M", "is not a"},
		{"+1s", "is not a"},
		{"1.5s", "is not a"},
		{"1.5G", "is not a"},
		{"1e3", "is not a"},
		{" 1s", "is not a"},
		{"1s ", "is not a"},
		{"1 M", "is not a"},
		{"s", "is not a"},
		{"M", "is not a"},
		{"1d", "is not a"},
		{"1S", "is not a"},
		{"1k", "is not a"},
		{"1MB", "is not a"},
		{"1GiB", "is not a"},
		{"0x10", "is not a"},
		{"five", "is not a"},
		{"99999999999999999999", "is too large"},
		{"18446744073709551616ms", "is too large"},
		{"1\nM\x1b[31m", "\"1?M?[31m\" is not a"},
	};
	struct err err;
	uint64_t n = 7;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		err = (struct err){0};
		assert_int_equal(parse_duration(rows[i].text, "--wall", &n, &err), -1);
		assert_int_equal(err.kind, ERR_USAGE);
		assert_memory_equal(err.message, "--wall: \"", 9);
		assert_non_null(strstr(err.message, rows[i].message));
		assert_non_null(strstr(err.hint, "500ms, 5s, 2m or 1h"));
		assert_int_equal(parse_size(rows[i].text, "--disk", &n, &err), -1);
		assert_memory_equal(err.message, "--disk: \"", 9);
		assert_non_null(strstr(err.message, rows[i].message));
		assert_non_null(strstr(err.hint, "64K, 256M"));
	}
	assert_int_equal(n, 7);
}

static void test_the_product_overflows(void **state)
{
	struct err err = {0};
	uint64_t n = 7;

	(void)state;
	assert_int_equal(parse_duration("2562047788015216h", "x", &n, &err), -1);
	assert_string_equal(err.message, "x: \"2562047788015216h\" is too large");
	assert_int_equal(parse_size("8388608T", "x", &n, &err), -1);
	assert_string_equal(err.message, "x: \"8388608T\" is too large");
	assert_int_equal(parse_size("9223372036854775808", "x", &n, NULL), -1);
	assert_int_equal(n, 7);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		HARNESS_TEST(test_durations),
		HARNESS_TEST(test_sizes),
		HARNESS_TEST(test_what_is_refused),
		HARNESS_TEST(test_the_product_overflows),
	};

	return HARNESS_RUN(tests);
}
