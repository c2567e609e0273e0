/* One run under LeakSanitizer: what prepare() leaves for collect(). Private to lsan. */
#ifndef EXITPATH_DETECT_LSAN_RUN_H
#define EXITPATH_DETECT_LSAN_RUN_H

#include "detect/detect.h"

struct lsan_run {
	char *dir;     /* <run>/lsan: logs, start records, the canary's library */
	char *cwd;     /* of the command */
	char *refused; /* a value of the user's that the runtime would choke on */
	bool root_static;
	bool named; /* the runtime itself names functions */
};

int lsan_collect(struct detect_run *run, const struct run_result *result,
		 struct probe *ret, struct err *err);

#endif
