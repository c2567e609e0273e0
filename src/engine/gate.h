/*
 * `exitpath gate`, `leak`, and `fault` on revisions: contract → revisions → runs →
 * observations → verdict → evidence.
 */
#ifndef EXITPATH_ENGINE_GATE_H
#define EXITPATH_ENGINE_GATE_H

#include "base/err.h"
#include "base/strv.h"
#include "engine/progress.h"
#include "model/result.h"
#include "model/sandbox.h"

#include <stdint.h>

struct fault_opts;

/* Flags; NULL, -1 or 0 where the user gave none. Nothing is owned. */
struct gate_opts {
	const char *command;  /* "gate", "leak" or "fault" */
	const char *dir;      /* where exitpath was called */
	const char *store;    /* --store */
	const char *contract; /* --contract */
	const char *base, *candidate;
	const char *setup, *suite;
	const char *detectors; /* "lsan,ledger" */
	const char *pg;	       /* --pg URL */
	const char *only;      /* --lifecycle NAME */
	int warmup, cycles;    /* -1: not given */
	uint64_t timeout_ms;
	bool repairs, fresh;
	enum isolation isolation;
	unsigned jobs;	   /* revisions measured side by side: 1 or 2 */
	char *const *argv; /* after "--"; NULL or empty: the contract's lifecycles */
	/* Of the command "fault": over what the contract says of faults; classes 0,
	 * points 0, time 0, NULL: not given. */
	const struct fault_opts *fault;
	int fault_forever; /* -1: not given */
	const char *diff;  /* --diff REV */
	const struct progress *progress;
};

/*
 * Fills ret and records it. -1 when nothing could be decided: ERR_USAGE before anything
 * was run, ERR_ENVIRONMENT, ERR_INTERRUPTED. Everything else is an outcome in ret.
 */
int engine_gate(const struct gate_opts *opts, struct result *ret, struct err *err);

#endif
