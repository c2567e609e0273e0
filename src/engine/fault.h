/*
 * `exitpath fault`: the command runs once as it is and every call that could fail is
 * noted, each distinct stack is a point; then once for every point, with that call
 * failing; what was not survived is confirmed by one run more.
 */
#ifndef EXITPATH_ENGINE_FAULT_H
#define EXITPATH_ENGINE_FAULT_H

#include "abi/fault.h"
#include "base/err.h"
#include "base/strv.h"
#include "engine/progress.h"
#include "fault/judge.h"
#include "model/observation.h"
#include "model/outcome.h"
#include "model/sandbox.h"

#include <stdbool.h>

/* Nothing is owned. */
struct fault_opts {
	const char *dir; /* where the command runs; absolute */
	enum isolation isolation;
	uint32_t classes; /* bits 1 << enum fault_class */
	bool forever;
	const char *call; /* name; NULL: all of the classes */
	uint64_t key;	  /* only this point; 0: all */
	int errnum;	  /* 0: the first of each call */
	unsigned points;  /* at most; 0: all */
	uint64_t time_ms; /* begin no run after that; 0: no limit */
	const struct progress *progress;
};

struct fault_finding {
	enum fault_defect defect;
	char *what;
	struct strv more; /* other defects of the same run */
	char *call;	  /* "write" */
	char *argument;	  /* path or the like; NULL: none */
	int errnum;
	uint64_t key;
	char *replay;	   /* the command */
	struct leak chain; /* its frames: who made the call, innermost first */
	struct leak held;  /* its frames: where what is held was acquired; may be none */
};

struct fault_report {
	enum outcome outcome;
	char *why, *hint; /* for an outcome that is neither clean nor a defect; or NULL */
	size_t points;	  /* distinct stacks of the run without a fault */
	size_t chosen, explored;
	size_t outside;	    /* points of programs that are not the project's: not tried */
	size_t missed;	    /* explored, and their call was not reached again */
	size_t unconfirmed; /* defects that a second run did not show */
	size_t runs;
	uint64_t calls; /* that could have failed, of the run without a fault */
	uint64_t wall_us, cpu_us;
	struct strv notes;
	struct fault_finding *findings;
	size_t nfindings, findings_cap;
};
void fault_report_release(struct fault_report *r);
DEFINE_CLEANUP(fault_report)

/* For options: the class, the call, the key of that name. */
bool engine_fault_class(const char *name, enum fault_class *ret);
bool engine_fault_call(const char *name);
bool engine_fault_key(const char *text, uint64_t *ret);

/* -1: nothing could be said (ERR_USAGE, ERR_ENVIRONMENT, ERR_INTERRUPTED). */
int engine_fault(const struct fault_opts *opts, char *const *argv,
		 struct fault_report *ret, struct err *err);

#endif
