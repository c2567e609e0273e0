/* What `exitpath scan` found, as text and as JSON. */
#ifndef EXITPATH_REPORT_SCAN_H
#define EXITPATH_REPORT_SCAN_H

#include "base/buf.h"
#include "base/json.h"
#include "model/scan.h"

void report_scan_text(const struct scan_findings *f, struct buf *out);
json_t *report_scan_json(const struct scan_findings *f); /* an array */

#endif
