/*
 * Evidence: `<store>/evidence.db` (SQLite, WAL, synchronous=FULL) and
 * `<store>/artifacts/ab/cdef….zst`, content-addressed by the sha256 of the plain bytes.
 *
 * A run is recorded before it starts and completed after it ends, artifacts are on disk
 * before the record that names them: kill -9 at any moment loses no finished record and
 * leaves none half-written. Finished records are chained: hash = sha256(previous hash,
 * canonical JSON of the record), and a record holds the sha256 of each artifact. There
 * is no key: the chain shows damage and careless edits, not a forger who rewrites all of
 * it; for that, keep an export's record.json elsewhere.
 *
 * A store is for one thread; several processes may use the same directory. A child of
 * fork() must not touch its parent's store.
 */
#ifndef EXITPATH_STORE_STORE_H
#define EXITPATH_STORE_STORE_H

#include "base/buf.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/json.h"
#include "model/result.h"
#include "model/vet.h"

struct store;

struct store *store_open(const char *dir, struct err *err);
void store_close(struct store *s);

/* Reserves an id ("run-1042"); the row says who runs what since when. The caller frees.
 */
char *store_begin(struct store *s, const char *command, const char *config_digest,
		  struct err *err);
/* Compresses and keeps a file; ret_hex names it. Keeping the same bytes twice is free. */
int store_artifact(struct store *s, const void *data, size_t len,
		   char ret_hex[SHA256_HEX], struct err *err);
int store_artifact_file(struct store *s, const char *path, char ret_hex[SHA256_HEX],
			struct err *err);

/*
 * An artifact as a record names it: "artifacts/worker_shutdown/lsan/candidate.json".
 * Names are relative, begin with "artifacts/", hold no "..", backslash or control
 * character, and have at most 200 bytes; store_finish() refuses others.
 */
struct artifact_ref {
	char *name;
	char sha256[SHA256_HEX];
};
/*
 * Completes a run in one transaction: one summary record per check in the form of
 * DESIGN §8, the whole result, and the artifacts they name.
 */
int store_finish(struct store *s, const struct result *r,
		 const struct artifact_ref *artifacts, size_t nartifacts,
		 struct err *err);

/*
 * The allowlisted summary of one check (keys in the order of DESIGN §8), new reference.
 * Strings are one line of at most 200 bytes without absolute paths, "none" when absent.
 * leak_kind and top_frame are those of the first new finding; leaked_units is the largest
 * sum of the new findings' units in one measured cycle.
 */
json_t *evidence_summary(const struct result *r, const struct check *c);
/* The same as "key: value" lines. The caller frees. */
char *evidence_text(const json_t *summary);

struct run_row {
	char *run_id, *command, *started, *finished; /* finished NULL: not finished */
	char *state;		/* "finished", "running", "aborted" */
	char *outcome;		/* NULL unless finished */
	char *base, *candidate; /* commits; may be NULL */
};
void run_row_release(struct run_row *r);
/* Newest first, at most limit (0: all). The caller releases each and frees the array. */
int store_list(struct store *s, size_t limit, struct run_row **ret, size_t *ret_n,
	       struct err *err);
/* run_id NULL: the newest finished one. ret_summaries: array of summaries. */
int store_load(struct store *s, const char *run_id, struct result *ret,
	       json_t **ret_summaries, struct err *err);
/* Artifact names and digests of a run, then the bytes of one. */
int store_artifacts(struct store *s, const char *run_id, struct artifact_ref **ret,
		    size_t *ret_n, struct err *err);
int store_read_artifact(struct store *s, const char *sha256, struct buf *ret,
			struct err *err);

/* Checks the chain, every record and every artifact. problems: one line each. */
struct verify_stats {
	size_t records, artifacts;
	struct strv problems;
};
int store_verify(struct store *s, struct verify_stats *ret, struct err *err);
/*
 * Writes into dir, which must be empty or absent, and appears whole or not at all:
 * summary.txt, summary.json, result.json, record.json (the record with its place in the
 * chain), artifacts/… (plain), and as in-toto Statements v1 statement.intoto.json
 * (predicate test-result v0.1) and svr.intoto.json (svr v0.2). run_id NULL: the newest.
 */
int store_export(struct store *s, const char *run_id, const char *dir, struct err *err);
/* Removes artifacts that no record, kept observation or living run names, temporary
 * files, and bodies of runs older than keep_days (their records and hashes stay, marked
 * as removed; 0: keep all). */
int store_gc(struct store *s, unsigned keep_days, uint64_t *ret_bytes, struct err *err);

/* What a group of detectors observed on base, for reuse; 1000 are kept. Digests in them
 * ("<64 hex digits>", also behind "sha256:") keep those artifacts from gc. key: digest
 * over tree, contract, detector version, machine. get: NULL without error when there is
 * none. */
int store_put_observation(struct store *s, const char *key, const json_t *observation,
			  struct err *err);
json_t *store_get_observation(struct store *s, const char *key, struct err *err);

/* Generated tests, by the target that they are about (any text that names it). */
int store_vet_put(struct store *s, const char *target, const struct vet_test *tests,
		  size_t n, struct err *err);
struct vet_row {
	char *key, *target, *judged; /* judged: when */
	bool accepted;
	json_t *body;	      /* as vet_test_json(), with source, kills and branches */
	struct vet_test test; /* name, ms, kills and branches of it */
};
struct vet_rows {
	struct vet_row *v;
	size_t n, cap;
};
/* Sorted by target and name; target NULL: all. */
int store_vet_list(struct store *s, const char *target, struct vet_rows *ret,
		   struct err *err);
void vet_rows_release(struct vet_rows *r);
DEFINE_CLEANUP(vet_rows)

#endif
