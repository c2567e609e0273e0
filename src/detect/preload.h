/* Libraries that the loader puts before all others in the processes of a run. */
#ifndef EXITPATH_DETECT_PRELOAD_H
#define EXITPATH_DETECT_PRELOAD_H

#include "base/err.h"
#include "base/strv.h"

/* Writes the library [start, end) to dir/name, unless it is there, and puts it first
 * into LD_PRELOAD of env. dir is absolute, and exists. */
int preload_add(const char *dir, const char *name, const unsigned char *start,
		const unsigned char *end, struct strv *env, struct err *err);

#endif
