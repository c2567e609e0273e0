/* The process that does a run, and whether it still lives. */
#ifndef EXITPATH_STORE_OWNER_H
#define EXITPATH_STORE_OWNER_H

#include "base/macros.h"

#include <stdint.h>

struct owner {
	int64_t pid, start;
	char *boot_id, *pid_ns; /* "" where the system does not tell */
};

enum owner_state {
	OWNER_ALIVE,
	OWNER_GONE,
	OWNER_UNKNOWN, /* in another pid namespace */
};

void owner_self(struct owner *ret);
enum owner_state owner_state(const struct owner *o, const struct owner *self);
void owner_release(struct owner *o);
DEFINE_CLEANUP(owner)

#endif
