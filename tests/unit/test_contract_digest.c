#include "harness.h"

#include "contract/load.h"

#include "base/mem.h"

#include <string.h>

static void digest(const char *text, char ret[7 + SHA256_HEX])
{
	CLEANUP(contract) struct contract c = {0};
	struct err err = {0};

	if (contract_parse(text, strlen(text), "t", &c, &err) < 0)
		fail_msg("%s\nin\n%s", err.message, text);
	memcpy(ret, c.digest, sizeof(c.digest));
}

/* Ways to write one and the same contract. */
static const char *const same[] = {
	"version: 1\nlifecycles:\n  - name: a\n    command: make test\n",
	"# comment\nversion: 1 # more\nlifecycles:\n- {command: 'make test', name: a}\n",
	"lifecycles: [{name: \"a\", command: \"make test\"}]\nversion: 1\n",
	"{\"version\": 1, \"lifecycles\": [{\"name\": \"a\", \"command\": \"make "
	"test\"}]}",
	"---\nversion: 1\r\nlifecycles:\r\n  - name: a\r\n    command: >-\r\n      "
	"make\r\n"
	"      test\r\n...\n",
	"\xef\xbb\xbfversion: 1\nlifecycles: [{name: a, command: make test}]",
	"version: 1\nsetup_timeout: 30m\nshare: []\nsuppressions: []\nworlds: {}\n"
	"lifecycles: [{name: a, command: make test, warmup: 1, cycles: 5, timeout: 1m,\n"
	"  network: none, repairs: false, limits: {}}]\nexpose: []\n",
	"version: 1\nlifecycles: [{name: a, command: make test, timeout: "
	"60000ms}]",
};

static void test_spelling_does_not_matter(void **state)
{
	char first[7 + SHA256_HEX], other[7 + SHA256_HEX];

	(void)state;
	digest(same[0], first);
	assert_memory_equal(first, "sha256:", 7);
	assert_int_equal(strlen(first), 71);
	for (size_t i = 1; i < ARRAY_SIZE(same); i++) {
		digest(same[i], other);
		assert_string_equal(other, first);
	}
}

#define WITH(lifecycle, top) "version: 1\n" top "lifecycles:\n- {" lifecycle "}\n"
#define A "name: a, command: make test"
#define SUPPRESSION(match, reason, owner, more)                                      \
	"suppressions: [{match: '" match "', reason: " reason ", owner: " owner more \
	"}]\n"

#define IGNORE(match, reason, owner, more)                                              \
	"faults: {ignore: [{match: '" match "', reason: " reason ", owner: " owner more \
	"}]}\n"

/* Every pair of these means something different. */
static const char *const different[] = {
	WITH(A, ""),
	WITH("name: b, command: make test", ""),
	WITH("name: a, command: make check", ""),
	WITH(A ", detectors: [lsan]", ""),
	WITH(A ", detectors: [lsan, ledger]", ""),
	WITH(A ", warmup: 0", ""),
	WITH(A ", cycles: 6", ""),
	WITH(A ", timeout: 61s", ""),
	WITH(A ", limits: {memory: 5}", ""),
	WITH(A ", limits: {disk: 5}", ""),
	WITH(A ", limits: {pids: 5}", ""),
	WITH(A ", limits: {cpu: 5ms}", ""),
	WITH(A ", limits: {output: 5}", ""),
	WITH(A ", limits: {files: 5}", ""),
	WITH(A ", network: loopback", ""),
	WITH(A ", repairs: true", ""),
	WITH(A "}\n- {name: b, command: make test", ""),
	WITH(A, "base: main\n"),
	WITH(A, "base: other\n"),
	WITH(A, "setup: make\n"),
	WITH(A, "suite: make\n"),
	WITH(A, "setup_timeout: 5s\n"),
	WITH(A, "share: [a]\n"),
	WITH(A, "share: [a, b]\n"),
	WITH(A, "share: ['a, b']\n"),
	WITH(A, "expose: [/a]\n"),
	WITH(A, "expose: [/a, /b]\n"),
	WITH(A, "faults: {}\n"),
	WITH(A, "faults: {mode: forever}\n"),
	WITH(A, "faults: {points: 7}\n"),
	WITH(A, "faults: {time: 7s}\n"),
	WITH(A, "faults: {layer: libc}\n"),
	WITH(A, "faults: {lifecycles: [a]}\n"),
	WITH(A, "faults: {check: make test}\n"),
	WITH(A, IGNORE("leak:malloc:foo", "r", "o", "")),
	WITH(A, IGNORE("leak:calloc:foo", "r", "o", "")),
	WITH(A, IGNORE("leak:malloc:foo", "s", "o", "")),
	WITH(A, IGNORE("leak:malloc:foo", "r", "p", "")),
	WITH(A, IGNORE("leak:malloc:foo", "r", "o", ", expires: 2027-01-01")),
	WITH(A, "faults: {classes: [net]}\n"),
	WITH(A, "faults: {classes: [net, file]}\n"),
	WITH(A, "scan: true\n"),
	WITH(A, "scan: {severity: note}\n"),
	WITH(A, "review: true\n"),
	WITH(A, "review: {strict: true}\n"),
	WITH(A, "review: {allow: [{match: 'test-deleted:a.py', reason: r, owner: o, "
		"expires: 2027-01-01}]}\n"),
	WITH(A, "review: {allow: [{match: 'test-deleted:b.py', reason: r, owner: o, "
		"expires: 2027-01-01}]}\n"),
	WITH(A, "worlds: {w: {}}\n"),
	WITH(A, "worlds: {w: {A: ''}}\n"),
	WITH(A, "worlds: {w: {A: b}}\n"),
	WITH(A, "worlds: {v: {A: b}}\n"),
	WITH(A, SUPPRESSION("leak:foo", "r", "o", "")),
	WITH(A, SUPPRESSION("leak:fou", "r", "o", "")),
	WITH(A, SUPPRESSION("leak:foo", "s", "o", "")),
	WITH(A, SUPPRESSION("leak:foo", "r", "p", "")),
	WITH(A, SUPPRESSION("leak:foo", "r", "o", ", expires: 2027-01-01")),
};

/* Two ways to say all of them. */
static void test_faults_defaults(void **state)
{
	char a[7 + SHA256_HEX], b[7 + SHA256_HEX];

	(void)state;
	digest(WITH(A, "faults: {}\n"), a);
	digest(WITH(A,
		    "faults: {classes: [db, process, net, file, memory], mode: once}\n"),
	       b);
	assert_string_equal(a, b);
	digest(WITH(A, "scan: true\nreview: {}\n"), a);
	digest(WITH(A, "scan: {severity: warning}\nreview: {strict: false}\n"), b);
	assert_string_equal(a, b);
	digest(WITH(A, ""), a);
	digest(WITH(A, "scan: false\nreview: false\n"), b);
	assert_string_equal(a, b);
}

static void test_meaning_matters(void **state)
{
	char seen[ARRAY_SIZE(different)][7 + SHA256_HEX];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(different); i++) {
		digest(different[i], seen[i]);
		for (size_t j = 0; j < i; j++)
			if (!strcmp(seen[i], seen[j]))
				fail_msg("%s\nand\n%s", different[j], different[i]);
	}
}

static void test_flags_change_it(void **state)
{
	CLEANUP(contract) struct contract a = {0}, b = {0};
	struct lifecycle *l = VEC_ADD(a.lifecycles, a.nlifecycles, a.lifecycles_cap);

	(void)state;
	strv_add(&l->argv, "\xff");
	l = VEC_ADD(b.lifecycles, b.nlifecycles, b.lifecycles_cap);
	strv_add(&l->argv, "\xfe"); /* neither is UTF-8 */
	contract_digest(&a);
	contract_digest(&b);
	assert_string_not_equal(a.digest, b.digest);
	free(l->argv.v[0]);
	l->argv.v[0] = xstrdup("\xff");
	contract_digest(&b);
	assert_string_equal(a.digest, b.digest);
	l->command = xstrdup("\xff"); /* a command line is not an argv */
	contract_digest(&b);
	assert_string_not_equal(a.digest, b.digest);
}

static void test_where_it_was_read_does_not_matter(void **state)
{
	CLEANUP(contract) struct contract a = {0}, b = {0};
	struct err err = {0};

	(void)state;
	assert_int_equal(contract_load(harness_file("a.yaml", same[0]), &a, &err), 0);
	assert_int_equal(contract_load(harness_file("b.yaml", same[1]), &b, &err), 0);
	assert_string_not_equal(a.path, b.path);
	assert_string_equal(a.digest, b.digest);
}

static void test_setup_digest(void **state)
{
	CLEANUP(contract) struct contract a = {0}, b = {0};
	char first[SHA256_HEX], second[SHA256_HEX];

	(void)state;
	contract_setup_digest(&a, first);
	assert_int_equal(strlen(first), 64);
	b.base = xstrdup("main");
	b.suite = xstrdup("make test");
	b.setup_timeout_ms = 5;
	contract_setup_digest(&b, second);
	assert_string_equal(first, second);
	b.setup = xstrdup("make");
	contract_setup_digest(&b, second);
	assert_string_not_equal(first, second);
	strv_add(&a.share, "make");
	contract_setup_digest(&a, first);
	assert_string_not_equal(first, second);
	strv_add(&a.expose, "/srv");
	contract_setup_digest(&a, second);
	assert_string_not_equal(first, second);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		HARNESS_TEST(test_spelling_does_not_matter),
		HARNESS_TEST(test_faults_defaults),
		HARNESS_TEST(test_meaning_matters),
		HARNESS_TEST(test_flags_change_it),
		HARNESS_TEST(test_where_it_was_read_does_not_matter),
		HARNESS_TEST(test_setup_digest),
	};

	return HARNESS_RUN(tests);
}
