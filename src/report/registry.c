#include "report/formats.h"

#include <string.h>

const struct report_format *const report_formats[] = {
	&report_text, &report_json, &report_packet, &report_packet_json, NULL,
};

const struct report_format *report_format_find(const char *name)
{
	for (size_t i = 0; report_formats[i]; i++)
		if (!strcmp(report_formats[i]->name, name))
			return report_formats[i];
	return NULL;
}

const struct fault_format *const fault_formats[] = {&fault_text, &fault_json, NULL};

const struct fault_format *fault_format_find(const char *name)
{
	for (size_t i = 0; fault_formats[i]; i++)
		if (!strcmp(fault_formats[i]->name, name))
			return fault_formats[i];
	return NULL;
}
