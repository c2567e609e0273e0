/* The class of one check, and the exit code that goes with it. */
#ifndef EXITPATH_MODEL_OUTCOME_H
#define EXITPATH_MODEL_OUTCOME_H

#include <stdbool.h>

enum outcome {
#define OUTCOME(id, name, code, rank, meaning) OUTCOME_##id,
#include "model/outcome.def"
#undef OUTCOME
};

enum { EXIT_USAGE = 2, EXIT_INTERNAL = 70 };

const char *outcome_name(enum outcome o);
const char *outcome_meaning(enum outcome o);
int outcome_exit_code(enum outcome o);
bool outcome_parse(const char *name, enum outcome *ret_outcome);
/* The outcome of two checks together: the higher rank. */
enum outcome outcome_worse(enum outcome a, enum outcome b);

#endif
