#include "engine/units.h"

#include "contract/load.h"

int units_duration(const char *text, const char *what, uint64_t *ret_ms, struct err *err)
{
	return parse_duration(text, what, ret_ms, err);
}
