/*
 * What adapters/go/cycles.go writes in each test binary, and what of it grows.
 *
 *	exitpath-go 1
 *	binary /tmp/go-build1/b001/pkg.test
 *	cwd /checkout/pkg
 *	run example.com/m/pkg         m.Run() was called
 *	start | cycle TESTS CODE | void TESTS CODE
 *				      the level before the first cycle, if none is
 *				      warm-up; a pass; one in which a test failed that
 *				      had passed, and that is made again
 *	held                          a snapshot: everything, before a collection …
 *	goroutine COUNT STATE
 *	frame FUNCTION\tFILE:LINE     innermost first
 *	created FUNCTION\tFILE:LINE   the go statement
 *	ticker COUNT STATE            not stopped, and not collected; its frames follow,
 *				      from the caller of time.NewTicker on
 *	fd TARGET
 *	socket NAME
 *	collected                     … and after it, in the same form
 *	end                           of the cycle
 *	once TEST                     passed in the first pass only
 *	unsteady TEST                 failed in some pass after it
 *	done                          of all of them
 */
#ifndef EXITPATH_DETECT_GO_REPORT_H
#define EXITPATH_DETECT_GO_REPORT_H

#include "base/strv.h"
#include "detect/frames.h"
#include "model/resource.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	GO_CYCLES_MAX = 2017, /* start, warm-up and measured: twice MAX_CYCLES and one;
				 and exitpathVoids of adapters/go/cycles.go */
	GO_HELD_MAX = 4096,   /* signatures of one test binary; more are not read */
	GO_TESTS_MAX = 1000,  /* once and unsteady, each */
};

/* One signature in all snapshots. */
struct go_held {
	enum resource resource;
	char *key;  /* goroutine: "ENTRY<CREATOR", ticker: "FUNCTION<CALLER"; else the
		       target, normalised */
	char *what; /* state of the goroutine, "ticker", or target as it was */
	struct raw_stack stack;	    /* of the first one seen */
	uint64_t *held, *collected; /* of each cycle; start is a cycle */
	size_t ncycles;		    /* of the arrays; zero beyond */
};

struct go_cycle {
	uint64_t tests;
	int64_t code;
	bool counted; /* no start, and no pass that was made again */
	bool whole;   /* its "end" is there */
	bool canary;  /* the planted goroutine and the report's descriptor are in both
			 snapshots */
};

struct go_report {
	char *binary, *cwd, *package; /* package NULL: m.Run() was never called */
	bool done;
	bool cut;    /* more signatures than GO_HELD_MAX */
	char *fault; /* why it cannot be read, or NULL */
	struct go_cycle *cycles;
	size_t ncycles, cycles_cap;
	struct go_held *helds;
	size_t nhelds, helds_cap;
	struct strv once, unsteady; /* tests that cannot run again, or not always */
};

/* path: of the report, whose descriptor is part of the canary. Pure, for fuzzing. */
void go_report_parse(const char *text, size_t len, const char *path,
		     struct go_report *ret);

/*
 * What cycle k of h added and no later one gave back, plus, for descriptors and sockets,
 * what only the collection after it closed.
 */
uint64_t go_held_added(const struct go_report *r, const struct go_held *h, size_t k);
/* What the collection after cycle k gave back. */
uint64_t go_held_released(const struct go_held *h, size_t k);

void go_report_release(struct go_report *r);
DEFINE_CLEANUP(go_report)

#endif
