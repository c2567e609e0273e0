/* Durations on the command line are read as in the contract. */
#ifndef EXITPATH_ENGINE_UNITS_H
#define EXITPATH_ENGINE_UNITS_H

#include "base/err.h"

#include <stdint.h>

int units_duration(const char *text, const char *what, uint64_t *ret_ms, struct err *err);

#endif
