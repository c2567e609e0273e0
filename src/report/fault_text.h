/* One finding as text. Private to report/. */
#ifndef EXITPATH_REPORT_FAULT_TEXT_H
#define EXITPATH_REPORT_FAULT_TEXT_H

#include "base/buf.h"
#include "model/fault.h"

/* Its first line, and below it what came of it, the stacks, and the replay. */
void add_fault_finding(struct buf *out, const struct fault_finding *f);

#endif
