/*
 * What `exitpath fault` found: calls that were made to fail, and were not survived.
 * Plain data; the engine fills it, reports print it.
 */
#ifndef EXITPATH_MODEL_FAULT_H
#define EXITPATH_MODEL_FAULT_H

#include "base/json.h"
#include "base/strv.h"
#include "model/observation.h"
#include "model/outcome.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum fault_defect {
	DEFECT_NONE,
	DEFECT_CRASH,
	DEFECT_SANITIZER,
	DEFECT_HANG,
	DEFECT_LEAK, /* memory that nothing points to */
	DEFECT_HELD, /* a descriptor, socket, thread, process, lock … */
	DEFECT_FILE, /* a file left behind */
	DEFECT_SWALLOWED,
	DEFECT_CHECK, /* the contract's own check fails after the run */
	FAULT_DEFECTS
};
const char *fault_defect_name(enum fault_defect d); /* "crash", "leak" … */
bool fault_defect_parse(const char *name, enum fault_defect *ret); /* not "none" */

/* One point at which a call was made to fail, and what came of it. */
struct fault_finding {
	enum fault_defect defect;
	char *what;
	struct strv more; /* other defects of the same run */
	char *call;	  /* "write", "Session.commit" */
	char *argument;	  /* path or the like; NULL: none */
	char *error;	  /* how it failed: "ENOSPC", "OperationalError" */
	uint64_t key;	  /* of the point: the same in every run of one build */
	char *replay;	  /* the command */
	/* "swallowed|fsync|app!save<app!main": stable over builds and line moves; see
	 * fault_sign() */
	char *signature;
	struct leak chain; /* its frames: who made the call, innermost first */
	struct leak held;  /* its frames: where what is held was acquired; may be none */
	char *ignored_by; /* the match of faults.ignore in the contract; NULL: none … */
	char *reason;	  /* … and why, owner first: "@me: a cache" */
};
/* Sets f->signature: defect, call, and frames as leak_sign() has them. */
void fault_sign(struct fault_finding *f);
/* What follows the defect in a signature: call and frames, the same for one place
 * whatever came of it. The caller frees; chain as in a finding. */
char *fault_place_sign(const char *call, const struct leak *chain);
void fault_finding_release(struct fault_finding *f);

struct fault_report {
	enum outcome outcome;
	char *why, *hint; /* for an outcome that is neither clean nor a defect; or NULL */
	size_t points;	  /* distinct stacks of the run without a fault */
	size_t chosen, explored;
	size_t near; /* of those chosen: in files that changed, with --diff */
	/* Of those explored or missed: in forks of one run, which were clean there; by
	 * runs of their own. */
	size_t forked, rerun;
	size_t outside;	    /* points of programs that are not the project's: not tried */
	size_t missed;	    /* explored, and their call was not reached again */
	size_t unconfirmed; /* defects that a second run did not show */
	size_t known; /* of those explored: from an earlier run that was cut short */
	size_t runs;
	uint64_t calls; /* that could have failed, of the run without a fault */
	uint64_t wall_us, cpu_us;
	struct strv notes;
	char *run_id; /* where it is recorded; NULL: it is not */
	struct fault_finding *findings;
	size_t nfindings, findings_cap;
	struct fault_finding *ignored; /* by the contract */
	size_t nignored, ignored_cap;
	struct fault_finding *unsettled; /* seen once and not again, `unconfirmed` */
	size_t nunsettled, unsettled_cap;
};
struct fault_finding *
fault_report_finding(struct fault_report *r); /* adds a zeroed one */
void fault_report_release(struct fault_report *r);
DEFINE_CLEANUP(fault_report)

json_t *fault_finding_to_json(const struct fault_finding *f);
/* ret is zeroed; -1: malformed, and ret is empty. */
int fault_finding_from_json(const json_t *j, struct fault_finding *ret);
json_t *fault_report_to_json(const struct fault_report *r);

#endif
