/* What a suppression may look like, and what a patch did to the list. */
#ifndef EXITPATH_CONTRACT_SUPPRESSION_H
#define EXITPATH_CONTRACT_SUPPRESSION_H

#include "base/json.h"
#include "model/contract.h"

#include <stdbool.h>

/* Canonical. New reference. */
json_t *suppression_json(const struct suppression *s);
/* NULL when KIND:PATTERN is narrow enough, else why not. */
const char *suppression_refused(const char *match);
/* The same for DEFECT:CALL:FUNCTION of a fault: a function of the call chain, whatever
 * the call where that is `*`. */
const char *ignore_refused(const char *match);
/* The same for RULE:PATH of what `review` finds: one path, whole. */
const char *allow_refused(const char *match);
/* A day of the Gregorian calendar, as YYYY-MM-DD. */
bool date_valid(const char *text);

#endif
