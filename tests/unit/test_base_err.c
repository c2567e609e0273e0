#include "harness.h"

#include "base/err.h"

#include <errno.h>
#include <string.h>

static void test_set_replaces_and_returns(void **state)
{
	struct err err = {.hint = "an older hint"};

	(void)state;
	assert_int_equal(err_set(&err, ERR_USAGE, "%s is %d", "n", 3), -1);
	assert_int_equal(err.kind, ERR_USAGE);
	assert_string_equal(err.message, "n is 3");
	assert_string_equal(err.hint, "");
}

static void test_errno_is_spelled_out(void **state)
{
	struct err err = {0};

	(void)state;
	assert_int_equal(err_errno(&err, ERR_ENVIRONMENT, ENOSPC, "cannot write x"), -1);
	assert_string_equal(err.message, "cannot write x: No space left on device");
}

static void test_prefix_keeps_kind_and_hint(void **state)
{
	struct err err = {0};

	(void)state;
	err_set(&err, ERR_INTERRUPTED, "stopped");
	err_hint(&err, "run %s", "again");
	assert_int_equal(err_prefix(&err, "step %d", 2), -1);
	assert_string_equal(err.message, "step 2: stopped");
	assert_string_equal(err.hint, "run again");
	assert_int_equal(err.kind, ERR_INTERRUPTED);
}

static void test_long_texts_are_cut(void **state)
{
	struct err err = {0};
	char text[3000];

	(void)state;
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	err_set(&err, ERR_USAGE, "%s", text);
	assert_int_equal(strlen(err.message), sizeof(err.message) - 1);
	err_prefix(&err, "%s", text);
	assert_int_equal(strlen(err.message), sizeof(err.message) - 1);
	err_errno(&err, ERR_USAGE, ENOENT, "%s", text);
	assert_int_equal(strlen(err.message), sizeof(err.message) - 1);
	err_hint(&err, "%s", text);
	assert_int_equal(strlen(err.hint), sizeof(err.hint) - 1);
}

static void test_nobody_may_listen(void **state)
{
	(void)state;
	assert_int_equal(err_set(NULL, ERR_USAGE, "x"), -1);
	assert_int_equal(err_errno(NULL, ERR_USAGE, EIO, "x"), -1);
	assert_int_equal(err_prefix(NULL, "x"), -1);
	err_hint(NULL, "x");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		HARNESS_TEST(test_set_replaces_and_returns),
		HARNESS_TEST(test_errno_is_spelled_out),
		HARNESS_TEST(test_prefix_keeps_kind_and_hint),
		HARNESS_TEST(test_long_texts_are_cut),
		HARNESS_TEST(test_nobody_may_listen),
	};

	return HARNESS_RUN(tests);
}
