#include "harness.h"

#include "base/fs.h"
#include "base/mem.h"
#include "contract/load.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* DESIGN §4, word for word. */
static const char design[] =
	"version: 1\n"
	"base: origin/main             # default: merge-base with the default branch\n"
	"setup: make -j2 build         # once per revision, in its own checkout\n"
	"lifecycles:\n"
	"  - name: worker_shutdown\n"
	"    command: ./build/worker_test\n"
	"    detectors: [lsan, ledger] # default: every detector that fits\n"
	"    warmup: 1\n"
	"    cycles: 5\n"
	"    timeout: 60s\n"
	"    limits: {memory: 1G, pids: 256, disk: 1G}\n"
	"    network: none             # none | loopback\n"
	"share: [node_modules, .venv]  # ignored directories\n"
	"suite: make test              # run after the focused check\n"
	"faults: {classes: [memory, file, net, process, db], mode: once}\n"
	"worlds: {file_db: {DATABASE_URL: \"sqlite:///t.db\"}}\n"
	"suppressions:\n"
	"  - {match: \"leak:libfoo_init\", reason: \"one-time cache\", owner: \"@core\", "
	"expires: 2027-06-30}\n";

static void test_the_example_of_the_design(void **state)
{
	CLEANUP(contract) struct contract c = {0};
	struct err err = {0};
	const struct lifecycle *l;

	(void)state;
	if (contract_parse(design, strlen(design), CONTRACT_FILE, &c, &err) < 0)
		fail_msg("%s", err.message);
	assert_null(c.path);
	assert_string_equal(c.base, "origin/main");
	assert_string_equal(c.setup, "make -j2 build");
	assert_string_equal(c.suite, "make test");
	assert_true(c.setup_timeout_ms == DEFAULT_SETUP_TIMEOUT_MS);
	assert_int_equal(c.nlifecycles, 1);
	l = c.lifecycles;
	assert_string_equal(l->name, "worker_shutdown");
	assert_string_equal(l->command, "./build/worker_test");
	assert_int_equal(l->argv.n, 0);
	assert_int_equal(l->detectors.n, 2);
	assert_string_equal(l->detectors.v[1], "ledger");
	assert_int_equal(l->warmup, 1);
	assert_int_equal(l->cycles, 5);
	assert_true(l->timeout_ms == 60000);
	assert_true(l->limits.memory == 1U << 30 && l->limits.disk == 1U << 30);
	assert_true(l->limits.pids == 256);
	assert_int_equal(l->network, NETWORK_NONE);
	assert_false(l->repairs);
	assert_int_equal(c.share.n, 2);
	assert_string_equal(c.share.v[0], "node_modules");
	assert_true(c.faults.given && !c.faults.forever && c.faults.classes == 31);
	assert_int_equal(c.nsuppressions, 1);
	assert_string_equal(c.suppressions[0].match, "leak:libfoo_init");
	assert_string_equal(c.suppressions[0].reason, "one-time cache");
	assert_string_equal(c.suppressions[0].owner, "@core");
	assert_string_equal(c.suppressions[0].expires, "2027-06-30");
	assert_int_equal(c.suppressions[0].line, 18);
}

static void test_faults(void **state)
{
	static const char text[] =
		"version: 1\n"
		"lifecycles: [{name: a, command: ./a}, {name: b, command: ./b}]\n"
		"faults:\n"
		"  classes: [file, db]\n"
		"  mode: forever\n"
		"  layer: libc\n"
		"  points: 100\n"
		"  time: 30s\n"
		"  lifecycles: [b]\n"
		"  check: ./rows.sh\n"
		"  ignore:\n"
		"    - {match: \"swallowed:fsync:save_cache\", reason: cache, owner: "
		"me,\n"
		"       expires: 2027-01-01}\n";
	static const char plain[] = "version: 1\nlifecycles: [{name: a, command: b}]";
	CLEANUP(contract) struct contract c = {0}, none = {0};
	struct err err = {0};
	const struct fault_settings *f = &c.faults;

	(void)state;
	if (contract_parse(text, strlen(text), "t", &c, &err) < 0)
		fail_msg("%s", err.message);
	assert_true(f->given && f->forever && f->classes == (1U << 1 | 1U << 4));
	assert_string_equal(f->layer, "libc");
	assert_int_equal(f->points, 100);
	assert_true(f->time_ms == 30000);
	assert_int_equal(f->lifecycles.n, 1);
	assert_string_equal(f->check, "./rows.sh");
	assert_int_equal(f->nignore, 1);
	assert_string_equal(f->ignore[0].match, "swallowed:fsync:save_cache");
	assert_string_equal(f->ignore[0].owner, "me");
	assert_string_equal(f->ignore[0].expires, "2027-01-01");
	assert_int_equal(f->ignore[0].line, 12);
	if (contract_parse(plain, strlen(plain), "t", &none, &err) < 0)
		fail_msg("%s", err.message);
	assert_false(none.faults.given);
}

static void test_vet(void **state)
{
	static const char text[] =
		"version: 1\nlifecycles: [{name: a, command: x}]\n"
		"vet: {target: [src, a.py], coverage: 0.5, kill_rate: 1, time: 3s}\n";
	static const char less[] =
		"version: 1\nlifecycles: [{name: a, command: x}]\n"
		"vet: {target: [src], coverage: 0.4, kill_rate: 1, time: 3s}\n";
	CLEANUP(contract) struct contract c = {0}, d = {0};
	CLEANUP(strv) struct strv lines = {0};
	struct err err = {0};

	(void)state;
	assert_int_equal(contract_parse(text, strlen(text), "c", &c, &err), 0);
	assert_true(c.vet.given && c.vet.target.n == 2);
	assert_true(c.vet.settings.coverage == 0.5 && c.vet.settings.kill_rate == 1);
	assert_true(c.vet.settings.score == 0.5); /* as without the key */
	assert_int_equal(c.vet.settings.time_ms, 3000);
	assert_int_equal(c.vet.settings.limit_ms, 5000);
	assert_int_equal(contract_parse(less, strlen(less), "c", &d, &err), 0);
	assert_string_not_equal(c.digest, d.digest);
	contract_weakened(&c, &d, &lines);
	assert_int_equal(lines.n, 2);
	assert_string_equal(lines.v[0], "vet: lower coverage: 0.40, was 0.50");
	assert_string_equal(lines.v[1], "vet: fewer targets");
	contract_weakened(&d, &c, &lines);
	assert_int_equal(lines.n, 2);
}

static void test_defaults_and_the_rest(void **state)
{
	static const char text[] = "version: 1\n"
				   "setup_timeout: 2h\n"
				   "share: [a/b/, .venv]\n"
				   "lifecycles:\n"
				   "- name: 1st.cycle-A\n"
				   "  command: |\n"
				   "    set -e\n"
				   "    ./run 'it'\n"
				   "- {name: '2', command: \"true\", network: loopback, "
				   "repairs: true, warmup: 0, cycles: 1000,\n"
				   "   limits: {memory: 512, cpu: 30s, output: 1M, "
				   "files: 256}}\n"
				   "expose: [~/go/pkg/mod, /srv/data/]\n"
				   "suppressions:\n"
				   "- {match: 'fd:/var/log/*', reason: r, owner: o}\n";
	CLEANUP(contract) struct contract c = {0};
	struct err err = {0};

	(void)state;
	if (contract_parse(text, strlen(text), "c", &c, &err) < 0)
		fail_msg("%s", err.message);
	assert_null(c.base);
	assert_null(c.setup);
	assert_null(c.suite);
	assert_true(c.setup_timeout_ms == 7200000);
	assert_string_equal(c.share.v[0], "a/b");
	assert_string_equal(c.lifecycles[0].command, "set -e\n./run 'it'\n");
	assert_int_equal(c.lifecycles[0].warmup, DEFAULT_WARMUP);
	assert_int_equal(c.lifecycles[0].cycles, DEFAULT_CYCLES);
	assert_true(c.lifecycles[0].timeout_ms == DEFAULT_TIMEOUT_MS);
	assert_int_equal(c.lifecycles[0].detectors.n, 0);
	assert_true(c.lifecycles[0].limits.memory == 0);
	assert_string_equal(c.lifecycles[1].command, "true");
	assert_int_equal(c.lifecycles[1].warmup, 0);
	assert_int_equal(c.lifecycles[1].cycles, 1000);
	assert_int_equal(c.lifecycles[1].network, NETWORK_LOOPBACK);
	assert_true(c.lifecycles[1].repairs);
	assert_true(c.lifecycles[1].limits.memory == 512);
	assert_true(c.lifecycles[1].limits.cpu_ms == 30000);
	assert_true(c.lifecycles[1].limits.output == 1U << 20);
	assert_true(c.lifecycles[1].limits.files == 256);
	assert_int_equal(c.expose.n, 2);
	assert_string_equal(c.expose.v[0], "~/go/pkg/mod");
	assert_string_equal(c.expose.v[1], "/srv/data");
	assert_null(c.suppressions[0].expires);
}

struct wrong {
	const char *text;
	const char *message; /* all of it, without the name */
	const char *hint;    /* a part; NULL: none */
};

/* Parses; nothing may be printed, and ret must stay as it is. */
static void refuse(const struct wrong *row)
{
	struct contract c = {.nlifecycles = 42};
	struct err err = {0};

	if (contract_parse(row->text, strlen(row->text), CONTRACT_FILE, &c, &err) == 0)
		fail_msg("accepted:\n%s", row->text);
	assert_int_equal(err.kind, ERR_USAGE);
	assert_memory_equal(err.message, CONTRACT_FILE ":", strlen(CONTRACT_FILE) + 1);
	assert_string_equal(err.message + strlen(CONTRACT_FILE) + 1, row->message);
	if (row->hint && !strstr(err.hint, row->hint))
		fail_msg("%s: the hint is \"%s\"", row->message, err.hint);
	if (!row->hint)
		assert_string_equal(err.hint, "");
	assert_int_equal(c.nlifecycles, 42);
	assert_int_equal(contract_parse(row->text, strlen(row->text), "x", &c, NULL), -1);
}

static void refuse_all(const struct wrong *rows, size_t n)
{
	const char *path = harness_file("stderr", "");
	int saved = dup(STDERR_FILENO);
	int file = open(path, O_WRONLY | O_CLOEXEC);
	struct stat st;

	assert_true(saved >= 0 && file >= 0);
	for (size_t i = 0; i < n; i++) {
		fflush(stderr);
		dup2(file, STDERR_FILENO);
		/* Not inside: a failed assertion would leave by longjmp. */
		contract_parse(rows[i].text, strlen(rows[i].text), "x",
			       &(struct contract){0}, NULL);
		fflush(stderr);
		dup2(saved, STDERR_FILENO);
	}
	assert_int_equal(fstat(file, &st), 0);
	close(saved);
	close(file);
	assert_int_equal(st.st_size, 0);
	for (size_t i = 0; i < n; i++)
		refuse(&rows[i]);
}

static void test_what_is_not_yaml(void **state)
{
	static const struct wrong rows[] = {
		{"", "1:1: the contract is empty", "exitpath init"},
		{"# nothing\n\n", "1:1: the contract is empty", "exitpath init"},
		{"---\n", "1:1: the contract is empty", "exitpath init"},
		{"~\n", "1:1: the contract is empty", "exitpath init"},
		{"version: 1\nsetup: a\xff\n", "2:9: not UTF-8: byte 0xff", NULL},
		{"version: 1\n# \xc3", "2:3: not UTF-8: byte 0xc3", NULL},
		{"setup: \x01\n", "1:8: control character 0x01", NULL},
		{"setup: \x1b[31m\n", "1:8: control character 0x1b", NULL},
		{"version: 1\nlifecycles:\n\t- name: a\n", "3:1: a tab",
		 "indent with spaces"},
		{"? a: \t- b\n", "1:1: a key must be a word", NULL},
		{"[{? a: b}]\n", "1:3: a key must be a word", NULL},
		{"version: 1\n- ?\n", "2:3: a key must be a word", NULL},
		{"lifecycles: [1, 2\n", "2:1: flow sequence without a closing bracket",
		 NULL},
		{"setup: \"make\n", "1:9: double-quoted scalar without closing quote",
		 NULL},
		{"a: b: c\n", "1:5: invalid nested block mapping on the same line", NULL},
		{"version: 1\nversion: 1\n", "2:1: duplicate key \"version\"",
		 "line 1 already"},
		{"version: 1\n'version': 1\n", "2:1: duplicate key \"version\"",
		 "line 1 already"},
		{"version: 1\nlifecycles:\n- name: a\n  name: b\n",
		 "4:3: duplicate key \"name\"", "line 3 already"},
		{"version: 1\nsetup: &x make\n",
		 "2:11: anchors and aliases (& and *) are not allowed",
		 "write the value"},
		{"version: 1\nlifecycles: &x [a]\n",
		 "2:16: anchors and aliases (& and *) are not allowed",
		 "write the value"},
		{"setup: *x\n", "1:8: anchors and aliases (& and *) are not allowed",
		 "quote it"},
		{"version: !!int 1\n", "1:16: tags (!) are not allowed",
		 "quote the value"},
		{"setup: !cmd make\n", "1:13: tags (!) are not allowed",
		 "quote the value"},
		{"--- !contract\nversion: 1\n", "2:1: tags (!) are not allowed",
		 "quote the value"},
		{"version: 1\n---\nversion: 1\n", "2:1: a second document", "one only"},
		{"setup: \"a\\0b\"\n", "1:8: a string with a NUL character",
		 "no command"},
		{"[a]: 1\n", "1:1: a key must be a word, not a list", NULL},
		{"{a: 1}: 1\n", "1:1: a key must be a word, not a map", NULL},
		{": 1\n", "1:1: a key must be a word, not empty", NULL},
		{"a: [[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]\n", "1:19: nested too deep",
		 "16 levels"},
	};

	(void)state;
	refuse_all(rows, ARRAY_SIZE(rows));
}

#define OK "version: 1\nlifecycles:\n- name: a\n  command: b\n"
#define IGNORED OK "faults:\n  ignore:\n  - match: "
#define SUPPRESS OK "suppressions:\n- match: "

static void test_keys_and_types(void **state)
{
	static const struct wrong rows[] = {
		{"- a\n", "1:1: the contract must be a map, not a list", NULL},
		{"text\n", "1:1: the contract must be a map, and \"text\" is a string",
		 NULL},
		{"lifecycles: []\n", "1:13: lifecycles is an empty list",
		 "always be clean"},
		{"setup: make\n", "1:1: the contract needs the key version", NULL},
		{"version: 1\n", "1:1: the contract needs the key lifecycles", NULL},
		{"version: 2\nnovelty: x\n", "1:10: version must be 1, not 2",
		 "a newer one"},
		{"version: 01\n", "1:10: version must be 1, not 01", "version 1"},
		{"version: '1'\n",
		 "1:10: version must be a whole number, and \"1\" is a string",
		 "without quotes"},
		{"version:\n", "1:1: version has no value", "leave it out"},
		{OK "lifecycels: x\n", "5:1: unknown key \"lifecycels\" in the contract",
		 "did you mean lifecycles? Allowed are: version, base"},
		{OK "stup: make\n", "5:1: unknown key \"stup\" in the contract",
		 "did you mean setup?"},
		{OK "zzz: make\n", "5:1: unknown key \"zzz\" in the contract",
		 "allowed are: version"},
		{OK "cycles: 5\n", "5:1: unknown key \"cycles\" in the contract",
		 "cycles belongs in a lifecycle"},
		{OK "  memory: 1G\n", "5:3: unknown key \"memory\" in a lifecycle",
		 "memory belongs in limits"},
		{OK "  setup: x\n", "5:3: unknown key \"setup\" in a lifecycle",
		 "setup belongs in the contract"},
		{OK "  cycels: 5\n", "5:3: unknown key \"cycels\" in a lifecycle",
		 "did you mean cycles?"},
		{OK "  \"a\\nb\": 1\n", "5:3: unknown key \"a?b\" in a lifecycle",
		 "allowed are: name"},
		{OK "  <<: {cycles: 5}\n", "5:3: unknown key \"<<\" in a lifecycle",
		 "allowed are: name"},
		{OK "setup:\n", "5:1: setup has no value", "give it a string"},
		{OK "setup: ''\n", "5:8: setup is blank", NULL},
		{OK "setup: ' '\n", "5:8: setup is blank", NULL},
		{OK "setup: [a, b]\n", "5:8: setup must be a string, not a list", NULL},
		{OK "setup: true\n",
		 "5:8: setup must be a string, and \"true\" is true or false",
		 "put it in quotes"},
		{OK "suite: 5\n",
		 "5:8: suite must be a string, and \"5\" is a whole number",
		 "put it in quotes"},
		{OK "base: 1234567\n",
		 "5:7: base must be a string, and \"1234567\" is a whole number",
		 "put it in quotes"},
		{OK "base: 12e4567\n",
		 "5:7: base must be a string, and \"12e4567\" is a number",
		 "put it in quotes"},
		{OK "base: --upload-pack=x\n",
		 "5:7: base: \"--upload-pack=x\" is not a revision", NULL},
		{OK "base: a b\n", "5:7: base: \"a b\" is not a revision", NULL},
		{"version: 1\nlifecycles: {}\n",
		 "2:13: lifecycles must be a list, not a map", NULL},
		{"version: 1\nlifecycles:\n- make\n",
		 "3:3: a lifecycle must be a map, and \"make\" is a string", NULL},
		{"version: 1\nlifecycles:\n- name: a\n",
		 "3:3: a lifecycle needs the key command", NULL},
		{"version: 1\nlifecycles:\n- command: a\n",
		 "3:3: a lifecycle needs the key name", NULL},
		{OK "- {name: a, command: c}\n",
		 "5:10: lifecycles: \"a\" is listed twice", NULL},
		{"version: 1\nlifecycles: [{name: 'a b', command: c}]\n",
		 "2:21: name: \"a b\" cannot be a name", "64 of the characters"},
		{"version: 1\nlifecycles: [{name: '..', command: c}]\n",
		 "2:21: name: \"..\" cannot be a name", "64 of the characters"},
		{"version: 1\nlifecycles: [{name: ../x, command: c}]\n",
		 "2:21: name: \"../x\" cannot be a name", "64 of the characters"},
		{"version: 1\nlifecycles: [{name: "
		 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa, "
		 "command: c}]\n",
		 "2:21: name: "
		 "\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa…"
		 "\" cannot be a name",
		 "64 of the characters"},
	};

	(void)state;
	refuse_all(rows, ARRAY_SIZE(rows));
}

static void test_values(void **state)
{
	static const struct wrong rows[] = {
		{OK "  cycles: '5'\n",
		 "5:11: cycles must be a whole number, and \"5\" is a string",
		 "without quotes"},
		{OK "  cycles: 0\n",
		 "5:11: cycles must be a whole number from 1 to 1000, not \"0\"", NULL},
		{OK "  cycles: 1001\n",
		 "5:11: cycles must be a whole number from 1 to 1000, not \"1001\"",
		 NULL},
		{OK "  cycles: -1\n",
		 "5:11: cycles must be a whole number from 1 to 1000, not \"-1\"", NULL},
		{OK "  cycles: 0x10\n",
		 "5:11: cycles must be a whole number from 1 to 1000, not \"0x10\"",
		 NULL},
		{OK "  cycles: 010\n",
		 "5:11: cycles must be a whole number from 1 to 1000, not \"010\"", NULL},
		{OK "  cycles: 18446744073709551621\n",
		 "5:11: cycles must be a whole number from 1 to 1000, not "
		 "\"18446744073709551621\"",
		 NULL},
		{OK "  cycles: 2.5\n",
		 "5:11: cycles must be a whole number, and \"2.5\" is a number", NULL},
		{OK "  warmup: 101\n",
		 "5:11: warmup must be a whole number from 0 to 100, not \"101\"", NULL},
		{OK "  timeout: 60\n", "5:12: timeout: \"60\" is not a duration", "5s"},
		{OK "  timeout: 0s\n", "5:12: timeout: \"0s\" is not a duration", "5s"},
		{OK "  timeout: 1.5\n", "5:12: timeout: \"1.5\" is not a duration", "5s"},
		{OK "  timeout: 25h\n", "5:12: timeout is more than 24h", NULL},
		{OK "  timeout: 99999999999999999999h\n",
		 "5:12: timeout: \"99999999999999999999h\" is too large", "5s"},
		{OK "  timeout: [5s]\n", "5:12: timeout must be a string, not a list",
		 NULL},
		{OK "setup_timeout: x\n", "5:16: setup_timeout: \"x\" is not a duration",
		 "5s"},
		{OK "  limits: 1G\n",
		 "5:11: limits must be a map, and \"1G\" is a string", NULL},
		{OK "  limits: {memory: 1GB}\n", "5:20: memory: \"1GB\" is not a size",
		 "256M"},
		{OK "  limits: {disk: 0}\n", "5:18: disk: \"0\" is not a size", "256M"},
		{OK "  limits: {pids: 0}\n",
		 "5:18: pids must be a whole number from 1 to 4194304, not \"0\"", NULL},
		{OK "  limits: {cpu: 5}\n", "5:17: cpu: \"5\" is not a duration", "5s"},
		{OK "  limits: {output: 1X}\n", "5:20: output: \"1X\" is not a size",
		 "256M"},
		{OK "  limits: {files: 2000000}\n",
		 "5:19: files must be a whole number from 1 to 1048576, not \"2000000\"",
		 NULL},
		{OK "  limits: {wall: 5s}\n", "5:12: unknown key \"wall\" in limits",
		 "memory, pids, disk, cpu, output, files"},
		{OK "  network: host\n", "5:12: network: \"host\" is not known",
		 "none, loopback"},
		{OK "  repairs: yes\n",
		 "5:12: repairs must be true or false, and \"yes\" is a string", NULL},
		{OK "  detectors: lsan\n",
		 "5:14: detectors must be a list, and \"lsan\" is a string", NULL},
		{OK "  detectors: []\n", "5:14: detectors is an empty list",
		 "every detector that fits"},
		{OK "  detectors: [LSan]\n", "5:15: \"LSan\" cannot be a detector",
		 "exitpath doctor"},
		{OK "  detectors: [lsan, lsan]\n",
		 "5:21: detectors: \"lsan\" is listed twice", NULL},
		{OK "share: a\n", "5:8: share must be a list, and \"a\" is a string",
		 NULL},
		{OK "share: [/a]\n",
		 "5:9: share: \"/a\" must be relative to the repository", NULL},
		{OK "share: [a/../b]\n",
		 "5:9: share: \"a/../b\" must not contain empty parts, . or ..", NULL},
		{OK "share: [./a]\n",
		 "5:9: share: \"./a\" must not contain empty parts, . or ..", NULL},
		{OK "share: ['a//b']\n",
		 "5:9: share: \"a//b\" must not contain empty parts, . or ..", NULL},
		{OK "share: ['*/x']\n",
		 "5:9: share: \"*/x\" must be one path, not a pattern", NULL},
		{OK "share: [sub/.git]\n",
		 "5:9: share: \"sub/.git\" would let a revision read git's own files",
		 NULL},
		{OK "share: [a, a/]\n", "5:12: share: \"a/\" is listed twice", NULL},
		{OK "share: [~]\n", "5:9: a shared directory has no value",
		 "leave it out"},
		{OK "expose: [/]\n",
		 "5:10: expose: \"/\" is all of the machine: name what is needed", NULL},
		{OK "expose: ['~']\n",
		 "5:10: expose: \"~\" is all of the home directory: name what is needed",
		 NULL},
		{OK "expose: [~/]\n",
		 "5:10: expose: \"~/\" is all of the home directory: name what is needed",
		 NULL},
		{OK "expose: [srv]\n",
		 "5:10: expose: \"srv\" must be absolute, or begin with ~/", NULL},
		{OK "expose: [~root/x]\n",
		 "5:10: expose: \"~root/x\" must be absolute, or begin with ~/", NULL},
		{OK "expose: [/a/../b]\n",
		 "5:10: expose: \"/a/../b\" must not contain empty parts, . or ..", NULL},
		{OK "expose: [//a]\n",
		 "5:10: expose: \"//a\" must not contain empty parts, . or ..", NULL},
		{OK "expose: [/a/*]\n",
		 "5:10: expose: \"/a/*\" must be one path, not a pattern", NULL},
		{OK "expose: [/a, /a/]\n", "5:14: expose: \"/a/\" is listed twice", NULL},
	};

	(void)state;
	refuse_all(rows, ARRAY_SIZE(rows));
}

static void test_suppressions_faults_worlds(void **state)
{
	static const struct wrong rows[] = {
		{OK "suppressions: [a]\n",
		 "5:16: a suppression must be a map, and \"a\" is a string", NULL},
		{SUPPRESS "leak:foo\n  owner: o\n",
		 "6:3: a suppression needs the key reason", NULL},
		{SUPPRESS "leak:foo\n  reason: r\n",
		 "6:3: a suppression needs the key owner", NULL},
		{OK "suppressions: [{reason: r, owner: o}]\n",
		 "5:16: a suppression needs the key match", NULL},
		{SUPPRESS "leak:foo\n  reason: ''\n", "7:11: reason is blank", NULL},
		{SUPPRESS "leak:foo\n  reason: r\n  owner: \"\\t\"\n",
		 "8:10: owner is blank", NULL},
		{SUPPRESS "'leak:*'\n",
		 "6:10: match: \"leak:*\" is too wide: fewer than 3 characters are "
		 "literal",
		 "leak:cache_init"},
		{SUPPRESS "leak:libfoo.so\n",
		 "6:10: match: \"leak:libfoo.so\" covers a whole module: it names a "
		 "shared object, not a function",
		 "leak, heap, fd"},
		{SUPPRESS "mem:foo\n",
		 "6:10: match: \"mem:foo\" has a kind that is neither leak nor a "
		 "resource",
		 "sysv_shm"},
		{SUPPRESS "leak:foo\n  expires: 2027-02-30\n",
		 "7:12: expires: \"2027-02-30\" is not a day", "YYYY-MM-DD"},
		{SUPPRESS "leak:foo\n  expires: 2027\n",
		 "7:12: expires must be a string, and \"2027\" is a whole number",
		 "put it in quotes"},
		{SUPPRESS "leak:foo\n  reason: r\n  owner: o\n- {match: leak:foo, "
			  "reason: r, owner: o}\n",
		 "9:11: suppressions: \"leak:foo\" is listed twice", NULL},
		{SUPPRESS "leak:foo\n  expire: 2027-02-28\n",
		 "7:3: unknown key \"expire\" in a suppression", "did you mean expires?"},
		{OK "vet: {coverage: 60}\n",
		 "5:17: coverage must be a number from 0 to 1, not \"60\"", NULL},
		{OK "vet: {score: high}\n",
		 "5:14: score must be a number from 0 to 1, not \"high\"", NULL},
		{OK "vet: {mutants: 0}\n",
		 "5:16: mutants must be a whole number from 1 to 10000, not \"0\"", NULL},
		{OK "vet: {target: [a, a]}\n", "5:19: target: \"a\" is listed twice",
		 NULL},
		{OK "faults: {classes: [disk]}\n", "5:20: classes: \"disk\" is not known",
		 "memory, file, net, process, db"},
		{OK "faults: {classes: [net, net]}\n",
		 "5:25: classes: \"net\" is listed twice", NULL},
		{OK "faults: {classes: []}\n", "5:19: classes is an empty list",
		 "all classes"},
		{OK "faults: {mode: twice}\n", "5:16: mode: \"twice\" is not known",
		 "once, forever"},
		{OK "faults: {point: 5}\n", "5:10: unknown key \"point\" in faults",
		 "did you mean points?"},
		{OK "faults: [file]\n", "5:9: faults must be a map, not a list", NULL},
		{OK "faults: {points: 0}\n",
		 "5:18: points must be a whole number from 1 to 1048576, not \"0\"",
		 NULL},
		{OK "faults: {time: 60}\n", "5:16: time: \"60\" is not a duration",
		 "500ms, 5s"},
		{OK "faults: {check: ''}\n", "5:17: check is blank", NULL},
		{OK "faults: {layer: a b}\n", "5:17: layer: \"a b\" cannot be a name",
		 "64 of the characters"},
		{OK "faults: {lifecycles: []}\n", "5:22: lifecycles is an empty list",
		 "all lifecycles"},
		{OK "faults: {lifecycles: [nobody]}\n",
		 "5:23: faults: there is no lifecycle \"nobody\"", NULL},
		{OK "faults: {ignore: [a]}\n",
		 "5:19: an ignored fault must be a map, and \"a\" is a string", NULL},
		{IGNORED "swallowed:fsync:save\n    reason: r\n",
		 "7:5: an ignored fault needs the key owner", NULL},
		{IGNORED "swallowed:fsync:save\n    owner: o\n",
		 "7:5: an ignored fault needs the key reason", NULL},
		{IGNORED "swallowed:fsync\n",
		 "7:12: match: \"swallowed:fsync\" is not DEFECT:CALL:FUNCTION",
		 "swallowed:fsync:save_cache"},
		{IGNORED "lost:fsync:save\n",
		 "7:12: match: \"lost:fsync:save\" has no defect that is known",
		 "swallowed:fsync:save_cache"},
		{IGNORED "swallowed:f*:save\n",
		 "7:12: match: \"swallowed:f*:save\" has a call that is neither a name "
		 "nor *",
		 "swallowed:fsync:save_cache"},
		{IGNORED "'swallowed:*:*'\n",
		 "7:12: match: \"swallowed:*:*\" is too wide: fewer than 3 characters "
		 "are literal",
		 "swallowed:fsync:save_cache"},
		{IGNORED "leak:malloc:foo\n    expires: 2027-02-30\n",
		 "8:14: expires: \"2027-02-30\" is not a day", "YYYY-MM-DD"},
		{IGNORED "leak:malloc:foo\n    reason: r\n    owner: o\n"
			 "  - {match: leak:malloc:foo, reason: r, owner: o}\n",
		 "10:13: ignore: \"leak:malloc:foo\" is listed twice", NULL},
		{OK "worlds: [a]\n", "5:9: worlds must be a map, not a list", NULL},
		{OK "worlds: {a: b}\n",
		 "5:13: a world must be a map, and \"b\" is a string", NULL},
		{OK "worlds: {'a b': {}}\n", "5:10: a world: \"a b\" cannot be a name",
		 "64 of the characters"},
		{OK "worlds: {a: {1X: b}}\n",
		 "5:14: not a name of an environment variable", NULL},
		{OK "worlds: {a: {'X=Y': b}}\n",
		 "5:14: not a name of an environment variable", NULL},
		{OK "worlds: {a: {'': b}}\n",
		 "5:14: not a name of an environment variable", NULL},
		{OK "worlds: {a: {PORT: 5432}}\n",
		 "5:20: PORT must be a string, and \"5432\" is a whole number",
		 "put it in quotes"},
		{OK "worlds: {a: {PORT: [x]}}\n",
		 "5:20: PORT must be a string, not a list", NULL},
	};

	(void)state;
	refuse_all(rows, ARRAY_SIZE(rows));
}

static void test_sizes_of_files_and_lists(void **state)
{
	CLEANUP(buf) struct buf b = {0};
	CLEANUP(contract) struct contract c = {0};
	struct err err = {0};

	(void)state;
	buf_adds(&b, OK "share: [x0");
	for (int i = 1; i < 1000; i++)
		buf_addf(&b, ", x%d", i);
	buf_adds(&b, "]\n");
	assert_int_equal(contract_parse(b.data, b.len, "c", &c, &err), 0);
	assert_int_equal(c.share.n, 1000);
	b.len -= 2;
	buf_adds(&b, ", y]\n");
	assert_int_equal(contract_parse(b.data, b.len, "c", &c, &err), -1);
	assert_non_null(strstr(err.message, ": too many entries"));

	buf_clear(&b);
	buf_adds(&b, OK "#");
	while (b.len <= CONTRACT_MAX_BYTES)
		buf_addc(&b, 'x');
	assert_int_equal(contract_parse(b.data, b.len, "c", &c, &err), -1);
	assert_string_equal(err.message, "c:1:1: more than 1048576 bytes");
	contract_release(&c);
	assert_int_equal(contract_parse(b.data, b.len - 1, "c", &c, &err), 0);
}

static void test_text_need_not_end_in_nul(void **state)
{
	CLEANUP_FREE char *text = xcalloc(strlen(OK), 1);
	CLEANUP(contract) struct contract c = {0};

	(void)state;
	memcpy(text, OK, strlen(OK));
	assert_int_equal(contract_parse(text, strlen(OK), "c", &c, NULL), 0);
	assert_int_equal(contract_parse("a\0b", 3, "c", &c, NULL), -1);
}

static void test_load(void **state)
{
	const char *good = harness_file("good.yaml", OK);
	const char *bad = harness_file("bad.yaml", OK "x: 1\n");
	CLEANUP_FREE char *expected =
		xasprintf("%s:5:1: unknown key \"x\" in the contract", bad);
	CLEANUP_FREE char *missing = path_join(harness_tmpdir(), CONTRACT_FILE);
	CLEANUP(contract) struct contract c = {0};
	struct err err = {0};

	(void)state;
	assert_int_equal(contract_load(good, &c, &err), 0);
	assert_string_equal(c.path, good);
	assert_int_equal(contract_load(bad, &c, &err), -1);
	assert_string_equal(err.message, expected);
	assert_int_equal(contract_load(missing, &c, &err), -1);
	assert_int_equal(err.kind, ERR_USAGE);
	assert_non_null(strstr(err.message, "No such file or directory"));
	assert_non_null(strstr(err.hint, "exitpath init"));
	assert_int_equal(contract_load(harness_tmpdir(), &c, &err), -1);
	assert_int_equal(err.kind, ERR_USAGE);
	assert_int_equal(contract_load(missing, &c, NULL), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		HARNESS_TEST(test_the_example_of_the_design),
		HARNESS_TEST(test_faults),
		HARNESS_TEST(test_vet),
		HARNESS_TEST(test_defaults_and_the_rest),
		HARNESS_TEST(test_what_is_not_yaml),
		HARNESS_TEST(test_keys_and_types),
		HARNESS_TEST(test_values),
		HARNESS_TEST(test_suppressions_faults_worlds),
		HARNESS_TEST(test_sizes_of_files_and_lists),
		HARNESS_TEST(test_text_need_not_end_in_nul),
		HARNESS_TEST(test_load),
	};

	return HARNESS_RUN(tests);
}
