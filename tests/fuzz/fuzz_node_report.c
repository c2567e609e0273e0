/* What adapters/node writes about a process. */
#include "detect/node_report.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(node_process) struct node_process p = {0};
	bool whole = node_report_parse((const char *)data, size, &p);

	if (p.nheld > NODE_HELD_MAX || p.notes.n > NODE_NOTES_MAX ||
	    (p.ended && !p.script) || (!whole && p.ended && !p.script))
		abort();
	for (size_t i = 0; i < p.nheld; i++)
		if (p.held[i].stack.n > FRAMES_MAX || !p.held[i].units || !p.held[i].what)
			abort();
	return 0;
}
