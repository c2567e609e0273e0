/* The process that runs one command. Internal to proc; see the comment in the source. */
#ifndef EXITPATH_PROC_SUPERVISOR_H
#define EXITPATH_PROC_SUPERVISOR_H

#include "model/run.h"

#include <stdbool.h>

struct cgroup;
struct zygote;

/* For a process that supervises one run after the other (pool.c). */
struct supervise_opts {
	int control;	       /* a byte or EOF cancels the run; -1: nobody can */
	int out, err;	       /* files that take what is kept of the streams, from their
				  beginning; -1: <spec->dir>/stdout and stderr are made */
	int in;		       /* standard input; -1: /dev/null */
	struct zygote *zygote; /* NULL: with spec->sandbox one is made for this run. pid
				  is set to -1 when it broke and must be replaced */
	struct cgroup *cgroup; /* that the zygote lives in; NULL: made for this run */
	bool discard;	       /* VIEW_WRITE views are VIEW_DISCARD */
};
/* Makes the calling process a supervisor: a session, no signals, a subreaper, /dev/null
 * on 0 to 2. */
void supervisor_become(void);
/* One run, in a process that has become a supervisor. */
void supervise_run(const struct run_spec *spec, const struct supervise_opts *opts,
		   struct run_result *ret);

/* Called in the forked supervisor; ends the process. Writes one struct run_result to
 * result_fd. A byte on control_fd cancels; its EOF means that exitpath died. */
_Noreturn void supervise(const struct run_spec *spec, int result_fd, int control_fd);

#endif
