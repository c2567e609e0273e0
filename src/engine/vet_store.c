#include "engine/vet_store.h"

#include "base/fs.h"
#include "base/mem.h"
#include "engine/vet_parts.h"
#include "vet/subset.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

enum { KEY_SHOWN = 12, KEY_LEAST = 4 };

static int load(const struct vet_kept *kept, struct vet_rows *ret, struct err *err)
{
	CLEANUP_FREE char *target =
		kept->targets->n ? vet_target_name(kept->targets) : NULL;
	struct repo *repo = repo_open(kept->dir, kept->store, err);
	struct store *store = repo ? store_open(repo_store(repo), err) : NULL;
	int rc = store ? store_vet_list(store, target, ret, err) : -1;

	if (store)
		store_close(store);
	if (repo)
		repo_close(repo);
	return rc;
}

static bool is_named(const struct vet_row *r, const char *name)
{
	return !name || !strcmp(r->test.name, name) ||
	       (strlen(name) >= KEY_LEAST && !strncmp(r->key, name, strlen(name)));
}

static json_t *row_json(const struct vet_row *r, bool whole)
{
	json_t *j = json_object();
	CLEANUP_FREE char *key = xstrndup(r->key, KEY_SHOWN);

	json_put(j, "key", key);
	json_put(j, "target", r->target);
	json_put(j, "judged", r->judged);
	json_object_update(j, r->body);
	if (whole)
		return j;
	json_object_del(j, "source");
	json_object_del(j, "kills");
	json_object_del(j, "branches");
	return j;
}

int engine_vet_list(const struct vet_kept *kept, const char *name, bool whole,
		    json_t **ret, struct err *err)
{
	CLEANUP(vet_rows) struct vet_rows rows = {0};
	json_t *all = json_array();

	if (load(kept, &rows, err) == 0) {
		for (size_t i = 0; i < rows.n; i++)
			if (is_named(&rows.v[i], name))
				json_array_append_new(all, row_json(&rows.v[i], whole));
		if (!name || json_array_size(all)) {
			*ret = all;
			return 0;
		}
		err_set(err, ERR_USAGE, "there is no test \"%s\"", name);
		err_hint(err, "`exitpath vet list` shows names and keys");
	}
	json_decref(all);
	return -1;
}

/* ---- export ---- */

/* "test_<name>_<key>.py", of letters and digits. The caller frees. */
static char *file_name(const struct vet_row *r)
{
	CLEANUP(buf) struct buf b = {0};
	const char *name = path_base(r->test.name);

	for (size_t i = 0; name[i] && i < 60; i++)
		buf_addc(&b, (char)(isalnum((unsigned char)name[i])
					    ? tolower((unsigned char)name[i])
					    : '_'));
	return xasprintf("%s%s_%.8s.py", strncmp(buf_str(&b), "test_", 5) ? "test_" : "",
			 buf_str(&b), r->key);
}

static int write_one(const struct vet_row *r, const char *out, json_t *manifest,
		     struct err *err)
{
	const char *source = json_get(r->body, "source", "");
	CLEANUP_FREE char *name = file_name(r), *path = path_join(out, name);
	json_t *j = json_object();

	json_put(j, "file", name);
	json_put(j, "test", r->test.name);
	json_put(j, "target", r->target);
	json_object_set(j, "score", json_object_get(r->body, "score"));
	json_object_set(j, "kills", json_object_get(r->body, "kills"));
	json_array_append_new(manifest, j);
	return write_file(path, source, strlen(source), err);
}

static int write_rows(const struct vet_rows *rows, const bool *in, const char *out,
		      struct err *err)
{
	CLEANUP_JSON json_t *manifest = json_array();
	CLEANUP_FREE char *path = path_join(out, "manifest.json"), *text = NULL;

	for (size_t i = 0; i < rows->n; i++)
		if (in[i] && write_one(&rows->v[i], out, manifest, err) < 0)
			return -1;
	text = json_pretty(manifest);
	return write_file(path, text, strlen(text), err);
}

/* Only accepted ones: in front, the rest released. */
static void drop_rejected(struct vet_rows *rows)
{
	struct vet_rows kept = {0};

	for (size_t i = 0; i < rows->n; i++)
		if (rows->v[i].accepted) {
			*VEC_ADD(kept.v, kept.n, kept.cap) = rows->v[i];
			rows->v[i] = (struct vet_row){0};
		}
	vet_rows_release(rows);
	*rows = kept;
}

int engine_vet_export(const struct vet_kept *kept, const char *out, bool all,
		      size_t *ret_written, size_t *ret_accepted, struct err *err)
{
	CLEANUP(vet_rows) struct vet_rows rows = {0};
	CLEANUP_FREE bool *in = NULL;
	CLEANUP_FREE struct vet_test *tests = NULL;

	if (load(kept, &rows, err) < 0)
		return -1;
	drop_rejected(&rows);
	in = xcalloc(rows.n + 1, sizeof(*in));
	tests = xcalloc(rows.n + 1, sizeof(*tests)); /* borrowed */
	for (size_t i = 0; i < rows.n; i++)
		tests[i] = rows.v[i].test;
	*ret_accepted = rows.n;
	*ret_written = all ? rows.n : vet_subset(tests, rows.n, in);
	for (size_t i = 0; all && i < rows.n; i++)
		in[i] = true;
	if (!rows.n) {
		err_set(err, ERR_USAGE, "no test was accepted");
		err_hint(err, "`exitpath vet list` shows what was judged");
		return -1;
	}
	if (make_dirs(out, 0777, err) < 0)
		return -1;
	return write_rows(&rows, in, out, err);
}
