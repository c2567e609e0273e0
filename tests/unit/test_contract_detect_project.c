#include "harness.h"

#include "base/fs.h"
#include "base/mem.h"
#include "contract/detect_project.h"
#include "contract/load.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

struct file {
	const char *name, *content;
};

struct project {
	const char *what, *kind;
	struct file files[5];
	const char *setup; /* a part; NULL: none */
	const char *command;
	const char *share; /* joined by ',' */
};

static char *make_project(const struct file *files)
{
	char *dir = make_temp_dir(harness_tmpdir(), "project", NULL);

	assert_non_null(dir);
	for (; files->name; files++) {
		CLEANUP_FREE char *path = path_join(dir, files->name);
		CLEANUP_FREE char *parent =
			xstrndup(path, (size_t)(path_base(path) - path));

		assert_int_equal(make_dirs(parent, 0755, NULL), 0);
		assert_int_equal(
			write_file(path, files->content, strlen(files->content), NULL),
			0);
	}
	return dir;
}

static void detect(const char *dir, struct contract *ret, const char **ret_kind)
{
	CLEANUP(buf) struct buf yaml = {0};
	struct err err = {0};

	if (project_contract(dir, &yaml, ret_kind, &err) < 0)
		fail_msg("%s", err.message);
	if (contract_parse(yaml.data, yaml.len, CONTRACT_FILE, ret, &err) < 0)
		fail_msg("%s\n%s", err.message, yaml.data);
}

#define CC_ASAN "make CC='cc -g -fsanitize=address' CXX='c++ -g -fsanitize=address' "

static const struct project projects[] = {
	{"meson",
	 "meson",
	 {{"meson.build", "project('x', 'c')\n"}, {"Makefile", "test:\n\tmeson test\n"}},
	 "meson setup build --buildtype=debug -Db_sanitize=address -Db_lundef=false && "
	 "ninja -C build",
	 "meson test -C build --no-rebuild"},
	{"cmake",
	 "cmake",
	 {{"CMakeLists.txt", "project(x C)\n"}},
	 "-DCMAKE_C_FLAGS='-g -fsanitize=address'",
	 "ctest --test-dir build --output-on-failure"},
	{"cargo",
	 "cargo",
	 {{"Cargo.toml", "[package]\n"}},
	 "--no-run",
	 "cargo test --offline"},
	{"go with a Makefile",
	 "go",
	 {{"go.mod", "module x\n"}, {"Makefile", "test:\n\tgo test\n"}},
	 "go test -run '^$' ./...",
	 "go test -count=1 ./..."},
	{"pytest in a virtual environment",
	 "python",
	 {{"pyproject.toml", "[project]\nname='x'\n[tool.pytest.ini_options]\n"},
	  {".venv/bin/python", ""},
	  {"src/x.py", ""}},
	 NULL,
	 ".venv/bin/python -m pytest -q",
	 ".venv"},
	{"pytest of the system, source below src",
	 "python",
	 {{"pyproject.toml", "[build-system]\n"},
	  {"tests/conftest.py", ""},
	  {"src/x.py", ""}},
	 NULL,
	 "PYTHONPATH=src python3 -m pytest -q"},
	{"unittest",
	 "python",
	 {{"setup.py", ""}, {"tests/__init__.py", ""}},
	 NULL,
	 "python3 -m unittest discover"},
	{"unittest, tests not a package",
	 "python",
	 {{"setup.py", ""}, {"tests/test_x.py", ""}, {"venv/bin/python", ""}},
	 NULL,
	 "venv/bin/python -m unittest discover -s tests",
	 "venv"},
	{"a Python package built by meson",
	 "python",
	 {{"meson.build", "project('x', 'c')"},
	  {"pyproject.toml", "[build-system]\nbuild-backend = 'mesonpy'\n"}},
	 NULL,
	 "python3 -m unittest discover"},
	{"settings of a linter make no Python project",
	 "make",
	 {{"pyproject.toml", "[tool.black]\n"},
	  {"setup.cfg", "[flake8]\n"},
	  {"Makefile", "test:\n\ttrue\n"}},
	 "make",
	 "make test"},
	{"npm",
	 "node",
	 {{"package.json", "{\"scripts\": {\"test\": \"jest\"}}"}},
	 "npm install",
	 "CI=1 npm test"},
	{"npm with a lock and a build",
	 "node",
	 {{"package.json", "{\"scripts\": {\"test\": \"jest\", \"build\": \"tsc\"}}"},
	  {"package-lock.json", "{}"}},
	 "npm ci && npm run build",
	 "CI=1 npm test"},
	{"npm, installed already",
	 "node",
	 {{"package.json", "{\"scripts\": {\"test\": \"jest\", \"build\": \"tsc\"}}"},
	  {"node_modules/x/package.json", "{}"}},
	 "npm run build",
	 "CI=1 npm test",
	 "node_modules"},
	{"vite writes into node_modules, which is not shared then",
	 "node",
	 {{"package.json", "{\"scripts\": {\"test\": \"vitest run\"}, "
			   "\"devDependencies\": {\"vitest\": \"^3.2.4\"}}"},
	  {"package-lock.json", "{}"},
	  {"node_modules/vitest/package.json", "{}"}},
	 "npm ci",
	 "CI=1 npm test"},
	{"yarn",
	 "node",
	 {{"package.json", "{\"scripts\": {\"test\": \"x\"}}"}, {"yarn.lock", ""}},
	 "yarn install --frozen-lockfile",
	 "CI=1 yarn test"},
	{"pnpm",
	 "node",
	 {{"package.json", "{\"scripts\": {\"test\": \"x\"}}"}, {"pnpm-lock.yaml", ""}},
	 "pnpm install --frozen-lockfile",
	 "CI=1 pnpm test"},
	{"a package.json without tests, and a Makefile",
	 "make",
	 {{"package.json", "{\"scripts\": {\"test\": \"echo \\\"Error: no test "
			   "specified\\\" && exit 1\"}}"},
	  {"Makefile", "check:\n\t./run\n"}},
	 "make -j",
	 "make check"},
	{"a package.json that is not JSON",
	 "unknown",
	 {{"package.json", "{scripts: test}"}},
	 NULL,
	 "echo 'exitpath.yaml does not say how to run the tests' >&2; exit 1"},
	{"autotools",
	 "autotools",
	 {{"configure.ac", ""}, {"Makefile.am", ""}},
	 "LDFLAGS=-fsanitize=address -j\"$(nproc)\" check TESTS=",
	 "make CFLAGS='-g -fsanitize=address' CXXFLAGS='-g -fsanitize=address' "
	 "LDFLAGS=-fsanitize=address check"},
	{"a hand-written configure",
	 "configure",
	 {{"configure", ""}, {"Makefile.in", "all:\ntest: all\n"}},
	 "./configure && " CC_ASAN,
	 CC_ASAN "test"},
	{"make in C",
	 "make",
	 {{"Makefile", "CFLAGS += -Iinclude\nall: x\nx: x.o\ntest check: x\n\t./x\n"}},
	 CC_ASAN "-j\"$(nproc)\"",
	 CC_ASAN "test"},
	{"GNUmakefile comes before Makefile",
	 "make",
	 {{"GNUmakefile", "check:\n"}, {"Makefile", "test:\n"}},
	 "make -j",
	 "make check"},
	{"no target for tests",
	 "unknown",
	 {{"Makefile", "TEST := test\ntest := x\ncheck ::= y\nall: test\n.PHONY: test\n"
		       "# test: x\n\ttest: y\nFILES = \\\n test: \\\n check:\n"
		       "tests: x\n"}},
	 NULL,
	 "echo 'exitpath.yaml does not say how to run the tests' >&2; exit 1"},
	{"a double-colon rule at the end, without a newline",
	 "make",
	 {{"makefile", "all:\nlint test::deps"}},
	 "make -j",
	 "make test"},
	{"nothing at all",
	 "unknown",
	 {{"README", ""}},
	 NULL,
	 "echo 'exitpath.yaml does not say how to run the tests' >&2; exit 1"},
};

static void test_kinds(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(projects); i++) {
		const struct project *p = &projects[i];
		CLEANUP(contract) struct contract c = {0};
		CLEANUP_FREE char *dir = make_project(p->files), *share = NULL;
		const char *kind = NULL;

		detect(dir, &c, &kind);
		if (strcmp(kind, p->kind) != 0)
			fail_msg("%s: %s", p->what, kind);
		if (!c.setup != !p->setup || (p->setup && !strstr(c.setup, p->setup)))
			fail_msg("%s: %s", p->what, c.setup ? c.setup : "no setup");
		assert_int_equal(c.nlifecycles, 1);
		assert_string_equal(c.lifecycles[0].command, p->command);
		assert_string_equal(c.lifecycles[0].name, "tests");
		assert_int_equal(c.lifecycles[0].cycles, DEFAULT_CYCLES);
		share = strv_join(&c.share, ",");
		assert_string_equal(share, p->share ? p->share : "");
	}
}

static void test_mixed(void **state)
{
	static const struct file files[] = {
		{"go.mod", "module x\n"},
		{"pyproject.toml", "[project]\nname='x'\n[tool.pytest.ini_options]\n"},
		{".venv/bin/python", ""},
		{"package.json", "{\"scripts\": {\"test\": \"node --test\"}}"},
		{NULL, NULL}};
	static const char *const names[] = {"go", "python", "node"};
	CLEANUP_FREE char *dir = make_project(files);
	CLEANUP(contract) struct contract c = {0};
	const char *kind = NULL;

	(void)state;
	detect(dir, &c, &kind);
	assert_string_equal(kind, "mixed");
	assert_string_equal(c.setup,
			    "go mod download && go test -run '^$' ./... && npm install");
	assert_int_equal(c.nlifecycles, ARRAY_SIZE(names));
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		assert_string_equal(c.lifecycles[i].name, names[i]);
		assert_int_equal(c.lifecycles[i].network, NETWORK_LOOPBACK);
	}
	assert_string_equal(c.lifecycles[1].command, ".venv/bin/python -m pytest -q");
	assert_int_equal(c.share.n, 1);
}

/* Taking away the comment sign of every proposal gives a contract, too. */
static void test_comments_are_ready_to_use(void **state)
{
	static const char *const keys[] = {"base:",	 "share:",	  "expose:",
					   "suite:",	 "suppressions:", "  - {",
					   "detectors:", "limits:",	  "repairs:"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(projects); i++) {
		CLEANUP_FREE char *dir = make_project(projects[i].files);
		CLEANUP(contract) struct contract c = {0};
		CLEANUP(buf) struct buf yaml = {0};
		struct err err = {0};
		const char *kind;

		assert_int_equal(project_contract(dir, &yaml, &kind, &err), 0);
		for (size_t k = 0; k < ARRAY_SIZE(keys); k++) {
			CLEANUP_FREE char *commented = xasprintf("# %s", keys[k]);
			char *at = strstr(yaml.data, commented);

			if (!at)
				at = strncmp(keys[k], "  - ", 4) == 0
					     ? strstr(yaml.data, "#   - {")
					     : NULL;
			if (at)
				memmove(at, at + 2, strlen(at + 2) + 1);
			else
				assert_non_null(strstr(yaml.data, keys[k]));
		}
		if (contract_parse(yaml.data, strlen(yaml.data), "c", &c, &err) < 0)
			fail_msg("%s\n%s", err.message, yaml.data);
		assert_int_equal(c.nsuppressions, 1);
		assert_string_equal(c.suite, c.lifecycles[0].command);
		assert_true(c.lifecycles[0].detectors.n > 0);
		assert_true(c.lifecycles[0].repairs);
		assert_non_null(c.base);
	}
}

static int run(const char *dir, const char *command, struct buf *output)
{
	CLEANUP_FREE char *line = xasprintf("cd %s && { %s; } 2>&1", dir, command);
	FILE *p = popen(line, "re");
	int status;

	assert_non_null(p);
	read_fd(fileno(p), 0, output);
	status = pclose(p);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* The sandbox hides the home directory; a toolchain that lies there is needed. */
static void test_toolchains_at_home(void **state)
{
	static const struct {
		const char *program; /* below the home directory: made, executable */
		const char *link;    /* in its place, to the program; or NULL */
		const char *path;    /* PATH, below the home directory */
		const char *expose;
	} rows[] = {
		{".pyenv/shims/python3", NULL, ".pyenv/shims", "~/.pyenv"},
		{".local/share/uv/python/bin/python3", ".local/bin/python3", ".local/bin",
		 "~/.local/bin,~/.local/share/uv"},
		{"miniconda3/bin/python3", NULL, "miniconda3/bin", "~/miniconda3"},
		{".cargo/bin/python3", NULL, ".cargo/bin", "~/.rustup,~/.cargo/bin"},
		{"python3", NULL, "", ""}, /* all of the home directory */
		{"work/bin/python3", NULL, "work/bin", ""}, /* the project lies in it */
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP_FREE char *home = make_temp_dir(harness_tmpdir(), "home", NULL);
		CLEANUP_FREE char *program = path_join(home, rows[i].program);
		CLEANUP_FREE char *path =
			xasprintf("%s/%s:/bin:/usr/bin", home, rows[i].path);
		CLEANUP_FREE char *project = path_join(home, "work/p");
		CLEANUP_FREE char *script =
			xasprintf("mkdir -p work/p .rustup $(dirname %s) %s && touch "
				  "work/p/setup.py "
				  "%s && chmod +x %s",
				  rows[i].program, *rows[i].path ? rows[i].path : ".",
				  rows[i].program, rows[i].program);
		CLEANUP_FREE char *expose = NULL, *old_path = xstrdup(getenv("PATH"));
		CLEANUP_FREE char *old_home = xstrdup(getenv("HOME"));
		CLEANUP(contract) struct contract c = {0};
		CLEANUP(buf) struct buf output = {0};
		const char *kind;

		assert_int_equal(run(home, script, &output), 0);
		if (rows[i].link) {
			CLEANUP_FREE char *link = path_join(home, rows[i].link);

			assert_int_equal(symlink(program, link), 0);
		}
		setenv("HOME", home, 1);
		setenv("PATH", path, 1);
		detect(project, &c, &kind);
		setenv("PATH", old_path, 1);
		setenv("HOME", old_home ? old_home : "", 1);
		assert_string_equal(kind, "python");
		expose = strv_join(&c.expose, ",");
		assert_string_equal(expose, rows[i].expose);
	}
}

#define LEAK                                                                         \
	"#include <stdlib.h>\nint main(void)\n{\n\tvoid *volatile p = malloc(42);\n" \
	"\n\tp = 0;\n\treturn p != 0;\n}\n"

/* The proposed commands build with the real tools, and what they build finds a leak. */
static void test_proposals_build_and_find_a_leak(void **state)
{
	static const struct {
		const char *tool;
		struct file files[4];
	} rows[] = {
		{"make",
		 {{"x.c", LEAK},
		  {"Makefile", "CFLAGS = -Wall\nall: x\ntest: x\n\t./x\n"}}},
		{"meson",
		 {{"x.c", LEAK},
		  {"meson.build",
		   "project('x', 'c')\ntest('x', executable('x', 'x.c'))\n"}}},
		{"cmake",
		 {{"x.c", LEAK},
		  {"CMakeLists.txt", "cmake_minimum_required(VERSION 3.10)\nproject(x "
				     "C)\nenable_testing()\nadd_executable(x x.c)\n"
				     "add_test(x x)\n"}}},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP_FREE char *tool = find_program(rows[i].tool), *dir = NULL;
		CLEANUP(contract) struct contract c = {0};
		CLEANUP(buf) struct buf output = {0};
		CLEANUP_FREE char *log = NULL, *command = NULL;
		const char *kind;

		if (!tool)
			continue;
		dir = make_project(rows[i].files);
		detect(dir, &c, &kind);
		assert_string_equal(kind, rows[i].tool);
		if (run(dir, c.setup, &output) != 0)
			fail_msg("%s\n%s", c.setup, buf_str(&output));
		log = path_join(dir, "lsan");
		command = xasprintf("export ASAN_OPTIONS=log_path=%s; %s", log,
				    c.lifecycles[0].command);
		run(dir, command, &output);
		buf_clear(&output);
		assert_int_equal(run(dir, "cat lsan.*", &output), 0);
		assert_non_null(strstr(buf_str(&output), "42 byte(s) leaked"));
	}
}

static void test_odd_places(void **state)
{
	CLEANUP_FREE char *dir = make_project((const struct file[]){{0}});
	CLEANUP_FREE char *fifo = path_join(dir, "Makefile");
	CLEANUP_FREE char *file = path_join(dir, "file");
	CLEANUP_FREE char *module = path_join(dir, "package.json");
	CLEANUP(contract) struct contract c = {0};
	CLEANUP(buf) struct buf yaml = {0};
	struct err err = {0};
	const char *kind = NULL;

	(void)state;
	assert_int_equal(project_contract("/proc/nonexistent", &yaml, &kind, &err), -1);
	assert_int_equal(err.kind, ERR_USAGE);
	assert_non_null(strstr(err.message, "No such file or directory"));
	assert_int_equal(write_file(file, "", 0, &err), 0);
	assert_int_equal(project_contract(file, &yaml, &kind, &err), -1);
	assert_non_null(strstr(err.message, "is not a directory"));
	assert_null(kind);
	assert_int_equal(yaml.len, 0);
	/* Neither waits for a writer nor reads a directory. */
	assert_int_equal(mkfifo(fifo, 0600), 0);
	assert_int_equal(make_dirs(module, 0700, &err), 0);
	detect(dir, &c, &kind);
	assert_string_equal(kind, "unknown");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		HARNESS_TEST(test_kinds),
		HARNESS_TEST(test_mixed),
		HARNESS_TEST(test_comments_are_ready_to_use),
		HARNESS_TEST(test_toolchains_at_home),
		HARNESS_TEST(test_proposals_build_and_find_a_leak),
		HARNESS_TEST(test_odd_places),
	};

	return HARNESS_RUN(tests);
}
