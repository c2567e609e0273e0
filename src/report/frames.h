/* A stack, one frame a line. Private to report/. */
#ifndef EXITPATH_REPORT_FRAMES_H
#define EXITPATH_REPORT_FRAMES_H

#include "base/buf.h"
#include "model/observation.h"

#include <stdbool.h>
#include <stddef.h>

struct frames_style {
	const char *indent;
	/* Of all frames from the first of the project on, so many; 0: all there are. */
	size_t most;
	bool chain; /* how a call came about: all up to main(), without our wrappers */
};
void add_frames(struct buf *out, const struct leak *l, const struct frames_style *style);

#endif
