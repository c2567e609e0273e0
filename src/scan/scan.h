/* `exitpath scan`: the rules over one parsed file. Any thread. */
#ifndef EXITPATH_SCAN_SCAN_H
#define EXITPATH_SCAN_SCAN_H

#include "model/scan.h"
#include "source/source.h"

/* Adds what is found in the file. Languages without a table: nothing. */
void scan_file(const struct source_tree *t, const char *path, struct scan_findings *out);

#endif
