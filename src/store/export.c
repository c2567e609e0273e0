/* A run as a directory, for CI artifacts. It appears whole or not at all. */
#include "store/internal.h"

#include "base/fs.h"
#include "base/mem.h"

#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

static int export_fail(struct err *err, int errnum, const char *doing, const char *path)
{
	err_errno(err, ERR_ENVIRONMENT, errnum, "cannot %s %s", doing, path);
	if (errnum == ENOSPC || errnum == EDQUOT)
		err_hint(err, "free space there, or export to another disk");
	else
		err_hint(err, "export to a directory that can be written");
	return -1;
}

/* Absent or empty, or a usage error. */
static int check_target(const char *dir, struct err *err)
{
	DIR *d = opendir(dir);
	struct dirent *e;
	size_t entries = 0;

	if (!d && errno == ENOENT)
		return 0;
	if (!d)
		return export_fail(err, errno, "open", dir);
	while ((e = readdir(d)))
		entries += strcmp(e->d_name, ".") && strcmp(e->d_name, "..");
	closedir(d);
	if (!entries)
		return 0;
	err_set(err, ERR_USAGE, "%s is not empty", dir);
	err_hint(err, "name a directory that is empty or does not exist");
	return -1;
}

static int write_name(const char *dir, const char *name, const void *data, size_t len,
		      struct err *err)
{
	CLEANUP_FREE char *path = path_join(dir, name);
	CLEANUP_FREE char *parent =
		xstrndup(path, strlen(path) - strlen(path_base(path)) - 1);

	if (make_dirs(parent, 0777, err) < 0)
		return -1;
	return write_file(path, data, len, err);
}

static int write_json(const char *dir, const char *name, json_t *take, struct err *err)
{
	CLEANUP_JSON json_t *j = take;
	CLEANUP_FREE char *text = json_pretty(j);

	return write_name(dir, name, text, strlen(text), err);
}

static int write_artifacts(struct store *s, const struct record *rec, const char *dir,
			   struct err *err)
{
	json_t *a;
	size_t i;

	json_array_foreach (json_object_get(rec->body, "artifacts"), i, a) {
		CLEANUP(buf) struct buf b = {0};
		const char *name = json_get(a, "name", "");

		if (store_read_artifact(s, json_get(a, "sha256", ""), &b, err) < 0)
			return err_prefix(err, "%s", name);
		if (write_name(dir, name, buf_str(&b), b.len, err) < 0)
			return -1;
	}
	return 0;
}

/* The record as it is chained: its hash, kept elsewhere, vouches for the whole chain up
 * to it. hash = sha256(previous ‖ body in canonical form). */
static json_t *chained(const struct record *rec)
{
	json_t *j = json_object();

	json_put(j, "previous", rec->prev);
	json_put(j, "hash", rec->hash);
	json_object_set(j, "body", rec->body);
	return j;
}

static int write_summaries(const char *dir, json_t *take, struct err *err)
{
	CLEANUP_JSON json_t *summaries = take;
	CLEANUP(buf) struct buf text = {0};
	json_t *summary;
	size_t i;

	json_array_foreach (summaries, i, summary) {
		CLEANUP_FREE char *lines = evidence_text(summary);

		buf_addf(&text, "%s%s", i ? "\n" : "", lines);
	}
	if (write_name(dir, "summary.txt", buf_str(&text), text.len, err) < 0)
		return -1;
	return write_json(dir, "summary.json", json_incref(summaries), err);
}

static int write_all_of(struct store *s, const struct record *rec, const char *dir,
			struct err *err)
{
	CLEANUP(result) struct result r = {0};
	CLEANUP_FREE char *id = xasprintf("run-%lld", (long long)rec->run);
	json_t *summaries = NULL;

	if (store_load(s, id, &r, &summaries, err) < 0)
		return -1;
	if (write_summaries(dir, summaries, err) < 0 ||
	    write_artifacts(s, rec, dir, err) < 0 ||
	    write_json(dir, "record.json", chained(rec), err) < 0 ||
	    write_json(dir, "statement.intoto.json", statement_test_result(&r), err) < 0)
		return -1;
	return write_json(dir, "svr.intoto.json",
			  statement_svr(&r, json_get(rec->body, "finished", "")), err);
}

/* The modes that mkdtemp() and umask leave out. */
static int publish(const char *tmp, const char *dir, struct err *err)
{
	mode_t mask = umask(0);

	umask(mask);
	if (chmod(tmp, 0777 & ~mask) < 0 || rename(tmp, dir) < 0)
		return export_fail(err, errno, "make", dir);
	return 0;
}

int store_export(struct store *s, const char *run_id, const char *dir, struct err *err)
{
	CLEANUP_FD int lock = store_lock(s, LOCK_SH, err);
	CLEANUP(record) struct record rec = {0};
	CLEANUP_FREE char *target = xstrdup(dir), *parent = NULL, *tmp = NULL;
	size_t len = strlen(target), base;

	while (len > 1 && target[len - 1] == '/')
		target[--len] = '\0';
	base = len - strlen(path_base(target));
	parent = base ? xstrndup(target, base) : xstrdup(".");
	if (lock < 0 || record_load(s, run_id, &rec, err) < 0 ||
	    record_need_body(&rec, err) < 0 || check_target(target, err) < 0 ||
	    make_dirs(parent, 0777, err) < 0)
		return -1;
	tmp = make_temp_dir(parent, ".exitpath-export", err);
	if (!tmp)
		return -1;
	if (write_all_of(s, &rec, tmp, err) < 0 || publish(tmp, target, err) < 0) {
		remove_tree(tmp, NULL);
		return -1;
	}
	return 0;
}
