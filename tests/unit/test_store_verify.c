/* Whatever is changed behind exitpath's back, verify must say so. */
#include "store_fixture.h"

#include "store/internal.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

static char *dir;

/* Three finished runs in a closed store. */
static void three_runs(void)
{
	struct store *s = fixture_store();

	dir = path_join(harness_tmpdir(), "store");
	for (int i = 0; i < 3; i++) {
		CLEANUP_FREE char *text = xasprintf("{\"run\": %d}", i);

		free(fixture_run(s, text, NULL));
	}
	store_close(s);
	assert_int_equal(fixture_problems(dir, NULL), 0);
}

static void edit(const char *text)
{
	CLEANUP_FREE char *path = path_join(dir, "evidence.db");
	sqlite3 *db = NULL;

	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	if (sqlite3_exec(db, text, NULL, NULL, NULL) != SQLITE_OK)
		fail_msg("%s: %s", text, sqlite3_errmsg(db));
	sqlite3_close(db);
}

/* Without the fsync() of write_file(), which would be most of the test's time. */
static void overwrite(const char *path, const struct buf *b)
{
	CLEANUP_FD int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_int_equal(write_all(fd, b->data, b->len), 0);
}

static void whole_store_passes(void **state)
{
	struct verify_stats stats = {0};

	(void)state;
	three_runs();
	assert_int_equal(fixture_problems(dir, &stats), 0);
	assert_int_equal(stats.records, 3);
	assert_int_equal(stats.artifacts, 6);
	free(dir);
}

static void edited_rows_are_noticed(void **state)
{
	static const char *const edits[] = {
		"UPDATE record SET body = replace(body, 'leak', 'lead') WHERE seq = 2",
		"UPDATE record SET body = body || ' ' WHERE seq = 3",
		"UPDATE record SET hash = upper(hash) WHERE seq = 1",
		"UPDATE record SET hash = '' WHERE seq = 3",
		"DELETE FROM artifact WHERE seq = 2; DELETE FROM record WHERE seq = 2",
		"DELETE FROM artifact WHERE seq = 3; DELETE FROM record WHERE seq = 3;"
		"DELETE FROM run WHERE id = 3",
		"DELETE FROM artifact; DELETE FROM record; DELETE FROM run",
		"UPDATE record SET run = NULL; UPDATE record SET run = seq % 3 + 1",
		"UPDATE record SET seq = 9 WHERE seq = 1; UPDATE record SET seq = 1 WHERE"
		" seq = 2; UPDATE record SET seq = 2 WHERE seq = 9",
		"UPDATE record SET seq = 10 WHERE seq = 3",
		"UPDATE head SET count = 2",
		"UPDATE head SET hash = ''",
		"DELETE FROM head",
		"UPDATE run SET command = 'leak' WHERE id = 1",
		"UPDATE run SET started = '2020-01-01T00:00:00Z' WHERE id = 1",
		"UPDATE run SET config_digest = 'sha256:0' WHERE id = 1",
		"UPDATE run SET removed = '2026-01-01T00:00:00Z'",
		"DELETE FROM run WHERE id = 2",
		"DELETE FROM artifact WHERE seq = 1",
		"UPDATE artifact SET size = size + 1 WHERE seq = 1",
		"UPDATE artifact SET stored_sha256 = sha256 WHERE seq = 1",
		"UPDATE artifact SET sha256 = 'x' WHERE seq = 1",
		"UPDATE artifact SET sha256 = (SELECT a.sha256 FROM artifact a WHERE"
		" a.seq = 2 AND a.name = artifact.name) WHERE seq = 1",
		"INSERT INTO artifact SELECT 77, name, sha256, size, stored_sha256,"
		" stored_size FROM artifact WHERE seq = 1",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(edits); i++) {
		struct verify_stats stats = {0};

		three_runs();
		edit(edits[i]);
		if (fixture_problems(dir, &stats) < 1)
			fail_msg("not noticed: %s", edits[i]);
		strv_release(&stats.problems);
		remove_tree(dir, NULL);
		free(dir);
	}
}

/* Of every character of a record, one bit. */
static void every_byte_of_a_record_counts(void **state)
{
	struct store *s;
	int len;

	(void)state;
	three_runs();
	s = fixture_open(dir);
	{
		CLEANUP_STMT sqlite3_stmt *st = db_query(
			s, NULL, "SELECT length(body) FROM record WHERE seq = 2", "");

		assert_int_equal(db_step(s, st, NULL), 1);
		len = sqlite3_column_int(st, 0);
	}
	db_run(s, NULL, "CREATE TEMP TABLE kept AS SELECT body FROM record WHERE seq = 2",
	       "");
	for (int64_t i = 1; i <= len; i += 3) {
		struct verify_stats stats = {0};

		assert_int_equal(db_run(s, NULL,
					"UPDATE record SET body = (SELECT substr(body, "
					"1, ?1 - 1) ||"
					" char(unicode(substr(body, ?1, 1)) + 1 -"
					" 2 * (unicode(substr(body, ?1, 1)) & 1)) || "
					"substr(body, ?1 + 1)"
					" FROM kept) WHERE seq = 2",
					"i", i),
				 0);
		assert_int_equal(store_verify(s, &stats, NULL), 0);
		assert_true(stats.problems.n > 0);
		strv_release(&stats.problems);
	}
	store_close(s);
	free(dir);
}

static void every_byte_of_an_artifact_counts(void **state)
{
	struct store *s;
	CLEANUP_FREE char *path = NULL;
	CLEANUP(buf) struct buf b = {0};
	char hex[SHA256_HEX];
	int fd;

	(void)state;
	three_runs();
	s = fixture_open(dir);
	sha256_hex("{\"run\": 1}", 10, hex);
	path = artifact_path(s, hex);
	assert_int_equal(read_file(path, 0, &b, NULL), 0);
	fd = open(path, O_RDWR | O_CLOEXEC);
	for (size_t i = 0; i < b.len * 8; i++) {
		struct verify_stats stats = {0};
		char c = (char)(b.data[i / 8] ^ (1 << i % 8));

		assert_int_equal(pwrite(fd, &c, 1, (off_t)i / 8), 1);
		assert_int_equal(store_verify(s, &stats, NULL), 0);
		if (stats.problems.n != 1 || !strstr(stats.problems.v[0], path) ||
		    strncmp(stats.problems.v[0], "run-2: " ARTIFACT, 20))
			fail_msg("bit %zu: not noticed", i);
		strv_release(&stats.problems);
		assert_int_equal(pwrite(fd, &b.data[i / 8], 1, (off_t)i / 8), 1);
	}
	close(fd);
	store_close(s);
	assert_int_equal(fixture_problems(dir, NULL), 0);
	free(dir);
}

/* Replaces the artifact of run 2 and expects one problem. */
static void replaced(const void *data, size_t len, const char *expected)
{
	struct store *s = fixture_open(dir);
	struct verify_stats stats = {0};
	CLEANUP_FREE char *path = NULL;
	char hex[SHA256_HEX];

	sha256_hex("{\"run\": 1}", 10, hex);
	path = artifact_path(s, hex);
	assert_int_equal(write_file(path, data, len, NULL), 0);
	assert_int_equal(store_verify(s, &stats, NULL), 0);
	assert_int_equal(stats.problems.n, 1);
	if (!strstr(stats.problems.v[0], expected))
		fail_msg("%s", stats.problems.v[0]);
	strv_release(&stats.problems);
	store_close(s);
}

static void replaced_artifacts_are_noticed(void **state)
{
	char frame[4096], twice[8192];
	CLEANUP_FREE char *zeros = xcalloc(1, 1 << 20);
	size_t n;

	(void)state;
	three_runs();
	replaced("", 0, "its end is missing");
	n = ZSTD_compress(frame, sizeof(frame), "{\"run\": 2}", 10, 3);
	replaced(frame, n, "does not match its name");
	/* The same content in another frame, or with something behind it. */
	n = ZSTD_compress(frame, sizeof(frame), "{\"run\": 1}", 10, 3);
	replaced(frame, n, "not those recorded");
	memcpy(twice, frame, n);
	memcpy(twice + n, frame, n);
	replaced(twice, 2 * n, "something follows its end");
	memset(twice + n, 0, 1);
	replaced(twice, n + 1, "something follows its end");
	replaced(frame, n - 1, "its end is missing");
	/* A skippable frame holds bytes that decompress to nothing. */
	memcpy(twice, "\x50\x2a\x4d\x18\x01\x00\x00\x00x", 9);
	memcpy(twice + 9, frame, n);
	replaced(twice, n + 9, "damaged");
	/* A megabyte in a few bytes is not unpacked. */
	n = ZSTD_compress(frame, sizeof(frame), zeros, 1 << 20, 3);
	replaced(frame, n, "more than was recorded");
	free(dir);
}

static void swapped_and_missing_artifacts_are_noticed(void **state)
{
	struct store *s;
	CLEANUP_FREE char *a = NULL, *b = NULL, *tmp = NULL;
	char hex[SHA256_HEX];
	struct verify_stats stats = {0};

	(void)state;
	three_runs();
	s = fixture_open(dir);
	sha256_hex("{\"run\": 0}", 10, hex);
	a = artifact_path(s, hex);
	sha256_hex("{\"run\": 1}", 10, hex);
	b = artifact_path(s, hex);
	tmp = path_join(harness_tmpdir(), "swap");
	rename(a, tmp);
	rename(b, a);
	rename(tmp, b);
	assert_int_equal(store_verify(s, &stats, NULL), 0);
	assert_int_equal(stats.problems.n, 2);
	strv_release(&stats.problems);
	unlink(a);
	assert_int_equal(store_verify(s, &stats, NULL), 0);
	assert_int_equal(stats.problems.n, 2);
	assert_non_null(strstr(stats.problems.v[0], "is missing"));
	strv_release(&stats.problems);
	store_close(s);
	free(dir);
}

/* All that readers can get out of the store: records and their state. */
static char *everything(const char *where)
{
	struct store *s = store_open(where, NULL);
	struct buf b = {0};
	struct run_row *rows = NULL;
	size_t n = 0;

	if (!s)
		return NULL;
	if (store_list(s, 0, &rows, &n, NULL) < 0)
		n = 0;
	for (size_t i = 0; i < n; i++) {
		CLEANUP(result) struct result r = {0};
		CLEANUP_JSON json_t *summaries = NULL;
		CLEANUP_FREE char *text = NULL;

		store_load(s, rows[i].run_id, &r, &summaries, NULL);
		text = summaries ? json_canonical(summaries) : NULL;
		buf_addf(&b, "%s %s %s %s %s %s\n", rows[i].run_id, rows[i].command,
			 rows[i].started, rows[i].state,
			 rows[i].outcome ? rows[i].outcome : "", text ? text : "");
		run_row_release(&rows[i]);
	}
	free(rows);
	store_close(s);
	return buf_detach(&b);
}

/*
 * Raw edits of the database file, in steps that hit all of its regions: either verify
 * fails, or everything reads as before (free space, counters of SQLite's own).
 */
static void bytes_of_the_database_count(void **state)
{
	CLEANUP_FREE char *path = NULL, *before = NULL;
	CLEANUP(buf) struct buf b = {0};
	size_t noticed = 0, tried = 0;

	(void)state;
	three_runs();
	path = path_join(dir, "evidence.db");
	before = everything(dir);
	assert_int_equal(read_file(path, 0, &b, NULL), 0);
	for (size_t i = 0; i < b.len; i += 83) {
		struct verify_stats stats = {0};
		CLEANUP_FREE char *after = NULL;

		b.data[i] ^= 0x01;
		overwrite(path, &b);
		tried++;
		if (fixture_problems(dir, &stats) != 0) {
			noticed++;
		} else {
			after = everything(dir);
			if (!after || strcmp(before, after))
				fail_msg("byte %zu: not noticed", i);
		}
		strv_release(&stats.problems);
		b.data[i] ^= 0x01;
	}
	assert_in_range(noticed, tried / 20, tried);
	free(dir);
}

/* Where the text of records lies in the file, every byte. */
static void bytes_of_record_text_count(void **state)
{
	static const char *const needles[] = {"\"kind\":\"run\"", "\"outcome\":\"leak\"",
					      "\"leaked_units\":3"};
	CLEANUP_FREE char *path = NULL;
	CLEANUP(buf) struct buf b = {0};

	(void)state;
	three_runs();
	path = path_join(dir, "evidence.db");
	assert_int_equal(read_file(path, 0, &b, NULL), 0);
	for (size_t i = 0; i < ARRAY_SIZE(needles); i++) {
		char *at = memmem(b.data, b.len, needles[i], strlen(needles[i]));

		assert_non_null(at);
		for (size_t k = 0; k < strlen(needles[i]); k++) {
			at[k] ^= 0x04;
			overwrite(path, &b);
			assert_int_not_equal(fixture_problems(dir, NULL), 0);
			at[k] ^= 0x04;
		}
	}
	free(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		HARNESS_TEST(whole_store_passes),
		HARNESS_TEST(edited_rows_are_noticed),
		HARNESS_TEST(every_byte_of_a_record_counts),
		HARNESS_TEST(every_byte_of_an_artifact_counts),
		HARNESS_TEST(replaced_artifacts_are_noticed),
		HARNESS_TEST(swapped_and_missing_artifacts_are_noticed),
		HARNESS_TEST(bytes_of_the_database_count),
		HARNESS_TEST(bytes_of_record_text_count),
	};

	return HARNESS_RUN(tests);
}
