/*
 * The answer of one invocation: what was compared, every check with its outcome, and
 * what was found. Reports print it, the store keeps it as JSON, nothing changes it.
 */
#ifndef EXITPATH_MODEL_RESULT_H
#define EXITPATH_MODEL_RESULT_H

#include "model/fault.h"
#include "model/observation.h"
#include "model/outcome.h"
#include "model/remark.h"

enum side { SIDE_BASE, SIDE_CANDIDATE };

struct revision_info {
	char *name;    /* as the user gave it: "main", "WORKTREE" */
	char *commit;  /* 40 hex digits */
	char *tree;    /* 40 hex digits */
	char *subject; /* first line of the message */
};

/* dst is overwritten. */
void revision_copy(struct revision_info *dst, const struct revision_info *src);
void revision_release(struct revision_info *r);

/* One leak as the verdict classified it. base_units and base_bytes are NULL when base
 * never had it. */
enum finding_class {
	FINDING_NEW,	      /* blamed on the candidate */
	FINDING_INHERITED,    /* base leaks it as well */
	FINDING_LEARNED,      /* not lasting, and base holds it too: the normal level */
	FINDING_REPAIRED,     /* base leaked it, the candidate does not */
	FINDING_SUPPRESSED,   /* matched a suppression */
	FINDING_INTERMITTENT, /* some runs, not all */
};
const char *finding_class_name(enum finding_class c);

struct finding {
	enum finding_class class;
	struct leak leak;     /* of the candidate; of base when repaired */
	size_t ncycles;	      /* length of leak.units */
	uint64_t *base_units; /* per measured cycle of base, or NULL */
	uint64_t *base_bytes; /* the same; NULL also where units alone are known */
	size_t nbase;
	char *suppressed_by; /* the match of the suppression */
};

/* One call whose failure is not survived, as the verdict classified it. */
struct check_fault {
	enum finding_class class;   /* not FINDING_LEARNED */
	struct fault_finding fault; /* of the candidate; of base when repaired */
};

/* One lifecycle under one detector; or the set-up, the suite, the scan, the review. */
struct check {
	char *target;	/* lifecycle name, "setup", "suite", "scan" or "review" */
	char *detector; /* NULL for all but lifecycles */
	char *version;
	enum outcome outcome;
	char *explanation;	  /* one or two sentences: what, where, why */
	char *next;		  /* the next step; NULL when there is none */
	struct finding *findings; /* new first */
	size_t nfindings, findings_cap;
	struct check_fault *faults; /* of the detector "fault"; new first */
	size_t nfaults, faults_cap;
	struct remark *remarks; /* of "scan" and "review"; those that block first */
	size_t nremarks, remarks_cap;
	struct strv notes;
	unsigned attempt; /* 1-based; more than 1 after re-runs */
	unsigned warmup;
	size_t base_cycles, candidate_cycles; /* measured */
	bool base_reused;
	uint64_t duration_us;				 /* of the candidate's runs */
	struct strv command;				 /* argv of the lifecycle */
	struct strv base_artifacts, candidate_artifacts; /* names in the store */
	bool retry;    /* intermittent: the engine should measure again */
	bool unproven; /* repairs: base does not leak under this detector. Not recorded */
};

struct result {
	char *run_id;  /* "run-1042" */
	char *command; /* "gate" or "leak" */
	char *started; /* ISO, UTC */
	uint64_t duration_us;
	char *exitpath_version;
	char *config_digest;
	char *isolation;  /* "sandbox" or "none" */
	char *limit_tier; /* the weakest by which limits were enforced; NULL: no run */
	char *repository; /* file name of the repository's directory */
	struct revision_info base, candidate;
	char *setup, *suite;
	struct check *checks;
	size_t nchecks, checks_cap;
	enum outcome outcome; /* of all checks together */
	char *reproduce;      /* the one shell command */
	struct strv warnings; /* widened suppressions, expired ones, … */
};

struct finding *check_finding(struct check *c); /* adds a zeroed one */
struct remark *check_remark(struct check *c);	/* adds a zeroed one */
struct check *result_check(struct result *r);	/* adds a zeroed one */

json_t *result_to_json(const struct result *r);
int result_from_json(const json_t *j, struct result *ret, struct err *err);

void finding_release(struct finding *f);
void check_release(struct check *c);
void result_release(struct result *r);
DEFINE_CLEANUP(check)
DEFINE_CLEANUP(result)

#endif
