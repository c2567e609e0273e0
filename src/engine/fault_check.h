/* `--check`: a shell command that must pass behind a run. Internal to engine/fault*.c. */
#ifndef EXITPATH_ENGINE_FAULT_CHECK_H
#define EXITPATH_ENGINE_FAULT_CHECK_H

#include "base/buf.h"
#include "base/strv.h"
#include "model/run.h"

#include <stdbool.h>

/*
 * The check runs behind the command of spec, in the same sandbox: what the command wrote
 * is there. clean: the environment without what we add. What it says is written to dir.
 */
void fault_check_add(const char *check, const char *dir, const struct strv *clean,
		     struct run_spec *spec);
/* ret_said: the last line of its output, or NULL; the caller frees. Nothing is set when
 * it did not come to its end. */
void fault_check_read(const char *dir, bool *ret_checked, int *ret_status,
		      char **ret_said);

/* The last line that is not empty, cut; NULL: none. The caller frees. */
char *fault_last_line(const struct buf *b);

#endif
