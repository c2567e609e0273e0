/* One run under the heap library: what prepare() leaves for collect(). Private to heap.
 */
#ifndef EXITPATH_DETECT_HEAP_RUN_H
#define EXITPATH_DETECT_HEAP_RUN_H

#include "abi/heap.h"
#include "detect/detect.h"

struct heap_run {
	char *dir; /* <run>/heap: the library and its records */
	char *cwd; /* of the command */
	bool root_static;
};

int heap_collect(struct detect_run *run, const struct run_result *result,
		 struct probe *ret, struct err *err);

#endif
