/*
 * Is everything as it was written? The database as SQLite sees it, the chain, the rows
 * that repeat what the chain says, and every byte of every artifact.
 */
#include "store/internal.h"

#include "base/fs.h"
#include "base/mem.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>

struct verify {
	struct store *s;
	struct verify_stats *st;
	int64_t seq; /* of the record before */
	char hash[SHA256_HEX];
	json_t *removed; /* run id: date, as the chain says */
	int64_t artifact_rows;
};

static void problem(struct verify *v, const char *fmt, ...) PRINTF(2, 3);
static void problem(struct verify *v, const char *fmt, ...)
{
	char line[2048];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	/* What was edited may hold newlines. */
	for (char *p = line; *p; p++)
		if ((unsigned char)*p < 0x20)
			*p = '?';
	strv_add(&v->st->problems, line);
}

/* A damaged database is a finding; one that cannot be read an error. */
static int failed(struct verify *v, struct err *e, struct err *err)
{
	if (db_damaged(v->s)) {
		problem(v, "%s", e->message);
		return 0;
	}
	if (err)
		*err = *e;
	return -1;
}

/* Steps through a query; each row goes to `row`. */
static int each(struct verify *v, const char *sql, int64_t arg,
		void (*row)(struct verify *v, sqlite3_stmt *st), struct err *err)
{
	CLEANUP_STMT sqlite3_stmt *st = NULL;
	struct err e = {0};
	int rc;

	st = db_query(v->s, &e, sql, strchr(sql, '?') ? "i" : "", arg);
	if (!st)
		return failed(v, &e, err);
	while ((rc = db_step(v->s, st, &e)) > 0)
		row(v, st);
	return rc < 0 ? failed(v, &e, err) : 0;
}

static void integrity_row(struct verify *v, sqlite3_stmt *st)
{
	if (strcmp(db_text(st, 0), "ok"))
		problem(v, "%s: %s", v->s->path, db_text(st, 0));
}

static void foreign_row(struct verify *v, sqlite3_stmt *st)
{
	problem(v, "%s: a row of table %s refers to one that is gone", v->s->path,
		db_text(st, 0));
}

static bool same(const json_t *body, const char *key, sqlite3_stmt *st, int column)
{
	const char *value = json_get(body, key, NULL);

	return value && !strcmp(value, db_text(st, column));
}

/* The rows of table artifact repeat the record: look-ups use them. */
static void check_artifact_rows(struct verify *v, const json_t *body, int64_t seq)
{
	CLEANUP_JSON json_t *list = json_array();
	CLEANUP_STMT sqlite3_stmt *st = NULL;
	struct err e = {0};
	int rc;

	st = db_query(
		v->s, &e,
		"SELECT name, sha256, size, stored_sha256, stored_size FROM artifact"
		" WHERE seq = ? ORDER BY name",
		"i", seq);
	rc = st ? 1 : -1;
	while (rc > 0 && (rc = db_step(v->s, st, &e)) > 0) {
		json_t *j = json_object();

		json_put(j, "name", db_text(st, 0));
		json_put(j, "sha256", db_text(st, 1));
		json_put_int(j, "size", sqlite3_column_int64(st, 2));
		json_put(j, "stored_sha256", db_text(st, 3));
		json_put_int(j, "stored_size", sqlite3_column_int64(st, 4));
		json_array_append_new(list, j);
		v->artifact_rows++;
	}
	if (rc < 0)
		problem(v, "record %lld: %s", (long long)seq, e.message);
	else if (!json_equal(list, json_object_get(body, "artifacts")))
		problem(v, "record %lld: table artifact does not repeat its artifacts",
			(long long)seq);
}

/* Columns: seq, body, hash, run, command, config_digest, started. */
static void check_body(struct verify *v, const json_t *body, sqlite3_stmt *st)
{
	long long seq = sqlite3_column_int64(st, 0);
	const char *kind = json_get(body, "kind", "");
	json_t *run;
	size_t i;

	if (json_get_int(body, "seq", 0) != seq)
		problem(v, "record %lld: is not in its place", seq);
	if (!strcmp(kind, "removal")) {
		json_array_foreach (json_object_get(body, "runs"), i, run)
			json_object_set(v->removed, json_string_value(run),
					json_object_get(body, "at"));
		return;
	}
	if (strcmp(kind, "run")) {
		problem(v, "record %lld: is of unknown kind '%s'", seq, kind);
		return;
	}
	if (run_number(json_get(body, "run_id", NULL)) != sqlite3_column_int64(st, 3) ||
	    !same(body, "command", st, 4) || !same(body, "config_digest", st, 5) ||
	    !same(body, "started", st, 6))
		problem(v, "record %lld: table run does not repeat its run", seq);
	check_artifact_rows(v, body, seq);
}

static void record_row(struct verify *v, sqlite3_stmt *st)
{
	long long seq = sqlite3_column_int64(st, 0);
	CLEANUP_FREE char *canonical = NULL;
	CLEANUP_JSON json_t *body = NULL;
	const char *text = db_text(st, 1), *hash = db_text(st, 2);
	size_t len = (size_t)sqlite3_column_bytes(st, 1);
	char expected[SHA256_HEX];

	v->st->records++;
	for (int64_t missing = v->seq + 1; missing < seq; missing = seq)
		problem(v, "records %lld to %lld are missing", (long long)missing,
			seq - 1);
	chain_hash(v->hash, text, len, expected);
	if (strcmp(expected, hash))
		problem(v,
			"record %lld (run-%lld): its hash does not match its content "
			"and the record before it",
			seq, (long long)sqlite3_column_int64(st, 3));
	v->seq = seq;
	snprintf(v->hash, sizeof(v->hash), "%s", hash);
	body = json_parse(text, len, "record", NULL);
	canonical = body ? json_canonical(body) : NULL;
	if (!canonical || strlen(canonical) != len || memcmp(canonical, text, len))
		problem(v, "record %lld: its content is not canonical JSON", seq);
	else
		check_body(v, body, st);
}

static void head_row(struct verify *v, sqlite3_stmt *st)
{
	long long count = sqlite3_column_int64(st, 0);

	if (count > v->seq)
		problem(v, "records %lld to %lld are missing at the end of the chain",
			(long long)v->seq + 1, count);
	else if (count != v->seq || strcmp(db_text(st, 1), v->hash))
		problem(v, "the head of the chain does not match its last record");
}

static void count_row(struct verify *v, sqlite3_stmt *st)
{
	if (sqlite3_column_int64(st, 0) != v->artifact_rows)
		problem(v, "table artifact has rows that no record names");
	if (sqlite3_column_int64(st, 1) != 1)
		problem(v, "the chain has lost its head");
}

static void removed_row(struct verify *v, sqlite3_stmt *st)
{
	CLEANUP_FREE char *id =
		xasprintf("run-%lld", (long long)sqlite3_column_int64(st, 0));
	const char *at = json_get(v->removed, id, "");

	if (strcmp(at, db_text(st, 1)))
		problem(v, "%s: marked as removed on '%s', but the chain says '%s'", id,
			db_text(st, 1), at);
}

/* Columns: sha256, size, stored_sha256, stored_size, name, run. */
static void artifact_row(struct verify *v, sqlite3_stmt *st)
{
	const char *sha256 = db_text(st, 0);
	struct stored found = {0};
	struct err e = {0};
	int64_t size = sqlite3_column_int64(st, 1);

	v->st->artifacts++;
	if (!sha256_valid(sha256) || size < 0) {
		problem(v, "run-%lld: %s: has no valid digest",
			(long long)sqlite3_column_int64(st, 5), db_text(st, 4));
		return;
	}
	if (artifact_read(v->s, sha256, (uint64_t)size, NULL, &found, &e) == 0 &&
	    ((int64_t)found.size != size ||
	     (int64_t)found.stored_size != sqlite3_column_int64(st, 3) ||
	     strcmp(found.stored_sha256, db_text(st, 2)))) {
		CLEANUP_FREE char *path = artifact_path(v->s, sha256);

		err_set(&e, ERR_ENVIRONMENT,
			"artifact %s is damaged: its bytes are not those recorded", path);
	}
	if (e.kind)
		problem(v, "run-%lld: %s: %s", (long long)sqlite3_column_int64(st, 5),
			db_text(st, 4), e.message);
}

static int verify_all(struct verify *v, struct err *err)
{
	if (each(v, "PRAGMA integrity_check(20)", 0, integrity_row, err) < 0 ||
	    each(v, "PRAGMA foreign_key_check", 0, foreign_row, err) < 0 ||
	    each(v,
		 "SELECT seq, body, hash, run, command, config_digest, started"
		 " FROM record LEFT JOIN run ON run.id = record.run ORDER BY seq",
		 0, record_row, err) < 0 ||
	    each(v, "SELECT count, hash FROM head", 0, head_row, err) < 0 ||
	    each(v, "SELECT (SELECT count(*) FROM artifact), (SELECT count(*) FROM head)",
		 0, count_row, err) < 0 ||
	    each(v, "SELECT id, coalesce(removed, '') FROM run ORDER BY id", 0,
		 removed_row, err) < 0)
		return -1;
	return each(v,
		    "SELECT sha256, size, stored_sha256, stored_size, min(name), min(run)"
		    " FROM artifact JOIN record USING (seq) JOIN run ON run.id = run"
		    " WHERE removed IS NULL"
		    " GROUP BY sha256, size, stored_sha256, stored_size"
		    " ORDER BY min(run), min(name)",
		    0, artifact_row, err);
}

int store_verify(struct store *s, struct verify_stats *ret, struct err *err)
{
	CLEANUP_FD int lock = store_lock(s, LOCK_SH, err);
	struct verify_stats stats = {0};
	struct verify v = {.s = s, .st = &stats, .removed = json_object()};
	int rc = -1;

	snprintf(v.hash, sizeof(v.hash), "%s", chain_start);
	/* One transaction: others may go on writing. */
	if (lock >= 0 && db_run(s, err, "BEGIN", "") == 0) {
		rc = verify_all(&v, err);
		db_run(s, NULL, "ROLLBACK", "");
	}
	json_decref(v.removed);
	if (rc < 0) {
		strv_release(&stats.problems);
		return -1;
	}
	*ret = stats;
	return 0;
}
