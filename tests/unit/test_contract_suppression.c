#include "harness.h"

#include "base/buf.h"
#include "base/mem.h"
#include "contract/load.h"
#include "contract/suppression.h"

#include <stdio.h>
#include <string.h>

static void test_narrow_ones_pass(void **state)
{
	static const char *const rows[] = {"leak:libfoo_init",
					   "leak:cache_init",
					   "leak:foo",
					   "leak:*cache_init",
					   "leak:foo*",
					   "leak:worker_*",
					   "leak:ns::Type::*",
					   "leak:libfoo!init*",
					   "heap:g_type_register",
					   "fd:/var/log/app-*",
					   "tempfile:/tmp/app-*",
					   "tempfile:/tmp/app/*",
					   "socket:/run/app.sock",
					   "socket:127.0.0.1:*",
					   "thread:gc-helper",
					   "lock:data.db",
					   "posix_shm:/sem.app",
					   "leak:crypto_[a-z]*",
					   "leak:a\\*b"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (suppression_refused(rows[i]))
			fail_msg("%s %s", rows[i], suppression_refused(rows[i]));
}

static void test_ignored_faults(void **state)
{
	static const struct {
		const char *match, *why; /* NULL: accepted */
	} rows[] = {
		{"swallowed:fsync:save_cache", NULL},
		{"leak:*:parse_header", NULL},
		{"check:Session.commit:shop.orders.*", NULL},
		{"crash:malloc:*_new", NULL},
		{"", "is not"},
		{"swallowed", "is not"},
		{"swallowed:fsync", "is not"},
		{"none:fsync:save", "has no defect"},
		{"leaks:fsync:save", "has no defect"},
		{"leak::save", "has a call"},
		{"leak:mall?c:save", "has a call"},
		{"leak:malloc:", "is too wide"},
		{"leak:malloc:*", "is too wide"},
		{"leak:malloc:libfoo*", "covers a whole module"},
		{"leak:malloc:libfoo.so", "covers a whole module"},
		{"leak:malloc:save\n", "has a control character"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const char *why = ignore_refused(rows[i].match);

		if (!why != !rows[i].why ||
		    (why && strncmp(why, rows[i].why, strlen(rows[i].why)) != 0))
			fail_msg("%s: %s", rows[i].match, why ? why : "accepted");
	}
}

static void test_wide_ones_are_refused(void **state)
{
	static const struct {
		const char *match, *why;
	} rows[] = {
		{"", "is not KIND:PATTERN"},
		{"libfoo_init", "is not KIND:PATTERN"},
		{":x", "has a kind"},
		{"bytes:libfoo_init", "has a kind"},
		{"LEAK:libfoo_init", "has a kind"},
		{" leak:libfoo_init", "has a kind"},
		{"leak:", "is too wide"},
		{"leak:*", "is too wide"},
		{"leak:?*?", "is too wide"},
		{"leak:ab", "is too wide"},
		{"leak:*a*b*", "is too wide"},
		{"leak:??????", "is too wide"},
		{"leak:[a-z]*", "is too wide"},
		{"leak:[!abc][]abc]", "is too wide"},
		{"leak:a[bcdef]g", "is too wide"},
		{"leak:\\*\\?", "is too wide"},
		{"fd:/tmp/*", "is too wide"},
		{"tempfile:/var/tmp/*", "is too wide"},
		{"fd:/dev/*", "is too wide"},
		{"leak:libfoo.so", "covers a whole module: it names"},
		{"leak:libfoo.so.1", "covers a whole module: it names"},
		{"leak:libfoo.so*", "covers a whole module: it names"},
		{"leak:*libfoo.so!*", "covers a whole module: it names"},
		{"leak:libfoo.so!init", "covers a whole module: it names"},
		{"leak:libfoo*", "covers a whole module"},
		{"leak:libfoo_*", "covers a whole module"},
		{"leak:libfoo!*", "covers a whole module"},
		{"leak:worker!*", "covers a whole module"},
		{"leak:worker!", "covers a whole module"},
		{"leak:foo\nbar", "has a control character"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const char *why = suppression_refused(rows[i].match);

		if (!why || strncmp(why, rows[i].why, strlen(rows[i].why)) != 0)
			fail_msg("%s: %s", rows[i].match, why ? why : "accepted");
	}
}

static void test_dates(void **state)
{
	static const char *const good[] = {"2027-06-30", "2028-02-29", "2000-02-29",
					   "0001-01-01", "9999-12-31"};
	static const char *const bad[] = {
		"",	      "2027-6-30",  "2027-06-31",	"2027-02-29",
		"2100-02-29", "2027-00-10", "2027-13-10",	"2027-10-00",
		"2027/06/30", "27-06-30",   "2027-06-30T00:00", "2027-06-3x",
		"-027-06-30", "never"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(good); i++)
		assert_true(date_valid(good[i]));
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		if (date_valid(bad[i]))
			fail_msg("%s", bad[i]);
}

static void parse(const char *suppressions, struct contract *ret)
{
	char text[1024];
	struct err err = {0};
	int n = snprintf(text, sizeof(text),
			 "version: 1\nlifecycles: [{name: a, command: b}]\n"
			 "suppressions: [%s]\n",
			 suppressions);

	if (contract_parse(text, (size_t)n, "t", ret, &err) < 0)
		fail_msg("%s", err.message);
}

#define S(match, expires) "{match: '" match "', reason: r, owner: o" expires "}"

static void test_widening_is_listed(void **state)
{
	static const struct {
		const char *base, *candidate, *line;
	} rows[] = {
		{S("leak:foo", ""), S("leak:foo", ""), NULL},
		{S("leak:foo", ""), "", NULL},
		{S("leak:foo", ""), S("leak:foo", ", expires: 2027-01-01"), NULL},
		{S("leak:foo", ", expires: 2027-01-02"),
		 S("leak:foo", ", expires: 2027-01-01"), NULL},
		{S("leak:foo", "") "," S("leak:bar", ""),
		 S("leak:bar", "") "," S("leak:foo", ""), NULL},
		{"", S("leak:foo", ", expires: 2027-01-01"),
		 "suppression added: leak:foo (owner o, expires 2027-01-01): r"},
		{S("leak:foo", ""), S("leak:fool", ""),
		 "suppression added: leak:fool (owner o, expires never): r"},
		{S("leak:foo", ", expires: 2027-01-01"),
		 S("leak:foo", ", expires: 2027-01-02"),
		 "suppression prolonged: leak:foo (owner o) expires 2027-01-02, was "
		 "2027-01-01"},
		{S("leak:foo", ", expires: 2027-01-01"), S("leak:foo", ""),
		 "suppression prolonged: leak:foo (owner o) expires never, was "
		 "2027-01-01"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(contract) struct contract base = {0}, candidate = {0};
		CLEANUP(strv) struct strv lines = {0};

		parse(rows[i].base, &base);
		parse(rows[i].candidate, &candidate);
		contract_widened(&base, &candidate, &lines);
		assert_int_equal(lines.n, rows[i].line ? 1 : 0);
		if (rows[i].line)
			assert_string_equal(lines.v[0], rows[i].line);
	}
}

static void parse_lifecycles(const char *lifecycles, struct contract *ret)
{
	CLEANUP_FREE char *text = xasprintf("version: 1\nlifecycles: [%s]\n", lifecycles);
	struct err err = {0};

	if (contract_parse(text, strlen(text), "t", ret, &err) < 0)
		fail_msg("%s", err.message);
}

/* One line for each thing that a reader must see. */
static void test_weakening_is_listed(void **state)
{
#define T "{name: t, command: ./t, cycles: 5, detectors: [lsan, ledger]}"
	static const struct {
		const char *base, *candidate;
		const char *lines; /* joined by "; " */
	} rows[] = {
		{T, T, ""},
		{"{name: t, command: ./t, cycles: 3, warmup: 2}", T,
		 "lifecycle t: fewer detectors: lsan, ledger, was every one that fits"},
		{T, "{name: t, command: 'true', cycles: 5, detectors: [lsan, ledger]}",
		 "lifecycle t: command changed: `true`, was `./t`"},
		{T, "{name: t, command: ./t, cycles: 1, warmup: 4, detectors: [ledger]}",
		 "lifecycle t: fewer cycles: 1, was 5; lifecycle t: more warm-up: 4, was "
		 "1; lifecycle t: fewer detectors: ledger, was lsan, ledger"},
		{T, "{name: t, command: ./t, repairs: true}",
		 "lifecycle t: `repairs` is set"},
		{T, "{name: u, command: ./t}", "lifecycle removed: t"},
		{T "]\nsetup: make\nsuite: make test\nshare: [",
		 T "]\nsetup: make NO=1\nshare: [",
		 "setup changed: `make NO=1`, was `make`; suite changed: `none`, was "
		 "`make test`"},
		{"{name: t, command: ./t, limits: {memory: 1G, pids: 9, cpu: 5s}}",
		 "{name: t, command: ./t, network: loopback,\n"
		 "  limits: {memory: 2G, pids: 8, disk: 1}}",
		 "lifecycle t: network: loopback, was none; lifecycle t: limit of memory "
		 "raised: 2147483648 bytes, was 1073741824 bytes; lifecycle t: limit of "
		 "cpu removed, was 5000 ms"},
		{T "]\nexpose: [/srv, ~/x", T "]\nexpose: [~/x, /a",
		 "runs may read more of the machine: /a"},
		{T "]\nfaults: {}\nshare: [", T, "faults removed"},
		{T "]\nfaults: {check: a, time: 9s}\nshare: [",
		 T "]\nfaults: {mode: forever, classes: [net], points: 3, time: 8s,\n"
		   " lifecycles: [t]}\nshare: [",
		 "faults: fewer classes; faults: at most 3 points; faults: less time: "
		 "8000 ms; faults: fewer lifecycles; faults: check changed: `none`, was "
		 "`a`; faults: mode changed: forever"},
		{T "]\nscan: true\nreview: true\nshare: [", T,
		 "scan removed; review removed"},
		{T "]\nscan: {severity: note}\nreview: {strict: true}\nshare: [",
		 T "]\nscan: true\nreview: true\nshare: [",
		 "scan: notes are left out; review: not strict any more"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(contract) struct contract base = {0}, candidate = {0}, none = {0};
		CLEANUP(strv) struct strv lines = {0};
		CLEANUP(buf) struct buf joined = {0};

		parse_lifecycles(rows[i].base, &base);
		parse_lifecycles(rows[i].candidate, &candidate);
		contract_weakened(&none, &candidate, &lines);
		assert_int_equal(lines.n, 0);
		contract_weakened(&base, &candidate, &lines);
		for (size_t k = 0; k < lines.n; k++)
			buf_addf(&joined, "%s%s", k ? "; " : "", lines.v[k]);
		assert_string_equal(buf_str(&joined), rows[i].lines);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		HARNESS_TEST(test_narrow_ones_pass),
		HARNESS_TEST(test_wide_ones_are_refused),
		HARNESS_TEST(test_ignored_faults),
		HARNESS_TEST(test_dates),
		HARNESS_TEST(test_widening_is_listed),
		HARNESS_TEST(test_weakening_is_listed),
	};

	return HARNESS_RUN(tests);
}
