/*
 * Lanes: each is a list of runs that follow one another; several lanes may go on side
 * by side (base and candidate with --jobs 2). The loop is single-threaded: it starts
 * the next run of each idle lane and waits for any to end, or for an interrupt.
 */
#ifndef EXITPATH_ENGINE_LANE_H
#define EXITPATH_ENGINE_LANE_H

#include "base/err.h"
#include "model/run.h"

#include <stdbool.h>

struct proc;

struct lane {
	/* 1: *spec (zeroed before) is the next run; 0: the lane is done; -1: error. */
	int (*next)(void *ctx, struct run_spec *spec, struct err *err);
	/* Called with each result, also of a cancelled run. */
	int (*done)(void *ctx, const struct run_result *r, struct err *err);
	void *ctx;

	struct proc *proc;    /* the loop's own */
	struct run_spec spec; /* the loop's own */
	bool finished;	      /* the loop's own */
};

/* Runs all lanes to their ends, at most jobs at a time. On an error or an interrupt the
 * running ones are cancelled, waited for and reported to done() before it returns. */
int lanes_run(struct lane *lanes, size_t n, unsigned jobs, struct err *err);

#endif
