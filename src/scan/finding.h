/* The one place where a finding of scan is made from a node. */
#ifndef EXITPATH_SCAN_FINDING_H
#define EXITPATH_SCAN_FINDING_H

#include "model/scan.h"
#include "source/source.h"

/* Adds one at the node, with its place and line; end_column is that of one byte. name: of
 * the function around it, or SOURCE_NONE. Rule, shape, severity and message are the
 * caller's. */
struct scan_finding *scan_finding_at(struct scan_findings *out,
				     const struct source_tree *t, const char *path,
				     uint32_t name, uint32_t node);
/* The finding reaches to the end of the node, at which it is. */
void scan_finding_whole(struct scan_finding *f, const struct source_tree *t,
			uint32_t node);

#endif
