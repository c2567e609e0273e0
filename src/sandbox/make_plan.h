/* From a struct sandbox to what the zygote needs. Internal to sandbox. */
#ifndef EXITPATH_SANDBOX_MAKE_PLAN_H
#define EXITPATH_SANDBOX_MAKE_PLAN_H

#include "base/err.h"
#include "sandbox/plan.h"

/* The caller frees. ERR_USAGE for paths that cannot be. */
struct plan *plan_new(const struct sandbox *sb, struct err *err);
/* For a zygote that is an interpreter. */
struct plan *plan_new_server(const struct sandbox *sb, struct err *err);

#endif
