/* The formats that registry.c lists. Private to report/. */
#ifndef EXITPATH_REPORT_FORMATS_H
#define EXITPATH_REPORT_FORMATS_H

#include "report/fault.h"
#include "report/report.h"

extern const struct report_format report_text;
extern const struct report_format report_json;
extern const struct report_format report_packet;
extern const struct report_format report_packet_json;

extern const struct fault_format fault_text;
extern const struct fault_format fault_json;

#endif
