/* The record of a process under the heap library, whole and broken; what its library
 * counts is tested in tests/cli/heap.bats. */
#include "harness.h"

#include "base/macros.h"
#include "base/mem.h"
#include "detect/heap_report.h"

#include <string.h>

enum { MODULES = 2, STACKS = 2, FRAMES = 3 };

/* As a process writes it. */
struct record {
	struct heap_header header;
	struct heap_module modules[MODULES];
	struct heap_stack stacks[STACKS];
	struct heap_frame frames[FRAMES];
	uint32_t end;
	uint32_t pad;
};
enum { LENGTH = offsetof(struct record, end) + sizeof(uint32_t) };

static struct record *whole_record(void)
{
	struct record *r = xcalloc(1, sizeof(*r));

	r->header = (struct heap_header){
		.magic = HEAP_MAGIC,
		.state = HEAP_ENDED,
		.pid = 7,
		.nmodules = MODULES,
		.nstacks = STACKS,
		.nframes = FRAMES,
		.canary_lost = 4,
		.canary_held = 1,
		.exe = "/b/t",
	};
	memcpy(r->modules[0].path, "/b/t", 5);
	memcpy(r->modules[1].path, "/lib/libc.so.6", 15);
	r->stacks[0] = (struct heap_stack){.nframes = 2, .lost_blocks = 1};
	r->stacks[1] = (struct heap_stack){.first_frame = 2, .nframes = 1, .freed = 3};
	r->frames[1] = (struct heap_frame){.module = 1, .offset = 0x10};
	r->frames[2] = (struct heap_frame){.module = UINT32_MAX};
	r->end = HEAP_END;
	return r;
}

static void test_whole(void **state)
{
	CLEANUP_FREE struct record *r = whole_record();
	struct heap_report report = {0};

	(void)state;
	assert_null(heap_report_parse(r, LENGTH, &report));
	assert_int_equal(report.header.nstacks, STACKS);
	assert_int_equal(report.stacks[0].lost_blocks, 1);
	assert_string_equal(heap_report_module(&report, &report.frames[1]),
			    "/lib/libc.so.6");
	assert_null(heap_report_module(&report, &report.frames[2]));
	heap_report_release(&report);
}

/* The header alone is a process that has not ended; what follows it is not looked at. */
static void test_started(void **state)
{
	static const uint32_t states[] = {HEAP_RUNNING, HEAP_EXEC};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(states); i++) {
		CLEANUP_FREE struct record *r = whole_record();
		struct heap_report report = {0};

		r->header.state = states[i];
		assert_null(heap_report_parse(r, sizeof(r->header), &report));
		assert_int_equal(report.header.state, states[i]);
		assert_int_equal(report.header.nstacks, 0);
		assert_null(heap_report_parse(r, LENGTH, &report));
		assert_null(report.stacks);
	}
}

static void test_cut(void **state)
{
	CLEANUP_FREE struct record *r = whole_record();
	struct heap_report report = {0};

	(void)state;
	for (size_t n = 0; n < LENGTH; n++)
		assert_non_null(heap_report_parse(r, n, &report));
	assert_non_null(heap_report_parse(r, LENGTH + 1, &report));
	assert_null(report.stacks);
}

/* Offsets into the record of 32-bit fields, and what is written there. */
static const struct {
	size_t at;
	uint32_t value;
} forged[] = {
	{offsetof(struct record, header.magic), 1},
	{offsetof(struct record, header.state), 0},
	{offsetof(struct record, header.state), 9},
	{offsetof(struct record, header.nmodules), HEAP_MODULES + 1},
	{offsetof(struct record, header.nmodules), 1},
	{offsetof(struct record, header.nstacks), HEAP_STACKS + 1},
	{offsetof(struct record, header.nstacks), UINT32_MAX},
	{offsetof(struct record, header.nframes), UINT32_MAX},
	{offsetof(struct record, header.nframes), FRAMES + 1},
	{offsetof(struct record, stacks[0].first_frame), FRAMES},
	{offsetof(struct record, stacks[0].first_frame), UINT32_MAX},
	{offsetof(struct record, stacks[1].nframes), 2},
	{offsetof(struct record, stacks[1].nframes), UINT32_MAX},
	{offsetof(struct record, frames[0].module), MODULES},
	{offsetof(struct record, frames[0].module), UINT32_MAX - 1},
	{offsetof(struct record, end), 0},
};

static void test_forged(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(forged); i++) {
		CLEANUP_FREE struct record *r = whole_record();
		struct heap_report report = {0};

		memcpy((char *)r + forged[i].at, &forged[i].value, 4);
		if (!heap_report_parse(r, LENGTH, &report))
			fail_msg("forgery %zu was believed", i);
		assert_null(report.stacks);
	}
}

/* Names that have no end are cut. */
static void test_names(void **state)
{
	CLEANUP_FREE struct record *r = whole_record();
	struct heap_report report = {0};

	(void)state;
	memset(r->header.exe, 'x', sizeof(r->header.exe));
	memset(r->modules[0].path, 'y', HEAP_PATH);
	assert_null(heap_report_parse(r, LENGTH, &report));
	assert_int_equal(strlen(report.header.exe), sizeof(r->header.exe) - 1);
	assert_int_equal(strlen(report.modules[0].path), HEAP_PATH - 1);
	heap_report_release(&report);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		HARNESS_TEST(test_whole), HARNESS_TEST(test_started),
		HARNESS_TEST(test_cut),	  HARNESS_TEST(test_forged),
		HARNESS_TEST(test_names),
	};

	return HARNESS_RUN(tests);
}
