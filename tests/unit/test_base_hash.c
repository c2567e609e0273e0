#include "harness.h"

#include "base/hash.h"

#include <string.h>

/* FIPS 180-2, appendix B; the third needs two blocks. */
static void test_known_digests(void **state)
{
	static const struct {
		const char *text, *hex;
	} rows[] = {
		{"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
		{"abc",
		 "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
		{"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
		 "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
	};
	char hex[SHA256_HEX];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		sha256_hex(rows[i].text, strlen(rows[i].text), hex);
		assert_string_equal(hex, rows[i].hex);
		assert_int_equal(sha256_file(harness_file("f", rows[i].text), hex, NULL),
				 0);
		assert_string_equal(hex, rows[i].hex);
	}
}

static void fields(const char *a, const char *b, char ret[SHA256_HEX])
{
	struct sha256 *h = sha256_new();

	sha256_add_field(h, a);
	sha256_add_field(h, b);
	sha256_finish(h, ret);
}

static void test_fields_do_not_run_together(void **state)
{
	static const char *const pairs[][2] = {{"ab", "c"}, {"a", "bc"},   {"abc", ""},
					       {"", "abc"}, {"abc", NULL}, {NULL, "abc"}};
	char hex[ARRAY_SIZE(pairs)][SHA256_HEX];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(pairs); i++) {
		fields(pairs[i][0], pairs[i][1], hex[i]);
		for (size_t j = 0; j < i; j++)
			assert_string_not_equal(hex[i], hex[j]);
	}
}

static void test_files_that_cannot_be_read(void **state)
{
	char hex[SHA256_HEX] = "untouched";
	struct err err = {0};

	(void)state;
	assert_int_equal(sha256_file("/proc/nonexistent/f", hex, &err), -1);
	assert_int_equal(err.kind, ERR_ENVIRONMENT);
	assert_string_equal(err.message,
			    "cannot open /proc/nonexistent/f: No such file or directory");
	assert_int_equal(sha256_file(harness_tmpdir(), hex, &err), -1);
	assert_non_null(strstr(err.message, "Is a directory"));
	assert_string_equal(hex, "untouched");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		HARNESS_TEST(test_known_digests),
		HARNESS_TEST(test_fields_do_not_run_together),
		HARNESS_TEST(test_files_that_cannot_be_read),
	};

	return HARNESS_RUN(tests);
}
