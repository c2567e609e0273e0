/* The system calls that a sandboxed command does not get. Internal to sandbox. */
#ifndef EXITPATH_SANDBOX_FILTER_H
#define EXITPATH_SANDBOX_FILTER_H

#include "base/err.h"
#include "sandbox/plan.h"

/* Compiles the filter into p, and with p->is_server that of the server. */
int filter_compile(struct plan *p, struct err *err);

#endif
