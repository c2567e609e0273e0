#include "harness.h"

#include "base/buf.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/strv.h"

#include <stdio.h>
#include <string.h>

static void test_always_ends_in_null(void **state)
{
	CLEANUP(strv) struct strv s = {0};

	(void)state;
	for (int i = 0; i < 100; i++) {
		strv_addf(&s, "%d", i);
		assert_int_equal(s.n, i + 1);
		assert_null(s.v[s.n]);
	}
	strv_insert(&s, 0, "first");
	strv_insert(&s, s.n, "last");
	strv_insert(&s, 2, "third");
	assert_string_equal(s.v[0], "first");
	assert_string_equal(s.v[1], "0");
	assert_string_equal(s.v[2], "third");
	assert_string_equal(s.v[3], "1");
	assert_string_equal(s.v[s.n - 1], "last");
	assert_null(s.v[s.n]);
}

static void test_copy_contains_join(void **state)
{
	char a[] = "a", empty[] = "", *const src[] = {a, empty, NULL};
	CLEANUP(strv) struct strv s = {0};
	CLEANUP_FREE char *none = strv_join(&s, ","), *both = NULL;

	(void)state;
	assert_string_equal(none, "");
	strv_copy(&s, NULL);
	assert_int_equal(s.n, 0);
	assert_false(strv_contains(&s, "a"));
	strv_copy(&s, src);
	strv_take(&s, xstrdup("c"));
	assert_true(strv_contains(&s, ""));
	assert_false(strv_contains(&s, "A"));
	both = strv_join(&s, ", ");
	assert_string_equal(both, "a, , c");
}

static void test_environment(void **state)
{
	CLEANUP(strv) struct strv env = {0};

	(void)state;
	env_set(&env, "PATHS", "x");
	env_set(&env, "PATH", "/bin");
	env_set(&env, "EMPTY", "");
	assert_string_equal(env_get(&env, "PATH"), "/bin");
	assert_string_equal(env_get(&env, "EMPTY"), "");
	assert_null(env_get(&env, "PAT"));
	env_set(&env, "PATH", "/usr/bin=");
	assert_int_equal(env.n, 3);
	assert_string_equal(env_get(&env, "PATH"), "/usr/bin=");
	env_set(&env, "PATHS", NULL);
	env_set(&env, "MISSING", NULL);
	assert_int_equal(env.n, 2);
	assert_null(env.v[2]);
	assert_null(env_get(&env, "PATHS"));
}

/* What sh makes of shell_quote() is what went in. */
static void test_shell_reads_it_back(void **state)
{
	static const char *const words[] = {
		"plain",    "",	    " ",  "two words", "'", "''", "it's", "\"", "$HOME",
		"`id`",	    "a\\b", "\\", "new\nline", "*", "~",  "#x",	  "-n", "a=b",
		"\xff\xfe", "é",    "!",  "a;b",       "&", "|",  "(x)",  "\t"};
	CLEANUP(strv) struct strv argv = {0};
	CLEANUP(buf) struct buf out = {0}, expected = {0};
	CLEANUP_FREE char *quoted = NULL, *command = NULL;
	FILE *sh;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		strv_add(&argv, words[i]);
		buf_add(&expected, words[i], strlen(words[i]) + 1);
	}
	quoted = shell_quote(argv.v);
	command = xasprintf("printf '%%s\\0' %s", quoted);
	sh = popen(command, "re");
	assert_non_null(sh);
	assert_int_equal(read_fd(fileno(sh), 0, &out), 0);
	assert_int_equal(pclose(sh), 0);
	assert_int_equal(out.len, expected.len);
	assert_memory_equal(out.data, expected.data, out.len);
}

static void test_plain_words_have_no_quotes(void **state)
{
	char make[] = "make", jobs[] = "-j2",
	     target[] = "x/y.test", *const argv[] = {make, jobs, target, NULL};
	CLEANUP_FREE char *quoted = shell_quote(argv);

	(void)state;
	assert_string_equal(quoted, "make -j2 x/y.test");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		HARNESS_TEST(test_always_ends_in_null),
		HARNESS_TEST(test_copy_contains_join),
		HARNESS_TEST(test_environment),
		HARNESS_TEST(test_shell_reads_it_back),
		HARNESS_TEST(test_plain_words_have_no_quotes),
	};

	return HARNESS_RUN(tests);
}
