#include "model/limits.h"

#include <string.h>

static const char *const names[TIERS] = {
	[TIER_NONE] = "none",
	[TIER_POLLING] = "polling",
	[TIER_CGROUP_1] = "cgroup v1",
	[TIER_CGROUP_2] = "cgroup v2",
};

const char *limit_tier_name(enum limit_tier t)
{
	return names[t];
}

enum limit_tier limit_tier_parse(const char *name)
{
	for (int t = TIER_NONE; t < TIERS; t++)
		if (!strcmp(names[t], name))
			return (enum limit_tier)t;
	return TIER_NONE;
}
