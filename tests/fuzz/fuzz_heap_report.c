/* The record that a process leaves under the heap library. */
#include "detect/heap_report.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct heap_report r = {0};
	size_t sum = 0;

	if (heap_report_parse(data, size, &r)) {
		if (r.stacks || r.frames || r.modules)
			abort();
		return 0;
	}
	for (uint32_t i = 0; i < r.header.nstacks; i++)
		for (uint32_t k = 0; k < r.stacks[i].nframes; k++) {
			const struct heap_frame *f =
				&r.frames[r.stacks[i].first_frame + k];
			const char *module = heap_report_module(&r, f);

			sum += module ? strlen(module) : f->offset & 1;
		}
	if (strlen(r.header.exe) + sum == SIZE_MAX)
		abort();
	heap_report_release(&r);
	return 0;
}
