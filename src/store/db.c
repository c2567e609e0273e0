/*
 * The database: opening, schema, errors, statements.
 *
 * run holds a row per run that was ever begun, with the process that does it; record is
 * the hash chain; head repeats its length and last hash, so that a chain that was cut at
 * its end is noticed; artifact repeats what the records say for look-ups.
 *
 * There is no key: whoever can write the file can rewrite the whole chain. It shows
 * damage and edits; `evidence export` carries a record's hash to where others keep it.
 */
#include "store/internal.h"

#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"
#include "store/owner.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>

#define APPLICATION_ID 0x45585041 /* "EXPA" in the header of the database file */
/* Nothing can be known about a process in another pid namespace, but a run that began
 * this long ago is over. */
#define FOREIGN_RUN_DAYS 7

static const char schema[] =
	"CREATE TABLE run(id INTEGER PRIMARY KEY AUTOINCREMENT, command TEXT NOT NULL,"
	" config_digest TEXT NOT NULL, started TEXT NOT NULL, pid INTEGER NOT NULL,"
	" pid_start INTEGER NOT NULL, boot_id TEXT NOT NULL, pid_ns TEXT NOT NULL,"
	" aborted INTEGER NOT NULL DEFAULT 0, removed TEXT) STRICT;"
	"CREATE TABLE record(seq INTEGER PRIMARY KEY, run INTEGER UNIQUE REFERENCES run,"
	" body TEXT NOT NULL, hash TEXT NOT NULL) STRICT;"
	"CREATE TABLE head(id INTEGER PRIMARY KEY CHECK(id = 1), count INTEGER NOT NULL,"
	" hash TEXT NOT NULL) STRICT;"
	"CREATE TABLE artifact(seq INTEGER NOT NULL REFERENCES record, name TEXT NOT "
	"NULL,"
	" sha256 TEXT NOT NULL, size INTEGER NOT NULL, stored_sha256 TEXT NOT NULL,"
	" stored_size INTEGER NOT NULL, PRIMARY KEY(seq, name)) STRICT, WITHOUT ROWID;"
	"CREATE INDEX artifact_sha256 ON artifact(sha256);"
	"CREATE TABLE observation(key TEXT PRIMARY KEY, body TEXT NOT NULL,"
	" sha256 TEXT NOT NULL, created TEXT NOT NULL) STRICT;";

int store_hint(struct err *err, int errnum)
{
	if (errnum == ENOSPC || errnum == EDQUOT)
		err_hint(err, "free space there, or use --store DIR on another disk");
	else if (errnum == EROFS || errnum == EACCES || errnum == EPERM ||
		 errnum == ENOTDIR)
		err_hint(err, "use --store DIR with a directory that can be written");
	return -1;
}

bool db_damaged(struct store *s)
{
	int rc = sqlite3_errcode(s->db) & 0xff;

	return rc == SQLITE_CORRUPT || rc == SQLITE_NOTADB;
}

int db_fail(struct store *s, const char *doing, struct err *err)
{
	int rc = sqlite3_errcode(s->db) & 0xff;
	int errnum = sqlite3_system_errno(s->db);
	bool os = errnum && (rc == SQLITE_IOERR || rc == SQLITE_CANTOPEN);

	err_set(err, ERR_ENVIRONMENT, "cannot %s %s: %s%s%s", doing, s->path,
		sqlite3_errmsg(s->db), os ? ": " : "", os ? strerror(errnum) : "");
	if (rc == SQLITE_FULL)
		store_hint(err, ENOSPC);
	else if (rc == SQLITE_READONLY || rc == SQLITE_CANTOPEN || rc == SQLITE_PERM)
		store_hint(err, EROFS);
	else if (rc == SQLITE_IOERR)
		store_hint(err, errnum);
	else if (rc == SQLITE_BUSY)
		err_hint(err,
			 "another exitpath has held it for %d s: wait for it to end, "
			 "or use --store DIR",
			 STORE_WAIT_MS / 1000);
	else if (rc == SQLITE_CORRUPT)
		err_hint(err,
			 "`exitpath evidence verify` says what is damaged; then move it "
			 "aside: mv '%s' '%s.damaged'",
			 s->path, s->path);
	else if (rc == SQLITE_NOTADB)
		err_hint(err, "move it aside: mv '%s' '%s.damaged'", s->path, s->path);
	return -1;
}

static int bind_all(sqlite3_stmt *st, const char *types, va_list ap)
{
	int rc = SQLITE_OK;

	for (int i = 0; types[i] && rc == SQLITE_OK; i++) {
		if (types[i] == 'i')
			rc = sqlite3_bind_int64(st, i + 1, va_arg(ap, int64_t));
		else
			rc = sqlite3_bind_text(st, i + 1, va_arg(ap, const char *), -1,
					       SQLITE_TRANSIENT);
	}
	return rc;
}

static sqlite3_stmt *query_va(struct store *s, struct err *err, const char *sql,
			      const char *types, va_list ap)
{
	CLEANUP_STMT sqlite3_stmt *st = NULL;

	if (sqlite3_prepare_v2(s->db, sql, -1, &st, NULL) != SQLITE_OK ||
	    bind_all(st, types, ap) != SQLITE_OK) {
		db_fail(s, "read", err);
		return NULL;
	}
	return TAKE_PTR(st);
}

sqlite3_stmt *db_query(struct store *s, struct err *err, const char *sql,
		       const char *types, ...)
{
	sqlite3_stmt *st;
	va_list ap;

	va_start(ap, types);
	st = query_va(s, err, sql, types, ap);
	va_end(ap);
	return st;
}

int db_step(struct store *s, sqlite3_stmt *st, struct err *err)
{
	int rc = sqlite3_step(st);

	if (rc == SQLITE_ROW || rc == SQLITE_DONE)
		return rc == SQLITE_ROW;
	return db_fail(s, sqlite3_stmt_readonly(st) ? "read" : "write", err);
}

int db_run(struct store *s, struct err *err, const char *sql, const char *types, ...)
{
	CLEANUP_STMT sqlite3_stmt *st = NULL;
	va_list ap;
	int rc;

	va_start(ap, types);
	st = query_va(s, err, sql, types, ap);
	va_end(ap);
	if (!st)
		return -1;
	while ((rc = db_step(s, st, err)) > 0)
		;
	return rc;
}

const char *db_text(sqlite3_stmt *st, int column)
{
	const unsigned char *t = sqlite3_column_text(st, column);

	return t ? (const char *)t : "";
}

int db_begin(struct store *s, struct err *err)
{
	return db_run(s, err, "BEGIN IMMEDIATE", "");
}

int db_end(struct store *s, int rc, struct err *err)
{
	if (rc == 0)
		rc = db_run(s, err, "COMMIT", "");
	if (rc != 0 && !sqlite3_get_autocommit(s->db))
		db_run(s, NULL, "ROLLBACK", "");
	return rc;
}

static int lock_file(struct store *s, const char *name, int operation, struct err *err)
{
	CLEANUP_FREE char *path = path_join(s->dir, name);
	CLEANUP_FD int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	uint64_t deadline = clock_us() + STORE_WAIT_MS * UINT64_C(1000);
	int locked;

	if (fd < 0) {
		int errnum = errno;

		err_errno(err, ERR_ENVIRONMENT, errnum, "cannot open %s", path);
		return store_hint(err, errnum);
	}
	while (flock(fd, operation | LOCK_NB) < 0) {
		struct timespec pause = {.tv_nsec = 10000000};
		int errnum = errno;

		if (errnum != EWOULDBLOCK && errnum != EINTR)
			return err_errno(err, ERR_ENVIRONMENT, errnum, "cannot lock %s",
					 path);
		if (clock_us() > deadline) {
			err_set(err, ERR_ENVIRONMENT,
				"%s: another exitpath has held it for %d s", path,
				STORE_WAIT_MS / 1000);
			err_hint(err, "wait for it to end, or use --store DIR");
			return -1;
		}
		nanosleep(&pause, NULL);
	}
	locked = fd;
	fd = -1;
	return locked;
}

int store_lock(struct store *s, int operation, struct err *err)
{
	return lock_file(s, "evidence.lock", operation, err);
}

static int pragma_int(struct store *s, const char *sql, int64_t *ret, struct err *err)
{
	CLEANUP_STMT sqlite3_stmt *st = db_query(s, err, sql, "");
	int rc = st ? db_step(s, st, err) : -1;

	if (rc < 0)
		return -1;
	*ret = rc ? sqlite3_column_int64(st, 0) : 0;
	return 0;
}

static int create_schema(struct store *s, struct err *err)
{
	CLEANUP_FREE char *ids =
		xasprintf("PRAGMA application_id=%d; PRAGMA user_version=%d;",
			  APPLICATION_ID, STORE_SCHEMA);

	if (sqlite3_exec(s->db, schema, NULL, NULL, NULL) != SQLITE_OK ||
	    sqlite3_exec(s->db, ids, NULL, NULL, NULL) != SQLITE_OK)
		return db_fail(s, "write", err);
	return db_run(s, err, "INSERT INTO head VALUES(1, 0, ?)", "t", chain_start);
}

/* Under the lock, so that two first runs do not create it twice. */
static int check_schema(struct store *s, struct err *err)
{
	int64_t version = 0, id = 0, tables = 0;

	if (pragma_int(s, "PRAGMA user_version", &version, err) < 0 ||
	    pragma_int(s, "PRAGMA application_id", &id, err) < 0 ||
	    pragma_int(s, "SELECT count(*) FROM sqlite_schema", &tables, err) < 0)
		return -1;
	if (!version && !id && !tables) {
		if (db_begin(s, err) < 0)
			return -1;
		return db_end(s, create_schema(s, err), err);
	}
	if (id != APPLICATION_ID) {
		err_set(err, ERR_ENVIRONMENT, "%s is not a database of exitpath",
			s->path);
		err_hint(err, "use --store DIR, or move it aside");
		return -1;
	}
	if (version > STORE_SCHEMA) {
		err_set(err, ERR_ENVIRONMENT,
			"%s was written by a newer exitpath (schema %lld, this one "
			"knows up to %d)",
			s->path, (long long)version, STORE_SCHEMA);
		err_hint(err, "update exitpath, or use --store DIR");
		return -1;
	}
	return 0;
}

static int open_database(struct store *s, struct err *err)
{
	int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_EXRESCODE;

	if (sqlite3_open_v2(s->path, &s->db, flags, NULL) != SQLITE_OK)
		return db_fail(s, "open", err);
	sqlite3_busy_timeout(s->db, STORE_WAIT_MS);
	sqlite3_db_config(s->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	if (db_run(s, err, "PRAGMA trusted_schema=OFF", "") < 0 ||
	    db_run(s, err, "PRAGMA cell_size_check=ON", "") < 0 ||
	    db_run(s, err, "PRAGMA foreign_keys=ON", "") < 0 ||
	    db_run(s, err, "PRAGMA synchronous=FULL", "") < 0 || check_schema(s, err) < 0)
		return -1;
	return db_run(s, err, "PRAGMA journal_mode=WAL", "");
}

/* The next running row whose process is gone; 0: there is none. */
static int64_t next_orphan(struct store *s, const struct owner *self, int64_t after,
			   struct err *err)
{
	CLEANUP_STMT sqlite3_stmt *st = NULL;
	int rc;

	st = db_query(s, err,
		      "SELECT id, pid, pid_start, boot_id, pid_ns,"
		      " julianday('now') - julianday(started) > ? FROM run"
		      " WHERE id > ? AND NOT aborted AND id NOT IN"
		      " (SELECT run FROM record WHERE run IS NOT NULL) ORDER BY id",
		      "ii", (int64_t)FOREIGN_RUN_DAYS, after);
	if (!st)
		return -1;
	while ((rc = db_step(s, st, err)) > 0) {
		CLEANUP(owner)
		struct owner o = {
			.pid = sqlite3_column_int64(st, 1),
			.start = sqlite3_column_int64(st, 2),
			.boot_id = xstrdup(db_text(st, 3)),
			.pid_ns = xstrdup(db_text(st, 4)),
		};
		enum owner_state state = owner_state(&o, self);

		if (state == OWNER_GONE ||
		    (state == OWNER_UNKNOWN && sqlite3_column_int(st, 5)))
			return sqlite3_column_int64(st, 0);
	}
	return rc;
}

/* Not in one statement: a read that turns into a write fails when another exitpath has
 * written in between (SQLITE_BUSY_SNAPSHOT), however long one waits. */
int db_mark_aborted(struct store *s, struct err *err)
{
	CLEANUP(owner) struct owner self = {0};
	int64_t id = 0;

	owner_self(&self);
	while ((id = next_orphan(s, &self, id, err)) > 0)
		if (db_run(s, err, "UPDATE run SET aborted = 1 WHERE id = ?", "i", id) <
		    0)
			return -1;
	return id < 0 ? -1 : 0;
}

static int make_directories(struct store *s, struct err *err)
{
	CLEANUP_FREE char *artifacts = path_join(s->dir, "artifacts");

	if (make_dirs(artifacts, 0700, err) < 0) {
		int errnum = errno;

		return store_hint(err, errnum);
	}
	return 0;
}

struct store *store_open(const char *dir, struct err *err)
{
	struct store *s = xcalloc(1, sizeof(*s));
	CLEANUP_FD int lock = -1;

	s->dir = xstrdup(dir);
	s->path = path_join(dir, "evidence.db");
	if (make_directories(s, err) < 0)
		goto failed;
	/* Not store_lock(): who verifies gigabytes holds that one for long. */
	lock = lock_file(s, "evidence-open.lock", LOCK_EX, err);
	if (lock < 0 || open_database(s, err) < 0 || db_mark_aborted(s, err) < 0)
		goto failed;
	return s;
failed:
	store_close(s);
	return NULL;
}

void store_close(struct store *s)
{
	if (!s)
		return;
	sqlite3_close(s->db);
	free(s->dir);
	free(s->path);
	free(s);
}
