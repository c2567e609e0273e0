/* One finding as text. Private to report/. */
#ifndef EXITPATH_REPORT_FAULT_TEXT_H
#define EXITPATH_REPORT_FAULT_TEXT_H

#include "base/buf.h"
#include "model/fault.h"

/* "swallowed: fsync fails with EIO on out in save (src/a.c:41)", without a newline. */
void add_fault_line(struct buf *out, const struct fault_finding *f);
/* What came of it, the stacks, and the replay, each line indented; width 0: not wrapped.
 */
void add_fault_finding(struct buf *out, const struct fault_finding *f, const char *indent,
		       size_t width);

#endif
