/*
 * What every unit test runs in: file descriptors are compared before and after the test,
 * and a descriptor that was not there before fails it.
 */
#ifndef TESTS_UNIT_HARNESS_H
#define TESTS_UNIT_HARNESS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* An entry of the array for cmocka_run_group_tests(). */
#define HARNESS_TEST(function) \
	cmocka_unit_test_setup_teardown(function, harness_setup, harness_teardown)

/* Runs the array `tests` and ends main(). */
#define HARNESS_RUN(tests) harness_run_ended(cmocka_run_group_tests(tests, NULL, NULL))

int harness_run_ended(int failures); /* returns it */
int harness_setup(void **state);
int harness_teardown(void **state);

/* A directory for this test, made at the first call, removed with all in it after the
 * test. */
const char *harness_tmpdir(void);

/* Writes a file in harness_tmpdir(); returns its path, valid until the test ends. */
const char *harness_file(const char *name, const char *content);

#endif
