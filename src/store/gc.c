/*
 * Removing what nobody needs. Records are never removed: a removal of what they point to
 * is a record of its own in the chain.
 *
 * A run that is still going on has put artifacts that no record names yet. gc holds the
 * lock file alone, so none is being written; those that are younger than the oldest
 * living run are left.
 */
#include "store/internal.h"

#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>

#define CLOCK_SLACK 60 /* seconds: coarse file times, and clocks that are set */

/* Base observations are opaque here: any string that is a digest may name an artifact. */
static void add_digests(json_t *keep, json_t *j)
{
	const char *text = json_string_value(j), *key;
	json_t *value;
	size_t i;

	if (json_is_object(j)) {
		json_object_foreach (j, key, value)
			add_digests(keep, value);
	} else if (json_is_array(j)) {
		json_array_foreach (j, i, value)
			add_digests(keep, value);
	} else if (text && sha256_valid(!strncmp(text, "sha256:", 7) ? text + 7 : text)) {
		json_put_bool(keep, !strncmp(text, "sha256:", 7) ? text + 7 : text, true);
	}
}

/* What the records of unremoved runs and the kept base observations name. */
static int collect_kept(struct store *s, json_t *keep, struct err *err)
{
	CLEANUP_STMT sqlite3_stmt *st = NULL, *observations = NULL;
	int rc;

	st = db_query(s, err,
		      "SELECT DISTINCT sha256 FROM artifact JOIN record USING (seq)"
		      " JOIN run ON run.id = run WHERE removed IS NULL",
		      "");
	observations = db_query(s, err, "SELECT body FROM observation", "");
	if (!st || !observations)
		return -1;
	while ((rc = db_step(s, st, err)) > 0)
		json_put_bool(keep, db_text(st, 0), true);
	while (rc == 0 && (rc = db_step(s, observations, err)) > 0) {
		const char *body = db_text(observations, 0);
		CLEANUP_JSON json_t *j = json_parse(body, strlen(body), "", NULL);

		add_digests(keep, j);
		rc = 0;
	}
	return rc < 0 ? -1 : 0;
}

/* Seconds since the epoch when the oldest living run began; INT64_MAX: none lives. */
static int oldest_living(struct store *s, int64_t *ret, struct err *err)
{
	CLEANUP_STMT sqlite3_stmt *st = NULL;
	int rc;

	st = db_query(s, err,
		      "SELECT min(CAST(strftime('%s', started) AS INTEGER)) FROM run"
		      " WHERE NOT aborted AND id NOT IN"
		      " (SELECT run FROM record WHERE run IS NOT NULL)",
		      "");
	rc = st ? db_step(s, st, err) : -1;
	if (rc < 0)
		return -1;
	*ret = rc && sqlite3_column_type(st, 0) != SQLITE_NULL
		       ? sqlite3_column_int64(st, 0) - CLOCK_SLACK
		       : INT64_MAX;
	return 0;
}

/* Marks runs that finished before the cut-off, and says so in the chain. */
static int remove_runs(struct store *s, const char *cutoff, struct err *err)
{
	CLEANUP_STMT sqlite3_stmt *st = NULL;
	CLEANUP_JSON json_t *body = json_object();
	json_t *runs = json_array();
	char now[21];
	int64_t seq;
	int rc;

	clock_iso(now);
	json_put(body, "kind", "removal");
	json_put(body, "at", now);
	json_object_set_new(body, "runs", runs);
	st = db_query(s, err,
		      "UPDATE run SET removed = ? WHERE removed IS NULL AND id IN"
		      " (SELECT run FROM record WHERE run IS NOT NULL"
		      "  AND json_extract(body, '$.finished') < ?) RETURNING id",
		      "tt", now, cutoff);
	if (!st)
		return -1;
	while ((rc = db_step(s, st, err)) > 0) {
		CLEANUP_FREE char *id =
			xasprintf("run-%lld", (long long)sqlite3_column_int64(st, 0));

		json_array_append_new(runs, json_text(id));
	}
	if (rc < 0 ||
	    db_run(s, err, "DELETE FROM observation WHERE created < ?", "t", cutoff) < 0)
		return -1;
	return json_array_size(runs) ? chain_append(s, 0, body, &seq, err) : 0;
}

static void iso_days_ago(unsigned days, char ret_text[21])
{
	time_t then = time(NULL) - (time_t)days * 86400;
	struct tm tm;

	gmtime_r(&then, &tm);
	strftime(ret_text, 21, "%Y-%m-%dT%H:%M:%SZ", &tm);
}

struct sweep {
	const json_t *keep;
	int64_t younger; /* files from then on are left */
	uint64_t bytes;
};

static int sweep_file(struct sweep *w, int dirfd, const char *path, const char *name,
		      struct err *err)
{
	struct stat st;

	if (fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return 0;
	if (unlinkat(dirfd, name, 0) < 0)
		return err_errno(err, ERR_ENVIRONMENT, errno, "cannot remove %s/%s", path,
				 name);
	w->bytes += (uint64_t)st.st_size;
	return 0;
}

/* Files of ours that are named for a digest which nobody keeps. */
static int sweep_dir(struct sweep *w, const char *top, const char *name, struct err *err)
{
	CLEANUP_FREE char *path = path_join(top, name);
	DIR *d = opendir(path);
	struct dirent *e;
	int rc = 0;

	if (!d)
		return 0;
	while (rc == 0 && (e = readdir(d))) {
		size_t len = strlen(e->d_name);
		char hex[SHA256_HEX];
		struct stat st;

		if (len != 62 + 4 || strcmp(e->d_name + 62, ".zst"))
			continue;
		snprintf(hex, sizeof(hex), "%.2s%.62s", name, e->d_name);
		if (json_object_get(w->keep, hex) ||
		    fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
		    st.st_mtime >= w->younger)
			continue;
		rc = sweep_file(w, dirfd(d), path, e->d_name, err);
	}
	closedir(d);
	return rc;
}

static int sweep(struct store *s, struct sweep *w, struct err *err)
{
	CLEANUP_FREE char *top = path_join(s->dir, "artifacts");
	DIR *d = opendir(top);
	struct dirent *e;
	int rc = 0;

	if (!d)
		return err_errno(err, ERR_ENVIRONMENT, errno, "cannot open %s", top);
	while (rc == 0 && (e = readdir(d))) {
		if (!strncmp(e->d_name, "tmp-", 4))
			rc = sweep_file(w, dirfd(d), top, e->d_name, err);
		else if (strlen(e->d_name) == 2 && strcmp(e->d_name, "..") != 0)
			rc = sweep_dir(w, top, e->d_name, err);
	}
	closedir(d);
	return rc;
}

int store_gc(struct store *s, unsigned keep_days, uint64_t *ret_bytes, struct err *err)
{
	CLEANUP_FD int lock = store_lock(s, LOCK_EX, err);
	CLEANUP_JSON json_t *keep = json_object();
	struct sweep w = {.keep = keep};
	char cutoff[21];

	if (lock < 0 || db_mark_aborted(s, err) < 0)
		return -1;
	if (keep_days) {
		iso_days_ago(keep_days, cutoff);
		if (db_begin(s, err) < 0 ||
		    db_end(s, remove_runs(s, cutoff, err), err) < 0)
			return -1;
	}
	/* After the commit: a kill in between leaves files that the next gc removes. */
	if (oldest_living(s, &w.younger, err) < 0 || collect_kept(s, keep, err) < 0 ||
	    sweep(s, &w, err) < 0)
		return -1;
	*ret_bytes = w.bytes;
	return 0;
}
