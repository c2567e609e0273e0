/*
 * What the files of store/ share: the database, the lock, artifact files, the chain.
 *
 * One thread uses a struct store at a time, and no child of fork() does.
 * Locks are taken in this order: the lock file, then the database.
 */
#ifndef EXITPATH_STORE_INTERNAL_H
#define EXITPATH_STORE_INTERNAL_H

#include "store/store.h"

#include <sqlite3.h>
#include <stdint.h>

#define STORE_SCHEMA 1
#define STORE_WAIT_MS 30000 /* for another exitpath: database and lock file */
#define RESULT_NAME                                                        \
	"result.json" /* the whole result, among the artifacts of a record \
		       */
#define SHORT_COMMIT 7
#define EVIDENCE_VALUE_MAX 200 /* bytes of a value of the summary, without the NUL */
#define ARTIFACT_NAME_MAX EVIDENCE_VALUE_MAX

struct store {
	char *dir, *path; /* path: of the database */
	sqlite3 *db;
};

/* --- db.c --- */
static inline void stmt_cleanup(sqlite3_stmt **p)
{
	sqlite3_finalize(*p);
}
#define CLEANUP_STMT __attribute__((cleanup(stmt_cleanup)))

/* Fills err from the last error of the database; returns -1. */
int db_fail(struct store *s, const char *doing, struct err *err);
bool db_damaged(struct store *s); /* was the last error one of a damaged file? */
/* types: one letter per "?": t const char * (may be NULL), i int64_t. */
sqlite3_stmt *db_query(struct store *s, struct err *err, const char *sql,
		       const char *types, ...);
int db_run(struct store *s, struct err *err, const char *sql, const char *types, ...);
int db_step(struct store *s, sqlite3_stmt *st, struct err *err); /* 1 row, 0 end, -1 */
const char *db_text(sqlite3_stmt *st, int column);		 /* "" for NULL */
int db_begin(struct store *s, struct err *err); /* takes the write lock */
/* Commits when rc is 0, else rolls back; returns rc, or -1 when the commit failed. */
int db_end(struct store *s, int rc, struct err *err);
/* Marks running rows whose process is gone. */
int db_mark_aborted(struct store *s, struct err *err);
/* flock() of <store>/evidence.lock: LOCK_SH keeps gc from removing artifacts, LOCK_EX is
 * gc's. Returns an fd to close. */
int store_lock(struct store *s, int operation, struct err *err);

/* --- artifact.c --- */
struct stored { /* an artifact as it lies in its file */
	uint64_t size, stored_size;
	char stored_sha256[SHA256_HEX]; /* of the compressed bytes */
};
bool sha256_valid(const char *hex);
char *artifact_path(const struct store *s, const char *sha256); /* the caller frees */
/* Keeps bytes; the caller holds the lock. */
int artifact_put(struct store *s, const void *data, size_t len, char ret_hex[SHA256_HEX],
		 struct err *err);
/*
 * Reads an artifact's file to its end and compares its content with its name: one
 * frame, nothing behind it, at most limit bytes. out NULL: only checked, in constant
 * memory. ret may be NULL.
 */
int artifact_read(struct store *s, const char *sha256, uint64_t limit, struct buf *out,
		  struct stored *ret, struct err *err);
/* Adds the hint about free space or permissions that fits errnum. */
int store_hint(struct err *err, int errnum);

/* --- sanitize.c --- */
/*
 * A value as the summary may hold it: one line of printable UTF-8, at most
 * EVIDENCE_VALUE_MAX bytes, no absolute path. A path with a directory named repository
 * becomes relative to it, others keep their last component, URLs their host.
 * free_text: what follows NAME=, secret-looking options and long tokens are masked too.
 * NULL and "" give "none". The caller frees.
 */
char *evidence_value(const char *text, const char *repository, bool free_text);

/* --- summary.c --- */
json_t *summary_ordered(const json_t *summary); /* keys in the order of DESIGN §8 */

/* --- record.c --- */
int64_t run_number(const char *run_id); /* of "run-1042"; -1: not a run id */
/* Hash of a record: sha256 over the previous hash (hex) and the body. */
void chain_hash(const char *prev, const void *body, size_t len, char ret_hex[SHA256_HEX]);
extern const char chain_start[]; /* what the first record follows */
/* Inside of a transaction: adds "seq" to body and appends it. run 0: not about one. */
int chain_append(struct store *s, int64_t run, json_t *body, int64_t *ret_seq,
		 struct err *err);

/* --- query.c --- */
struct record {
	int64_t run;
	json_t *body;
	char *prev, *hash, *removed; /* removed: when gc took its artifacts; or NULL */
};
void record_release(struct record *r);
DEFINE_CLEANUP(record)
/* The record of a finished run, checked against its hash. run_id NULL: the newest. */
int record_load(struct store *s, const char *run_id, struct record *ret, struct err *err);
/* ERR_USAGE when gc has removed what the record points to. */
int record_need_body(const struct record *r, struct err *err);

/* --- statement.c --- */
/* in-toto Statements v1 about r: test-result v0.1 and svr v0.2. New references. */
json_t *statement_test_result(const struct result *r);
json_t *statement_svr(const struct result *r, const char *finished);

#endif
