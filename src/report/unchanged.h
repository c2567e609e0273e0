/* What a repair must leave alone; both packet formats say it. Private to report/. */
#ifndef EXITPATH_REPORT_UNCHANGED_H
#define EXITPATH_REPORT_UNCHANGED_H

#include <stddef.h>

extern const char *const packet_rules[]; /* NULL at the end */

#endif
