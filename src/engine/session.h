/* What one gate invocation works on; shared by the engine's files. */
#ifndef EXITPATH_ENGINE_SESSION_H
#define EXITPATH_ENGINE_SESSION_H

#include "engine/gate.h"
#include "model/contract.h"
#include "rev/rev.h"
#include "store/store.h"

struct side_state {
	struct revision_info rev;
	struct checkout checkout;
	struct checkout
		*use; /* the checkout to run in: own, or base's when trees agree */
	bool have_checkout, setup_ran, setup_failed;
	char *cwd;	/* absolute directory in the checkout that commands run in … */
	char *seen_cwd; /* … as they see it */
	struct sandbox views; /* sandboxed: what runs see of the own checkout, and more */
};

struct session {
	const struct gate_opts *opts;
	struct contract contract;
	char *contract_file; /* relative to the repository's top; NULL: not in there */
	char *prefix;	     /* its directory, where commands run; "": the top */
	struct repo *repo;
	struct store *store;
	struct side_state side[2]; /* by enum side */
	bool same;		   /* both revisions have the same tree */
	/* As base or the contract of this run has them: a patch cannot switch them off.
	 */
	struct scan_settings scan;
	struct review_settings review;
	struct sandbox exposed; /* what the contract says that runs may read */
	char *scratch;
	struct artifact_ref *artifacts;
	size_t nartifacts, artifacts_cap;
	unsigned rounds_set_aside; /* attempts that were measured again */
	struct result *result;
};

const char *side_name(enum side s); /* "base", "candidate" */

/* Contract, repository, revisions, store, run id. Usage errors end here. */
int session_open(struct session *s, const struct gate_opts *opts, struct result *ret,
		 struct err *err);
void session_close(struct session *s);

/* The top of the checkout, as runs see it. */
const char *session_seen(const struct session *s, enum side side);

/* Environment of a run: ours without git's variables and with TMPDIR. */
void session_env(const struct session *s, enum side side, const char *tmpdir,
		 struct strv *ret);

/* Keeps bytes as an artifact of this run under `artifacts/<name>`; adds the name to
 * list (may be NULL). */
int session_keep(struct session *s, const char *name, const void *data, size_t len,
		 struct strv *list, struct err *err);

/* Adds at most cap bytes of a file that a run left, under its name. */
void session_add_file(struct buf *out, const char *path, size_t cap);

/*
 * Runs a shell command line on the given sides (bit 1 << side) through lanes;
 * results[] by side. Used for the set-up and the suite. Output is kept as artifacts.
 */
int session_commands(struct session *s, const char *target, const char *command,
		     uint64_t timeout_ms, enum network network, unsigned sides,
		     struct run_result results[2], struct strv lists[2], struct err *err);
/* The checkouts of the given sides and their set-up, where that is still to be done; adds
 * a check when it fails.
 * ret_ok: they are ready. */
int session_setup(struct session *s, unsigned sides, bool *ret_ok, struct err *err);

/* One lifecycle under all its detectors: adds its checks to the result. */
int session_measure(struct session *s, const struct lifecycle *l, struct err *err);

/* The contract nearest to the directory prefix of the repository at top; NULL: none. The
 * caller frees. */
char *session_find_contract(const char *top, const char *prefix);
/* Makes `-- CMD` the one lifecycle of the contract. */
void contract_only_command(struct contract *c, char *const *argv);

/* The one shell command that repeats this invocation. The caller frees. */
char *session_reproduce(const struct session *s);

#endif
