/* Statements without their literals, and the record of a run's sessions as text. */
#include "harness.h"

#include "base/mem.h"
#include "detect/pg_report.h"

#include <string.h>

/* --- statements -------------------------------------------------------------------- */

static const struct {
	const char *query, *expected;
} statements[] = {
	{"", ""},
	{"SELECT 1", "SELECT ?"},
	{"select  *\n\tfrom t ;; ", "select * from t"},
	{"INSERT INTO t VALUES ('a', 'b''c', 3)", "INSERT INTO t VALUES (?)"},
	{"WHERE id IN ($1, $2,$3)", "WHERE id IN (?)"},
	{"SELECT 1, x, 2", "SELECT ?, x, ?"},
	/* A backslash escapes in E'…' alone. */
	{"SELECT 'a\\' , b", "SELECT ? , b"},
	{"SELECT E'a\\' , b' , c", "SELECT ? , c"},
	{"SELECT e'it''s' , c", "SELECT ? , c"},
	{"SELECT N'x', B'01', X'ff', U&'d\\0061t'", "SELECT ?"},
	{"SELECT $$a 'b' $x$ c$$ , d", "SELECT ? , d"},
	{"SELECT $tag$ $$ secret $tag$ , d", "SELECT ? , d"},
	{"SELECT $tag$ never closed", "SELECT ?"},
	{"SELECT 'never closed", "SELECT ?"},
	{"SELECT E'never closed\\", "SELECT ?"},
	{"SELECT /* secret /* nested */ secret */ a", "SELECT a"},
	{"SELECT a -- secret\n, b", "SELECT a , b"},
	{"SELECT a /* never closed", "SELECT a"},
	{"SELECT 1.5e-3, .5, 0x1F, 1_000", "SELECT ?"},
	/* Numbers within names are names. */
	{"SELECT t1.c2, a$b FROM \"t 1\"", "SELECT t1.c2, a$b FROM \"t 1\""},
	{"SELECT \"say \"\"1\"\"\" FROM t", "SELECT \"say \"\"1\"\"\" FROM t"},
	{"SELECT \"a\nb\"", "SELECT \"a?b\""},
	{"SELECT a-1", "SELECT a-?"},
	{"SELECT a\001b", "SELECT a?b"},
	{"UPDATE größe SET x = 'ü'", "UPDATE größe SET x = ?"},
};

static void test_statements(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(statements); i++) {
		CLEANUP_FREE char *got = pg_statement(statements[i].query);

		assert_string_equal(got, statements[i].expected);
	}
}

/* Cut at a character's beginning, and lists of any length are one. */
static void test_long_statements(void **state)
{
	CLEANUP(buf) struct buf list = {0}, wide = {0};
	CLEANUP_FREE char *got = NULL, *cut = NULL;

	(void)state;
	buf_adds(&list, "SELECT (");
	for (int i = 0; i < 1000; i++)
		buf_addf(&list, "%s%d", i ? ", " : "", i);
	buf_adds(&list, ") AS a");
	got = pg_statement(buf_str(&list));
	assert_string_equal(got, "SELECT (?) AS a");
	buf_adds(&wide, "SELECT ");
	for (int i = 0; i < 200; i++)
		buf_adds(&wide, "ö");
	cut = pg_statement(buf_str(&wide));
	assert_true(strlen(cut) <= PG_STATEMENT_MAX);
	assert_string_equal(cut + strlen(cut) - 5, "ö...");
}

/* --- the record -------------------------------------------------------------------- */

#define SESSION(pid, state, wait, xact, name, ours)                    \
	"{\"pid\":\"" pid "\",\"start\":\"1.5\",\"state\":\"" state    \
	"\",\"wait\":\"" wait                                          \
	"\",\"ms\":\"1234\",\"query\":\"SELECT 'x'\",\"xact\":\"" xact \
	"\",\"name\":\"" name "\",\"ours\":" ours "}"
#define CANARY SESSION("7", "idle in transaction", "Client", "1", "exitpath-a", "true")
#define OPEN(pid, xact) \
	SESSION(pid, "idle in transaction", "Client", xact, "exitpath-a", "true")
#define IDLE(pid) SESSION(pid, "idle", "Client", "", "exitpath-a", "true")
#define EXIT(us, sockets, sessions)                                                      \
	"{\"t\":\"exit\",\"us\":" us                                                     \
	",\"root\":true,\"exe\":\"svc\",\"sockets\":" sockets ",\"sessions\":[" sessions \
	"]}\n"
#define CYCLE(n, sessions) \
	"{\"t\":\"cycle\",\"us\":1,\"cycle\":" n ",\"sessions\":[" sessions "]}\n"
#define END(left, sessions) \
	"{\"t\":\"end\",\"us\":900000,\"left\":" left ",\"sessions\":[" sessions "]}\n"

static const struct {
	const char *text;
	bool malformed, ended, hidden, no_canary, failed;
	size_t seen, others;
} records[] = {
	{"", .ended = false},
	{END("0", CANARY), .ended = true},
	{END("0", ""), .ended = true, .no_canary = true},
	/* The planted session lost its transaction: the server ends those. */
	{END("0", IDLE("7")), .ended = true, .no_canary = true, .seen = 1},
	{EXIT("1", "1", CANARY "," OPEN("8", "2")) END("0", CANARY), .ended = true,
	 .seen = 1},
	{EXIT("1", "1", CANARY "," SESSION("8", "", "", "", "exitpath-a", "true"))
		 END("0", CANARY),
	 .ended = true, .hidden = true, .seen = 1},
	{END("0", CANARY "," SESSION("9", "idle", "", "", "psql", "false")),
	 .ended = true, .others = 1},
	{"{\"t\":\"failed\",\"why\":\"gone\"}\n" END("0", CANARY), .ended = true,
	 .failed = true},
	{"{\"t\":\"else\"}\n", .malformed = true},
	{"[]\n", .malformed = true},
	{"no json\n" END("0", CANARY), .malformed = true, .ended = true},
	{"{\"t\":\"end\",\"sess", .malformed = true},
};

static void test_records(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(records); i++) {
		CLEANUP(pg_report) struct pg_report r = {0};

		pg_report_parse(records[i].text, strlen(records[i].text), 7, &r);
		assert_int_equal(r.malformed, records[i].malformed);
		assert_int_equal(r.ended, records[i].ended);
		assert_int_equal(r.hidden, records[i].hidden);
		assert_int_equal(r.no_canary, records[i].no_canary);
		assert_int_equal(r.failed != NULL, records[i].failed);
		assert_int_equal(r.seen, records[i].seen);
		assert_int_equal(r.others.n, records[i].others);
	}
}

/* What is held at exits, with the one session of after when there is one. */
static const struct {
	const char *text, *after;
	size_t leaks, orphans;
	const char *signature, *what; /* of the first leak */
} exits[] = {
	{EXIT("1", "1", CANARY) END("0", CANARY), NULL, 0, 0, NULL, NULL},
	{EXIT("1", "1", CANARY "," OPEN("8", "2")) END("0", CANARY), NULL, 1, 0,
	 "pg_transaction|svc|idle in transaction after SELECT ?",
	 "idle in transaction for 1.2 s after SELECT ?"},
	{EXIT("1", "1", CANARY "," IDLE("8")) END("0", CANARY), NULL, 1, 0,
	 "pg_session|svc|idle", "idle"},
	{EXIT("1", "1",
	      CANARY "," SESSION("8", "active", "Lock", "2", "exitpath-a", "true"))
		 END("0", CANARY),
	 NULL, 1, 0, "pg_session|svc|waiting for a lock: SELECT ?",
	 "waiting for a lock for 1.2 s: SELECT ?"},
	/* A process without sockets holds no session. */
	{EXIT("1", "0", CANARY "," OPEN("8", "2")) END("0", CANARY), NULL, 0, 0, NULL,
	 NULL},
	/* The last that has sockets held it: a child's exit came before. */
	{EXIT("1", "1", CANARY "," OPEN("8", "2"))
		 EXIT("2", "1", CANARY "," OPEN("8", "2")) END("0", CANARY),
	 NULL, 1, 0, NULL, NULL},
	/* Not of this process: it is there long after. */
	{EXIT("1", "1", CANARY "," OPEN("8", "2")) END("0", CANARY "," OPEN("8", "2")),
	 NULL, 0, 0, NULL, NULL},
	/* Of a process that was still live when the run ended. */
	{EXIT("1", "0", CANARY) END("1", CANARY "," OPEN("8", "2")), NULL, 1, 0,
	 "pg_transaction|left running|idle in transaction after SELECT ?", NULL},
	/* It outlived all processes. */
	{EXIT("1", "1", CANARY "," OPEN("8", "2")) END("0", CANARY), OPEN("8", "2"), 0, 1,
	 NULL, NULL},
};

static void test_exits(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(exits); i++) {
		CLEANUP(pg_report) struct pg_report r = {0};
		CLEANUP(pg_sample) struct pg_sample after = {0};
		CLEANUP(probe) struct probe left = {0}, orphans = {0};
		CLEANUP_FREE char *list =
			xasprintf("[%s]", exits[i].after ? exits[i].after : "");
		CLEANUP_JSON json_t *j = json_loads(list, 0, NULL);

		pg_report_parse(exits[i].text, strlen(exits[i].text), 7, &r);
		assert_false(r.malformed);
		pg_sample_add(&after, j, 7);
		pg_report_exits(&r, &after, &left);
		pg_report_orphans(&after, &orphans);
		assert_int_equal(left.nleaks, exits[i].leaks);
		assert_int_equal(orphans.nleaks, exits[i].orphans);
		if (exits[i].signature)
			assert_string_equal(left.leaks[0].signature, exits[i].signature);
		if (exits[i].what)
			assert_string_equal(left.leaks[0].what, exits[i].what);
	}
}

/* --- cycles ------------------------------------------------------------------------ */

static void cycles_are(const char *text, size_t cycles, const uint64_t *expected,
		       bool growth)
{
	CLEANUP(pg_report) struct pg_report r = {0};

	pg_report_parse(text, strlen(text), 7, &r);
	assert_int_equal(pg_report_cycles(&r), cycles);
	for (size_t k = 1; k <= cycles; k++) {
		CLEANUP(probe) struct probe p = {0};

		pg_report_cycle(&r, k, cycles, &p);
		assert_int_equal(p.nleaks, expected[k - 1] > 0);
		if (!p.nleaks)
			continue;
		assert_int_equal(p.leaks[0].units[0], expected[k - 1]);
		assert_int_equal(p.leaks[0].growth, growth);
	}
}

static void test_cycles(void **state)
{
	static const uint64_t one[] = {1, 1, 1}, none[] = {0, 0, 0}, filled[] = {1, 1, 1},
			      pool[] = {0, 0};

	(void)state;
	cycles_are(CYCLE("0", CANARY) CYCLE("1", CANARY "," OPEN("8", "2"))
			   CYCLE("2", CANARY "," OPEN("8", "2") "," OPEN("9", "3"))
				   CYCLE("3", CANARY "," OPEN("8", "2") "," OPEN(
						      "9", "3") "," OPEN("10", "4")),
		   3, one, true);
	/* Each cycle's is gone at the end of the next: none outlasts the last but its
	 * own. */
	cycles_are(CYCLE("0", CANARY) CYCLE("1", CANARY) CYCLE("2", CANARY)
			   CYCLE("3", CANARY),
		   3, none, false);
	/* A pool filled once: no growth, and of base's level. */
	cycles_are(CYCLE("0", CANARY) CYCLE("1", CANARY "," IDLE("8"))
			   CYCLE("2", CANARY "," IDLE("8"))
				   CYCLE("3", CANARY "," IDLE("8")),
		   3, filled, false);
	/* What the warm-up has is a fixture of the session, or a pool. */
	cycles_are(CYCLE("0", CANARY "," IDLE("8")) CYCLE("1", CANARY "," IDLE("8"))
			   CYCLE("2", CANARY "," IDLE("8")),
		   2, pool, false);
}

/* The text that is kept has no literal. */
static void test_text(void **state)
{
	static const char text[] = EXIT("1", "1", CANARY "," OPEN("8", "2"))
		CYCLE("1", CANARY) END("0", CANARY);
	CLEANUP(pg_report) struct pg_report r = {0};
	CLEANUP(pg_sample) struct pg_sample after = {0};
	CLEANUP(buf) struct buf shown = {0};

	(void)state;
	pg_report_parse(text, strlen(text), 7, &r);
	pg_report_text(&r, &after, &shown);
	assert_non_null(strstr(buf_str(&shown), "idle in transaction after SELECT ?"));
	assert_non_null(strstr(buf_str(&shown), "canary"));
	assert_null(strstr(buf_str(&shown), "'x'"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		HARNESS_TEST(test_statements), HARNESS_TEST(test_long_statements),
		HARNESS_TEST(test_records),    HARNESS_TEST(test_exits),
		HARNESS_TEST(test_cycles),     HARNESS_TEST(test_text),
	};

	return HARNESS_RUN(tests);
}
