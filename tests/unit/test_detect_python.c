/* The report of adapters/python as text, command lines, and the states of real runs. */
#include "harness.h"

#include "base/fs.h"
#include "base/mem.h"
#include "detect/detect.h"
#include "detect/python_command.h"
#include "detect/python_report.h"
#include "detect/python_wrapper.h"
#include "proc/proc.h"

#include <string.h>

extern char **environ;

#define LINE(json) "T0 {" json "}\n"
#define START LINE("\"event\":\"start\",\"runner\":\"pytest 8\",\"python\":\"3.11.2\"")
#define TESTS LINE("\"event\":\"tests\",\"run\":2,\"skipped\":1")
#define CANARY(when)                                 \
	LINE("\"event\":\"canary\",\"when\":\"" when \
	     "\",\"seen\":[\"memory\",\"fd\",\"object\",\"frozen\",\"warning\"]")
#define LEAK(resource, units)                                                      \
	LINE("\"event\":\"leak\",\"resource\":\"" resource "\",\"what\":"          \
	     "\"/dev/null\",\"growth\":true,\"units\":[" units "],"                \
	     "\"frames\":[{\"file\":\"pkg/a.py\",\"line\":3,\"function\":\"A.f\"," \
	     "\"project\":true}]")
#define DONE LINE("\"event\":\"done\"")
#define EXIT LINE("\"event\":\"exit\"")

/* --- the parser -------------------------------------------------------------------- */

static const struct {
	const char *text;
	bool started, done, canary, malformed;
	size_t leaks;
} reports[] = {
	{"", false, false, false, false, 0},
	{START, true, false, false, false, 0},
	{START TESTS CANARY("before") CANARY("after") DONE EXIT, true, true, true, false,
	 0},
	/* Before the cycles is not enough. */
	{START TESTS CANARY("before") DONE, true, true, false, false, 0},
	{START LEAK("fd", "1,1,1") DONE, true, true, false, false, 1},
	{START LEAK("no_such", "1") DONE, true, true, false, true, 0},
	{START LEAK("fd", "") DONE, true, true, false, true, 1},
	{START LEAK("fd", "-1") DONE, true, true, false, true, 1},
	{START "T1 {\"event\":\"done\"}\n", true, false, false, true, 0},
	{START "{\"event\":\"done\"}\n", true, false, false, true, 0},
	{START LINE("\"event\":\"else\""), true, false, false, true, 0},
	{START "T0 [1]\n", true, false, false, true, 0},
	{START "T0\n", true, false, false, true, 0},
	{START "\n", true, false, false, true, 0},
	/* The last line was cut off. */
	{START "T0 {\"event\":\"do", true, false, false, false, 0},
};

static void test_reports(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(reports); i++) {
		CLEANUP(python_report) struct python_report r = {0};

		python_report_parse(reports[i].text, strlen(reports[i].text), "T0", &r);
		assert_int_equal(r.started, reports[i].started);
		assert_int_equal(r.done, reports[i].done);
		assert_int_equal(r.canary, reports[i].canary);
		assert_int_equal(r.malformed != NULL, reports[i].malformed);
		assert_int_equal(r.nleaks, reports[i].leaks);
	}
}

static void test_a_leak(void **state)
{
	static const char text[] = START LEAK("fd", "1,0,2") LINE(
		"\"event\":\"leak\",\"resource\":\"db_connection\",\"what\":\"sqlite3\","
		"\"released_by_gc\":true,\"units\":[1],\"more\":\"m\"");
	CLEANUP(python_report) struct python_report r = {0};
	const struct python_leak *l;

	(void)state;
	python_report_parse(text, strlen(text), "T0", &r);
	assert_int_equal(r.nleaks, 2);
	l = &r.leaks[0];
	assert_int_equal(l->nunits, 3);
	assert_int_equal(l->units[2], 2);
	assert_true(l->leak.growth && leak_lasting(&l->leak));
	assert_string_equal(l->leak.signature, "fd|python|a.py!A.f");
	assert_string_equal(l->leak.frames[0].file, "pkg/a.py");
	assert_int_equal(l->leak.frames[0].line, 3);
	l = &r.leaks[1];
	assert_false(l->leak.growth || leak_lasting(&l->leak));
	assert_string_equal(l->leak.signature, "db_connection|python|sqlite3");
	assert_string_equal(l->leak.what,
			    "sqlite3: m, released by the garbage collector alone");
}

static void test_a_missed_canary(void **state)
{
	static const char text[] = START LINE(
		"\"event\":\"canary\",\"when\":\"after\",\"seen\":[\"memory\",\"fd\"]");
	CLEANUP(python_report) struct python_report r = {0};

	(void)state;
	python_report_parse(text, strlen(text), "T0", &r);
	assert_string_equal(r.missed, "the planted object was not seen after the cycles");
}

/* --- commands ---------------------------------------------------------------------- */

static const struct {
	const char *argv[5];
	enum python_use use;
} commands[] = {
	{{"pytest", "-q"}, PYTHON_TESTS},
	{{".venv/bin/pytest"}, PYTHON_TESTS},
	{{"python3", "-m", "pytest"}, PYTHON_TESTS},
	{{"python3.12", "-m", "unittest", "discover"}, PYTHON_TESTS},
	{{"coverage", "run", "-m", "pytest"}, PYTHON_TESTS},
	{{"/bin/sh", "-c", "PYTHONPATH=src python3 -m pytest -q && true"}, PYTHON_TESTS},
	{{"/bin/sh", "-c", "cd x;pytest"}, PYTHON_TESTS},
	{{"/bin/sh", "-c", "python3 -c 'from a import f; f()'"}, PYTHON_CODE},
	{{"python3", "-uB", "-c", "pass"}, PYTHON_CODE},
	{{"python3", "drive.py"}, PYTHON_PROGRAM},
	{{"python3", "-m", "http.server"}, PYTHON_PROGRAM},
	{{"make", "test"}, PYTHON_NONE},
	{{"/bin/sh", "-c", "echo my-pytest-notes"}, PYTHON_NONE},
	{{"./python-build"}, PYTHON_NONE},
	{{NULL}, PYTHON_NONE},
};

static void test_commands(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++) {
		CLEANUP(strv) struct strv argv = {0};

		for (size_t k = 0; commands[i].argv[k]; k++)
			strv_add(&argv, commands[i].argv[k]);
		assert_int_equal(python_command_use(&argv), commands[i].use);
	}
}

static const struct {
	const char *argv[6];
	bool isolated;
} isolated[] = {
	{{"python3", "-I", "-m", "pytest"}, true},
	{{"python3.11", "-BE", "-m", "pytest"}, true},
	{{"python3", "-W", "error", "-S", "x.py"}, true},
	{{"python3", "-Xdev", "-I", "x.py"}, true},
	{{"sh", "-c", "cd x && python3 -E -m unittest"}, true},
	{{"python3", "-m", "pytest", "-I"}, false},
	{{"python3", "-mpytest", "-E"}, false},
	{{"python3", "-c", "pass", "-I"}, false},
	{{"python3", "x.py", "-E"}, false},
	{{"python3", "-W", "-I", "x.py"}, false},
	{{"python3", "-WIgnore", "x.py"}, false},
	{{"python3", "--check-hash-based-pycs", "always", "x.py"}, false},
	{{"python3", "-"}, false},
	{{"grep", "-I", "python3"}, false},
};

static void test_isolated(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(isolated); i++) {
		CLEANUP(strv) struct strv argv = {0};

		for (size_t k = 0; isolated[i].argv[k]; k++)
			strv_add(&argv, isolated[i].argv[k]);
		assert_int_equal(python_command_isolated(&argv), isolated[i].isolated);
	}
}

static void lead_is(const char *a, const char *b, const char *c, const char *path,
		    const char *expected)
{
	CLEANUP(strv) struct strv argv = {0};

	strv_add(&argv, a);
	strv_add(&argv, b);
	strv_add(&argv, c);
	python_command_lead(&argv, path);
	assert_string_equal(argv.v[argv.n == 3 && !strcmp(b, "-c") ? 2 : 1], expected);
}

static void test_python_path(void **state)
{
	(void)state;
	lead_is("sh", "-c", "PYTHONPATH=src pytest", "/d/a.zip",
		"PYTHONPATH=/d/a.zip:src pytest");
	lead_is("sh", "-c", "cd x&&PYTHONPATH=\"src\" pytest", "/d e/a.zip",
		"cd x&&PYTHONPATH='/d e/a.zip':\"src\" pytest");
	lead_is("sh", "-c", "MY_PYTHONPATH=src pytest", "/d", "MY_PYTHONPATH=src pytest");
	lead_is("env", "PYTHONPATH=src", "pytest", "/d", "PYTHONPATH=/d:src");
	lead_is("env", "XPYTHONPATH=src", "pytest", "/d", "XPYTHONPATH=src");
}

static const struct {
	const char *text, *argv[4];
	bool tests;
} wrappers[] = {
	{"a: b\n\ttrue\nb:\n\t@$(PY) -m pytest\n", {"make"}, true},
	{"a: b\n\ttrue\nb:\n\t-pytest\n", {"make", "-f", "Makefile", "a"}, true},
	{"a:\n\tpytest\nb: ; true\n", {"make", "V=1", "b"}, false},
	{"a: | b\n\ntest b:\n\tpytest -q\n", {"/usr/bin/make", "-k", "a"}, true},
	{"a := pytest\na:\n\t# pytest\n\tpip install pytest\n", {"make", "a"}, false},
	{"a: a\n\tpython3 harness.py ./program\n", {"make", "a"}, false},
	{"", {"make"}, false},
	{"#!/usr/bin/env bash\nexec pytest \"$@\"\n", {"./Makefile"}, true},
	{"#! /bin/sh -e\n# pytest\nexec my-pytest\n", {"./Makefile"}, false},
	{"#!/bin/awk -f\npytest\n", {"./Makefile"}, false},
	{"pytest\n", {"sh", "-e", "Makefile"}, true},
	{"pytest\n", {"sh", "-ec", "Makefile"}, false},
	{"pytest\n", {"sh"}, false},
	{"pytest\n", {"Makefile"}, false},
};

static void test_wrappers(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(wrappers); i++) {
		CLEANUP(strv) struct strv argv = {0};

		harness_file("Makefile", wrappers[i].text);
		for (size_t k = 0; k < 4 && wrappers[i].argv[k]; k++)
			strv_add(&argv, wrappers[i].argv[k]);
		assert_int_equal(python_wrapper_runs_tests(&argv, harness_tmpdir()),
				 wrappers[i].tests);
	}
}

/* --- real runs, without pytest ------------------------------------------------------ */

static const struct {
	const char *command;
	enum probe_state state;
	size_t leaks;
	enum resource resource;
} runs[] = {
	{"python3 -c pass", PROBE_COMPLETE, 0, RESOURCE_FD},
	{"python3 -c 'import os; os.open(\"/dev/null\", os.O_RDONLY)'", PROBE_COMPLETE, 1,
	 RESOURCE_FD},
	{"python3 -c 'import os; os._exit(0)'", PROBE_FORCED_EXIT, 0, RESOURCE_FD},
	{"python3 -c 'import os, atexit; atexit.register(os._exit, 0)'",
	 PROBE_FORCED_EXIT, 0, RESOURCE_FD},
	{"python3 -c 'import os; os.kill(os.getpid(), 9)'", PROBE_INTERRUPTED, 0,
	 RESOURCE_FD},
	{"python3 -c 'raise SystemExit(3)'", PROBE_INTERRUPTED, 0, RESOURCE_FD},
	{"python3 -I -c pass", PROBE_SILENT, 0, RESOURCE_FD},
	{"python3 -m unittest nothing_there", PROBE_INTERRUPTED, 0, RESOURCE_FD},
	{"true", PROBE_SILENT, 0, RESOURCE_FD},
	{"echo x >>$(dirname $TMPDIR)/python/report.7; python3 -c pass", PROBE_UNPARSED,
	 0, RESOURCE_FD},
	/* It passes, and not again. */
	{"python3 -c 'import sys; assert not hasattr(sys, \"x\"); sys.x = 1'",
	 PROBE_COMPLETE, 1, RESOURCE_STATE},
	{"python3 -c 'import sqlite3, sys; sys.x = getattr(sys, \"x\", []) + "
	 "[sqlite3.connect(\":memory:\")]'",
	 PROBE_COMPLETE, 1, RESOURCE_DB_CONNECTION},
	{"python3 -c 'import socket; s = socket.socket(); del s'", PROBE_COMPLETE, 1,
	 RESOURCE_UNCLOSED},
};

static void run_one(const char *command, struct probe *ret)
{
	const struct detector *d = detector_find("python");
	CLEANUP_FREE char *dir = make_temp_dir(harness_tmpdir(), "run-", NULL);
	CLEANUP_FREE char *tmp = path_join(dir, "tmp");
	CLEANUP(run_spec)
	struct run_spec spec = {.cwd = xstrdup(dir), .dir = xstrdup(dir)};
	struct detect_run run = {.dir = dir, .tmpdir = tmp, .checkout = dir, .cycles = 2};
	struct run_result result;
	struct err err = {0};

	assert_int_equal(make_dirs(tmp, 0700, &err), 0);
	strv_add(&spec.argv, "/bin/sh");
	strv_add(&spec.argv, "-c");
	strv_add(&spec.argv, command);
	strv_copy(&spec.env, environ);
	env_set(&spec.env, "TMPDIR", tmp);
	assert_int_equal(d->prepare(&run, &spec, &err), 0);
	assert_int_equal(proc_run(&spec, &result, &err), 0);
	for (run.cycle = 0; run.cycle < 2; run.cycle++) {
		probe_release(ret);
		assert_int_equal(d->collect(&run, &result, ret, &err), 0);
	}
	assert_null(run.state);
}

static void test_runs(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(runs); i++) {
		CLEANUP(probe) struct probe p = {0};

		run_one(runs[i].command, &p);
		if (p.state != runs[i].state || p.nleaks != runs[i].leaks)
			print_message("%s: %s, %zu leaks: %s\n", runs[i].command,
				      probe_state_name(p.state), p.nleaks,
				      p.detail ? p.detail : "");
		assert_int_equal(p.state, runs[i].state);
		assert_int_equal(p.detail == NULL, p.state == PROBE_COMPLETE);
		assert_int_equal(p.nleaks, runs[i].leaks);
		if (p.nleaks)
			assert_int_equal(p.leaks[0].resource, runs[i].resource);
	}
}

/* A run that never was. */
static void test_lost(void **state)
{
	const struct detector *d = detector_find("python");
	const struct run_result lost = {.end = RUN_LOST};
	CLEANUP(run_spec) struct run_spec spec = {0};
	CLEANUP(probe) struct probe p = {0}, again = {0};
	struct detect_run run = {
		.dir = harness_tmpdir(), .checkout = "/", .cycles = 3, .warmup = 1};

	(void)state;
	strv_add(&spec.argv, "pytest");
	assert_int_equal(d->prepare(&run, &spec, NULL), 0);
	assert_int_equal(d->collect(&run, &lost, &p, NULL), 0);
	assert_int_equal(p.state, PROBE_INTERRUPTED);
	assert_null(run.state);
	assert_int_equal(d->collect(&run, &lost, &again, NULL), 0);
	assert_int_equal(again.state, PROBE_INTERRUPTED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		HARNESS_TEST(test_reports),
		HARNESS_TEST(test_a_leak),
		HARNESS_TEST(test_a_missed_canary),
		HARNESS_TEST(test_commands),
		HARNESS_TEST(test_isolated),
		HARNESS_TEST(test_python_path),
		HARNESS_TEST(test_wrappers),
		HARNESS_TEST(test_runs),
		HARNESS_TEST(test_lost),
	};

	return HARNESS_RUN(tests);
}
