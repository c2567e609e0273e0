/*
 * What the zygote and its inits need to know, made by the supervisor before the fork.
 * Plain data without pointers, so that it can be handed on through a memfd to a zygote
 * that has exec'ed an interpreter. Internal to sandbox.
 */
#ifndef EXITPATH_SANDBOX_PLAN_H
#define EXITPATH_SANDBOX_PLAN_H

#include "model/sandbox.h"

#include <linux/filter.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum {
	PLAN_VIEWS = 256,	  /* two for each submodule of a repository */
	PLAN_STRINGS = 128 << 10, /* bytes */
	PLAN_FILTER = 2048,	  /* instructions */
};

struct plan_view {
	uint32_t from, at; /* offsets into strings */
	uint8_t mode;	   /* enum view_mode */
	uint8_t is_dir;
};

struct plan {
	uint32_t nviews, nfilter, nserver_filter, nstrings;
	uint32_t home;	/* offset; 0: none */
	uint32_t umask; /* of the caller, for the command */
	uint8_t network;
	uint8_t is_root;   /* the machine's root: /proc must be read-only */
	uint8_t is_server; /* the zygote is an interpreter in a pid namespace of its own
			    */
	struct plan_view views[PLAN_VIEWS];
	struct sock_filter filter[PLAN_FILTER]; /* of runs */
	struct sock_filter server_filter[PLAN_FILTER];
	char strings[PLAN_STRINGS]; /* offset 0 is the empty string */
};

static inline const char *plan_string(const struct plan *p, uint32_t offset)
{
	return p->strings + offset;
}

#endif
