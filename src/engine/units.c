#include "engine/units.h"

#include "contract/load.h"
#include "model/contract.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define MAX_COUNT                                                            \
	INT64_C(1000000000) /* processes, descriptors: more than any machine \
			     */

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

static int parse_count(const char *text, const char *what, uint64_t *ret, struct err *err)
{
	if (!*text || strlen(text) > 10 || text[strspn(text, "0123456789")]) {
		err_set(err, ERR_USAGE, "%s: `%.64s` is not a number", what, text);
		err_hint(err, "write a whole number, or none");
		return -1;
	}
	return units_limit_number(strtoll(text, NULL, 10), LIMIT_COUNT, what, ret, err);
}

int units_limit(const char *text, enum limit_unit unit, const char *what, uint64_t *ret,
		struct err *err)
{
	if (!strcmp(text, "none") || !strcmp(text, "0")) {
		*ret = 0;
		return 0;
	}
	switch (unit) {
	case LIMIT_BYTES:
		return parse_size(text, what, ret, err);
	case LIMIT_MS:
		return units_duration(text, what, ret, err);
	case LIMIT_COUNT:
		break;
	}
	return parse_count(text, what, ret, err);
}

int units_limit_number(int64_t n, enum limit_unit unit, const char *what, uint64_t *ret,
		       struct err *err)
{
	static const int64_t max[] = {
		[LIMIT_BYTES] = INT64_MAX,
		[LIMIT_MS] = MAX_TIMEOUT_MS,
		[LIMIT_COUNT] = MAX_COUNT,
	};

	if (n < 0 || n > max[unit])
		return err_set(err, ERR_USAGE,
			       "%s: %" PRId64 " is not from 0 to %" PRId64, what, n,
			       max[unit]);
	*ret = (uint64_t)n;
	return 0;
}
