/* What a step that failed means, and what to do about it. Internal to sandbox. */
#ifndef EXITPATH_SANDBOX_EXPLAIN_H
#define EXITPATH_SANDBOX_EXPLAIN_H

#include "base/err.h"

/* Always -1. */
int sandbox_explain(const char *step, int errnum, struct err *err);

#endif
