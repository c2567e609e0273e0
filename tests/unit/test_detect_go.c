#include "harness.h"

#include "base/buf.h"
#include "base/mem.h"
#include "detect/go_run.h"

#include <string.h>

#define REPORT "/run/go/report.7"
#define HEAD "exitpath-go 1\nbinary /b/w.test\ncwd /src/w\nrun example.com/w\n"
#define CANARY                                                              \
	"goroutine 1 chan receive\nframe testing.exitpathCanary\t/t.go:1\n" \
	"created testing.exitpathSnapshot\t/t.go:2\n"
#define PLANTED "fd " REPORT "\n"
#define SNAP(what) "held\n" CANARY PLANTED what "collected\n" CANARY PLANTED what "end\n"
#define LOOP(n)                                                   \
	"goroutine " #n " select\nframe time.Sleep\t/go/s.go:1\n" \
	"frame example.com/w.(*W).loop\t/src/w/w.go:12\n"         \
	"created example.com/w.New\t/src/w/w.go:7\n"

static void parse(const char *text, struct go_report *ret)
{
	go_report_parse(text, strlen(text), REPORT, ret);
}

static void test_whole(void **state)
{
	CLEANUP(go_report) struct go_report r = {0};
	const struct go_held *h;

	(void)state;
	parse(HEAD
	      "cycle 3 0\n" SNAP(LOOP(1)) "cycle 3 0\n" SNAP(LOOP(2)) "cycle 2 1\n" SNAP(
		      LOOP(4) "fd /etc/passwd\nfd /etc/passwd\n") "done\n",
	      &r);
	assert_null(r.fault);
	assert_true(r.done && !r.cut);
	assert_string_equal(r.binary, "/b/w.test");
	assert_string_equal(r.package, "example.com/w");
	assert_int_equal(r.ncycles, 3);
	for (size_t i = 0; i < 3; i++)
		assert_true(r.cycles[i].whole && r.cycles[i].canary);
	assert_int_equal(r.cycles[0].tests, 3);
	assert_int_equal(r.cycles[2].code, 1);
	assert_int_equal(r.nhelds, 2);
	h = &r.helds[0];
	assert_string_equal(h->key, "example.com/w.(*W).loop<example.com/w.New");
	assert_string_equal(h->what, "select");
	assert_int_equal(h->stack.n, 3);
	assert_string_equal(h->stack.frames[1].file, "/src/w/w.go");
	assert_int_equal(h->stack.frames[1].line, 12);
	assert_int_equal(go_held_added(&r, h, 0), 0);
	assert_int_equal(go_held_added(&r, h, 1), 1);
	assert_int_equal(go_held_added(&r, h, 2), 2);
	assert_int_equal(r.helds[1].resource, RESOURCE_FD);
	assert_int_equal(go_held_added(&r, &r.helds[1], 2), 2);
}

/* What is held after each cycle, and what of it each added. */
static const struct {
	unsigned levels[6], added[6];
} growths[] = {
	{{0, 1, 2, 3, 4, 5}, {0, 1, 1, 1, 1, 1}},
	{{2, 3, 2, 3, 2, 2}, {0, 0, 0, 0, 0, 0}},
	{{0, 5, 0, 5, 5, 5}, {0, 0, 0, 5, 0, 0}},
	{{3, 3, 3, 3, 3, 3}, {0, 0, 0, 0, 0, 0}},
	{{5, 4, 3, 2, 1, 0}, {0, 0, 0, 0, 0, 0}},
	{{1, 3, 2, 4, 3, 5}, {0, 1, 0, 1, 0, 2}},
};

static void test_growth(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(growths); i++) {
		CLEANUP(go_report) struct go_report r = {0};
		CLEANUP(buf) struct buf text = {0};

		buf_adds(&text, HEAD);
		for (size_t k = 0; k < 6; k++) {
			CLEANUP_FREE char *held = xasprintf(
				CANARY PLANTED "goroutine %u x\nframe w.f\t/w.go:1\n",
				growths[i].levels[k]);

			if (!growths[i].levels[k])
				*strstr(held, "goroutine 0") = '\0';
			buf_addf(&text, "cycle 1 0\nheld\n%scollected\n%send\n", held,
				 held);
		}
		buf_adds(&text, "done\n");
		parse(buf_str(&text), &r);
		assert_null(r.fault);
		for (size_t k = 0; k < 6; k++)
			assert_int_equal(go_held_added(&r, &r.helds[0], k),
					 growths[i].added[k]);
	}
}

static void test_released(void **state)
{
	CLEANUP(go_report) struct go_report r = {0};

	(void)state;
	parse(HEAD "start\n" SNAP("") "cycle 1 0\nheld\n" CANARY PLANTED LOOP(
		      1) "fd /x\ncollected\n" CANARY PLANTED "end\ndone\n",
	      &r);
	assert_null(r.fault);
	assert_true(!r.cycles[0].counted && r.cycles[1].counted);
	assert_int_equal(go_held_released(&r.helds[0], 1), 1);
	assert_int_equal(go_held_added(&r, &r.helds[0], 1), 0); /* a goroutine */
	assert_int_equal(go_held_added(&r, &r.helds[1], 1), 1);
}

/* What a pass left that was made again is the level of the next. */
static void test_void(void **state)
{
	CLEANUP(go_report) struct go_report r = {0};

	(void)state;
	parse(HEAD "cycle 2 0\n" SNAP("") "void 2 1\n" SNAP(LOOP(1)) "cycle 1 0\n" SNAP(
		      LOOP(1)) "once TestA\nunsteady TestB/c d\ndone\n",
	      &r);
	assert_null(r.fault);
	assert_true(r.done);
	assert_int_equal(r.ncycles, 3);
	assert_true(r.cycles[0].counted && !r.cycles[1].counted && r.cycles[2].counted);
	assert_int_equal(r.cycles[1].code, 1);
	assert_int_equal(go_held_added(&r, &r.helds[0], 1), 1);
	assert_int_equal(go_held_added(&r, &r.helds[0], 2), 0);
	assert_int_equal(r.once.n, 1);
	assert_string_equal(r.once.v[0], "TestA");
	assert_string_equal(r.unsteady.v[0], "TestB/c d");
}

static void test_ticker(void **state)
{
	CLEANUP(go_report) struct go_report r = {0};

	(void)state;
	parse(HEAD "cycle 1 0\n" SNAP("") "cycle 1 0\nheld\n" CANARY
					  "ticker 2 ticker\nframe "
					  "time.Tick\t/t.go:1\nframe w.F.func1\t/w.go:3\n"
					  "frame w.G\t/w.go:9\nticker 1 ticker\nframe "
					  "w.H\t/w.go:3\n" PLANTED "collected\n" CANARY
					  "ticker 2 ticker\nframe "
					  "time.Tick\t/t.go:1\nframe w.F.func1\t/w.go:3\n"
					  "frame w.G\t/w.go:9\n" PLANTED "end\ndone\n",
	      &r);
	assert_null(r.fault);
	assert_int_equal(r.nhelds, 2);
	assert_int_equal(r.helds[0].resource, RESOURCE_TIMER);
	assert_string_equal(r.helds[0].key, "w.F.func<w.G");
	assert_int_equal(go_held_added(&r, &r.helds[0], 1), 2);
	assert_string_equal(r.helds[1].key, "w.H<?");
	assert_int_equal(go_held_added(&r, &r.helds[1], 1), 0); /* collected */
	assert_true(r.cycles[1].canary);
}

/* Keys of goroutines: closures by what they stand in, not by number. */
static const struct {
	const char *function, *key;
} names[] = {
	{"w.F.func1", "w.F.func<?"},
	{"w.F.func2.1", "w.F.func<?"},
	{"w.F.func12.3.4", "w.F.func<?"},
	{"w.F.gowrap1", "w.F.gowrap<?"},
	{"w.F.func1.deferwrap2", "w.F.func.deferwrap<?"},
	{"w.glob..func3", "w.glob..func<?"},
	{"w.functional", "w.functional<?"},
	{"w.(*T[...]).loop", "w.(*T[...]).loop<?"},
	{"w.v2.F", "w.v2.F<?"},
};

static void test_names(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		CLEANUP(go_report) struct go_report r = {0};
		CLEANUP_FREE char *text = xasprintf(
			HEAD "cycle 1 0\nheld\ngoroutine 1 x\nframe %s\t/w.go:1\nfd /y\n",
			names[i].function);

		parse(text, &r);
		assert_null(r.fault);
		assert_string_equal(r.helds[0].key, names[i].key);
	}
}

/* What is cut short, or was written by somebody else. */
static const struct {
	const char *text;
	const char *fault; /* NULL: it can be read */
	size_t ncycles;
	bool whole, done;
} broken[] = {
	{"", "empty", 0, false, false},
	{"what\n", "unknown format", 0, false, false},
	{"exitpath-go 1\n", NULL, 0, false, false},
	{"exitpath-go 1\nbinary b\n", NULL, 0, false, false},
	{"exitpath-go 1\ncycle 1 0\n", "a cycle out of place", 0, false, false},
	{HEAD, NULL, 0, false, false},
	{HEAD "run again\n", "said twice", 0, false, false},
	{HEAD "cycle 1 0\n", NULL, 1, false, false},
	{HEAD "cycle 1 0\ncycle 1 0\n", "a cycle out of place", 1, false, false},
	{HEAD "cycle x 0\n", "a cycle out of place", 0, false, false},
	{HEAD "cycle 1 0\nend\n", "a snapshot out of place", 1, false, false},
	{HEAD "cycle 1 0\nheld\nend\n", "a snapshot out of place", 1, false, false},
	{HEAD "cycle 1 0\nfd /x\n", "unknown line", 1, false, false},
	{HEAD "cycle 1 0\nheld\nfd /x", NULL, 1, false, false},
	{HEAD "cycle 1 0\nheld\nframe f\t/x:1\n", "no frame", 1, false, false},
	{HEAD "cycle 1 0\nheld\ngoroutine 0 x\n", "no count", 1, false, false},
	{HEAD "cycle 1 0\nheld\ngoroutine 1 x\nframe f\n", "no frame", 1, false, false},
	{HEAD "cycle 1 0\n" SNAP(""), NULL, 1, true, false},
	{HEAD "cycle 1 0\n" SNAP("") "done\n", NULL, 1, true, true},
	{HEAD "cycle 1 0\n" SNAP("") "done\ncycle 1 0\n", "a cycle out of place", 1, true,
	 true},
	{HEAD "cycle 1 0\ndone\n", "done out of place", 1, false, true},
	{HEAD "start\n" SNAP("") "start\n", "a cycle out of place", 1, true, false},
	{HEAD "void 1 0\n", "a cycle out of place", 0, false, false},
	{HEAD "cycle 1 0\n" SNAP("") "once \n", "a test out of place", 1, true, false},
	{HEAD "cycle 1 0\nonce T\n", "a test out of place", 1, false, false},
	{HEAD "cycle 1 0\n" SNAP("") "done\nunsteady T\n", "a test out of place", 1, true,
	 true},
};

static void test_broken(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(broken); i++) {
		CLEANUP(go_report) struct go_report r = {0};

		parse(broken[i].text, &r);
		if (broken[i].fault)
			assert_non_null(
				strstr(r.fault ? r.fault : "(none)", broken[i].fault));
		else
			assert_null(r.fault);
		assert_int_equal(r.ncycles, broken[i].ncycles);
		if (r.ncycles)
			assert_int_equal(r.cycles[0].whole, broken[i].whole);
		assert_int_equal(r.done, broken[i].done);
	}
}

static const char *const no_canary[] = {
	"held\n" PLANTED "collected\n" CANARY PLANTED "end\n",
	"held\n" CANARY PLANTED "collected\n" PLANTED "end\n",
	"held\n" CANARY "collected\n" CANARY PLANTED "end\n",
	"held\n" CANARY PLANTED "collected\n" CANARY "end\n",
};

static void test_canary(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(no_canary); i++) {
		CLEANUP(go_report) struct go_report r = {0};
		CLEANUP_FREE char *text = xasprintf(HEAD "cycle 1 0\n%s", no_canary[i]);

		parse(text, &r);
		assert_null(r.fault);
		assert_true(r.cycles[0].whole);
		assert_false(r.cycles[0].canary);
	}
}

static const struct {
	const char *argv[4];
	bool fits;
} commands[] = {
	{{"go", "test", "./..."}, true},
	{{"/usr/local/go/bin/go", "test"}, true},
	{{"go", "-C", "sub", "test"}, true},
	{{"go", "build", "./..."}, false},
	{{"go", "vet", "test"}, false},
	{{"go"}, false},
	{{"cargo", "test"}, false},
	{{"./go", "testing"}, false},
	{{"/bin/sh", "-c", "cd a && go test -run '^T$' ."}, true},
	{{"/bin/sh", "-c", "GOFLAGS=-v go test ."}, true},
	{{"/bin/sh", "-c", "cargo test"}, false},
	{{"/bin/sh", "-c", "go-test x; ./go tests"}, false},
	{{"/bin/sh", "-c", "make"}, false},
};

static void test_commands(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++) {
		CLEANUP(strv) struct strv argv = {0};

		for (size_t k = 0; k < 4 && commands[i].argv[k]; k++)
			strv_add(&argv, commands[i].argv[k]);
		assert_int_equal(go_test_command(&argv), commands[i].fits);
	}
}

static const struct {
	const char *text, *line;
	bool modules;
} outputs[] = {
	{"", NULL, false},
	{"ok  \texample.com/m\t0.1s\n", NULL, false},
	{"# example.com/m\n./a.go:3:2: undefined: x\nFAIL\n", "./a.go:3:2: undefined: x",
	 false},
	{"go: example.com/a@v1.0.0: Get \"https://p/\": dial tcp: lookup p: no\n",
	 "go: example.com/a@v1.0.0: Get \"https://p/\": dial tcp: lookup p: no", true},
	{"a.go:3:2: x\ngo: module lookup disabled by GOPROXY=off\n",
	 "go: module lookup disabled by GOPROXY=off", true},
	{"a.go:2:8: no required module provides package example.com/x; to add it:\n",
	 "a.go:2:8: no required module provides package example.com/x; to add it:", true},
	{"--- FAIL: TestX (0.00s)\n    x_test.go:1: wrong\n", "--- FAIL: TestX (0.00s)",
	 false},
	{"2026/12/01 http: call from f (a.go:64)\n--- FAIL: TestY\n", "--- FAIL: TestY",
	 false},
	{"panic: wrong\n\ngoroutine 7\n", "panic: wrong", false},
};

static void test_outputs(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(outputs); i++) {
		bool modules = !outputs[i].modules;
		CLEANUP_FREE char *line = go_output_error(outputs[i].text, &modules);

		if (outputs[i].line)
			assert_string_equal(line ? line : "(none)", outputs[i].line);
		else
			assert_null(line);
		assert_int_equal(modules, outputs[i].modules);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		HARNESS_TEST(test_whole),    HARNESS_TEST(test_growth),
		HARNESS_TEST(test_released), HARNESS_TEST(test_names),
		HARNESS_TEST(test_broken),   HARNESS_TEST(test_canary),
		HARNESS_TEST(test_commands), HARNESS_TEST(test_outputs),
		HARNESS_TEST(test_void),     HARNESS_TEST(test_ticker),
	};

	return HARNESS_RUN(tests);
}
