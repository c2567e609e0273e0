/* The records of adapters/node as text, and command lines. */
#include "harness.h"

#include "base/fs.h"
#include "base/mem.h"
#include "detect/detect.h"
#include "detect/node_command.h"
#include "detect/node_report.h"

#include <string.h>

#define START(role)                                                       \
	"{\"type\":\"start\",\"role\":\"" role "\",\"pid\":7,\"ppid\":6," \
	"\"node\":\"v20\",\"script\":\"/c/a.test.js\"}\n"
#define END(role, over, canary, exit, tests, held)                             \
	"{\"type\":\"end\",\"role\":\"" role "\",\"code\":0,\"over\":" over    \
	",\"tests\":" tests ",\"exit\":\"" exit                                \
	"\",\"asked\":[{\"function\":\"f\",\"file\":\"/c/a.js\",\"line\":3}]," \
	"\"canary\":" canary ",\"notes\":[],\"held\":[" held "]}\n"
#define HELD(kind, units, line)                                                \
	"{\"kind\":\"" kind "\",\"what\":\"w\",\"units\":" units               \
	",\"frames\":[{\"function\":\"start\",\"file\":\"/c/lib/s.js\",\"line" \
	"\":" line "}]}"

/* --- the parser --------------------------------------------------------------------- */

static const struct {
	const char *text;
	bool whole, ended;
	enum node_role role;
	size_t held;
} records[] = {
	{"", true, false, NODE_PLAIN, 0},
	{START("jest"), true, false, NODE_JEST, 0},
	{START("node --test"), true, false, NODE_TEST_PARENT, 0},
	{START("plain") END("node:test", "true", "true", "ended", "1",
			    HELD("server", "1", "2") "," HELD("worker", "2", "2")),
	 true, true, NODE_TEST, 2},
	/* A line that was cut. */
	{START("mocha") "{\"type\":\"end\"", true, false, NODE_MOCHA, 0},
	{"{\"type\":\"end\"}\n", false, false, NODE_PLAIN, 0},
	{START("mocha") START("mocha"), false, false, NODE_MOCHA, 0},
	{START("ava"), false, false, NODE_PLAIN, 0},
	{START("jest") "[]\n", false, false, NODE_JEST, 0},
	{START("jest") "text of the tests\n", false, false, NODE_JEST, 0},
	{START("jest") END("jest", "true", "true", "natural", "-1", ""), false, false,
	 NODE_JEST, 0},
	{START("jest") END("jest", "true", "true", "gone", "1", ""), false, false,
	 NODE_JEST, 0},
	{START("jest")
		 END("jest", "true", "true", "natural", "1", HELD("heap", "1", "2")),
	 false, false, NODE_JEST, 0},
	{START("jest") END("jest", "true", "true", "natural", "1", HELD("fd", "0", "2")),
	 false, false, NODE_JEST, 0},
};

static void test_records(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(records); i++) {
		CLEANUP(node_process) struct node_process p = {0};
		bool whole =
			node_report_parse(records[i].text, strlen(records[i].text), &p);

		if (whole != records[i].whole || p.ended != records[i].ended ||
		    p.role != records[i].role || p.nheld != records[i].held)
			fail_msg("record %zu: whole %d, ended %d, role %s, held %zu", i,
				 whole, p.ended, node_role_name(p.role), p.nheld);
	}
}

static void test_frames(void **state)
{
	static const char text[] = START("jest")
		END("jest", "false", "true", "asked", "0", HELD("timer", "2", "99"));
	CLEANUP(node_process) struct node_process p = {0};

	(void)state;
	assert_true(node_report_parse(text, sizeof(text) - 1, &p));
	assert_int_equal(p.exit, NODE_EXIT_ASKED);
	assert_int_equal(p.asked.n, 1);
	assert_int_equal(p.held[0].resource, RESOURCE_TIMER);
	assert_int_equal(p.held[0].units, 2);
	assert_string_equal(p.held[0].stack.frames[0].function, "start");
	assert_int_equal(p.held[0].stack.frames[0].line, 99);
}

/* --- from records to a probe -------------------------------------------------------- */

/* A run whose processes left these records. */
static void probe_of(const char *const *texts, struct run_result result,
		     struct probe *ret)
{
	const struct detector *d = detector_find("node");
	struct detect_run run = {.dir = harness_tmpdir(), .checkout = "/c"};
	CLEANUP_FREE char *dir = path_join(run.dir, "node");
	CLEANUP(run_spec) struct run_spec spec = {0};

	strv_add(&spec.argv, "node");
	strv_add(&spec.env, "PATH=/usr/bin:/bin");
	spec.cwd = xstrdup(run.dir);
	assert_int_equal(remove_tree(dir, NULL), 0);
	assert_int_equal(d->prepare(&run, &spec, NULL), 0);
	for (int i = 0; texts[i]; i++) {
		CLEANUP_FREE char *path = xasprintf("%s/node.%d", dir, 7 + i);

		assert_int_equal(write_file(path, texts[i], strlen(texts[i]), NULL), 0);
	}
	assert_int_equal(d->collect(&run, &result, ret, NULL), 0);
}

#define REFUSED                                                                        \
	"{\"type\":\"end\",\"role\":\"vitest run\",\"code\":0,\"over\":true,"          \
	"\"tests\":0,\"exit\":\"natural\",\"canary\":true,\"asked\":[],\"held\":[],\"" \
	"notes\":[],\"refused\":\"use --pool=forks\"}\n"
#define GOOD END("jest", "true", "true", "natural", "1", "")

static const struct {
	const char *texts[3];
	enum probe_state state;
	const char *detail; /* a part of it */
	size_t nleaks;
} probes[] = {
	{{NULL}, PROBE_SILENT, "NODE_OPTIONS", 0},
	{{START("jest") GOOD}, PROBE_COMPLETE, NULL, 0},
	{{START("jest")}, PROBE_FORCED_EXIT, "reallyExit", 0},
	{{START("jest") END("jest", "false", "true", "asked", "1", "")},
	 PROBE_FORCED_EXIT,
	 "process.exit(0) was called in a.test.js at f (a.js:3)",
	 0},
	{{START("plain") END("plain", "false", "true", "asked", "0", "")},
	 PROBE_FORCED_EXIT,
	 "process.exit",
	 0},
	{{START("jest") END("jest", "true", "false", "natural", "1", "")},
	 PROBE_SILENT,
	 "planted",
	 0},
	{{START("jest") END("jest", "true", "true", "natural", "0", "")},
	 PROBE_SILENT,
	 "no test",
	 0},
	{{START("node --test")}, PROBE_SILENT, "no test", 0},
	{{START("vitest run") END("vitest run", "true", "true", "natural", "0", ""),
	  START("vitest") END("vitest", "true", "true", "natural", "1", "")},
	 PROBE_COMPLETE,
	 NULL,
	 0},
	{{START("vitest run") REFUSED}, PROBE_NOT_FITTING, "--pool=forks", 0},
	{{START("vitest run") END("vitest run", "true", "true", "natural", "0", "")},
	 PROBE_SILENT,
	 "no test",
	 0},
	/* It was killed before its report. */
	{{START("vitest run") END("vitest run", "true", "true", "natural", "0", ""),
	  START("vitest")},
	 PROBE_FORCED_EXIT,
	 "a.test.js",
	 0},
	{{START("jest") "x\n"}, PROBE_UNPARSED, "something else", 0},
	{{START("jest") END("jest", "true", "true", "ended", "1",
			    HELD("server", "1", "2") "," HELD("server", "1", "9"))},
	 PROBE_COMPLETE,
	 NULL,
	 1},
	/* A script's helper that was killed is its own business. */
	{{START("plain") END("plain", "true", "true", "natural", "0", ""),
	  "{\"type\":\"start\",\"role\":\"plain\",\"pid\":8,\"ppid\":7}\n"},
	 PROBE_COMPLETE,
	 NULL,
	 0},
};

static void test_probes(void **state)
{
	const struct run_result exited = {.end = RUN_EXITED};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(probes); i++) {
		CLEANUP(probe) struct probe p = {0};

		probe_of(probes[i].texts, exited, &p);
		if (p.state != probes[i].state || p.nleaks != probes[i].nleaks ||
		    (probes[i].detail &&
		     !(p.detail && strstr(p.detail, probes[i].detail))))
			fail_msg("probe %zu: %s, %zu leaks, %s", i,
				 probe_state_name(p.state), p.nleaks,
				 p.detail ? p.detail : "-");
	}
}

static void test_a_killed_run_is_interrupted(void **state)
{
	const struct run_result killed = {.end = RUN_SIGNALED, .signal = 9};
	const char *const texts[] = {START("jest"), NULL};
	CLEANUP(probe) struct probe p = {0};

	(void)state;
	probe_of(texts, killed, &p);
	assert_int_equal(p.state, PROBE_INTERRUPTED);
}

static void test_leak_has_place_and_growth(void **state)
{
	const struct run_result exited = {.end = RUN_EXITED};
	const char *const texts[] = {
		START("jest") END("jest", "true", "true", "natural", "1",
				  HELD("fd", "2", "2") "," HELD("fd", "1", "5")),
		NULL};
	CLEANUP(probe) struct probe p = {0};

	(void)state;
	probe_of(texts, exited, &p);
	assert_int_equal(p.nleaks, 1);
	assert_int_equal(p.leaks[0].units[0], 3);
	assert_true(p.leaks[0].growth);
	assert_string_equal(p.leaks[0].signature, "fd|node|s.js!start");
	assert_string_equal(leak_top_frame(&p.leaks[0])->file, "lib/s.js");
}

/* --- command lines ------------------------------------------------------------------ */

static const struct {
	const char *argv[5];
	bool is;
} commands[] = {
	{{"node", "--test"}, true},
	{{"/usr/bin/node", "a.js"}, true},
	{{"npx", "jest"}, true},
	{{"./node_modules/.bin/mocha"}, true},
	{{"node_modules/mocha/bin/mocha.js"}, true},
	{{"npm", "test"}, true},
	{{"npm", "--silent", "run", "unit"}, true},
	{{"yarn", "unit"}, true},
	{{"npm", "run", "lint"}, false},
	{{"npm", "run", "nothing"}, false},
	{{"npm", "ci"}, false},
	{{"npm", "run", "circle"}, false},
	{{"/bin/sh", "-c", "CI=1 npm test"}, true},
	{{"/bin/sh", "-c", "cd sub && npm test"}, false},
	{{"/bin/sh", "-c", "make && ./t"}, false},
	{{"make", "test"}, false},
	{{"python3", "node.py"}, false},
};

static void test_commands(void **state)
{
	(void)state;
	harness_file("package.json",
		     "{\"scripts\": {\"test\": \"npm run unit\", \"unit\": \"NODE_ENV=t "
		     "'jest' --ci\", \"lint\": \"eslint .\", \"circle\": \"npm run "
		     "circle\"}}");
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++) {
		CLEANUP(strv) struct strv argv = {0};

		for (size_t k = 0; commands[i].argv[k]; k++)
			strv_add(&argv, commands[i].argv[k]);
		if (node_command(&argv, harness_tmpdir()) != commands[i].is)
			fail_msg("command %zu: %s", i, commands[i].argv[0]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		HARNESS_TEST(test_records),
		HARNESS_TEST(test_frames),
		HARNESS_TEST(test_probes),
		HARNESS_TEST(test_a_killed_run_is_interrupted),
		HARNESS_TEST(test_leak_has_place_and_growth),
		HARNESS_TEST(test_commands),
	};

	return HARNESS_RUN(tests);
}
