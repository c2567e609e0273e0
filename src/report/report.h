/*
 * Formats of a result. One file and one row in registry.c each. A report sees the
 * result only, never the store; what it prints is deterministic for the same result.
 */
#ifndef EXITPATH_REPORT_REPORT_H
#define EXITPATH_REPORT_REPORT_H

#include "base/buf.h"
#include "model/result.h"

#include <stdbool.h>

struct report_opts {
	bool color;	/* ANSI colour and UTF-8 bars; off: plain ASCII */
	bool verbose;	/* all frames, learned and suppressed findings as well */
	unsigned width; /* columns; 0: 80 */
};

struct report_format {
	const char *name; /* "text", "json", "packet", "packet-json" */
	const char *summary;
	void (*write)(const struct result *r, const struct report_opts *opts,
		      struct buf *out);
};

extern const struct report_format *const report_formats[]; /* NULL at the end */
const struct report_format *report_format_find(const char *name);

#endif
