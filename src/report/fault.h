/* The formats of what `exitpath fault` found without a second revision. */
#ifndef EXITPATH_REPORT_FAULT_H
#define EXITPATH_REPORT_FAULT_H

#include "model/fault.h"
#include "report/report.h"

struct fault_format {
	const char *name; /* "text", "json" */
	void (*write)(const struct fault_report *r, const struct report_opts *opts,
		      struct buf *out);
};

extern const struct fault_format *const fault_formats[]; /* NULL at the end */
const struct fault_format *fault_format_find(const char *name);

#endif
