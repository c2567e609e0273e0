/* Inside of engine: the parts of `exitpath scan`. */
#ifndef EXITPATH_ENGINE_SCAN_PARTS_H
#define EXITPATH_ENGINE_SCAN_PARTS_H

#include "engine/scan.h"
#include "scan/scan.h"
#include "source/source.h"

/* Adds all findings of what leads from opts->diff to the working tree; not yet chosen by
 * severity and rule. */
int scan_diff(const struct scan_set *set, const struct scan_opts *opts,
	      struct scan_report *ret, struct err *err);

#endif
