/* What is written for the shim, what is read of it, which of it is tried. */
#include "harness.h"

#include "base/buf.h"
#include "base/fs.h"
#include "base/mem.h"
#include "fault/calls.h"
#include "fault/map.h"
#include "fault/plan.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

static char *map_path(void)
{
	return path_join(harness_tmpdir(), "map");
}

static void put(const char *path, const void *what, size_t n, size_t at)
{
	CLEANUP_FD int fd = open(path, O_RDWR | O_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, what, n, (off_t)at), n);
}

static uint32_t call_of(const char *name)
{
	for (uint32_t i = 0; i < fault_ncalls; i++)
		if (!strcmp(fault_calls[i].name, name))
			return i;
	fail();
	return 0;
}

static void put_point(const char *path, size_t at, const struct fault_point *p)
{
	put(path, p, sizeof(*p),
	    offsetof(struct fault_map, points) + at * sizeof(struct fault_point));
}

static void put_module(const char *path, size_t at, const char *name)
{
	struct fault_module m = {0};
	const uint32_t n = (uint32_t)at + 1;

	strncpy(m.path, name, sizeof(m.path) - 1);
	put(path, &m, sizeof(m), offsetof(struct fault_map, modules) + at * sizeof(m));
	put(path, &n, sizeof(n), offsetof(struct fault_map, nmodules));
}

static void test_head(void **state)
{
	const uint64_t keys[] = {5, 5 + FAULT_POINTS, FAULT_POINTS - 1, 7};
	const struct fault_request request = {
		.mode = FAULT_EXPLORE,
		.classes = 3,
		.call = 9,
		.key = 0x1234,
		.occurrence = 2,
		.errnum = EIO,
		.scratch = "/tmp/x",
		.keys = keys,
		.nkeys = 4,
		.forever = true,
		.deadline_ms = 50,
	};
	CLEANUP_FREE char *path = map_path();
	CLEANUP(fault_trials) struct fault_trials t = {0};
	CLEANUP(buf) struct buf bytes = {0};
	const struct fault_map *m;

	(void)state;
	assert_int_equal(fault_map_make(path, &request, NULL), 0);
	assert_int_equal(fault_map_make(path, &request, NULL),
			 -1); /* never over another */
	assert_int_equal(read_file(path, 0, &bytes, NULL), 0);
	assert_int_equal(bytes.len, sizeof(*m));
	m = (const struct fault_map *)(const void *)bytes.data;
	assert_int_equal(m->magic, FAULT_MAGIC);
	assert_int_equal(m->mode, FAULT_EXPLORE);
	assert_int_equal(m->classes, 3);
	assert_int_equal(m->call, 9);
	assert_int_equal(m->key, 0x1234);
	assert_int_equal(m->occurrence, 2);
	assert_int_equal(m->errnum, EIO);
	assert_int_equal(m->forever, 1);
	assert_int_equal(m->deadline_ms, 50);
	assert_int_equal(m->held, UINT32_MAX);
	assert_string_equal(m->scratch, "/tmp/x");
	/* Where the shim looks: at key % FAULT_POINTS or after it. */
	assert_int_equal(m->trials[5].key, 5);
	assert_int_equal(m->trials[6].key, 5 + FAULT_POINTS);
	assert_int_equal(m->trials[7].key, 7);
	assert_int_equal(m->trials[FAULT_POINTS - 1].key, FAULT_POINTS - 1);
	assert_int_equal(fault_trials_read(path, &t, NULL), 0);
	assert_int_equal(t.n, 4);
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(fault_trials_find(&t, keys[i])->key, keys[i]);
	assert_null(fault_trials_find(&t, 6));
}

static void test_scratch_too_long(void **state)
{
	char scratch[FAULT_PATH + 1];
	const struct fault_request request = {.mode = FAULT_RECORD, .scratch = scratch};
	CLEANUP_FREE char *path = map_path();
	CLEANUP(buf) struct buf bytes = {0};

	(void)state;
	memset(scratch, 'x', FAULT_PATH);
	scratch[FAULT_PATH] = '\0';
	assert_int_equal(fault_map_make(path, &request, NULL), 0);
	assert_int_equal(read_file(path, 0, &bytes, NULL), 0);
	assert_string_equal(((const struct fault_map *)(const void *)bytes.data)->scratch,
			    "");
}

/* A program under test may write there. */
static void test_what_does_not_fit_is_dropped(void **state)
{
	const struct fault_point good = {
		.key = 3, .call = 0, .nframes = 1, .count = 4, .frames = {{.module = 0}}};
	struct fault_point bad[] = {
		{.key = 4, .call = UINT32_MAX, .nframes = 1},
		{.key = 5, .nframes = 0},
		{.key = 6, .nframes = FAULT_FRAMES + 1},
		{.key = 7, .nframes = 1, .variant = FAULT_VARIANTS},
		{.key = 0, .nframes = 1},
	};
	const uint32_t many = UINT32_MAX;
	struct fault_point full = {.key = 9, .nframes = 1, .frames = {{.module = 900}}};
	const struct fault_request request = {.mode = FAULT_RECORD};
	CLEANUP(fault_record) struct fault_record r = {0};
	CLEANUP_FREE char *path = map_path();

	(void)state;
	assert_int_equal(fault_map_make(path, &request, NULL), 0);
	put_module(path, 0, "/p/program");
	put_point(path, 1, &good);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		put_point(path, 10 + i, &bad[i]);
	memset(full.argument, 'a', sizeof(full.argument));
	put_point(path, 3, &full);
	put(path, &many, sizeof(many), offsetof(struct fault_map, nmodules));
	assert_int_equal(fault_map_read(path, &r, NULL), 0);
	assert_int_equal(r.npoints, 2);
	assert_int_equal(r.nmodules, FAULT_MODULES);
	assert_int_equal(fault_record_find(&r, 3)->count, 4);
	assert_null(fault_record_find(&r, 4));
	assert_int_equal(strlen(fault_record_find(&r, 9)->argument),
			 sizeof(full.argument) - 1);
	assert_string_equal(fault_record_module(&r, &good.frames[0]), "/p/program");
	assert_null(fault_record_module(&r, &full.frames[0]));
}

static void test_cut_file(void **state)
{
	const struct fault_request request = {.mode = FAULT_RECORD};
	CLEANUP(fault_record) struct fault_record r = {0};
	CLEANUP(fault_trials) struct fault_trials t = {0};
	CLEANUP_FREE char *path = map_path();

	(void)state;
	assert_int_equal(fault_map_read(path, &r, NULL), -1);
	assert_int_equal(fault_map_make(path, &request, NULL), 0);
	for (off_t n = sizeof(struct fault_map) - 1; n > 100; n /= 2) {
		assert_int_equal(truncate(path, n), 0);
		assert_int_equal(fault_trials_read(path, &t, NULL), -1);
	}
	assert_int_equal(fault_map_read(path, &r, NULL), -1);
}

/* ---- the plan ---- */

static struct fault_point point(uint64_t key, const char *call, uint32_t module,
				uint64_t count, uint32_t flags)
{
	return (struct fault_point){.key = key,
				    .call = call_of(call),
				    .nframes = 1,
				    .count = count,
				    .flags = flags,
				    .frames = {{.module = module}}};
}

static void test_plan(void **state)
{
	static struct fault_module modules[] = {{"/lib/libc.so.6"}, {"/p/program"}};
	struct fault_point points[] = {
		point(1, "malloc", 0, 1, 0), point(2, "malloc", 1, 9, 0),
		point(3, "malloc", 1, 2, 0), point(4, "write", 1, 50, FAULT_WRITTEN),
		point(5, "__open_2", 1, 3, 0)};
	const struct fault_record r = {.points = points,
				       .npoints = ARRAY_SIZE(points),
				       .modules = modules,
				       .nmodules = 2};
	static const struct {
		const char *name;
		struct fault_choice choice;
		uint64_t keys[6];
		size_t outside, left;
	} cases[] = {
		{"data first, then the rarest", {.project = "/p"}, {4, 3, 5, 2}, 1, 0},
		{"no program is the project's", {.project = "/q"}, {4, 1, 3, 5, 2}, 0, 0},
		{"one call", {.project = "/p", .call = "open"}, {5}, 0, 0},
		{"one key, wherever", {.project = "/p", .key = 1}, {1}, 0, 0},
		{"the first", {.project = "/p", .most = 2}, {4, 3}, 1, 2},
		{"a path", {.project = "/p", .path = "*.txt"}, {3}, 0, 0},
	};

	(void)state;
	memcpy(points[2].argument, "/p/a.txt", 9);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(fault_plan) struct fault_plan plan = {0};
		size_t n = 0;

		fault_plan_make(&r, &cases[i].choice, &plan);
		while (cases[i].keys[n])
			n++;
		if (plan.n != n)
			fail_msg("%s: %zu points", cases[i].name, plan.n);
		for (size_t k = 0; k < n; k++)
			if (plan.points[k]->key != cases[i].keys[k])
				fail_msg("%s: point %zu", cases[i].name, k);
		assert_int_equal(plan.outside, cases[i].outside);
		assert_int_equal(plan.left, cases[i].left);
	}
}

static void test_keys(void **state)
{
	uint64_t key = 0;

	(void)state;
	assert_true(fault_key_parse("00000000000000ff", &key));
	assert_int_equal(key, 255);
	assert_false(fault_key_parse("ff", &key));
	assert_false(fault_key_parse("00000000000000fg", &key));
	assert_false(fault_key_parse("-000000000000001", &key));
	assert_false(fault_key_parse("0000000000000000", &key));
}

static void test_errors(void **state)
{
	static const struct {
		const char *call, *error;
		uint16_t variant;
		int errnum;
	} cases[] = {
		{"malloc", "ENOMEM", FAULT_FAIL, 0},
		{"write", "ENOSPC", FAULT_FAIL, 0},
		{"write", "EIO", FAULT_FAIL, EIO},
		{"write", "EINTR", FAULT_EINTR, 0},
		{"write", "one byte less", FAULT_SHORT, 0},
		{"sqlite3_step", "SQLITE_IOERR", FAULT_FAIL, 0},
		{"sqlite3_step", "SQLITE_FULL", FAULT_FAIL, 13},
		{"PQexec", "NULL", FAULT_FAIL, 0},
		{"PQsendQuery", "0", FAULT_FAIL, 0},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct fault_point p = {.call = call_of(cases[i].call),
					      .variant = cases[i].variant};

		assert_string_equal(fault_error_name(&p, cases[i].errnum),
				    cases[i].error);
	}
	assert_true(fault_call_is(&fault_calls[call_of("__fprintf_chk")], "fprintf"));
	assert_true(fault_call_is(&fault_calls[call_of("fputs_unlocked")], "fputs"));
	assert_false(fault_call_is(&fault_calls[call_of("fputs")], "fput"));
	assert_true(fault_call_removes(&fault_calls[call_of("unlinkat")]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		HARNESS_TEST(test_head),
		HARNESS_TEST(test_scratch_too_long),
		HARNESS_TEST(test_what_does_not_fit_is_dropped),
		HARNESS_TEST(test_cut_file),
		HARNESS_TEST(test_plan),
		HARNESS_TEST(test_keys),
		HARNESS_TEST(test_errors),
	};

	return HARNESS_RUN(tests);
}
