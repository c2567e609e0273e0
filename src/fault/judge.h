/* Was the failure survived? A run with one fault against the run without. Pure. */
#ifndef EXITPATH_FAULT_JUDGE_H
#define EXITPATH_FAULT_JUDGE_H

#include "base/hash.h"
#include "model/fault.h"
#include "model/observation.h"
#include "model/run.h"

#include <stdbool.h>

/* Of the heap the first of them that fits. */
enum { FAULT_PROBE_LSAN, FAULT_PROBE_HEAP, FAULT_PROBE_LEDGER, FAULT_PROBES };

/* What one run showed. */
struct fault_seen {
	struct run_result run;
	struct probe probe[FAULT_PROBES];
	/* Of stdout and stderr, paths of the run left out: as they are, and without
	 * numbers (times, process ids). */
	char exact[SHA256_HEX], worded[SHA256_HEX];
	char *error;	  /* the last line on stderr; NULL: none */
	bool checked;	  /* the check came to its end … */
	int check_status; /* … with this … */
	char *check_said; /* … and this as the last line; NULL: nothing */
	bool fired;	  /* the call was made to fail */
	uint64_t reached; /* how often the point was reached */
};
void fault_seen_release(struct fault_seen *s);
DEFINE_CLEANUP(fault_seen)

/* How outputs can be compared: as two runs without a fault allow. */
enum fault_compare { COMPARE_EXACT, COMPARE_WORDED, COMPARE_NOT };
enum fault_compare fault_comparison(const struct fault_seen *a,
				    const struct fault_seen *b);

struct fault_expect {
	const struct fault_seen *base; /* the run without a fault */
	enum fault_compare compare;
	bool must_report;     /* the call loses data when nobody says so */
	bool removes;	      /* the call was to remove a file: it must stay */
	uint64_t occurrences; /* of the point in the run without a fault */
};

struct fault_judgement {
	enum fault_defect defect;
	char *what;	    /* for people: what was held, lost, or where it crashed */
	struct strv more;   /* other defects of the same run */
	struct leak *stack; /* where what is held was acquired; of seen; NULL: unknown */
};
/*
 * A run whose fault did not fire has no defect. Memory is a leak wherever nothing points
 * to it. What the kernel takes back at exit counts only if the program went on and ended
 * as without the fault: who ends early because of an error need not close. An abort()
 * with a message is a way to report. An error is swallowed when a call that must be
 * reported failed, exit status and output are as without, and the call was not repeated.
 */
void fault_judge(const struct fault_expect *e, struct fault_seen *seen,
		 struct fault_judgement *ret);
void fault_judgement_release(struct fault_judgement *j);
DEFINE_CLEANUP(fault_judgement)

#endif
