/* The process that runs one command. Internal to proc; see the comment in the source. */
#ifndef EXITPATH_PROC_SUPERVISOR_H
#define EXITPATH_PROC_SUPERVISOR_H

#include "model/run.h"

/* Called in the forked supervisor; ends the process. Writes one struct run_result to
 * result_fd. A byte on control_fd cancels; its EOF means that exitpath died. */
_Noreturn void supervise(const struct run_spec *spec, int result_fd, int control_fd);

#endif
