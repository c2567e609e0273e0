/* A series of units in one line. Private to report/. */
#ifndef EXITPATH_REPORT_SERIES_H
#define EXITPATH_REPORT_SERIES_H

#include "base/buf.h"

#include <stdint.h>

/* "1 1 2"; from 20 cycles on, runs: "1 x990, 2 x10". units NULL: zeros. */
void series_plain(struct buf *out, const uint64_t *units, size_t n);
/* "▁▄█", scaled to max; at most SERIES_COLUMNS, each the most of its share. */
enum { SERIES_COLUMNS = 40 };
void series_bars(struct buf *out, const uint64_t *units, size_t n, uint64_t max);

#endif
