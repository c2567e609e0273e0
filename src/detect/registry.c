/*
 * The one table of detectors. Those that name a line come first: their checks are the
 * first that a report shows. See docs/HOWTO-detector.md.
 */
#include "detect/detect.h"

#include <string.h>

extern const struct detector detector_go;
extern const struct detector detector_heap;
extern const struct detector detector_ledger;
extern const struct detector detector_lsan;
extern const struct detector detector_node;
extern const struct detector detector_pg;
extern const struct detector detector_python;
extern const struct detector detector_valgrind;

const struct detector *const detectors[] = {
	&detector_lsan, &detector_go,	    &detector_python,
	&detector_heap, &detector_valgrind, &detector_node,
	&detector_pg,	&detector_ledger,   NULL,
};

const struct detector *detector_find(const char *name)
{
	for (size_t i = 0; detectors[i]; i++)
		if (!strcmp(detectors[i]->name, name))
			return detectors[i];
	return NULL;
}
