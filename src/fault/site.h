/*
 * The report of adapters/python/exitpath_fault.py: lines of "TOKEN {json}". The call
 * sites of the project's modules, each a point for each way in which it fails, and what
 * came of it in a test that reaches it. The token is the run's: a line without it was
 * written by somebody else.
 */
#ifndef EXITPATH_FAULT_SITE_H
#define EXITPATH_FAULT_SITE_H

#include "base/strv.h"
#include "model/fault.h"
#include "model/observation.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SITE_POINTS_MAX = 1 << 16, SITE_HELD_MAX = 100 };

/* A call site, and how it fails: before the call, or after its effect. */
struct site_point {
	uint64_t key;
	char *label; /* what is called: "Session.commit" */
	char *file, *function, *variant, *phase;
	unsigned line;
	bool must;	   /* data is lost when nobody is told */
	struct strv tests; /* that reach it, the quickest first */
};

enum site_end {
	SITE_DONE,   /* the test ended, and all was looked at */
	SITE_LEFT,   /* the process left in the middle: os._exit() */
	SITE_SIGNAL, /* it was killed by a signal */
	SITE_HANG,
};

struct site_held {
	struct leak leak; /* frames: where it was acquired; units[0] */
	bool gc;	  /* only the garbage collector gave it back */
	bool owned;	  /* by what failed, and not by the test */
};

/* One test with one failure. */
struct site_trial {
	uint64_t key;
	char *test;
	bool fired;
	bool again; /* not run: the test cannot be repeated in its process */
	bool passed;
	enum site_end end;
	int signal;
	double seconds; /* of a hang */
	char *detail;	/* where it hung or crashed; or NULL */
	char *error;	/* the type of what was raised */
	char *why;	/* how the test failed */
	/* Of a test that passed, against the run without the fault: */
	bool same;	   /* the same output */
	bool repeated;	   /* such a call was made once more */
	bool logged, told; /* an error was logged; somebody else was told */
	/* Of a run that had a check behind it: */
	bool checked;
	int check_status;
	char *check_said;  /* its last line; or NULL */
	struct leak chain; /* its frames: who made the call, innermost first */
	struct site_held *held;
	size_t nheld, held_cap;
};

struct site_report {
	bool started, planned, done, exited;
	char *runner, *refused, *failed, *unsafe; /* or NULL */
	char *about; /* of the interpreter and what it loaded; or NULL */
	bool counted;
	uint64_t tests, skipped, calls;
	size_t outside; /* points that no test that passes reaches */
	size_t left;	/* … beyond the number that was asked for */
	size_t near;	/* … in files that changed, of points and left */
	struct strv notes;
	struct site_point *points;
	size_t npoints, points_cap;
	struct site_trial *trials;
	size_t ntrials, trials_cap;
	struct site_trial fired; /* of a process that died: what it said last */
	char *malformed;	 /* the first line that cannot be read; or NULL */
};

/* Pure. A last line without its end was cut off, and is left out. Adds to ret. */
void site_report_parse(const char *text, size_t len, const char *token,
		       struct site_report *ret);
void site_report_release(struct site_report *r);
DEFINE_CLEANUP(site_report)
const struct site_point *site_report_point(const struct site_report *r, uint64_t key);

/*
 * Was the failure survived? Crashes and hangs are defects. So is what the test still
 * holds, and did not without the fault, unless the test itself is to give it back; the
 * failure of the releasing call is raised after it has released. A failure that must be
 * reported is swallowed when the test passes with the same output, nothing was logged as
 * an error, no other call made good for it, and the exception reached no test. A test
 * that fails is the right answer. A check that fails behind it is a defect.
 *
 * Fills what, defect, more, held of ret (zeroed); false: no defect.
 */
bool site_judge(const struct site_point *p, const struct site_trial *t,
		struct fault_finding *ret);

#endif
