/*
 * Generated tests and what became of them: one row for a test of a target, replaced when
 * the same test is judged again. Beside the chain of evidence: a verdict about a test is
 * no statement about a revision. The table is made when it is first needed.
 */
#include "store/internal.h"

#include "base/clock.h"
#include "base/mem.h"

#include <string.h>

static const char table[] =
	"CREATE TABLE IF NOT EXISTS vet_test(key TEXT PRIMARY KEY, target TEXT NOT NULL,"
	" name TEXT NOT NULL, verdict TEXT NOT NULL, body TEXT NOT NULL,"
	" judged TEXT NOT NULL) STRICT, WITHOUT ROWID;";

static int make_table(struct store *s, struct err *err)
{
	if (sqlite3_exec(s->db, table, NULL, NULL, NULL) != SQLITE_OK)
		return db_fail(s, "write", err);
	return 0;
}

static json_t *texts(const struct strv *s)
{
	json_t *j = json_array();

	for (size_t i = 0; i < s->n; i++)
		json_array_append_new(j, json_text(s->v[i]));
	return j;
}

static int put(struct store *s, const char *target, const struct vet_test *t,
	       struct err *err)
{
	CLEANUP_JSON json_t *j = vet_test_json(t);
	CLEANUP_FREE char *body = NULL, *text = NULL;
	char key[SHA256_HEX], now[21];

	json_put(j, "source", t->source);
	json_object_set_new(j, "kills", texts(&t->kills));
	json_object_set_new(j, "branches", texts(&t->branches));
	body = json_canonical(j);
	text = xasprintf("%s\n%s\n%s", target, t->name, t->source ? t->source : "");
	sha256_hex(text, strlen(text), key);
	clock_iso(now);
	return db_run(s, err, "REPLACE INTO vet_test VALUES(?, ?, ?, ?, ?, ?)", "tttttt",
		      key, target, t->name, vet_verdict_name(t->verdict), body, now);
}

static int put_all(struct store *s, const char *target, const struct vet_test *tests,
		   size_t n, struct err *err)
{
	if (make_table(s, err) < 0)
		return -1;
	for (size_t i = 0; i < n; i++)
		if (put(s, target, &tests[i], err) < 0)
			return -1;
	return 0;
}

int store_vet_put(struct store *s, const char *target, const struct vet_test *tests,
		  size_t n, struct err *err)
{
	if (db_begin(s, err) < 0)
		return -1;
	return db_end(s, put_all(s, target, tests, n, err), err);
}

static void read_texts(const json_t *list, struct strv *ret)
{
	const json_t *one;
	size_t i;

	json_array_foreach (list, i, one)
		if (json_is_string(one))
			strv_add(ret, json_string_value(one));
}

static int read_row(sqlite3_stmt *st, struct vet_row *ret, struct err *err)
{
	const char *body = db_text(st, 3);
	json_t *j = json_parse(body, strlen(body), "the store", err);

	if (!j)
		return -1;
	*ret = (struct vet_row){
		.key = xstrdup(db_text(st, 0)),
		.target = xstrdup(db_text(st, 1)),
		.judged = xstrdup(db_text(st, 2)),
		.body = j,
		.test = {.name = xstrdup(json_get(j, "test", "?")),
			 .ms = json_number_value(json_object_get(j, "ms"))},
	};
	ret->accepted = !strcmp(json_get(j, "verdict", ""), "accepted");
	read_texts(json_object_get(j, "kills"), &ret->test.kills);
	read_texts(json_object_get(j, "branches"), &ret->test.branches);
	return 0;
}

int store_vet_list(struct store *s, const char *target, struct vet_rows *ret,
		   struct err *err)
{
	CLEANUP_STMT sqlite3_stmt *st = NULL;
	int rc;

	if (make_table(s, err) < 0)
		return -1;
	st = db_query(s, err,
		      "SELECT key, target, judged, body FROM vet_test"
		      " WHERE ?1 IS NULL OR target = ?1 ORDER BY target, name, key",
		      "t", target);
	if (!st)
		return -1;
	while ((rc = db_step(s, st, err)) > 0) {
		struct vet_row row;

		if (read_row(st, &row, err) < 0)
			return -1;
		*VEC_ADD(ret->v, ret->n, ret->cap) = row;
	}
	return rc;
}

void vet_rows_release(struct vet_rows *r)
{
	for (size_t i = 0; i < r->n; i++) {
		free(r->v[i].key);
		free(r->v[i].target);
		free(r->v[i].judged);
		json_decref(r->v[i].body);
		vet_test_release(&r->v[i].test);
	}
	free(r->v);
	*r = (struct vet_rows){0};
}
