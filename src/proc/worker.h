/* The process of a pool that makes one run after the other. Internal to proc. */
#ifndef EXITPATH_PROC_WORKER_H
#define EXITPATH_PROC_WORKER_H

#include "model/sandbox.h"

#include <stdbool.h>

struct worker_opts {
	int socket;   /* orders come, replies go; its EOF ends the worker */
	int control;  /* a byte or EOF cancels the run under way */
	int request;  /* file that the request of an order lies in */
	int out, err; /* files that take what is kept of the streams */
	bool pass_stdin;
	const struct sandbox *sandbox; /* NULL: no isolation */
};

/* Called in the forked worker; ends the process. */
_Noreturn void worker_main(const struct worker_opts *opts);

#endif
