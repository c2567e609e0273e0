#include "engine/units.h"

#include "contract/load.h"
#include "model/contract.h"

int units_duration(const char *text, const char *what, uint64_t *ret_ms, struct err *err)
{
	uint64_t ms;

	if (parse_duration(text, what, &ms, err) < 0)
		return -1;
	if (ms > MAX_TIMEOUT_MS)
		return err_set(err, ERR_USAGE, "%s is more than 24h", what);
	*ret_ms = ms;
	return 0;
}
