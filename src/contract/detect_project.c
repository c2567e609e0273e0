/*
 * One row of `kinds` a kind of project, the most telling first. A row matches when one
 * of its files is there and its look() agrees; look() may change what the row proposes.
 */
#include "contract/detect_project.h"

#include "base/fs.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strv.h"
#include "contract/load.h"
#include "contract/toolchain.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

enum { MAX_READ = 1 << 20 };

#define JOBS "-j\"$(nproc)\""
#define SANITIZE "-g -fsanitize=address"
/* Not CFLAGS: a value from the command line would replace that of the Makefile, with all
 * its -I and -std. */
#define MAKE_SANITIZE "CC='cc " SANITIZE "' CXX='c++ " SANITIZE "'"
/* At make and not at configure, whose own test programs leak and would be taken to fail.
 */
#define AUTOMAKE_SANITIZE \
	"CFLAGS='" SANITIZE "' CXXFLAGS='" SANITIZE "' LDFLAGS=-fsanitize=address"

struct proposal {
	struct buf setup, command;
	struct strv share, expose, notes;
};

struct kind {
	const char *name;
	const char *files[4];
	bool (*look)(const char *dir, struct proposal *p);
	const char *setup, *command; /* unless look() has set them */
	const char *note;	     /* about the set-up */
	const char *detectors;	     /* that are likely to fit */
	const char *programs[4];     /* that set-up and command run */
	bool joins;  /* others that join have lifecycles beside it, in a mixed project */
	bool serves; /* tests tend to talk to servers of their own */
};

/* One for each kind that was found. */
struct part {
	const struct kind *kind;
	struct proposal p;
};

enum { PARTS_MAX = 4 };

static void proposal_release(struct proposal *p)
{
	buf_release(&p->setup);
	buf_release(&p->command);
	strv_release(&p->share);
	strv_release(&p->expose);
	strv_release(&p->notes);
}

static bool has(const char *dir, const char *name)
{
	CLEANUP_FREE char *path = path_join(dir, name);

	return path_exists(path);
}

/* "" when there is no such file, or none that can be read. */
static const char *content(const char *dir, const char *name, struct buf *ret)
{
	CLEANUP_FREE char *path = path_join(dir, name);
	struct stat st;

	buf_clear(ret);
	/* Opening a FIFO would wait for a writer. */
	if (stat(path, &st) == 0 && S_ISREG(st.st_mode) &&
	    read_file(path, MAX_READ, ret, NULL) < 0)
		buf_clear(ret);
	return buf_str(ret);
}

static bool mentions(const char *dir, const char *name, const char *word)
{
	CLEANUP(buf) struct buf text = {0};

	return strstr(content(dir, name, &text), word);
}

/* Is name among the words before the colon of a rule? line ends before its '\n'. */
static bool rule_has_target(const char *line, const char *end, const char *name)
{
	const char *colon = memchr(line, ':', (size_t)(end - line));
	size_t len = strlen(name);

	if (!colon || *line == '\t' || memchr(line, '=', (size_t)(colon - line)) ||
	    memchr(line, '#', (size_t)(colon - line)))
		return false;
	/* NAME := value, NAME ::= value */
	for (const char *p = colon; p < end && (*p == ':' || *p == '='); p++)
		if (*p == '=')
			return false;
	while (line < colon) {
		const char *word = line;

		while (line < colon && !isspace((unsigned char)*line))
			line++;
		if ((size_t)(line - word) == len && !memcmp(word, name, len))
			return true;
		line += line < colon;
	}
	return false;
}

static bool makefile_has_target(const char *text, const char *name)
{
	bool continued = false;

	while (*text) {
		const char *end = strchrnul(text, '\n');

		if (!continued && rule_has_target(text, end, name))
			return true;
		continued = end > text && end[-1] == '\\';
		text = *end ? end + 1 : end;
	}
	return false;
}

static const char *test_target(const char *makefile)
{
	if (makefile_has_target(makefile, "test"))
		return "test";
	return makefile_has_target(makefile, "check") ? "check" : NULL;
}

static bool look_make(const char *dir, struct proposal *p)
{
	static const char *const names[] = {"GNUmakefile", "makefile", "Makefile"};
	static const char *const compiles[] = {"CFLAGS", "(CC)", "{CC}",
					       "(CXX)",	 ".o",	 "{CXX}"};
	CLEANUP(buf) struct buf text = {0};
	const char *target, *sanitize = "";

	for (size_t i = 0; i < ARRAY_SIZE(names) && !text.len; i++)
		content(dir, names[i], &text);
	target = test_target(buf_str(&text));
	if (!target)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(compiles) && !*sanitize; i++)
		if (strstr(buf_str(&text), compiles[i]))
			sanitize = MAKE_SANITIZE " ";
	buf_addf(&p->setup, "make %s" JOBS, sanitize);
	buf_addf(&p->command, "make %s%s", sanitize, target);
	if (*sanitize)
		strv_add(&p->notes, "CC carries AddressSanitizer, so that the Makefile's "
				    "own CFLAGS stay.");
	return true;
}

/* A hand-written configure: its Makefile is a template, or not there yet. */
static bool look_configure(const char *dir, struct proposal *p)
{
	CLEANUP(buf) struct buf text = {0};
	const char *target = test_target(content(dir, "Makefile.in", &text));

	if (!target)
		target = test_target(content(dir, "Makefile", &text));
	buf_addf(&p->command, "make " MAKE_SANITIZE " %s", target ? target : "check");
	return true;
}

/* A Python package whose native part is built by meson or CMake is tested as Python. */
static bool look_native(const char *dir, struct proposal *p)
{
	(void)p;
	return !mentions(dir, "pyproject.toml", "mesonpy") &&
	       !mentions(dir, "pyproject.toml", "scikit_build_core");
}

static bool uses_pytest(const char *dir)
{
	static const char *const configs[] = {
		"pyproject.toml",	"setup.cfg",	   "setup.py", "tox.ini",
		"requirements-dev.txt", "requirements.txt"};

	if (has(dir, "pytest.ini") || has(dir, "conftest.py") ||
	    has(dir, "tests/conftest.py"))
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(configs); i++)
		if (mentions(dir, configs[i], "pytest"))
			return true;
	return false;
}

/* pyproject.toml and setup.cfg alone may hold no more than the settings of a linter. */
static bool is_python(const char *dir)
{
	return has(dir, "setup.py") || mentions(dir, "setup.cfg", "[metadata]") ||
	       mentions(dir, "pyproject.toml", "[project]") ||
	       mentions(dir, "pyproject.toml", "[build-system]") ||
	       mentions(dir, "pyproject.toml", "[tool.poetry]") || uses_pytest(dir);
}

static bool look_python(const char *dir, struct proposal *p)
{
	const char *venv = has(dir, ".venv/bin/python")	 ? ".venv"
			   : has(dir, "venv/bin/python") ? "venv"
							 : NULL;

	if (!is_python(dir))
		return false;
	if (venv) {
		CLEANUP_FREE char *python = xasprintf("%s/%s/bin/python", dir, venv);

		toolchain_expose(python, dir, &p->expose);
		buf_addf(&p->command, "%s/bin/python", venv);
		strv_add(&p->share, venv);
	} else {
		/* Nothing is installed, editable or not: the source must be found. */
		buf_addf(&p->command, "%spython3",
			 has(dir, "src") ? "PYTHONPATH=src " : "");
		strv_add(&p->notes, "The tests use the python3 on PATH. For a virtual "
				    "environment of their own:");
		strv_add(&p->notes, "  setup: python3 -m venv .venv && .venv/bin/pip "
				    "install -e . pytest");
	}
	if (uses_pytest(dir))
		buf_adds(&p->command, " -m pytest -q");
	else
		buf_addf(&p->command, " -m unittest discover%s",
			 has(dir, "tests") && !has(dir, "tests/__init__.py") ? " -s tests"
									     : "");
	return true;
}

static bool look_node(const char *dir, struct proposal *p)
{
	static const struct {
		const char *lock, *run, *install;
	} managers[] = {
		{"pnpm-lock.yaml", "pnpm", "pnpm install --frozen-lockfile"},
		{"yarn.lock", "yarn", "yarn install --frozen-lockfile"},
		{"package-lock.json", "npm", "npm ci"},
		{"npm-shrinkwrap.json", "npm", "npm ci"},
		{"package.json", "npm", "npm install"},
	};
	CLEANUP(buf) struct buf text = {0};
	CLEANUP_JSON json_t *package = NULL;
	const json_t *scripts;
	const char *test;
	size_t i = 0;

	content(dir, "package.json", &text);
	package = json_parse(buf_str(&text), text.len, "package.json", NULL);
	scripts = json_object_get(package, "scripts");
	test = json_get(scripts, "test", NULL);
	/* What `npm init` writes. */
	if (!test || strstr(test, "no test specified"))
		return false;
	while (!has(dir, managers[i].lock))
		i++;
	if (strstr(buf_str(&text), "\"vite\"") || strstr(buf_str(&text), "\"vitest\"")) {
		buf_adds(&p->setup, managers[i].install);
		strv_add(&p->notes, "vite writes into node_modules: each revision has "
				    "its own.");
	} else if (has(dir, "node_modules")) {
		strv_add(&p->share, "node_modules");
		strv_add(&p->notes, "node_modules is shared below. For one of each "
				    "revision's own, drop that and use:");
		strv_addf(&p->notes, "  setup: %s", managers[i].install);
	} else {
		buf_adds(&p->setup, managers[i].install);
	}
	if (json_get(scripts, "build", NULL))
		buf_addf(&p->setup, "%s%s run build", p->setup.len ? " && " : "",
			 managers[i].run);
	/* CI=1 keeps test runners out of their watch mode. */
	buf_addf(&p->command, "CI=1 %s test", managers[i].run);
	return true;
}

static const struct kind kinds[] = {
	{"meson",
	 {"meson.build"},
	 look_native,
	 "meson setup build --buildtype=debug -Db_sanitize=address -Db_lundef=false && "
	 "ninja -C build",
	 "meson test -C build --no-rebuild",
	 "b_sanitize=address builds AddressSanitizer in, which finds leaks at exit.",
	 "lsan, ledger",
	 {"meson", "ninja", "cc"}},
	{"cmake",
	 {"CMakeLists.txt"},
	 look_native,
	 "cmake -S . -B build -DCMAKE_BUILD_TYPE=Debug -DBUILD_TESTING=ON "
	 "-DCMAKE_C_FLAGS='" SANITIZE "' -DCMAKE_CXX_FLAGS='" SANITIZE
	 "' && cmake --build build " JOBS,
	 "ctest --test-dir build --output-on-failure",
	 "AddressSanitizer is built in: it finds leaks at exit.",
	 "lsan, ledger",
	 {"cmake", "cc", "c++"}},
	{"cargo",
	 {"Cargo.toml"},
	 NULL,
	 "cargo fetch && cargo test --no-run",
	 "cargo test --offline",
	 NULL,
	 "ledger",
	 {"cargo"},
	 .joins = true},
	{"go",
	 {"go.mod"},
	 NULL,
	 "go mod download && go test -run '^$' ./...",
	 "go test -count=1 ./...",
	 "Builds every test and runs none.",
	 "go, ledger",
	 {"go"},
	 .joins = true,
	 .serves = true},
	{"python",
	 {"pyproject.toml", "setup.py", "setup.cfg", "pytest.ini"},
	 look_python,
	 .detectors = "python, ledger",
	 .programs = {"python3"},
	 .joins = true,
	 .serves = true},
	{"node",
	 {"package.json"},
	 look_node,
	 .detectors = "node, ledger",
	 .programs = {"node", "npm"},
	 .joins = true,
	 .serves = true},
	{"autotools",
	 {"Makefile.am"},
	 NULL,
	 "if [ ! -x configure ]; then autoreconf -fi; fi && ./configure && "
	 "make " AUTOMAKE_SANITIZE " " JOBS " check TESTS=",
	 "make " AUTOMAKE_SANITIZE " check",
	 "AddressSanitizer is built in. `check TESTS=` builds every test and runs none.",
	 "lsan, ledger"},
	{"configure",
	 {"configure"},
	 look_configure,
	 "./configure && make " MAKE_SANITIZE " " JOBS,
	 NULL,
	 "AddressSanitizer is built in: it finds leaks at exit.",
	 "lsan, ledger"},
	{"make",
	 {"Makefile", "GNUmakefile", "makefile"},
	 look_make,
	 .detectors = "lsan, ledger"},
};

static const struct kind unknown = {
	.name = "unknown",
	.command = "echo 'exitpath.yaml does not say how to run the tests' >&2; exit 1",
	.note = "No known build system was found here: fill in `command` below, and "
		"`setup` if one is needed.",
	.detectors = "lsan, valgrind, ledger",
};

static bool matches(const struct kind *k, const char *dir, struct proposal *p)
{
	for (size_t i = 0; i < ARRAY_SIZE(k->files) && k->files[i]; i++)
		if (has(dir, k->files[i]))
			return !k->look || k->look(dir, p);
	return false;
}

/* Returns how many there are, at least one. */
static size_t recognise(const char *dir, struct part *parts)
{
	size_t n = 0;

	for (size_t i = 0; i < ARRAY_SIZE(kinds) && n < PARTS_MAX; i++) {
		const struct kind *k = &kinds[i];
		struct part *part = &parts[n];

		if (n && (!parts[0].kind->joins || !k->joins))
			continue;
		part->kind = k;
		if (matches(k, dir, &part->p))
			n++;
		else
			proposal_release(&part->p);
	}
	if (!n)
		parts[n++].kind = &unknown;
	return n;
}

/* A command line as a YAML scalar: plain where YAML reads it back unchanged. */
static void add_scalar(struct buf *b, const char *text)
{
	if ((isalnum((unsigned char)*text) || *text == '.') && strchr(text, ' ') &&
	    !strstr(text, ": ") && !strstr(text, " #")) {
		buf_adds(b, text);
		return;
	}
	buf_addc(b, '\'');
	for (; *text; text++) {
		buf_addc(b, *text);
		if (*text == '\'')
			buf_addc(b, '\'');
	}
	buf_addc(b, '\'');
}

static const char *setup_of(const struct part *part)
{
	return part->kind->setup && !part->p.setup.len ? part->kind->setup
						       : buf_str(&part->p.setup);
}

static const char *command_of(const struct part *part)
{
	return part->kind->command && !part->p.command.len ? part->kind->command
							   : buf_str(&part->p.command);
}

static void add_setup(struct buf *b, const struct part *parts, size_t n)
{
	CLEANUP(buf) struct buf all = {0};
	size_t notes = 0;

	buf_adds(b, "# Builds a revision: run once for each, in a checkout of its own, "
		    "with the network.\n");
	for (size_t i = 0; i < n; i++) {
		const struct strv *more = &parts[i].p.notes;

		if (*setup_of(&parts[i]))
			buf_addf(&all, "%s%s", all.len ? " && " : "",
				 setup_of(&parts[i]));
		if (parts[i].kind->note)
			buf_addf(b, "# %s\n", parts[i].kind->note);
		for (size_t k = 0; k < more->n; k++)
			buf_addf(b, "# %s\n", more->v[k]);
		notes += more->n;
	}
	if (all.len) {
		buf_adds(b, "setup: ");
		add_scalar(b, buf_str(&all));
		buf_addc(b, '\n');
	} else if (!notes) {
		buf_adds(b, "# setup: ./build\n");
	}
}

static void add_share(struct buf *b, const struct strv *share)
{
	CLEANUP_FREE char *list = strv_join(share, ", ");

	buf_adds(b, "\n# Ignored directories of the working tree that both revisions may "
		    "read.\n");
	buf_addf(b, "%sshare: [%s]\n", share->n ? "" : "# ",
		 share->n ? list : "node_modules, .venv");
}

static void add_expose(struct buf *b, const struct strv *expose)
{
	CLEANUP_FREE char *list = strv_join(expose, ", ");

	buf_adds(
		b,
		"\n# What runs may read of the machine, beside the system's directories. "
		"In the sandbox\n# the home directory is a private one.\n");
	buf_addf(b, "%sexpose: [%s]\n", expose->n ? "" : "# ",
		 expose->n ? list : "~/.local/bin");
}

static void add_lifecycle(struct buf *b, const struct part *part, const char *name,
			  bool explain)
{
	buf_addf(b, "  - name: %s\n    command: ", name);
	add_scalar(b, command_of(part));
	buf_addf(b,
		 "\n    # detectors: [%s]  # default: every one that fits; see "
		 "`exitpath doctor`\n",
		 part->kind->detectors);
	if (!explain) {
		buf_addf(b,
			 "    warmup: 1\n    cycles: 5\n    timeout: 5m\n    network: "
			 "%s\n",
			 part->kind->serves ? "loopback" : "none");
		return;
	}
	buf_addf(b,
		 "    warmup: 1     # cycles that are run and not measured\n"
		 "    cycles: 5     # a leak shows in every one\n"
		 "    timeout: 5m   # of one cycle\n"
		 "    network: %s\n"
		 "    # limits: {memory: 1G, cpu: 1m, pids: 256, disk: 1G, "
		 "output: 64M}\n"
		 "    # repairs: true  # when the patch is meant to repair a leak\n",
		 part->kind->serves ? "loopback # or none" : "none # or loopback");
}

static void add_lifecycles(struct buf *b, const struct part *parts, size_t n)
{
	buf_adds(b,
		 "\n# What acquires, uses and releases something, and exits. One narrow "
		 "lifecycle for each\n# subsystem finds more, and faster, than the "
		 "whole suite.\nlifecycles:\n");
	for (size_t i = 0; i < n; i++)
		add_lifecycle(b, &parts[i], n > 1 ? parts[i].kind->name : "tests", !i);
	buf_adds(b,
		 "\n# The related tests, run after the lifecycles to see that behaviour "
		 "held.\n# suite: ");
	for (size_t i = 0; i < n; i++)
		buf_addf(b, "%s%s", i ? " && " : "", command_of(&parts[i]));
	buf_adds(b, "\n\n# Each call of these lifecycles that can fail is made to, once: "
		    "what is not "
		    "survived, and\n# is on base, is a defect. See `exitpath fault`.\n# "
		    "faults: "
		    "{classes: [memory, file, net, process], time: 60s}\n");
	buf_adds(b, "\n# The patch is read as well: failure paths that it adds and that "
		    "go wrong (`exitpath scan`),\n# and what it does to the checks that "
		    "judge it (`exitpath review`). A patch cannot switch\n# them off: "
		    "base's contract counts, too.\nscan: true\nreview: true\n");
	buf_adds(b, "\n# Known leaks: narrow, owned, dated.\n# suppressions:\n"
		    "#   - {match: \"leak:cache_init\", reason: \"one-time "
		    "cache\", owner: \"@core\", expires: 2030-01-31}\n");
}

static void add_head(struct buf *b, const struct part *parts, size_t n)
{
	buf_adds(b, "# What exitpath holds a patch to. Written by `exitpath init`");
	if (parts[0].kind == &unknown)
		buf_adds(b, ".\n");
	else
		buf_addf(b, " for a project of kind%s %s", n > 1 ? "s" : "",
			 parts[0].kind->name);
	for (size_t i = 1; i < n; i++)
		buf_addf(b, " and %s", parts[i].kind->name);
	if (parts[0].kind != &unknown)
		buf_adds(b, ":\n# check it, and commit it.\n");
	buf_adds(b, "version: 1\n\n# Where a patch starts. Default: the merge base "
		    "with the default branch.\n# base: origin/main\n\n");
}

static void add_new(struct strv *to, const struct strv *from)
{
	for (size_t i = 0; i < from->n; i++)
		if (!strv_contains(to, from->v[i]))
			strv_add(to, from->v[i]);
}

int project_contract(const char *dir, struct buf *ret_yaml, const char **ret_kind,
		     struct err *err)
{
	struct part parts[PARTS_MAX] = {0};
	CLEANUP(strv) struct strv share = {0}, expose = {0};
	struct stat st;
	size_t n;

	if (stat(dir, &st) < 0)
		return err_errno(err, ERR_USAGE, errno, "cannot look into %s", dir);
	if (!S_ISDIR(st.st_mode))
		return err_set(err, ERR_USAGE, "%s is not a directory", dir);
	n = recognise(dir, parts);
	for (size_t i = 0; i < n; i++) {
		const char *const *programs = parts[i].kind->programs;

		for (size_t k = 0; k < ARRAY_SIZE(kinds->programs) && programs[k]; k++)
			toolchain_expose(programs[k], dir, &parts[i].p.expose);
		add_new(&share, &parts[i].p.share);
		add_new(&expose, &parts[i].p.expose);
	}
	add_head(ret_yaml, parts, n);
	add_setup(ret_yaml, parts, n);
	add_share(ret_yaml, &share);
	add_expose(ret_yaml, &expose);
	add_lifecycles(ret_yaml, parts, n);
	*ret_kind = n > 1 ? "mixed" : parts[0].kind->name;
	for (size_t i = 0; i < n; i++)
		proposal_release(&parts[i].p);
	return 0;
}
