/* What adapters/go writes into a test binary's report. */
#include "detect/go_report.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(go_report) struct go_report r = {0};

	go_report_parse((const char *)data, size, "/run/report.7", &r);
	if (r.nhelds > GO_HELD_MAX || r.ncycles > GO_CYCLES_MAX)
		abort();
	for (size_t i = 0; i < r.nhelds; i++) {
		const struct go_held *h = &r.helds[i];
		uint64_t before = 0;

		if (h->ncycles != r.ncycles || h->stack.n > FRAMES_MAX || !h->key)
			abort();
		/* What was added is held at the end, at least. */
		for (size_t k = 0; k < r.ncycles && r.cycles[k].whole; k++)
			before += go_held_added(&r, h, k) -
				  (h->resource == RESOURCE_GOROUTINE ||
						   h->resource == RESOURCE_TIMER
					   ? 0
					   : go_held_released(h, k));
		if (r.ncycles && r.cycles[r.ncycles - 1].whole &&
		    before > h->collected[r.ncycles - 1])
			abort();
	}
	return 0;
}
