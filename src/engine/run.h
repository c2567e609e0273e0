/*
 * `exitpath run`: commands in the sandbox, within limits. One, whose output is passed on
 * while it comes; or a batch, one JSON object a line in (run_line.h) and out.
 */
#ifndef EXITPATH_ENGINE_RUN_H
#define EXITPATH_ENGINE_RUN_H

#include "base/err.h"
#include "base/strv.h"
#include "model/run.h"

#include <stdbool.h>
#include <stddef.h>

/* Nothing is owned. */
struct run_opts {
	const char *dir; /* where commands run; absolute */
	enum isolation isolation;
	const struct strv *read; /* paths that are shown read-only; may be NULL */
	enum network network;
	bool discard;
	enum warm warm; /* of commands that are for it */
	uint64_t wall_ms;
	struct limits limits;
	int out, err; /* descriptors that output goes to */
	/* Of a batch: */
	int in;
	unsigned workers, queue; /* 0: default, see proc/pool.h */
	bool ordered;
};

struct run_report {
	struct run_result run;
	char *error, *hint; /* why there was no sandbox; or NULL */
	bool out_closed;    /* nobody reads out any more: the run was cancelled */
};
void run_report_release(struct run_report *r);
DEFINE_CLEANUP(run_report)

/*
 * Runs one command. Its standard input is ours, unless that is a terminal. Its output
 * goes to opts->out and err as it comes; with json one object, which holds it, goes to
 * out at the end. After a signal (interrupt.h) the run is RUN_CANCELLED. -1: nothing was
 * run, or out cannot be written.
 */
int engine_run(const struct run_opts *opts, char *const *argv, bool json,
	       struct run_report *ret, struct err *err);

struct batch_report {
	uint64_t lines;	 /* results that were written */
	uint64_t bad;	 /* lines that could not be used */
	uint64_t broken; /* runs without a sandbox, or lost */
	bool out_closed;
};

/* Reads opts->in to its end; all that was read and could be run has a result then, or
 * after a signal a cancelled one. -1: nothing was run, or something of ours broke. */
int engine_run_batch(const struct run_opts *opts, struct batch_report *ret,
		     struct err *err);

#endif
