/* Stacks by rules, against those of libc's backtrace(3), in frames of every shape. */
#include "harness.h"

#include "../../shim/common/walk.c" /* part of a library that is preloaded */

#include <alloca.h>
#include <execinfo.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

enum { DEEP = 40 };

static struct walk_rule rules_of_test[WALK_RULES];
static unsigned compared, complex;

/* Of a call, or of an instruction that a signal came to. */
static int is_same(uintptr_t ours, const void *theirs)
{
	return ours == (uintptr_t)theirs - 1 || ours == (uintptr_t)theirs;
}

/* Both begin in this function, whose own frame the walk leaves out. */
__attribute__((noinline)) static void compare(void)
{
	uintptr_t ours[DEEP];
	void *theirs[DEEP + 3];
	int whole = 0, skip = 0, m = backtrace(theirs, DEEP + 3);
	int n = by_rules(__builtin_frame_address(0), ours, DEEP, &whole);

	/* libgcc has to walk; here that would leave out the whole program. */
	if (n < 0) {
		complex++;
		return;
	}
	assert_true(n > 2);
	/* backtrace() begins with this function, or with that of a sanitizer, and goes on
	 * into what it cannot walk. */
	while (skip < 3 && !is_same(ours[0], theirs[skip]))
		skip++;
	assert_true(n <= m - skip);
	for (int i = 0; i < n; i++)
		if (!is_same(ours[i], theirs[skip + i]))
			fail_msg("frame %d: %lx, not %p", i, (unsigned long)ours[i],
				 theirs[skip + i]);
	assert_true(whole || n == DEEP);
	compared++;
}

__attribute__((noinline)) static void with_alloca(size_t n)
{
	char *room = alloca(n);

	memset(room, 1, n);
	compare();
	__asm__ volatile("" : : "r"(room) : "memory");
}

__attribute__((noinline)) static void realigned(void)
{
	_Alignas(128) volatile char aligned[256];

	aligned[0] = 1;
	compare();
	assert_int_equal(aligned[0], 1);
}

__attribute__((noinline)) static void many_registers(int a, int b, int c, int d, int e,
						     int f, int g, int h)
{
	volatile int sum = 0;

	for (int i = 0; i < 2; i++) {
		compare();
		sum += a * b + c * d + e * f + g * h + i;
	}
	assert_int_equal(sum, 2 * 100 + 1);
}

__attribute__((noinline)) static void recurse(int depth)
{
	if (depth)
		recurse(depth - 1);
	else
		compare();
	__asm__ volatile("" : : : "memory");
}

static int by_compare(const void *a, const void *b)
{
	compare();
	return *(const int *)a - *(const int *)b;
}

static void on_signal(int number)
{
	(void)number;
	compare();
}

static void *in_thread(void *unused)
{
	compare();
	recurse(5);
	return unused;
}

static void walks(void)
{
	int numbers[] = {3, 1, 2};
	pthread_t thread;

	compare();
	for (size_t n = 1; n < 5000; n = n * 3 + 7)
		with_alloca(n);
	realigned();
	many_registers(1, 2, 3, 4, 5, 6, 7, 8);
	recurse(3);
	recurse(200);
	qsort(numbers, 3, sizeof(*numbers), by_compare);
	signal(SIGUSR1, on_signal);
	raise(SIGUSR1);
	signal(SIGUSR1, SIG_DFL);
	assert_int_equal(pthread_create(&thread, NULL, in_thread, NULL), 0);
	pthread_join(thread, NULL);
	assert_true(compared > 15);
	assert_true(complex > 0 && complex < 4); /* a signal's frame, a realigned one */
}

static void test_by_rules(void **state)
{
	(void)state;
#if defined(__x86_64__)
	/* walk_init() compares with libgcc beyond its library, which is the program here.
	 */
	rules = rules_of_test;
	walks();
	walk_forget();
	walks();
#endif
}

int main(void)
{
	const struct CMUnitTest tests[] = {HARNESS_TEST(test_by_rules)};

	return HARNESS_RUN(tests);
}
