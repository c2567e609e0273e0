#include "contract/load.h"

#include "base/err.h"
#include "contract/show.h"

#include <stdio.h>
#include <string.h>

struct unit {
	const char *suffix;
	uint64_t factor;
};

static const struct unit durations[] = {
	{"ms", 1}, {"s", 1000}, {"m", 60 * 1000}, {"h", 60 * 60 * 1000}};

/* Powers of 1024, as `ulimit`, systemd and docker count. */
static const struct unit sizes[] = {{"", 1},
				    {"K", UINT64_C(1) << 10},
				    {"M", UINT64_C(1) << 20},
				    {"G", UINT64_C(1) << 30},
				    {"T", UINT64_C(1) << 40}};

enum parsed { PARSED, MALFORMED, OVERFLOWED };

static enum parsed parse_unit(const char *text, const struct unit *units, size_t nunits,
			      uint64_t *ret)
{
	size_t digits = strspn(text, "0123456789");
	uint64_t n = 0;

	if (!digits || text[0] == '0')
		return MALFORMED;
	for (size_t i = 0; i < digits; i++)
		if (__builtin_mul_overflow(n, 10, &n) ||
		    __builtin_add_overflow(n, (uint64_t)(text[i] - '0'), &n))
			return OVERFLOWED;
	for (size_t i = 0; i < nunits; i++) {
		if (strcmp(text + digits, units[i].suffix) != 0)
			continue;
		/* What comes after the parser counts in signed 64 bits: off_t, JSON. */
		if (__builtin_mul_overflow(n, units[i].factor, &n) || n > INT64_MAX)
			return OVERFLOWED;
		*ret = n;
		return PARSED;
	}
	return MALFORMED;
}

static int refuse(enum parsed p, const char *text, const char *what, const char *expected,
		  struct err *err)
{
	char shown[SHOW_MAX];

	show_text(text, shown);
	if (p == OVERFLOWED)
		err_set(err, ERR_USAGE, "%s: %s is too large", what, shown);
	else
		err_set(err, ERR_USAGE, "%s: %s is not %s", what, shown, expected);
	return -1;
}

int parse_duration(const char *text, const char *what, uint64_t *ret_ms, struct err *err)
{
	enum parsed p = parse_unit(text, durations, ARRAY_SIZE(durations), ret_ms);

	if (p == PARSED)
		return 0;
	refuse(p, text, what, "a duration", err);
	err_hint(err, "write a whole number and a unit: 500ms, 5s, 2m or 1h");
	return -1;
}

int parse_size(const char *text, const char *what, uint64_t *ret_bytes, struct err *err)
{
	enum parsed p = parse_unit(text, sizes, ARRAY_SIZE(sizes), ret_bytes);

	if (p == PARSED)
		return 0;
	refuse(p, text, what, "a size", err);
	err_hint(err, "write a whole number of bytes, or with K, M, G or T: 64K, 256M");
	return -1;
}
