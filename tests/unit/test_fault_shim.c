/* The library that makes calls fail, in processes that have it: this program, once more.
 */
#include "harness.h"

#include "detect/embed.h"
#include "fault/calls.h"
#include "fault/map.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { UNTOUCHED = 77, PLAIN, AFTER, NEST };

static const char *self; /* path of this program */

/* ---- inside ---- */

static void *shim;

static void *wrapper(const char *name)
{
	return dlsym(shim, name);
}

static struct fault_map *own_map(void)
{
	int fd = open(getenv(FAULT_ENV), O_RDWR | O_CLOEXEC);
	void *at = mmap(NULL, sizeof(struct fault_map), PROT_READ | PROT_WRITE,
			MAP_SHARED, fd, 0);

	close(fd);
	return at == MAP_FAILED ? NULL : at;
}

static int complain(const char *name, const char *what)
{
	fprintf(stderr, "# %s: %s\n", name, what);
	return 1;
}

/* One call of malloc, always from here. */
__attribute__((noinline)) static void *allocate(void)
{
	void *(*f)(size_t n) = (void *(*)(size_t))(uintptr_t)wrapper("malloc");
	void *p = f(10);

	__asm__ volatile("" : "+r"(p) : : "memory");
	return p;
}

/* From now on what the map's classes and call name fails. */
static int begin_failing(struct fault_map *m)
{
	uint64_t key = 0;

	m->mode = FAULT_RECORD;
	for (int i = 0; i < 3; i++) {
		void *p;

		errno = UNTOUCHED;
		p = allocate();
		if (i < 2 ? !p || errno != UNTOUCHED : p || errno != ENOMEM)
			return complain("malloc", "does not fail at its second time");
		free(p);
		for (size_t k = 0; k < FAULT_POINTS; k++)
			if (m->points[k].key)
				key = m->points[k].key;
		m->key = key;
		m->mode = FAULT_FOREVER;
	}
	return m->fired != 1 ? complain("malloc", "does not say so") : 0;
}

typedef long (*any)(long a, long b, long c, long d, long e, long f);

static long first_argument(const char *name)
{
	if (!strcmp(name, "fclose"))
		return (long)fopen("/dev/null", "re");
	return !strcmp(name, "close") ? open("/dev/null", O_RDONLY | O_CLOEXEC) : 0;
}

#define BRACED_E(...)       \
	{                   \
		__VA_ARGS__ \
	}
#define CALL(name, class, type, parameters, arguments, failure, errnos, reported, how, \
	     ...)                                                                      \
	static int check_##name(struct fault_map *m, uint32_t row)                     \
	{                                                                              \
		const int numbers[3] = BRACED_##errnos, error = numbers[0];            \
		type (*f)(long a, long b, long c, long d, long e, long g) = (type(*)(  \
			long, long, long, long, long, long))(uintptr_t)wrapper(#name); \
		long to = first_argument(#name);                                       \
		uint32_t fired = m->fired;                                             \
		type got;                                                              \
                                                                                       \
		if (!f)                                                                \
			return complain(#name, "has no wrapper");                      \
		m->classes = 1u << FAULT_CLASS_##class;                                \
		m->call = row;                                                         \
		errno = 0;                                                             \
		got = f(to, 0, 0, 0, 0, 0);                                            \
		m->classes = 0;                                                        \
		if (FAULT_CLASS_##class != FAULT_CLASS_DATABASE && errno != error)     \
			return complain(#name, strerrorname_np(errno));                \
		if (got != (type)(failure))                                            \
			return complain(#name, "returns something else");              \
		if (m->fired != fired + 1)                                             \
			return complain(#name, "does not say so");                     \
		if (how == AFTER && !strcmp(#name, "close") &&                         \
		    fcntl((int)to, F_GETFD) >= 0)                                      \
			return complain(#name, "was not done");                        \
		return 0;                                                              \
	}
#include "abi/calls.def"
#undef CALL

static int (*const checks[])(struct fault_map *m, uint32_t row) = {
#define CALL(name, ...) check_##name,
#include "abi/calls.def"
#undef CALL
};

static int child_table(struct fault_map *m)
{
	int bad = begin_failing(m);

	for (uint32_t i = 0; i < fault_ncalls; i++)
		bad |= checks[i](m, i);
	return bad;
}

static int child_record(void)
{
	for (int i = 0; i < 1000; i++)
		free(allocate());
	free(allocate());
	for (int i = 0; i < 2; i++)
		if (fork() == 0) {
			free(allocate());
			_exit(0);
		}
	while (wait(NULL) > 0)
		;
	return 0;
}

static int child_fail(void)
{
	int failed = 0;

	for (int i = 0; i < 10; i++) {
		void *p = allocate();

		failed += p == NULL;
		free(p);
	}
	return failed;
}

static int child(const char *what)
{
	struct fault_map *m = own_map();

	shim = dlopen(getenv("SHIM"), RTLD_NOW | RTLD_NOLOAD);
	if (!shim || !m)
		return complain(what, "the library is not loaded");
	if (!strcmp(what, "table"))
		return child_table(m);
	return !strcmp(what, "record") ? child_record() : child_fail();
}

/* ---- outside ---- */

static const char *library(void)
{
	static char path[4096];
	FILE *f;

	snprintf(path, sizeof(path), "%s/exitpath-fault.so", harness_tmpdir());
	f = fopen(path, "we");
	fwrite(embed_fault_start, 1, (size_t)(embed_fault_end - embed_fault_start), f);
	assert_int_equal(fclose(f), 0);
	return path;
}

static int run_child(const char *what, const struct fault_request *request,
		     struct fault_record *ret)
{
	CLEANUP_FREE char *map = NULL;
	const char *so = library(), *options = getenv("ASAN_OPTIONS");
	CLEANUP_FREE char *asan = NULL;
	int status;
	pid_t pid;

	assert_true(asprintf(&map, "%s/map", harness_tmpdir()) > 0);
	assert_true(asprintf(&asan, "%s:verify_asan_link_order=0:detect_leaks=0",
			     options ? options : "") > 0);
	unlink(map);
	assert_int_equal(fault_map_make(map, request, NULL), 0);
	pid = fork();
	if (pid == 0) {
		setenv(FAULT_ENV, map, 1);
		setenv("SHIM", so, 1);
		setenv("LD_PRELOAD", so, 1);
		setenv("ASAN_OPTIONS", asan, 1);
		execl(self, self, what, NULL);
		_exit(99);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(fault_map_read(map, ret, NULL), 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static void test_every_row_fails_as_it_says(void **state)
{
	const struct fault_request request = {
		.classes = 1u << FAULT_CLASS_MEMORY, .call = 0, .occurrence = 2};
	CLEANUP(fault_record) struct fault_record r = {0};

	(void)state;
	assert_string_equal(fault_calls[0].name, "malloc");
	assert_int_equal(run_child("table", &request, &r), 0);
	assert_int_equal(r.loaded, 1);
}

/* Wherever objects lie; and a helper's own return address is the same for all callers. */
static void test_stacks_are_told_apart(void **state)
{
	const struct fault_request request = {
		.mode = FAULT_RECORD, .classes = 1u << FAULT_CLASS_MEMORY, .call = 0};
	CLEANUP(fault_record) struct fault_record a = {0}, b = {0};
	uint64_t most = 0, sum = 0;

	(void)state;
	assert_int_equal(run_child("record", &request, &a), 0);
	assert_int_equal(run_child("record", &request, &b), 0);
	assert_int_equal(a.npoints, b.npoints);
	for (size_t i = 0; i < a.npoints; i++) {
		assert_int_equal(a.points[i].key, b.points[i].key);
		assert_int_equal(a.points[i].count, b.points[i].count);
		assert_non_null(fault_record_module(&a, &a.points[i].frames[0]));
		most = a.points[i].count > most ? a.points[i].count : most;
		sum += a.points[i].count;
	}
	assert_int_equal(most, 1000);
	assert_true(sum >= 1003 && a.calls >= sum);
}

static void test_one_occurrence_fails(void **state)
{
	struct fault_request request = {.mode = FAULT_RECORD,
					.classes = 1u << FAULT_CLASS_MEMORY,
					.call = 0,
					.occurrence = 3};
	CLEANUP(fault_record) struct fault_record all = {0}, one = {0}, rest = {0};

	(void)state;
	assert_int_equal(run_child("fail", &request, &all), 0);
	for (size_t i = 0; i < all.npoints; i++)
		if (all.points[i].count == 10)
			request.key = all.points[i].key;
	assert_int_not_equal(request.key, 0);
	request.mode = FAULT_ONCE;
	assert_int_equal(run_child("fail", &request, &one), 1);
	assert_int_equal(one.fired, 1);
	assert_int_equal(one.points[0].count, 10);
	request.mode = FAULT_FOREVER;
	assert_int_equal(run_child("fail", &request, &rest), 8);
	assert_int_equal(rest.fired, 8);
}

static void test_names(void **state)
{
	enum fault_class c;

	(void)state;
	assert_true(fault_class_parse("net", &c) && c == FAULT_CLASS_NET);
	assert_false(fault_class_parse("paper", &c));
	for (size_t i = 0; i < fault_ncalls; i++) {
		assert_true(fault_call_known(fault_calls[i].name));
		assert_true(fault_calls[i].errnos[0]);
		assert_int_equal(fault_call_is(&fault_calls[i], "open"),
				 !strcmp(fault_calls[i].name, "open") ||
					 !strcmp(fault_calls[i].name, "open64") ||
					 !strcmp(fault_calls[i].name, "__open_2") ||
					 !strcmp(fault_calls[i].name, "__open64_2"));
	}
	assert_string_equal(fault_errno_name(ENOMEM), "ENOMEM");
	assert_string_equal(fault_errno_name(4000), "4000");
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		HARNESS_TEST(test_every_row_fails_as_it_says),
		HARNESS_TEST(test_stacks_are_told_apart),
		HARNESS_TEST(test_one_occurrence_fails),
		HARNESS_TEST(test_names),
	};

	if (argc == 2 && getenv("SHIM"))
		return child(argv[1]);
	self = "/proc/self/exe";
	return HARNESS_RUN(tests);
}
