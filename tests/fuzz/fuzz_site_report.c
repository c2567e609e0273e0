/* The report of adapters/python/exitpath_fault.py, and what is judged from it. */
#include "base/mem.h"
#include "fault/site.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(site_report) struct site_report r = {0};
	CLEANUP_FREE char *text = xcalloc(size + 1, 1);
	const struct site_point any = {.must = true};

	memcpy(text, data, size);
	site_report_parse(text, size, "T0", &r);
	for (size_t i = 0; i < r.ntrials; i++) {
		const struct site_point *p = site_report_point(&r, r.trials[i].key);
		struct fault_finding f = {0};

		if (site_judge(p ? p : &any, &r.trials[i], &f) != (f.what != NULL))
			abort();
		fault_finding_release(&f);
	}
	return 0;
}
