/*
 * Beginning and finishing runs, and the chain that finished ones form.
 *
 * The body of a record is canonical JSON:
 *   {"kind": "run", "seq", "run_id", "command", "config_digest", "started", "finished",
 *    "outcome", "base", "candidate", "summaries": […],
 *    "artifacts": [{"name", "sha256", "size", "stored_sha256", "stored_size"}]}
 *   {"kind": "removal", "seq", "at", "runs": ["run-7"]}            written by gc
 * The whole result is an artifact like the others, RESULT_NAME.
 */
#include "store/internal.h"

#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"
#include "store/owner.h"

#include <string.h>
#include <sys/file.h>

const char chain_start[] =
	"0000000000000000000000000000000000000000000000000000000000000000";

int64_t run_number(const char *run_id)
{
	int64_t n = 0;
	size_t digits;

	if (!run_id || strncmp(run_id, "run-", 4))
		return -1;
	run_id += 4;
	digits = strspn(run_id, "0123456789");
	if (!digits || digits > 18 || run_id[digits] || *run_id == '0')
		return -1;
	for (size_t i = 0; i < digits; i++)
		n = n * 10 + (run_id[i] - '0');
	return n;
}

char *store_begin(struct store *s, const char *command, const char *config_digest,
		  struct err *err)
{
	CLEANUP(owner) struct owner self = {0};
	/* As JSON holds them, since the record will repeat them. */
	CLEANUP_JSON json_t *name = json_text(command ? command : "");
	CLEANUP_JSON json_t *digest = json_text(config_digest ? config_digest : "");
	char now[21];

	clock_iso(now);
	owner_self(&self);
	if (db_run(s, err,
		   "INSERT INTO run(command, config_digest, started, pid, pid_start,"
		   " boot_id, pid_ns) VALUES(?, ?, ?, ?, ?, ?, ?)",
		   "tttiitt", json_string_value(name), json_string_value(digest), now,
		   self.pid, self.start, self.boot_id, self.pid_ns) < 0)
		return NULL;
	return xasprintf("run-%lld", (long long)sqlite3_last_insert_rowid(s->db));
}

void chain_hash(const char *prev, const void *body, size_t len, char ret_hex[SHA256_HEX])
{
	struct sha256 *h = sha256_new();

	sha256_add(h, prev, strlen(prev));
	sha256_add(h, body, len);
	sha256_finish(h, ret_hex);
}

int chain_append(struct store *s, int64_t run, json_t *body, int64_t *ret_seq,
		 struct err *err)
{
	CLEANUP_STMT sqlite3_stmt *st = NULL;
	CLEANUP_FREE char *text = NULL;
	char hash[SHA256_HEX];
	int64_t seq;
	int rc;

	st = db_query(s, err, "SELECT count, hash FROM head WHERE id = 1", "");
	rc = st ? db_step(s, st, err) : -1;
	if (rc == 0)
		err_set(err, ERR_ENVIRONMENT, "%s has lost the head of its chain",
			s->path);
	if (rc <= 0)
		return -1;
	seq = sqlite3_column_int64(st, 0) + 1;
	json_put_int(body, "seq", seq);
	text = json_canonical(body);
	chain_hash(db_text(st, 1), text, strlen(text), hash);
	if (db_run(s, err, "INSERT INTO record VALUES(?, nullif(?, 0), ?, ?)", "iitt",
		   seq, run, text, hash) < 0 ||
	    db_run(s, err, "UPDATE head SET count = ?, hash = ?", "it", seq, hash) < 0)
		return -1;
	*ret_seq = seq;
	return 0;
}

/* Relative, without "." or "..", printable ASCII or UTF-8, under "artifacts/". */
static bool name_valid(const char *name)
{
	size_t len = strlen(name);

	if (len > ARTIFACT_NAME_MAX || strncmp(name, "artifacts/", 10))
		return false;
	for (const char *p = name; *p; p++)
		if ((unsigned char)*p < 0x20 || *p == 0x7f || *p == '\\')
			return false;
	for (const char *p = name;; p++) {
		size_t n = strcspn(p, "/");

		if (!n || !strncmp(p, ".", n) || !strncmp(p, "..", n < 2 ? 2 : n))
			return false;
		p += n;
		if (!*p)
			return true;
	}
}

static int add_artifact(struct store *s, json_t *list, const char *name,
			const char *sha256, struct err *err)
{
	struct stored st;
	json_t *j;

	if (!sha256_valid(sha256))
		return err_set(err, ERR_INTERNAL, "artifact %s: not a sha256: %s", name,
			       sha256);
	if (artifact_read(s, sha256, UINT64_MAX, NULL, &st, err) < 0)
		return err_prefix(err, "%s", name);
	j = json_object();
	json_put(j, "name", name);
	json_put(j, "sha256", sha256);
	json_put_int(j, "size", (int64_t)st.size);
	json_put(j, "stored_sha256", st.stored_sha256);
	json_put_int(j, "stored_size", (int64_t)st.stored_size);
	json_array_append_new(list, j);
	return 0;
}

static int by_name(const void *a, const void *b)
{
	const struct artifact_ref *const *x = a, *const *y = b;

	return strcmp((*x)->name, (*y)->name);
}

/* The artifacts of the record: those named, in order of name, and the result. */
static json_t *artifact_list(struct store *s, const struct result *r,
			     const struct artifact_ref *refs, size_t n, struct err *err)
{
	CLEANUP_JSON json_t *list = json_array(), *result = result_to_json(r);
	CLEANUP_FREE char *text = json_pretty(result);
	CLEANUP_FREE const struct artifact_ref **sorted = xcalloc(n, sizeof(*sorted));
	char sha256[SHA256_HEX];

	for (size_t i = 0; i < n; i++)
		sorted[i] = &refs[i];
	if (n)
		qsort(sorted, n, sizeof(*sorted), by_name);
	for (size_t i = 0; i < n; i++) {
		const char *name = sorted[i]->name;

		if (!name_valid(name) || (i && !strcmp(name, sorted[i - 1]->name))) {
			err_set(err, ERR_INTERNAL, "artifact name %s: %s", name,
				name_valid(name) ? "given twice" : "not allowed");
			return NULL;
		}
		if (add_artifact(s, list, name, sorted[i]->sha256, err) < 0)
			return NULL;
	}
	if (artifact_put(s, text, strlen(text), sha256, err) < 0 ||
	    add_artifact(s, list, RESULT_NAME, sha256, err) < 0)
		return NULL;
	return TAKE_PTR(list);
}

static json_t *run_body(const struct result *r, sqlite3_stmt *run, json_t *artifacts)
{
	json_t *body = json_object(), *summaries = json_array();
	char now[21];

	clock_iso(now);
	json_put(body, "kind", "run");
	json_put(body, "run_id", r->run_id);
	json_put(body, "command", db_text(run, 0));
	json_put(body, "config_digest", db_text(run, 1));
	json_put(body, "started", db_text(run, 2));
	json_put(body, "finished", now);
	json_put(body, "outcome", outcome_name(r->outcome));
	json_put(body, "base", r->base.commit);
	json_put(body, "candidate", r->candidate.commit);
	for (size_t i = 0; i < r->nchecks; i++)
		json_array_append_new(summaries, evidence_summary(r, &r->checks[i]));
	json_object_set_new(body, "summaries", summaries);
	json_object_set(body, "artifacts", artifacts);
	return body;
}

static int insert_artifacts(struct store *s, int64_t seq, json_t *list, struct err *err)
{
	json_t *a;
	size_t i;

	json_array_foreach (list, i, a)
		if (db_run(s, err, "INSERT INTO artifact VALUES(?, ?, ?, ?, ?, ?)",
			   "ittiti", seq, json_get(a, "name", ""),
			   json_get(a, "sha256", ""), json_get_int(a, "size", 0),
			   json_get(a, "stored_sha256", ""),
			   json_get_int(a, "stored_size", 0)) < 0)
			return -1;
	return 0;
}

static int append_run(struct store *s, int64_t id, const struct result *r, json_t *list,
		      struct err *err)
{
	CLEANUP_STMT sqlite3_stmt *st = NULL;
	CLEANUP_JSON json_t *body = NULL;
	int64_t seq;
	int rc;

	st = db_query(s, err,
		      "SELECT command, config_digest, started,"
		      " EXISTS(SELECT 1 FROM record WHERE run = run.id)"
		      " FROM run WHERE id = ?",
		      "i", id);
	rc = st ? db_step(s, st, err) : -1;
	if (rc < 0)
		return -1;
	if (rc == 0 || sqlite3_column_int(st, 3))
		return err_set(err, ERR_INTERNAL, "%s: %s %s", s->path, r->run_id,
			       rc ? "is recorded already" : "was never begun");
	body = run_body(r, st, list);
	if (chain_append(s, id, body, &seq, err) < 0)
		return -1;
	return insert_artifacts(s, seq, list, err);
}

int store_finish(struct store *s, const struct result *r,
		 const struct artifact_ref *artifacts, size_t nartifacts, struct err *err)
{
	CLEANUP_JSON json_t *list = NULL;
	CLEANUP_FD int lock = -1;
	int64_t id = run_number(r->run_id);

	if (id < 0)
		return err_set(err, ERR_INTERNAL, "not a run id: %s",
			       r->run_id ? r->run_id : "(none)");
	/* Until the commit, so that gc does not take what is about to be named. */
	lock = store_lock(s, LOCK_SH, err);
	if (lock < 0)
		return -1;
	list = artifact_list(s, r, artifacts, nartifacts, err);
	if (!list || db_begin(s, err) < 0)
		return -1;
	return db_end(s, append_run(s, id, r, list, err), err);
}
