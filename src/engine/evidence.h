/* `exitpath evidence` and `exitpath report`: what was recorded. */
#ifndef EXITPATH_ENGINE_EVIDENCE_H
#define EXITPATH_ENGINE_EVIDENCE_H

#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"
#include "base/strv.h"
#include "model/result.h"

#include <stdbool.h>

/* Where the evidence is: store NULL means that of the repository around dir. */
struct evidence_at {
	const char *dir, *store;
};

/* Newest first: run_id, command, started, finished, state, outcome, base, candidate. */
int evidence_list(const struct evidence_at *at, size_t limit, json_t **ret,
		  struct err *err);
/* run_id NULL: the newest. Text records separated by "---", or JSON when json. */
int evidence_show(const struct evidence_at *at, const char *run_id, bool json,
		  struct buf *ret, struct err *err);
/* The bytes of one artifact of a run (NULL: the newest). */
int evidence_artifact(const struct evidence_at *at, const char *run_id, const char *name,
		      struct buf *ret, struct err *err);
/* Names of a run's artifacts. */
int evidence_artifacts(const struct evidence_at *at, const char *run_id, struct strv *ret,
		       struct err *err);
struct evidence_verified {
	size_t records, artifacts;
	struct strv problems;
};
int evidence_verify(const struct evidence_at *at, struct evidence_verified *ret,
		    struct err *err);
int evidence_export(const struct evidence_at *at, const char *run_id, const char *dir,
		    struct err *err);
/* Artifacts nobody names, old bodies, and checkouts unused for days. */
struct evidence_gc {
	unsigned checkouts, scratch;
	uint64_t bytes;
};
int evidence_gc(const struct evidence_at *at, unsigned checkout_days,
		unsigned evidence_days, struct evidence_gc *ret, struct err *err);
/* run_id NULL: the newest finished one. */
int evidence_result(const struct evidence_at *at, const char *run_id, struct result *ret,
		    struct err *err);

#endif
