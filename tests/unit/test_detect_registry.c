#include "harness.h"

#include "base/fs.h"
#include "base/mem.h"
#include "detect/detect.h"
#include "proc/proc.h"

#include <ctype.h>
#include <string.h>
#include <sys/stat.h>

extern const struct detector detector_skeleton;

static void check_words(const struct detector *d)
{
	assert_true(d->name && *d->name);
	for (const char *c = d->name; *c; c++)
		assert_true(islower((unsigned char)*c) || isdigit((unsigned char)*c));
	assert_true(d->summary && *d->summary && strlen(d->summary) <= 72);
	assert_null(strchr(d->summary, '\n'));
	assert_true(d->install && *d->install);
	assert_true(d->probe && d->prepare && d->collect);
}

static void test_every_row_is_whole(void **state)
{
	(void)state;
	for (size_t i = 0; detectors[i]; i++) {
		check_words(detectors[i]);
		/* Also: no name stands there twice. */
		assert_ptr_equal(detector_find(detectors[i]->name), detectors[i]);
	}
	assert_non_null(detectors[0]);
	check_words(&detector_skeleton);
	assert_null(detector_find("skeleton"));
	assert_null(detector_find(""));
}

static const struct {
	const char *command;
	enum probe_state state;
	size_t leaks;
} runs[] = {
	{"printf 'start\\nleak a\\nleak a\\nleak b\\ndone\\n' >$EXITPATH_SKELETON",
	 PROBE_COMPLETE, 2},
	{"printf 'start\\ndone\\n' >$EXITPATH_SKELETON", PROBE_COMPLETE, 0},
	{"printf 'start\\nleak a\\n' >$EXITPATH_SKELETON", PROBE_FORCED_EXIT, 1},
	{"printf 'what\\n' >$EXITPATH_SKELETON", PROBE_UNPARSED, 0},
	{"true", PROBE_SILENT, 0},
	{"kill -9 $$", PROBE_INTERRUPTED, 0},
};

static void run_skeleton(const char *command, struct probe *ret)
{
	const struct detector *d = &detector_skeleton;
	CLEANUP_FREE char *dir = make_temp_dir(harness_tmpdir(), "run-", NULL);
	CLEANUP(run_spec)
	struct run_spec spec = {.cwd = xstrdup(dir), .dir = xstrdup(dir)};
	struct detect_run run = {.dir = dir, .tmpdir = dir, .checkout = dir};
	struct run_result result;
	struct err err = {0};

	strv_add(&spec.argv, "/bin/sh");
	strv_add(&spec.argv, "-c");
	strv_add(&spec.argv, command);
	strv_add(&spec.env, "PATH=/usr/bin:/bin");
	assert_int_equal(d->prepare(&run, &spec, &err), 0);
	assert_int_equal(proc_run(&spec, &result, &err), 0);
	assert_int_equal(d->collect(&run, &result, ret, &err), 0);
}

static void test_skeleton(void **state)
{
	CLEANUP_FREE char *version = NULL;
	CLEANUP(probe) struct probe canary = {0};

	(void)state;
	assert_int_equal(detector_skeleton.probe(&version, NULL), 0);
	run_skeleton(detector_skeleton.canary_command(), &canary);
	assert_int_equal(canary.nleaks, 1);
	for (size_t i = 0; i < ARRAY_SIZE(runs); i++) {
		CLEANUP(probe) struct probe p = {0};

		run_skeleton(runs[i].command, &p);
		assert_int_equal(p.state, runs[i].state);
		assert_int_equal(p.nleaks, runs[i].leaks);
		assert_int_equal(p.detail == NULL, p.state == PROBE_COMPLETE);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		HARNESS_TEST(test_every_row_is_whole),
		HARNESS_TEST(test_skeleton),
	};

	return HARNESS_RUN(tests);
}
