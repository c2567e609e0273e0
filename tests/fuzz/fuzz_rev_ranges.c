/* A diff is git's, what is in it is anybody's. */
#include "rev/changes.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(rev_ranges) struct rev_ranges r = {0};

	rev_ranges_parse((const char *)data, size, &r);
	for (size_t i = 0; i < r.n; i++)
		if (!r.v[i].path || !*r.v[i].path || r.v[i].first > r.v[i].last)
			abort();
	return 0;
}
