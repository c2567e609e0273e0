/* ledger.jsonl, whole or damaged. */
#include "ledger/ledger.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(probe) struct probe p = {0};

	if (ledger_parse((const char *)data, size, &p, NULL) < 0)
		abort();
	/* Whatever the text was: a state with a reason, and signed leaks. */
	if ((p.state == PROBE_COMPLETE) == (p.detail != NULL))
		abort();
	for (size_t i = 0; i < p.nleaks; i++)
		if (!p.leaks[i].signature || !p.leaks[i].what || !p.leaks[i].units[0])
			abort();
	return 0;
}
