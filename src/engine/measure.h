/* The runs of detectors on one side, and attempts at a verdict over both. */
#ifndef EXITPATH_ENGINE_MEASURE_H
#define EXITPATH_ENGINE_MEASURE_H

#include "base/buf.h"
#include "detect/detect.h"
#include "engine/lane.h"
#include "engine/session.h"

enum {
	MAX_GROUP = 8, /* detectors that share a run */
	MAX_DETECTORS = 32,
};

struct group {
	const struct detector *detector[MAX_GROUP];
	char *version[MAX_GROUP];
	size_t n;
	bool required; /* named by the user */
};

/* The runs of one group on one side. */
struct measurement {
	struct session *session;
	const struct lifecycle *lifecycle;
	const struct group *group;
	enum side side;
	size_t next, total; /* runs */
	bool stop, precise;
	char *dir, *tmpdir;
	char *cache;		/* the detectors', in the store */
	char *server;		/* URL of the lifecycle's `pg`, or NULL */
	struct sandbox sandbox; /* of the run under way */
	struct detect_run run[MAX_GROUP];
	struct observation obs[MAX_GROUP];
	struct buf report[MAX_GROUP]; /* full text of the most telling run */
	bool telling[MAX_GROUP];
	uint64_t duration_us;
};

/* "ledger+lsan"; the caller frees. */
char *group_names(const struct group *g);
/* What is run for the lifecycle: without a shell where none is needed. */
void lifecycle_argv(const struct lifecycle *l, struct strv *ret);

void measurement_init(struct measurement *m, struct session *s, const struct lifecycle *l,
		      const struct group *g, enum side side);
void measurement_release(struct measurement *m);
/* All runs of m, one after the other. */
struct lane measurement_lane(struct measurement *m);
/* Takes what was observed on base before instead of running anything. */
bool measurement_reuse(struct session *s, struct measurement *m);
/* Keeps what was observed on base for later, when it is whole and quiet. */
int measurement_remember(struct session *s, const struct measurement *m, struct err *err);

/* attempt.c: measures the group on both sides, again where it was intermittent, and adds
 * a check for each detector. ret_base_ok: every run passed on base. */
int measure_group(struct session *s, const struct lifecycle *l, const struct group *g,
		  bool *ret_base_ok, struct err *err);

#endif
