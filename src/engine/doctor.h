/* Which detectors work on this machine, proved by running their canaries. */
#ifndef EXITPATH_ENGINE_DOCTOR_H
#define EXITPATH_ENGINE_DOCTOR_H

#include "base/err.h"
#include "engine/progress.h"

#include <stdbool.h>
#include <stddef.h>

struct doctor_row {
	const char *name, *summary;
	char *version; /* NULL: not found */
	bool works;    /* the canary was run and seen */
	char *detail;  /* why not */
	char *install; /* the next step when it does not work; else NULL */
};

struct doctor {
	struct doctor_row *rows;
	size_t nrows, rows_cap;
};

int engine_doctor(const struct progress *progress, struct doctor *ret, struct err *err);
void doctor_release(struct doctor *d);

#endif
