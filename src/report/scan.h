/* What `exitpath scan` found, in the formats that people and tools read. */
#ifndef EXITPATH_REPORT_SCAN_H
#define EXITPATH_REPORT_SCAN_H

#include "base/buf.h"
#include "base/json.h"
#include "model/rule.h"
#include "model/scan.h"

struct scan_format {
	const char *name, *summary;
	/* Paths are printed as they were found; rules: what findings name. */
	void (*write)(const struct scan_findings *f, const struct scan_rules *rules,
		      struct buf *out);
};
extern const struct scan_format *const scan_formats[]; /* NULL at the end */
const struct scan_format *scan_format_find(const char *name);

json_t *report_scan_json(const struct scan_findings *f); /* an array */
/* The same for the same defect, wherever its lines move to: 16 hex digits. `nth`: of
 * those that are alike in the file, from 1. */
void report_scan_fingerprint(const struct scan_finding *f, unsigned nth, char ret[17]);
/* How many findings before f[i], in the same file, are alike, plus 1. */
unsigned report_scan_nth(const struct scan_findings *f, size_t i);

extern const struct scan_format scan_text, scan_sarif, scan_github, scan_rdjsonl,
	scan_gitlab;

#endif
