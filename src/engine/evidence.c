#include "engine/evidence.h"

#include "base/fs.h"
#include "base/mem.h"
#include "rev/rev.h"
#include "store/store.h"

#include <string.h>

static inline void repo_closer(struct repo **r)
{
	if (*r)
		repo_close(*r);
}

static inline void store_closer(struct store **s)
{
	if (*s)
		store_close(*s);
}
#define CLEANUP_REPO __attribute__((cleanup(repo_closer)))
#define CLEANUP_STORE __attribute__((cleanup(store_closer)))

/* Opens the store; an explicit one needs no repository around. */
static struct store *open_at(const struct evidence_at *at, struct err *err)
{
	CLEANUP_REPO struct repo *repo = NULL;

	if (at->store) {
		CLEANUP_FREE char *db = path_join(at->store, "evidence.db");

		if (!path_exists(db)) {
			err_set(err, ERR_USAGE, "%s holds no evidence (no evidence.db)",
				at->store);
			err_hint(err, "name the directory that `exitpath gate --store` "
				      "was given");
			return NULL;
		}
		return store_open(at->store, err);
	}
	repo = repo_open(at->dir, NULL, err);
	return repo ? store_open(repo_store(repo), err) : NULL;
}

static json_t *row_json(const struct run_row *r)
{
	json_t *j = json_object();

	json_put(j, "run_id", r->run_id);
	json_put(j, "command", r->command);
	json_put(j, "started", r->started);
	json_put(j, "finished", r->finished);
	json_put(j, "state", r->state);
	json_put(j, "outcome", r->outcome);
	json_put(j, "base", r->base);
	json_put(j, "candidate", r->candidate);
	return j;
}

int evidence_list(const struct evidence_at *at, size_t limit, json_t **ret,
		  struct err *err)
{
	CLEANUP_STORE struct store *s = open_at(at, err);
	struct run_row *rows = NULL;
	size_t n = 0;

	if (!s || store_list(s, limit, &rows, &n, err) < 0)
		return -1;
	*ret = json_array();
	for (size_t i = 0; i < n; i++) {
		json_array_append_new(*ret, row_json(&rows[i]));
		run_row_release(&rows[i]);
	}
	free(rows);
	return 0;
}

int evidence_show(const struct evidence_at *at, const char *run_id, bool json,
		  struct buf *ret, struct err *err)
{
	CLEANUP_STORE struct store *s = open_at(at, err);
	CLEANUP(result) struct result r = {0};
	CLEANUP_JSON json_t *summaries = NULL;
	size_t i;
	json_t *summary;

	if (!s || store_load(s, run_id, &r, &summaries, err) < 0)
		return -1;
	if (json) {
		CLEANUP_FREE char *text = json_pretty(summaries);

		buf_adds(ret, text);
		return 0;
	}
	json_array_foreach (summaries, i, summary) {
		CLEANUP_FREE char *text = evidence_text(summary);

		if (i)
			buf_adds(ret, "---\n");
		buf_adds(ret, text);
	}
	return 0;
}

static int find_artifact(struct store *s, const char *run_id, const char *name,
			 struct strv *ret_names, char ret_sha[SHA256_HEX],
			 struct err *err)
{
	struct artifact_ref *refs = NULL;
	size_t n = 0;
	bool found = false;

	if (store_artifacts(s, run_id, &refs, &n, err) < 0)
		return -1;
	for (size_t i = 0; i < n; i++) {
		if (ret_names)
			strv_add(ret_names, refs[i].name);
		if (name && !strcmp(refs[i].name, name)) {
			memcpy(ret_sha, refs[i].sha256, SHA256_HEX);
			found = true;
		}
		free(refs[i].name);
	}
	free(refs);
	if (name && !found) {
		err_set(err, ERR_USAGE, "%s has no artifact `%s`",
			run_id ? run_id : "the newest run", name);
		err_hint(err, "`exitpath evidence show%s%s --artifacts` lists them",
			 run_id ? " " : "", run_id ? run_id : "");
		return -1;
	}
	return 0;
}

int evidence_artifact(const struct evidence_at *at, const char *run_id, const char *name,
		      struct buf *ret, struct err *err)
{
	CLEANUP_STORE struct store *s = open_at(at, err);
	char sha[SHA256_HEX];

	if (!s || find_artifact(s, run_id, name, NULL, sha, err) < 0)
		return -1;
	return store_read_artifact(s, sha, ret, err);
}

int evidence_artifacts(const struct evidence_at *at, const char *run_id, struct strv *ret,
		       struct err *err)
{
	CLEANUP_STORE struct store *s = open_at(at, err);

	return s ? find_artifact(s, run_id, NULL, ret, NULL, err) : -1;
}

int evidence_verify(const struct evidence_at *at, struct evidence_verified *ret,
		    struct err *err)
{
	CLEANUP_STORE struct store *s = open_at(at, err);
	struct verify_stats stats = {0};

	if (!s || store_verify(s, &stats, err) < 0)
		return -1;
	ret->records = stats.records;
	ret->artifacts = stats.artifacts;
	ret->problems = stats.problems;
	return 0;
}

int evidence_export(const struct evidence_at *at, const char *run_id, const char *dir,
		    struct err *err)
{
	CLEANUP_STORE struct store *s = open_at(at, err);

	return s ? store_export(s, run_id, dir, err) : -1;
}

int evidence_gc(const struct evidence_at *at, unsigned checkout_days,
		unsigned evidence_days, struct evidence_gc *ret, struct err *err)
{
	CLEANUP_REPO struct repo *repo = repo_open(at->dir, at->store, err);
	CLEANUP_STORE struct store *s = NULL;
	struct gc_stats stats = {0};
	uint64_t bytes = 0;

	if (!repo || repo_gc(repo, checkout_days, &stats, err) < 0)
		return -1;
	s = store_open(repo_store(repo), err);
	if (!s || store_gc(s, evidence_days, &bytes, err) < 0)
		return -1;
	*ret = (struct evidence_gc){stats.checkouts, stats.scratch, stats.bytes + bytes};
	return 0;
}

int evidence_result(const struct evidence_at *at, const char *run_id, struct result *ret,
		    struct err *err)
{
	CLEANUP_STORE struct store *s = open_at(at, err);
	CLEANUP_JSON json_t *summaries = NULL;

	return s ? store_load(s, run_id, ret, &summaries, err) : -1;
}
