/* Reading back: runs, records, results, artifacts; and the kept base observations. */
#include "store/internal.h"

#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"

#include <string.h>

/* Base observations beyond this many are dropped, oldest first. */
#define OBSERVATIONS_MAX 1000
/* For the bytes of an artifact that no record names, and so has no recorded size. */
#define UNRECORDED_MAX (UINT64_C(256) << 20)

void run_row_release(struct run_row *r)
{
	free(r->run_id);
	free(r->command);
	free(r->started);
	free(r->finished);
	free(r->state);
	free(r->outcome);
	free(r->base);
	free(r->candidate);
	*r = (struct run_row){0};
}

void record_release(struct record *r)
{
	json_decref(r->body);
	free(r->prev);
	free(r->hash);
	free(r->removed);
}

/* Columns: id, command, started, aborted, body. */
static int fill_row(struct store *s, sqlite3_stmt *st, struct run_row *row,
		    struct err *err)
{
	long long id = sqlite3_column_int64(st, 0);
	CLEANUP_JSON json_t *body = NULL;

	if (sqlite3_column_type(st, 4) != SQLITE_NULL) {
		CLEANUP_FREE char *name =
			xasprintf("%s: record of run-%lld", s->path, id);

		body = json_parse(db_text(st, 4), strlen(db_text(st, 4)), name, err);
		if (!body) {
			err_hint(err, "`exitpath evidence verify` says what is damaged");
			return -1;
		}
	}
	row->run_id = xasprintf("run-%lld", id);
	row->command = xstrdup(json_get(body, "command", db_text(st, 1)));
	row->started = xstrdup(json_get(body, "started", db_text(st, 2)));
	row->finished = xstrdup(json_get(body, "finished", NULL));
	row->state = xstrdup(body			 ? "finished"
			     : sqlite3_column_int(st, 3) ? "aborted"
							 : "running");
	row->outcome = xstrdup(json_get(body, "outcome", NULL));
	row->base = xstrdup(json_get(body, "base", NULL));
	row->candidate = xstrdup(json_get(body, "candidate", NULL));
	return 0;
}

int store_list(struct store *s, size_t limit, struct run_row **ret, size_t *ret_n,
	       struct err *err)
{
	CLEANUP_STMT sqlite3_stmt *st = NULL;
	struct run_row *rows = NULL;
	size_t n = 0, cap = 0;
	int rc;

	if (db_mark_aborted(s, err) < 0)
		return -1;
	st = db_query(s, err,
		      "SELECT run.id, command, started, aborted, body FROM run"
		      " LEFT JOIN record ON record.run = run.id"
		      " ORDER BY run.id DESC LIMIT ?",
		      "i", limit && limit < INT64_MAX ? (int64_t)limit : INT64_C(-1));
	rc = st ? 1 : -1;
	while (rc > 0 && (rc = db_step(s, st, err)) > 0)
		if (fill_row(s, st, VEC_ADD(rows, n, cap), err) < 0)
			rc = -1;
	if (rc < 0) {
		while (n)
			run_row_release(&rows[--n]);
		free(rows);
		return -1;
	}
	*ret = rows;
	*ret_n = n;
	return 0;
}

static int no_such_run(struct store *s, const char *run_id, struct err *err)
{
	if (run_id)
		err_set(err, ERR_USAGE, "no finished run %s in %s", run_id, s->path);
	else
		err_set(err, ERR_USAGE, "no finished run in %s", s->path);
	err_hint(err, run_id ? "`exitpath evidence list` names those there are"
			     : "run `exitpath gate` first");
	return -1;
}

int record_load(struct store *s, const char *run_id, struct record *ret, struct err *err)
{
	CLEANUP_STMT sqlite3_stmt *st = NULL;
	CLEANUP_JSON json_t *body = NULL;
	char hash[SHA256_HEX];
	const char *text;
	int rc;

	st = db_query(s, err,
		      "SELECT r.run, r.body, r.hash, run.removed,"
		      " coalesce((SELECT hash FROM record WHERE seq = r.seq - 1), ?2)"
		      " FROM record r JOIN run ON run.id = r.run"
		      " WHERE ?1 = 0 OR r.run = ?1 ORDER BY r.seq DESC LIMIT 1",
		      "it", run_id ? run_number(run_id) : INT64_C(0), chain_start);
	rc = st ? db_step(s, st, err) : -1;
	if (rc < 0)
		return -1;
	if (rc == 0)
		return no_such_run(s, run_id, err);
	text = db_text(st, 1);
	chain_hash(db_text(st, 4), text, (size_t)sqlite3_column_bytes(st, 1), hash);
	if (!strcmp(hash, db_text(st, 2)))
		body = json_parse(text, strlen(text), s->path, err);
	if (!body) {
		err_set(err, ERR_ENVIRONMENT, "%s: the record of run-%lld was changed",
			s->path, (long long)sqlite3_column_int64(st, 0));
		err_hint(err, "`exitpath evidence verify` says what is damaged");
		return -1;
	}
	ret->run = sqlite3_column_int64(st, 0);
	ret->body = TAKE_PTR(body);
	ret->hash = xstrdup(hash);
	ret->prev = xstrdup(db_text(st, 4));
	ret->removed = sqlite3_column_type(st, 3) == SQLITE_NULL
			       ? NULL
			       : xstrdup(db_text(st, 3));
	return 0;
}

int record_need_body(const struct record *r, struct err *err)
{
	if (!r->removed)
		return 0;
	err_set(err, ERR_USAGE, "run-%lld: its artifacts were removed on %s",
		(long long)r->run, r->removed);
	err_hint(err, "measure again with `exitpath gate`, or see newer ones: `exitpath "
		      "evidence list`");
	return -1;
}

static json_t *ordered_summaries(const json_t *body)
{
	json_t *list = json_array(), *summary;
	size_t i;

	json_array_foreach (json_object_get(body, "summaries"), i, summary)
		json_array_append_new(list, summary_ordered(summary));
	return list;
}

static int load_result(struct store *s, const struct record *rec, struct result *ret,
		       struct err *err)
{
	json_t *a, *artifacts = json_object_get(rec->body, "artifacts");
	const char *sha256 = "";
	CLEANUP(buf) struct buf b = {0};
	CLEANUP_JSON json_t *j = NULL;
	size_t i;

	json_array_foreach (artifacts, i, a)
		if (!strcmp(json_get(a, "name", ""), RESULT_NAME))
			sha256 = json_get(a, "sha256", "");
	if (store_read_artifact(s, sha256, &b, err) < 0)
		return -1;
	j = json_parse(buf_str(&b), b.len, RESULT_NAME, err);
	return j ? result_from_json(j, ret, err) : -1;
}

int store_load(struct store *s, const char *run_id, struct result *ret,
	       json_t **ret_summaries, struct err *err)
{
	CLEANUP(record) struct record rec = {0};

	if (record_load(s, run_id, &rec, err) < 0 || record_need_body(&rec, err) < 0 ||
	    load_result(s, &rec, ret, err) < 0)
		return -1;
	*ret_summaries = ordered_summaries(rec.body);
	return 0;
}

int store_artifacts(struct store *s, const char *run_id, struct artifact_ref **ret,
		    size_t *ret_n, struct err *err)
{
	CLEANUP(record) struct record rec = {0};
	struct artifact_ref *refs;
	json_t *a, *artifacts;
	size_t i, n = 0;

	if (record_load(s, run_id, &rec, err) < 0 || record_need_body(&rec, err) < 0)
		return -1;
	artifacts = json_object_get(rec.body, "artifacts");
	refs = xcalloc(json_array_size(artifacts), sizeof(*refs));
	json_array_foreach (artifacts, i, a) {
		const char *sha256 = json_get(a, "sha256", "");

		if (!strcmp(json_get(a, "name", ""), RESULT_NAME) ||
		    !sha256_valid(sha256))
			continue;
		refs[n].name = xstrdup(json_get(a, "name", ""));
		memcpy(refs[n++].sha256, sha256, SHA256_HEX);
	}
	*ret = refs;
	*ret_n = n;
	return 0;
}

int store_read_artifact(struct store *s, const char *sha256, struct buf *ret,
			struct err *err)
{
	CLEANUP_STMT sqlite3_stmt *st = NULL;
	CLEANUP(buf) struct buf b = {0};
	uint64_t limit = UNRECORDED_MAX;
	int rc;

	if (!sha256_valid(sha256))
		return err_set(err, ERR_USAGE, "not the sha256 of an artifact: '%s'",
			       sha256);
	st = db_query(s, err, "SELECT size FROM artifact WHERE sha256 = ? LIMIT 1", "t",
		      sha256);
	rc = st ? db_step(s, st, err) : -1;
	if (rc < 0)
		return -1;
	if (rc && sqlite3_column_int64(st, 0) >= 0)
		limit = (uint64_t)sqlite3_column_int64(st, 0);
	if (artifact_read(s, sha256, limit, &b, NULL, err) < 0)
		return -1;
	buf_add(ret, buf_str(&b), b.len);
	return 0;
}

int store_put_observation(struct store *s, const char *key, const json_t *observation,
			  struct err *err)
{
	CLEANUP_FREE char *body = json_canonical(observation);
	char sha256[SHA256_HEX], now[21];
	int rc;

	sha256_hex(body, strlen(body), sha256);
	clock_iso(now);
	if (db_begin(s, err) < 0)
		return -1;
	rc = db_run(s, err, "INSERT OR REPLACE INTO observation VALUES(?, ?, ?, ?)",
		    "tttt", key, body, sha256, now);
	if (rc == 0)
		rc = db_run(s, err,
			    "DELETE FROM observation WHERE key IN (SELECT key FROM"
			    " observation ORDER BY created DESC, rowid DESC"
			    " LIMIT -1 OFFSET ?)",
			    "i", (int64_t)OBSERVATIONS_MAX);
	return db_end(s, rc, err);
}

/* A damaged one is as good as none: it will be measured again. */
json_t *store_get_observation(struct store *s, const char *key, struct err *err)
{
	CLEANUP_STMT sqlite3_stmt *st = NULL;
	char sha256[SHA256_HEX];
	size_t len;

	st = db_query(s, err, "SELECT body, sha256 FROM observation WHERE key = ?", "t",
		      key);
	if (!st || db_step(s, st, err) <= 0)
		return NULL;
	len = strlen(db_text(st, 0));
	sha256_hex(db_text(st, 0), len, sha256);
	if (strcmp(sha256, db_text(st, 1)))
		return NULL;
	return json_parse(db_text(st, 0), len, key, NULL);
}
