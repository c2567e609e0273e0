#include "store_fixture.h"

#include "store/internal.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static void sql(struct store *s, const char *text)
{
	if (sqlite3_exec(s->db, text, NULL, NULL, NULL) != SQLITE_OK)
		fail_msg("%s: %s", text, sqlite3_errmsg(s->db));
}

static void ids_count_and_parse(void **state)
{
	static const char *const bad[] = {
		"",  "run-",   "run-0", "run-01", "run-1x",
		"1", "run--1", "RUN-1", "run-1 ", "run-99999999999999999999"};
	struct store *s = fixture_store();

	(void)state;
	for (int i = 1; i <= 3; i++) {
		CLEANUP_FREE char *id = store_begin(s, "gate", DIGEST, NULL);

		assert_int_equal(run_number(id), i);
	}
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_equal(run_number(bad[i]), -1);
	assert_int_equal(run_number("run-1042"), 1042);
	store_close(s);
}

static void result_comes_back(void **state)
{
	struct store *s = fixture_store();
	CLEANUP_FREE char *id = fixture_run(s, "{}", NULL);
	CLEANUP(result) struct result r = {0};
	CLEANUP_JSON json_t *summaries = NULL;
	struct artifact_ref *refs = NULL;
	CLEANUP(buf) struct buf b = {0};
	CLEANUP_FREE char *text = NULL;
	size_t n = 0;

	(void)state;
	store_close(s);
	s = fixture_store();
	assert_int_equal(store_load(s, NULL, &r, &summaries, NULL), 0);
	assert_string_equal(r.run_id, id);
	assert_int_equal(r.nchecks, 1);
	assert_int_equal(r.checks[0].findings[0].leak.units[1], 3);
	text = evidence_text(json_array_get(summaries, 0));
	assert_memory_equal(text, "schema_version: leak-evidence-v1\nrun_id: run-1\n",
			    45);
	assert_string_equal(
		json_object_iter_key(json_object_iter(json_array_get(summaries, 0))),
		"schema_version");
	assert_int_equal(store_artifacts(s, id, &refs, &n, NULL), 0);
	assert_int_equal(n, 1);
	assert_string_equal(refs[0].name, ARTIFACT);
	assert_int_equal(store_read_artifact(s, refs[0].sha256, &b, NULL), 0);
	assert_string_equal(buf_str(&b), "{}");
	free(refs[0].name);
	free(refs);
	store_close(s);
}

static void list_shows_states(void **state)
{
	struct store *s = fixture_store();
	CLEANUP_FREE char *done = fixture_run(s, "x", NULL), *live = NULL;
	struct run_row *rows = NULL;
	size_t n = 0;
	pid_t pid;

	(void)state;
	store_close(s);
	pid = fork();
	if (pid == 0) {
		s = fixture_store();
		free(store_begin(s, "leak", DIGEST, NULL));
		store_close(s);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	s = fixture_store();
	live = store_begin(s, "gate", DIGEST, NULL);
	assert_int_equal(store_list(s, 0, &rows, &n, NULL), 0);
	assert_int_equal(n, 3);
	assert_string_equal(rows[0].run_id, live);
	assert_string_equal(rows[0].state, "running");
	assert_null(rows[0].finished);
	assert_string_equal(rows[1].state, "aborted");
	assert_string_equal(rows[1].command, "leak");
	assert_string_equal(rows[2].run_id, done);
	assert_string_equal(rows[2].state, "finished");
	assert_string_equal(rows[2].outcome, "leak");
	assert_string_equal(rows[2].base, COMMIT_A);
	assert_string_equal(rows[2].candidate, COMMIT_B);
	for (size_t i = 0; i < n; i++)
		run_row_release(&rows[i]);
	free(rows);
	assert_int_equal(store_list(s, 1, &rows, &n, NULL), 0);
	assert_int_equal(n, 1);
	run_row_release(rows);
	free(rows);
	store_close(s);
}

/* A pid of another boot or of a recycled process is not the one that began the run;
 * one in another pid namespace cannot be judged, until it is a week old. */
static void owners_are_told_apart(void **state)
{
	static const struct {
		const char *change, *state;
	} cases[] = {
		{"pid_start = pid_start", "running"},
		{"pid_start = pid_start + 1", "aborted"},
		{"boot_id = 'another'", "aborted"},
		{"pid = 4194303", "aborted"},
		{"pid_ns = 'pid:[1]', pid = 4194303", "running"},
		{"pid_ns = 'pid:[1]', started = '2020-01-01T00:00:00Z'", "aborted"},
	};
	struct store *s = fixture_store();

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP_FREE char *id = store_begin(s, "gate", DIGEST, NULL);
		CLEANUP_FREE char *text = xasprintf("UPDATE run SET %s WHERE id = %s",
						    cases[i].change, id + 4);
		struct run_row *rows = NULL;
		size_t n = 0;

		sql(s, text);
		assert_int_equal(store_list(s, 1, &rows, &n, NULL), 0);
		assert_string_equal(rows[0].state, cases[i].state);
		run_row_release(rows);
		free(rows);
	}
	store_close(s);
}

static void finish_refuses(void **state)
{
	struct store *s = fixture_store();
	CLEANUP_FREE char *id = fixture_run(s, "x", NULL), *other = NULL;
	CLEANUP(result) struct result r = {0};
	struct artifact_ref refs[2] = {0};
	struct err err = {0};
	static const char *const bad[] = {"x",
					  "artifacts/",
					  "artifacts/../x",
					  "artifacts//x",
					  "artifacts/./x",
					  "/artifacts/x",
					  "artifacts/a\nb",
					  "artifacts/x/.."};

	(void)state;
	fixture_result(&r, xstrdup(id));
	assert_int_equal(store_finish(s, &r, NULL, 0, &err), -1);
	assert_non_null(strstr(err.message, "recorded already"));
	free(r.run_id);
	r.run_id = xstrdup("run-99");
	assert_int_equal(store_finish(s, &r, NULL, 0, &err), -1);
	assert_non_null(strstr(err.message, "never begun"));
	free(r.run_id);
	r.run_id = xstrdup("what");
	assert_int_equal(store_finish(s, &r, NULL, 0, &err), -1);
	free(r.run_id);
	other = store_begin(s, "gate", DIGEST, NULL);
	r.run_id = xstrdup(other);
	store_artifact(s, "y", 1, refs[0].sha256, NULL);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		refs[0].name = (char *)(uintptr_t)bad[i];
		assert_int_equal(store_finish(s, &r, refs, 1, &err), -1);
		assert_non_null(strstr(err.message, "not allowed"));
	}
	refs[1] = refs[0];
	refs[0].name = refs[1].name = (char *)(uintptr_t) "artifacts/..a/b..";
	assert_int_equal(store_finish(s, &r, refs, 2, &err), -1);
	assert_non_null(strstr(err.message, "given twice"));
	memset(refs[0].sha256, '0', 64);
	assert_int_equal(store_finish(s, &r, refs, 1, &err), -1);
	assert_non_null(strstr(err.message, "missing"));
	refs[0].sha256[0] = 'X';
	assert_int_equal(store_finish(s, &r, refs, 1, &err), -1);
	assert_int_equal(store_finish(s, &r, refs + 1, 1, &err), 0);
	store_close(s);
}

static void artifacts_of_all_sizes(void **state)
{
	static const size_t sizes[] = {0, 1, 65535, 65536, 65537, 131072, 300001};
	struct store *s = fixture_store();
	CLEANUP_FREE char *data = xcalloc(1, 300001);
	uint32_t x = 1;

	(void)state;
	for (int random = 0; random < 2; random++) {
		for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
			CLEANUP(buf) struct buf b = {0};
			CLEANUP_FREE char *path = path_join(harness_tmpdir(), "data");
			char hex[SHA256_HEX], again[SHA256_HEX], expected[SHA256_HEX];

			assert_int_equal(store_artifact(s, data, sizes[i], hex, NULL), 0);
			assert_int_equal(store_artifact(s, data, sizes[i], again, NULL),
					 0);
			sha256_hex(data, sizes[i], expected);
			assert_string_equal(hex, expected);
			assert_string_equal(again, expected);
			assert_int_equal(store_read_artifact(s, hex, &b, NULL), 0);
			assert_int_equal(b.len, sizes[i]);
			assert_memory_equal(buf_str(&b), data, b.len);
			write_file(path, data, sizes[i], NULL);
			assert_int_equal(store_artifact_file(s, path, again, NULL), 0);
			assert_string_equal(again, expected);
		}
		for (size_t i = 0; i < 300001; i++)
			data[i] = (char)((x = x * 1664525 + 1013904223) >> 24);
	}
	store_close(s);
}

/* Links, pipes and directories are not read: a program under test made them. */
static void only_regular_files_are_kept(void **state)
{
	struct store *s = fixture_store();
	CLEANUP_FREE char *link = path_join(harness_tmpdir(), "link");
	CLEANUP_FREE char *fifo = path_join(harness_tmpdir(), "fifo");
	const char *const paths[] = {link, fifo, harness_tmpdir(), "/nonexistent"};
	char hex[SHA256_HEX] = "untouched";

	(void)state;
	assert_int_equal(symlink("/etc/passwd", link), 0);
	assert_int_equal(mkfifo(fifo, 0600), 0);
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		struct err err = {0};

		assert_int_equal(store_artifact_file(s, paths[i], hex, &err), -1);
		assert_non_null(strstr(err.message, paths[i]));
	}
	assert_string_equal(hex, "untouched");
	store_close(s);
}

/* A file that went bad heals when its content is put again. */
static void damaged_artifact_is_rewritten(void **state)
{
	struct store *s = fixture_store();
	CLEANUP(buf) struct buf b = {0};
	CLEANUP_FREE char *path = NULL;
	char hex[SHA256_HEX];

	(void)state;
	store_artifact(s, "hello", 5, hex, NULL);
	path = artifact_path(s, hex);
	write_file(path, "junk", 4, NULL);
	assert_int_equal(store_read_artifact(s, hex, &b, NULL), -1);
	assert_int_equal(b.len, 0);
	assert_int_equal(store_artifact(s, "hello", 5, hex, NULL), 0);
	assert_int_equal(store_read_artifact(s, hex, &b, NULL), 0);
	store_close(s);
}

static void unknown_runs_are_usage_errors(void **state)
{
	struct store *s = fixture_store();
	CLEANUP(result) struct result r = {0};
	json_t *summaries = NULL;
	const char *const ids[] = {NULL, "run-7", "nonsense", ""};
	CLEANUP_FREE char *live = store_begin(s, "gate", DIGEST, NULL);

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(ids); i++) {
		struct err err = {0};

		assert_int_equal(store_load(s, ids[i], &r, &summaries, &err), -1);
		assert_int_equal(err.kind, ERR_USAGE);
		assert_true(*err.hint);
	}
	assert_int_equal(store_load(s, live, &r, &summaries, NULL), -1);
	assert_int_equal(store_read_artifact(s, "../../etc/passwd", NULL, NULL), -1);
	store_close(s);
}

static void changed_record_is_not_loaded(void **state)
{
	struct store *s = fixture_store();
	CLEANUP_FREE char *id = fixture_run(s, "x", NULL);
	CLEANUP(result) struct result r = {0};
	json_t *summaries = NULL;
	struct err err = {0};

	(void)state;
	sql(s, "UPDATE record SET body = replace(body, 'leak', 'peak')");
	assert_int_equal(store_load(s, id, &r, &summaries, &err), -1);
	assert_non_null(strstr(err.message, "was changed"));
	assert_non_null(strstr(err.hint, "evidence verify"));
	store_close(s);
}

static void foreign_databases_are_refused(void **state)
{
	CLEANUP_FREE char *dir = path_join(harness_tmpdir(), "store");
	CLEANUP_FREE char *path = path_join(dir, "evidence.db");
	struct err err = {0};
	struct store *s = fixture_store();

	(void)state;
	sql(s, "PRAGMA user_version=2");
	store_close(s);
	assert_null(store_open(dir, &err));
	assert_non_null(strstr(err.message, "newer exitpath (schema 2"));
	assert_non_null(strstr(err.message, path));
	assert_true(*err.hint);
	s = xcalloc(1, sizeof(*s));
	assert_int_equal(sqlite3_open(path, &s->db), SQLITE_OK);
	sql(s, "PRAGMA application_id=1");
	store_close(s);
	assert_null(store_open(dir, &err));
	assert_non_null(strstr(err.message, "not a database of exitpath"));
	write_file(path, "hello, I am no database, whoever says so, by no means", 53,
		   NULL);
	assert_null(store_open(dir, &err));
	assert_non_null(strstr(err.hint, "mv '"));
	remove_tree(dir, NULL);
	write_file(dir, "", 0, NULL);
	assert_null(store_open(dir, &err));
	assert_int_equal(err.kind, ERR_ENVIRONMENT);
}

/* A long verify or export does not keep a gate from starting. */
static void readers_do_not_block_opening(void **state)
{
	struct store *s = fixture_store(), *other;
	int lock = store_lock(s, LOCK_SH, NULL);

	(void)state;
	assert_true(lock >= 0);
	other = fixture_store();
	free(fixture_run(other, "x", NULL));
	store_close(other);
	close(lock);
	store_close(s);
}

static void observations_come_back(void **state)
{
	struct store *s = fixture_store();
	CLEANUP_JSON json_t *o = json_pack("{s:i}", "units", 3), *p = json_object();
	json_t *got;

	(void)state;
	assert_null(store_get_observation(s, "key", NULL));
	assert_int_equal(store_put_observation(s, "key", p, NULL), 0);
	assert_int_equal(store_put_observation(s, "key", o, NULL), 0);
	got = store_get_observation(s, "key", NULL);
	assert_true(json_equal(got, o));
	json_decref(got);
	sql(s, "UPDATE observation SET body = '{\"units\":4}'");
	assert_null(store_get_observation(s, "key", NULL));
	sql(s, "WITH RECURSIVE n(i) AS (SELECT 1 UNION SELECT i + 1 FROM n LIMIT 1100)"
	       " INSERT INTO observation SELECT 'k' || i, '{}', '', '2000' FROM n");
	assert_int_equal(store_put_observation(s, "key", o, NULL), 0);
	got = store_get_observation(s, "key", NULL);
	assert_non_null(got);
	json_decref(got);
	sql(s, "CREATE TABLE t(x CHECK(x <= 1000));"
	       "INSERT INTO t SELECT count(*) FROM observation");
	store_close(s);
}

static json_t *exported(const char *dir, const char *name)
{
	CLEANUP_FREE char *path = path_join(dir, name);
	CLEANUP(buf) struct buf b = {0};

	assert_int_equal(read_file(path, 0, &b, NULL), 0);
	return json_parse(buf_str(&b), b.len, name, NULL);
}

static void export_is_whole(void **state)
{
	struct store *s = fixture_store();
	CLEANUP_FREE char *id = fixture_run(s, "{\"a\": 1}", NULL);
	CLEANUP_FREE char *dir = path_join(harness_tmpdir(), "out/run/");
	CLEANUP_JSON json_t *st = NULL, *svr = NULL, *a = NULL, *rec = NULL, *r = NULL;
	CLEANUP_FREE char *body = NULL;
	char hash[SHA256_HEX];
	struct err err = {0};
	json_t *p;

	(void)state;
	assert_int_equal(store_export(s, id, dir, &err), 0);
	a = exported(dir, ARTIFACT);
	assert_int_equal(json_get_int(a, "a", 0), 1);
	r = exported(dir, "result.json");
	assert_string_equal(json_get(r, "run_id", ""), id);
	st = exported(dir, "statement.intoto.json");
	assert_string_equal(json_get(st, "_type", ""), "https://in-toto.io/Statement/v1");
	assert_string_equal(json_get(st, "predicateType", ""),
			    "https://in-toto.io/attestation/test-result/v0.1");
	p = json_array_get(json_object_get(st, "subject"), 0);
	assert_string_equal(json_get(json_object_get(p, "digest"), "gitCommit", ""),
			    COMMIT_B);
	p = json_object_get(st, "predicate");
	assert_string_equal(json_get(p, "result", ""), "FAILED");
	assert_string_equal(
		json_string_value(json_array_get(json_object_get(p, "failedTests"), 0)),
		"worker_shutdown/lsan");
	assert_int_equal(json_array_size(json_object_get(p, "configuration")), 2);
	svr = exported(dir, "svr.intoto.json");
	assert_string_equal(json_get(svr, "predicateType", ""),
			    "https://in-toto.io/attestation/svr/v0.2");
	p = json_object_get(svr, "predicate");
	assert_int_equal(json_array_size(json_object_get(p, "properties")), 0);
	rec = exported(dir, "record.json");
	body = json_canonical(json_object_get(rec, "body"));
	chain_hash(json_get(rec, "previous", ""), body, strlen(body), hash);
	assert_string_equal(hash, json_get(rec, "hash", ""));
	assert_int_equal(store_export(s, id, dir, &err), -1);
	assert_int_equal(err.kind, ERR_USAGE);
	store_close(s);
}

/* Nothing is left, in the target or beside it, when an artifact cannot be read. */
static void failed_export_leaves_nothing(void **state)
{
	struct store *s = fixture_store();
	CLEANUP_FREE char *id = fixture_run(s, "text", NULL), *path = NULL;
	CLEANUP_FREE char *dir = path_join(harness_tmpdir(), "out");
	CLEANUP_FREE char *inner = path_join(dir, "run");
	char hex[SHA256_HEX];
	struct err err = {0};

	(void)state;
	assert_int_equal(mkdir(dir, 0700), 0);
	assert_int_equal(mkdir(inner, 0700), 0);
	sha256_hex("text", 4, hex);
	path = artifact_path(s, hex);
	unlink(path);
	assert_int_equal(store_export(s, id, inner, &err), -1);
	assert_non_null(strstr(err.message, "missing"));
	assert_int_equal(rmdir(inner), 0);
	assert_int_equal(rmdir(dir), 0);
	store_close(s);
}

static void clean_runs_pass(void **state)
{
	CLEANUP(result) struct result r = {0};
	CLEANUP_JSON json_t *passed = NULL, *warned = NULL, *svr = NULL;
	json_t *p;

	(void)state;
	fixture_result(&r, xstrdup("run-1"));
	r.outcome = r.checks[0].outcome = OUTCOME_CLEAN;
	r.checks[0].findings[0].class = FINDING_INHERITED;
	passed = statement_test_result(&r);
	p = json_object_get(passed, "predicate");
	assert_string_equal(json_get(p, "result", ""), "PASSED");
	assert_int_equal(json_array_size(json_object_get(p, "passedTests")), 1);
	r.checks[0].findings[0].class = FINDING_SUPPRESSED;
	warned = statement_test_result(&r);
	p = json_object_get(warned, "predicate");
	assert_string_equal(json_get(p, "result", ""), "WARNED");
	assert_int_equal(json_array_size(json_object_get(p, "warnedTests")), 1);
	svr = statement_svr(&r, "2026-11-30T20:11:00Z");
	p = json_object_get(json_object_get(svr, "predicate"), "properties");
	assert_string_equal(json_string_value(json_array_get(p, 0)),
			    "EXITPATH_GATE_CLEAN");
	assert_string_equal(json_string_value(json_array_get(p, 1)),
			    "EXITPATH_LSAN_CLEAN");
}

static void gc_removes_what_nobody_names(void **state)
{
	struct store *s = fixture_store();
	CLEANUP_FREE char *id = fixture_run(s, "named", NULL), *tmp = NULL, *live = NULL;
	CLEANUP_FREE char *top = path_join(s->dir, "artifacts/tmp-abcdef");
	CLEANUP_JSON json_t *o = NULL;
	char stray[SHA256_HEX], seen[SHA256_HEX], late[SHA256_HEX], named[SHA256_HEX];
	CLEANUP(buf) struct buf b = {0};
	uint64_t bytes = 0;

	(void)state;
	store_artifact(s, "stray", 5, stray, NULL);
	store_artifact(s, "seen", 4, seen, NULL);
	sha256_hex("named", 5, named);
	o = json_pack("{s:[s]}", "artifacts", seen);
	store_put_observation(s, "key", o, NULL);
	write_file(top, "1234567", 7, NULL);
	assert_int_equal(store_gc(s, 0, &bytes, NULL), 0);
	assert_in_range(bytes, 8, 100);
	assert_false(path_exists(top));
	assert_int_equal(store_read_artifact(s, stray, &b, NULL), -1);
	assert_int_equal(store_read_artifact(s, seen, &b, NULL), 0);
	assert_int_equal(store_read_artifact(s, named, &b, NULL), 0);
	/* What a living run has put is left. */
	live = store_begin(s, "gate", DIGEST, NULL);
	store_artifact(s, "late", 4, late, NULL);
	assert_int_equal(store_gc(s, 0, &bytes, NULL), 0);
	assert_int_equal(bytes, 0);
	assert_int_equal(store_read_artifact(s, late, &b, NULL), 0);
	store_close(s);
	assert_int_equal(
		fixture_problems((tmp = path_join(harness_tmpdir(), "store")), NULL), 0);
}

/* Records stay when what they point to goes, and the chain says that it went. */
static void gc_removes_old_bodies(void **state)
{
	struct store *s = fixture_store();
	CLEANUP_FREE char *id = fixture_run(s, "old", NULL), *new = NULL, *dir = NULL;
	CLEANUP(result) struct result r = {0};
	CLEANUP_FREE char *was = NULL;
	json_t *summaries = NULL;
	uint64_t bytes = 0;
	struct err err = {0};
	struct verify_stats stats = {0};
	struct run_row *rows = NULL;
	size_t n = 0;

	(void)state;
	assert_int_equal(store_gc(s, 30, &bytes, NULL), 0);
	assert_int_equal(bytes, 0);
	/* As if it had finished long ago: the chain is written anew. */
	sql(s, "UPDATE record SET body = json_set(body, '$.finished',"
	       " '2020-01-01T00:00:00Z')");
	{
		CLEANUP_STMT sqlite3_stmt *st =
			db_query(s, NULL, "SELECT body FROM record", "");
		char hash[SHA256_HEX];

		assert_int_equal(db_step(s, st, NULL), 1);
		chain_hash(chain_start, db_text(st, 0), strlen(db_text(st, 0)), hash);
		was = xasprintf("UPDATE record SET hash = '%s'; UPDATE head SET hash = "
				"'%s'",
				hash, hash);
	}
	sql(s, was);
	new = fixture_run(s, "new", NULL);
	assert_int_equal(store_gc(s, 30, &bytes, NULL), 0);
	assert_true(bytes > 0);
	assert_int_equal(store_load(s, id, &r, &summaries, &err), -1);
	assert_non_null(strstr(err.message, "were removed on"));
	assert_int_equal(store_load(s, NULL, &r, &summaries, &err), 0);
	assert_string_equal(r.run_id, new);
	json_decref(summaries);
	assert_int_equal(store_list(s, 0, &rows, &n, NULL), 0);
	assert_string_equal(rows[1].outcome, "leak");
	while (n)
		run_row_release(&rows[--n]);
	free(rows);
	store_close(s);
	dir = path_join(harness_tmpdir(), "store");
	assert_int_equal(fixture_problems(dir, &stats), 0);
	assert_int_equal(stats.records, 3);
	assert_int_equal(stats.artifacts, 2);
	s = fixture_store();
	sql(s, "UPDATE run SET removed = NULL");
	store_close(s);
	assert_true(fixture_problems(dir, NULL) > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		HARNESS_TEST(ids_count_and_parse),
		HARNESS_TEST(result_comes_back),
		HARNESS_TEST(list_shows_states),
		HARNESS_TEST(owners_are_told_apart),
		HARNESS_TEST(finish_refuses),
		HARNESS_TEST(artifacts_of_all_sizes),
		HARNESS_TEST(only_regular_files_are_kept),
		HARNESS_TEST(damaged_artifact_is_rewritten),
		HARNESS_TEST(unknown_runs_are_usage_errors),
		HARNESS_TEST(changed_record_is_not_loaded),
		HARNESS_TEST(foreign_databases_are_refused),
		HARNESS_TEST(readers_do_not_block_opening),
		HARNESS_TEST(observations_come_back),
		HARNESS_TEST(export_is_whole),
		HARNESS_TEST(failed_export_leaves_nothing),
		HARNESS_TEST(clean_runs_pass),
		HARNESS_TEST(gc_removes_what_nobody_names),
		HARNESS_TEST(gc_removes_old_bodies),
	};

	return HARNESS_RUN(tests);
}
