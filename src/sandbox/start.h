/* Starting a zygote: what plain ones and interpreters share. Internal to sandbox. */
#ifndef EXITPATH_SANDBOX_START_H
#define EXITPATH_SANDBOX_START_H

#include "base/err.h"
#include "sandbox/plan.h"

/* As fork(); no handler of the caller's runs in the child. */
pid_t start_fork(void);
/* In the new process: it ends with parent, and handles no signal. */
void start_process(pid_t parent);
/* Then: the namespaces and the root. 0, or -1 with errno and *step. */
int start_enter(const struct plan *p, const char **step);

#endif
