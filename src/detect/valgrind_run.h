/* One run under valgrind: what prepare() leaves for collect(). Private to valgrind. */
#ifndef EXITPATH_DETECT_VALGRIND_RUN_H
#define EXITPATH_DETECT_VALGRIND_RUN_H

#include "detect/detect.h"

struct valgrind_run {
	char *dir; /* <run>/valgrind: documents, the canary's library */
	char *cwd; /* of the command */
	bool root_static;
};

int valgrind_collect(struct detect_run *run, const struct run_result *result,
		     struct probe *ret, struct err *err);

#endif
