/* `exitpath scan`: the rules over one parsed file. Any thread. */
#ifndef EXITPATH_SCAN_SCAN_H
#define EXITPATH_SCAN_SCAN_H

#include "model/scan.h"
#include "scan/rules.h"
#include "source/source.h"

/*
 * Adds what is found in the file, sorted. A finding whose line, or the line above, has
 * `exitpath: ignore[RULE] reason` is left out and counted; without a reason that comment
 * is a finding itself.
 */
void scan_file(const struct scan_set *rules, const struct source_tree *t,
	       const char *path, struct scan_findings *out, size_t *ret_ignored);

#endif
