/* Durations and limits on the command line are read as in the contract. */
#ifndef EXITPATH_ENGINE_UNITS_H
#define EXITPATH_ENGINE_UNITS_H

#include "base/err.h"

#include <stdint.h>

int units_duration(const char *text, const char *what, uint64_t *ret_ms, struct err *err);

enum limit_unit { LIMIT_BYTES, LIMIT_MS, LIMIT_COUNT };

/* "256M", "5s", "64"; "0" and "none": not limited, 0. */
int units_limit(const char *text, enum limit_unit unit, const char *what, uint64_t *ret,
		struct err *err);
/* A plain number of bytes, milliseconds or pieces. */
int units_limit_number(int64_t n, enum limit_unit unit, const char *what, uint64_t *ret,
		       struct err *err);

#endif
