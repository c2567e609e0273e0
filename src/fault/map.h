/*
 * The file that a run under the fault shim shares with us. It is made before the run and
 * read after it; the program under test could write into it, so nothing in it is trusted:
 * what does not fit is dropped.
 */
#ifndef EXITPATH_FAULT_MAP_H
#define EXITPATH_FAULT_MAP_H

#include "abi/fault.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

struct fault_request {
	enum fault_mode mode;
	uint32_t classes; /* bits 1 << enum fault_class */
	uint32_t call;	  /* UINT32_MAX: all of the classes */
	uint64_t key, occurrence;
	int errnum; /* 0: the call's first */
	/* The run's TMPDIR; NULL, or too long: nowhere is it safe to fork. */
	const char *scratch;
	/* FAULT_EXPLORE: */
	const uint64_t *keys; /* to fork at; at most FAULT_POINTS */
	size_t nkeys;
	bool forever;
	uint32_t deadline_ms; /* of each child */
};
int fault_map_make(const char *path, const struct fault_request *r, struct err *err);

struct fault_record {
	uint32_t loaded; /* processes that had the shim */
	uint32_t fired, lost;
	uint64_t calls;
	struct fault_point *points; /* whole ones, by key */
	size_t npoints;
	struct fault_module *modules;
	size_t nmodules;
};
int fault_map_read(const char *path, struct fault_record *ret, struct err *err);
/* What became of the keys of FAULT_EXPLORE. */
struct fault_trials {
	struct fault_trial *trials; /* by key */
	size_t n;
	uint32_t held; /* by the run itself when it ended; UINT32_MAX: unknown */
	uint64_t names;
	uint64_t lost_blocks, held_blocks; /* by the run itself; UINT64_MAX: unknown */
};
int fault_trials_read(const char *path, struct fault_trials *ret, struct err *err);
const struct fault_trial *fault_trials_find(const struct fault_trials *t, uint64_t key);
void fault_trials_release(struct fault_trials *t);
DEFINE_CLEANUP(fault_trials)

/* NULL: there is none. */
const struct fault_point *fault_record_find(const struct fault_record *r, uint64_t key);
/* The path of the object that a frame lies in; NULL: unknown. */
const char *fault_record_module(const struct fault_record *r,
				const struct fault_frame *f);
void fault_record_release(struct fault_record *r);
DEFINE_CLEANUP(fault_record)

#endif
