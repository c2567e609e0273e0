/* A report of addresses, made readable: it is kept as evidence. */
#ifndef EXITPATH_DETECT_LSAN_REPORT_H
#define EXITPATH_DETECT_LSAN_REPORT_H

#include "detect/symbolize.h"

/*
 * Writes what the runtime wrote to path (of LSAN_FRAME_FORMAT) to path_named, with a line
 * for each function of a frame: "    #1 leak (/b/t+0x1213) /s/t.c:12". 0, or -1 when
 * either cannot be done; then nothing is left behind.
 */
int lsan_report_write(const char *path, const char *path_named, struct symbols *symbols);

#endif
