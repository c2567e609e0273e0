#include "harness.h"

#include "base/macros.h"
#include "sandbox/cgroup_parse.h"

#include <stdio.h>
#include <string.h>

static const char mountinfo[] =
	"22 1 254:0 / / rw,relatime - ext4 /dev/vda rw\n"
	"31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755\n"
	"35 31 0:32 / /sys/fs/cgroup/memory rw,relatime shared:9 - cgroup cgroup "
	"rw,memory\n"
	"36 31 0:33 /docker/ab /sys/fs/cgroup/cpu,cpuacct ro,nosuid shared:1 master:2 - "
	"cgroup cgroup rw,cpu,cpuacct\n"
	"40 31 0:37 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,xattr,name=systemd\n"
	"41 31 0:38 /a\\040b /sys/fs/cgroup/uni\\134\\040fied rw - cgroup2 cgroup2 rw\n"
	"42 31 0:38 / /ro rw - cgroup2 cgroup2 ro,nsdelegate\n"
	"43 31 0:39 / /x rw - cgroup2\n"
	"44 31 0:40 / /x rw\n"
	"\n"
	"nonsense - cgroup2 a b c d e f g h\n"
	"45 31 0:41 / /last rw,relatime - cgroup2 none rw";

static void finds_mounts(void **state)
{
	static const struct {
		const char *at, *root, *controller;
		bool v2, read_only;
	} want[] = {
		{"/sys/fs/cgroup/memory", "/", "memory", false, false},
		{"/sys/fs/cgroup/cpu,cpuacct", "/docker/ab", "cpuacct", false, true},
		{"/sys/fs/cgroup/systemd", "/", "name=systemd", false, false},
		{"/sys/fs/cgroup/uni\\ fied", "/a b", "rw", true, false},
		{"/ro", "/", "nsdelegate", true, true},
		{"/last", "/", "rw", true, false},
	};
	CLEANUP(cgroup_mounts) struct cgroup_mounts m = {0};

	(void)state;
	cgroup_mounts_parse(mountinfo, &m);
	assert_int_equal(m.n, ARRAY_SIZE(want));
	for (size_t i = 0; i < m.n; i++) {
		assert_string_equal(m.v[i].at, want[i].at);
		assert_string_equal(m.v[i].root, want[i].root);
		assert_true(cgroup_has_word(m.v[i].options, want[i].controller));
		assert_int_equal(m.v[i].v2, want[i].v2);
		assert_int_equal(m.v[i].read_only, want[i].read_only);
	}
}

static void finds_words(void **state)
{
	static const struct {
		const char *list, *word;
		bool has;
	} cases[] = {
		{"cpu,cpuacct", "cpu", true},
		{"cpu,cpuacct", "cpuacct", true},
		{"cpuacct", "cpu", false},
		{"cpu", "cpuacct", false},
		{"", "cpu", false},
		{"memory pids\n", "pids", true},
		{"memory pids\n", "pid", false},
		{",,  \n", "x", false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_int_equal(cgroup_has_word(cases[i].list, cases[i].word),
				 cases[i].has);
}

static void finds_our_group(void **state)
{
	static const char text[] = "9:name=systemd:/init.scope\n"
				   "8:pids:/a:b/c\n"
				   "2:cpu,cpuacct:/docker/ab\n"
				   "junk\n"
				   "1:::\n"
				   "0::/user.slice/x.scope\n"
				   "4:memory:/last";
	static const struct {
		const char *controller, *path;
	} cases[] = {
		{"pids", "/a:b/c"},    {"cpuacct", "/docker/ab"},
		{"cpu", "/docker/ab"}, {NULL, "/user.slice/x.scope"},
		{"memory", "/last"},   {"name=systemd", "/init.scope"},
		{"systemd", NULL},     {"blkio", NULL},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP_FREE char *path = cgroup_own_path(text, cases[i].controller);

		if (cases[i].path)
			assert_string_equal(path, cases[i].path);
		else
			assert_null(path);
	}
	assert_null(cgroup_own_path("", NULL));
	assert_null(cgroup_own_path("9:name=systemd:/\n", NULL));
}

static void translates_paths(void **state)
{
	static const struct {
		const char *at, *root, *path, *seen;
	} cases[] = {
		{"/sys/fs/cgroup", "/", "/", "/sys/fs/cgroup"},
		{"/sys/fs/cgroup", "/", "/a/b", "/sys/fs/cgroup/a/b"},
		{"/", "/", "/a", "/a"},
		{"/", "/", "/", "/"},
		{"/cg", "/docker/ab", "/docker/ab", "/cg"},
		{"/cg", "/docker/ab", "/docker/ab/c", "/cg/c"},
		{"/cg", "/docker/ab", "/docker/abc", NULL},
		{"/cg", "/docker/ab", "/docker", NULL},
		{"/cg", "/docker/ab", "/", NULL},
		{"/cg", "/", "/../x", NULL},
		{"/cg", "/..", "/", NULL},
		{"/cg", "/../..", "/../../x", NULL},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char at[64], root[64];
		struct cgroup_mount m = {.at = at, .root = root};
		CLEANUP_FREE char *seen = NULL;

		snprintf(at, sizeof(at), "%s", cases[i].at);
		snprintf(root, sizeof(root), "%s", cases[i].root);
		seen = cgroup_seen_at(&m, cases[i].path);
		if (cases[i].seen)
			assert_string_equal(seen, cases[i].seen);
		else
			assert_null(seen);
	}
}

#define EVENTS "low 0\nhigh 0\nmax 812\noom 3\noom_kill 2\noom_group_kill 1\n"
#define OOM_CONTROL "oom_kill_disable 0\nunder_oom 0\noom_kill 7\n"

static void reads_counters(void **state)
{
	static const struct {
		const char *text, *key;
		int ret;
		uint64_t value;
	} cases[] = {
		{EVENTS, "oom_kill", 0, 2},
		{EVENTS, "oom_group_kill", 0, 1},
		{EVENTS, "oom", 0, 3},
		{EVENTS, "max", 0, 812},
		{EVENTS, "ma", -1, 0},
		{EVENTS, "sock_throttled", -1, 0},
		{OOM_CONTROL, "oom_kill", 0, 7},
		{"oom_kill_disable 0\nunder_oom 0\n", "oom_kill", -1, 0},
		{"max 0\n", "max", 0, 0},
		{"max 18446744073709551615", "max", 0, UINT64_MAX},
		{"max 18446744073709551616", "max", -1, 0},
		{"max -1\n", "max", -1, 0},
		{"max \n", "max", -1, 0},
		{"max", "max", -1, 0},
		{"", "max", -1, 0},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		uint64_t n = 0;

		assert_int_equal(cgroup_parse_key(cases[i].text, cases[i].key, &n),
				 cases[i].ret);
		assert_int_equal(n, cases[i].value);
	}
}

static void reads_numbers(void **state)
{
	static const struct {
		const char *text;
		int (*parse)(const char *, uint64_t *);
		int ret;
		uint64_t value;
	} cases[] = {
		{"max\n", cgroup_parse_number, 0, CGROUP_NO_LIMIT},
		{"4096\n", cgroup_parse_number, 0, 4096},
		{"0", cgroup_parse_number, 0, 0},
		{"maximum\n", cgroup_parse_number, -1, 1},
		{"12x\n", cgroup_parse_number, -1, 1},
		{"-1\n", cgroup_parse_number, -1, 1},
		{"", cgroup_parse_number, -1, 1},
		{"usage_usec 4711\nuser_usec 1\n", cgroup_parse_cpu, 0, 4711},
		{"4711999\n", cgroup_parse_cpu, 0, 4711},
		{"max\n", cgroup_parse_cpu, -1, 1},
		{"user_usec 1\n", cgroup_parse_cpu, -1, 1},
		{"", cgroup_parse_cpu, -1, 1},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		uint64_t n = 1;

		assert_int_equal(cases[i].parse(cases[i].text, &n), cases[i].ret);
		assert_int_equal(n, cases[i].value);
	}
}

static void names_its_owner(void **state)
{
	static const char *const foreign[] = {
		"",
		"exitpath-",
		"exitpath-1-2-3",
		"exitpath-1-2-3-",
		"exitpath-1-2-3-4-5",
		"exitpath-1-2-3-4x",
		"exitpath-1-0-3-4",
		"exitpath-1--2-3-4",
		"exitpath-1-2147483648-3-4",
		"exitpath-1-2-99999999999999999999-4",
		"xexitpath-1-2-3-4",
	};
	struct cgroup_owner o = {4026531836, 2147483647, 18446744073709551615ULL, 7};
	struct cgroup_owner got = {0};
	char name[CGROUP_NAME_MAX];

	(void)state;
	cgroup_name(&o, name);
	assert_string_equal(name,
			    "exitpath-4026531836-2147483647-18446744073709551615-7");
	assert_int_equal(cgroup_name_parse(name, &got), 0);
	assert_true(got.pid_namespace == o.pid_namespace && got.pid == o.pid &&
		    got.start == o.start && got.n == o.n);
	for (size_t i = 0; i < ARRAY_SIZE(foreign); i++)
		assert_int_equal(cgroup_name_parse(foreign[i], &got), -1);
}

static void reads_the_start_time(void **state)
{
#define STAT_REST " 7 42 42 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 3 0 4711 99\n"
	static const struct {
		const char *text;
		int ret;
	} cases[] = {
		{"42 (sh) S" STAT_REST, 0},
		{"42 () R 1 1) S" STAT_REST, 0},
		{"42 (sh) S 7 42", -1},
		{"42 (sh) S 7 42 42 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 3 0 ", -1},
		{"42 (sh)", -1},
		{"42 (sh) ", -1},
		{"42 sh", -1},
		{"", -1},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		unsigned long long start = 0;
		char s = 0;

		assert_int_equal(cgroup_parse_start(cases[i].text, &s, &start),
				 cases[i].ret);
		assert_int_equal(start, cases[i].ret ? 0 : 4711);
		assert_int_equal(s, cases[i].ret ? 0 : 'S');
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		HARNESS_TEST(finds_mounts),    HARNESS_TEST(finds_words),
		HARNESS_TEST(finds_our_group), HARNESS_TEST(translates_paths),
		HARNESS_TEST(reads_counters),  HARNESS_TEST(reads_numbers),
		HARNESS_TEST(names_its_owner), HARNESS_TEST(reads_the_start_time),
	};

	return HARNESS_RUN(tests);
}
