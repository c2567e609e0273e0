#include "harness.h"

#include "base/mem.h"
#include "ledger/ledger.h"

#include <stdio.h>
#include <string.h>

#define BEGIN \
	"{\"t\":\"begin\",\"version\":1,\"tmpdir\":\"/s/tmp\",\"checkout\":\"/s/co\"}\n"
#define ROOT "{\"t\":\"exit\",\"pid\":7,\"exe\":\"test\",\"root\":true,\"code\":0}\n"
#define HOLDS(list)                                                            \
	"{\"t\":\"exit\",\"pid\":7,\"exe\":\"test\",\"root\":true,\"code\":0," \
	"\"held\":[" list "]}\n"
#define OTHER "{\"t\":\"exit\",\"pid\":8,\"code\":0}\n"
#define CANARY "{\"t\":\"canary\",\"fd\":true,\"lock\":true}\n"
#define FILES(list) "{\"t\":\"files\",\"list\":[" list "]}\n"

/* Adds a right end; exits as given. */
static char *with_end(const char *lines, unsigned exits)
{
	return xasprintf("%s{\"t\":\"end\",\"exits\":%u,\"offset\":%zu}\n", lines, exits,
			 strlen(lines));
}

static void parse(const char *text, struct probe *ret)
{
	assert_int_equal(ledger_parse(text, strlen(text), ret, NULL), 0);
}

static const struct {
	const char *lines;
	unsigned exits;
	enum probe_state state;
	const char *detail; /* a part of it */
} states[] = {
	{BEGIN ROOT CANARY FILES(""), 1, PROBE_COMPLETE, NULL},
	{BEGIN OTHER ROOT CANARY OTHER FILES(""), 3, PROBE_COMPLETE, NULL},
	{BEGIN OTHER FILES(""), 1, PROBE_SILENT, "exit of the command"},
	{BEGIN ROOT FILES(""), 1, PROBE_SILENT, "planted"},
	{BEGIN ROOT "{\"t\":\"canary\",\"fd\":true}\n", 1, PROBE_SILENT, "planted"},
	{BEGIN ROOT "{\"t\":\"canary\",\"fd\":1,\"lock\":1}\n", 1, PROBE_SILENT,
	 "planted"},
	{BEGIN "{\"t\":\"exit\",\"pid\":7,\"exe\":\"su\",\"root\":true,\"hidden\":"
	       "\"fd: Permission denied\"}\n" CANARY,
	 1, PROBE_SILENT, "su: fd: Permission denied"},
	{BEGIN ROOT CANARY "{\"t\":\"files\",\"list\":[],\"hidden\":\"Input/output "
			   "error\"}\n",
	 1, PROBE_SILENT, "Input/output"},
	/* Somebody else wrote. */
	{BEGIN ROOT CANARY, 2, PROBE_UNPARSED, "count"},
	{BEGIN ROOT ROOT CANARY, 2, PROBE_UNPARSED, "twice"},
	{BEGIN ROOT CANARY CANARY, 1, PROBE_UNPARSED, "two canaries"},
	{BEGIN BEGIN ROOT CANARY, 1, PROBE_UNPARSED, "begin once"},
	{ROOT CANARY, 1, PROBE_UNPARSED, "begin once"},
	{"{\"t\":\"begin\",\"version\":2}\n", 0, PROBE_UNPARSED, "version"},
	{BEGIN "{\"t\":\"begun\"}\n", 0, PROBE_UNPARSED, "unknown type"},
	{BEGIN "[]\n", 0, PROBE_UNPARSED, "JSON object"},
	{BEGIN "{\n", 0, PROBE_UNPARSED, "JSON object"},
	{BEGIN "\n", 0, PROBE_UNPARSED, "JSON object"},
	{BEGIN "{\"t\":\"exit\",\"pid\":0}\n", 0, PROBE_UNPARSED, "process"},
	{BEGIN "{\"t\":\"exit\",\"pid\":7,\"held\":[]}\n", 0, PROBE_UNPARSED, "process"},
	{BEGIN HOLDS("{\"r\":\"soul\",\"to\":\"x\"}"), 1, PROBE_UNPARSED, "unknown"},
	{BEGIN HOLDS("{\"r\":\"heap\",\"to\":\"x\"}"), 1, PROBE_UNPARSED, "unknown"},
	{BEGIN HOLDS("{\"r\":\"fd\"}"), 1, PROBE_UNPARSED, "unknown"},
	{BEGIN HOLDS("7"), 1, PROBE_UNPARSED, "unknown"},
	{BEGIN FILES("7"), 0, PROBE_UNPARSED, "name"},
	{BEGIN "{\"t\":\"shm\"}\n", 0, PROBE_UNPARSED, "name"},
	{BEGIN "{\"t\":\"left\",\"pid\":3}\n", 0, PROBE_UNPARSED, "name"},
	{BEGIN "{\"t\":\"hidden\"}\n", 0, PROBE_UNPARSED, "name"},
};

static void test_states(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(states); i++) {
		CLEANUP_FREE char *text = with_end(states[i].lines, states[i].exits);
		CLEANUP(probe) struct probe p = {0};

		parse(text, &p);
		if (p.state != states[i].state)
			fail_msg("%s: %s: %s", text, probe_state_name(p.state), p.detail);
		assert_int_equal(p.detail != NULL, states[i].detail != NULL);
		if (p.detail && !strstr(p.detail, states[i].detail))
			fail_msg("%s: %s", text, p.detail);
	}
}

static void test_without_end(void **state)
{
	CLEANUP(probe) struct probe empty = {0}, cut = {0}, after = {0}, nothing = {0};
	CLEANUP_FREE char *whole = with_end(BEGIN ROOT CANARY, 1);
	CLEANUP_FREE char *more = xasprintf("%s%s", whole, OTHER);

	(void)state;
	parse("", &nothing);
	assert_int_equal(nothing.state, PROBE_SILENT);
	parse(BEGIN ROOT CANARY, &empty);
	assert_int_equal(empty.state, PROBE_SILENT);
	assert_non_null(strstr(empty.detail, "before the end"));
	whole[strlen(whole) - 1] = '\0';
	parse(whole, &cut);
	assert_int_equal(cut.state, PROBE_UNPARSED);
	parse(more, &after);
	assert_int_equal(after.state, PROBE_UNPARSED);
}

/* A byte that is missing anywhere is seen, and one more anywhere before the end. */
static void test_every_cut_and_insertion(void **state)
{
	CLEANUP_FREE char *whole = with_end(BEGIN OTHER ROOT CANARY FILES("\"a\""), 2);
	size_t last = (size_t)(strstr(whole, "{\"t\":\"end\"") - whole);

	(void)state;
	for (size_t i = 0; whole[i]; i++) {
		CLEANUP_FREE char *less =
			xasprintf("%.*s%s", (int)i, whole, whole + i + 1);
		CLEANUP_FREE char *more = xasprintf("%.*s %s", (int)i, whole, whole + i);
		CLEANUP(probe) struct probe p = {0}, q = {0};

		parse(less, &p);
		if (p.state == PROBE_COMPLETE)
			fail_msg("%s", less);
		parse(more, &q);
		if (i < last && q.state == PROBE_COMPLETE)
			fail_msg("%s", more);
	}
}

/* HOLDS one thing of the root's. */
#define HELD(kind, to) HOLDS("{\"r\":\"" kind "\",\"fd\":5,\"to\":\"" to "\"}")

static const struct {
	const char *line;
	const char *signature; /* what people read is its end … */
	const char *remark;    /* … and this */
} leaks[] = {
	{HELD("fd", "/s/co/build/data.log"), "fd|test|build/data.log", ""},
	{HELD("fd", "/s/tmp/foo.Ab3xYz"), "fd|test|$TMPDIR/foo.*", ""},
	{HELD("fd", "/s/tmp/x (deleted)"), "fd|test|$TMPDIR/x (deleted)", ""},
	{HELD("fd", "/s/copy/x"), "fd|test|/s/copy/x", ""},
	{HELD("fd", "pipe:[991]"), "fd|test|pipe", ""},
	{HELD("fd", "anon_inode:[eventpoll]"), "fd|test|eventpoll", ""},
	{HELD("fd", "anon_inode:inotify"), "fd|test|inotify", ""},
	{HELD("fd", "anon_inode:"), "fd|test|", ""},
	{HELD("fd", "/tmp/foo.abcdef (deleted)"), "fd|test|/tmp/foo.* (deleted)", ""},
	/* Who it came from is no part of the signature: the parent may be gone. */
	{HOLDS("{\"r\":\"fd\",\"fd\":5,\"to\":\"/s/co/a\",\"from\":\"bwrap\"}"),
	 "fd|test|a", " (inherited from bwrap)"},
	{HELD("socket", "tcp listening on 127.0.0.1:40123"),
	 "socket|test|tcp listening on 127.0.0.1:*", ""},
	{HELD("thread", "worker12-3"), "thread|test|worker*-*", ""},
	{HELD("zombie", "sleep"), "zombie|test|sleep", ""},
	{HELD("lock", "/s/co/a.lock"), "lock|test|a.lock", ""},
	{ROOT "{\"t\":\"left\",\"pid\":9,\"exe\":\"sleep\"}\n", "child|sleep|sleep", ""},
	{ROOT FILES("\"foo.Ab3xYz\""), "tempfile|?|$TMPDIR/foo.*", ""},
	{ROOT FILES("\"foo.Ivleet\""), "tempfile|?|$TMPDIR/foo.*", ""},
	{ROOT FILES("\"a/foo-abcdef.txt\""), "tempfile|?|$TMPDIR/a/foo-*.txt", ""},
	{ROOT FILES("\"tmp.abcdefghij/x.db\""), "tempfile|?|$TMPDIR/tmp.*/x.db", ""},
	{ROOT FILES("\"foo-a_bcdefg\""), "tempfile|?|$TMPDIR/foo-*", ""},
	{ROOT FILES("\"foo-_abcd_fg.sock\""), "tempfile|?|$TMPDIR/foo-*.sock", ""},
	{ROOT FILES("\"tmp_b_defgh\""), "tempfile|?|$TMPDIR/tmp*", ""},
	{ROOT FILES("\"tmpqwertyui.db\""), "tempfile|?|$TMPDIR/tmp*.db", ""},
	{ROOT FILES("\"report.json\""), "tempfile|?|$TMPDIR/report.json", ""},
	{ROOT FILES("\".abcdef\""), "tempfile|?|$TMPDIR/.abcdef", ""},
	{ROOT "{\"t\":\"shm\",\"name\":\"psm_1a2b3c4d\"}\n", "posix_shm|?|/dev/shm/psm_*",
	 ""},
	{ROOT "{\"t\":\"tmp\",\"name\":\"app.pid\"}\n", "shared_file|?|/tmp/app.pid", ""},
	{ROOT "{\"t\":\"shm\",\"name\":\"trap-4711\"}\n", "posix_shm|?|/dev/shm/trap-*",
	 ""},
	{ROOT "{\"t\":\"tmp\",\"name\":\"app.pid\",\"exe\":\"app\"}\n",
	 "shared_file|?|/tmp/app.pid", ""},
	{ROOT "{\"t\":\"tmp\",\"name\":\"a\",\"exe\":\"app\",\"old\":true}\n",
	 "shared_file|?|/tmp/a", ""},
	{ROOT "{\"t\":\"shm\",\"name\":\"a\",\"old\":true}\n", "shared_file|?|/dev/shm/a",
	 ""},
	{ROOT "{\"t\":\"sysv\",\"size\":4096}\n", "sysv_shm|?|System V shared memory",
	 ", 4096 bytes"},
};

static void test_leaks(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(leaks); i++) {
		CLEANUP_FREE char *lines =
			xasprintf("%s%s%s", BEGIN, leaks[i].line, CANARY);
		CLEANUP_FREE char *text = with_end(lines, 1);
		CLEANUP_FREE char *what = xasprintf(
			"%s%s", strrchr(leaks[i].signature, '|') + 1, leaks[i].remark);
		CLEANUP(probe) struct probe p = {0};

		parse(text, &p);
		assert_int_equal(p.state, PROBE_COMPLETE);
		assert_int_equal(p.nleaks, 1);
		assert_string_equal(p.leaks[0].signature, leaks[i].signature);
		assert_string_equal(p.leaks[0].what, what);
		assert_int_equal(p.leaks[0].units[0], 1);
	}
}

static const struct {
	const char *line, *note;
} notes[] = {
	{"{\"t\":\"hidden\",\"exe\":\"su\"}\n", "could not see which files su makes"},
};

static void test_notes(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(notes); i++) {
		CLEANUP_FREE char *lines =
			xasprintf("%s%s%s", BEGIN ROOT, notes[i].line, CANARY);
		CLEANUP_FREE char *text = with_end(lines, 1);
		CLEANUP(probe) struct probe p = {0};

		parse(text, &p);
		assert_int_equal(p.state, PROBE_COMPLETE);
		assert_int_equal(p.nleaks, 0);
		assert_int_equal(p.notes.n, 1);
		assert_string_equal(p.notes.v[0], notes[i].note);
	}
}

/* LeakSanitizer holds its log at the exit. */
static void test_files_of_detectors(void **state)
{
	static const char begin[] = "{\"t\":\"begin\",\"version\":1,\"dir\":\"/s\","
				    "\"tmpdir\":\"/s/tmp\",\"checkout\":\"/s/co\"}\n";
	static const struct {
		const char *line;
		size_t nleaks;
	} cases[] = {
		{HELD("fd", "/s/lsan/log.12"), 0}, {HELD("lock", "/s/lsan/log.12"), 0},
		{HELD("fd", "/s/tmp/log.12"), 1},  {HELD("fd", "/s/co/log.12"), 1},
		{HELD("fd", "/sub/log.12"), 1},	   {HELD("fd", "/s"), 1},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP_FREE char *lines =
			xasprintf("%s%s%s", begin, cases[i].line, CANARY);
		CLEANUP_FREE char *text = with_end(lines, 1);
		CLEANUP(probe) struct probe p = {0};

		parse(text, &p);
		assert_int_equal(p.state, PROBE_COMPLETE);
		assert_int_equal(p.nleaks, cases[i].nleaks);
	}
}

static void test_units_and_notes(void **state)
{
	CLEANUP_FREE char *text =
		with_end(BEGIN HOLDS("{\"r\":\"fd\",\"fd\":5,\"to\":\"/s/co/a\"},"
				     "{\"r\":\"fd\",\"fd\":6,\"to\":\"/s/co/a\"}") CANARY
			 "{\"t\":\"exit\",\"pid\":9,\"exe\":\"su\",\"more\":true,"
			 "\"hidden\":\"fd: no\"}\n",
			 2);
	CLEANUP(probe) struct probe p = {0};

	(void)state;
	parse(text, &p);
	assert_int_equal(p.state, PROBE_COMPLETE);
	assert_int_equal(p.nleaks, 1);
	assert_int_equal(p.leaks[0].units[0], 2);
	assert_int_equal(p.notes.n, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		HARNESS_TEST(test_states),
		HARNESS_TEST(test_without_end),
		HARNESS_TEST(test_every_cut_and_insertion),
		HARNESS_TEST(test_leaks),
		HARNESS_TEST(test_notes),
		HARNESS_TEST(test_files_of_detectors),
		HARNESS_TEST(test_units_and_notes),
	};

	return HARNESS_RUN(tests);
}
