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
#include "model/fault.h"
#include "model/limits.h"
#include "model/sandbox.h"

#include <stdbool.h>

struct fault_layer;
struct fault_memory;
struct rev_ranges;

/* A revision's checkout, and how its runs go. Nothing is owned. */
struct fault_place {
	const char *cwd;	     /* as runs see it */
	const char *checkout;	     /* its top, on the machine … */
	const char *seen;	     /* … and as runs see it */
	const struct sandbox *views; /* what is written below is thrown away; NULL: no
				      * sandbox */
	const struct strv *env;	     /* without TMPDIR */
	struct limits limits;
	uint64_t timeout_ms; /* of the run without a fault */
};

/* Nothing is owned. */
struct fault_opts {
	const struct fault_place *place; /* NULL: the working tree as it is, in dir */
	/* Shell command line that must pass after each run, where that left its files;
	 * $EXITPATH_STATUS is the status of what was run. NULL: none */
	const char *check;
	/* For replays: "exitpath fault --base …", NULL: of the working tree; and does it
	 * name what is run, so that no command has to follow? */
	const struct strv *invocation;
	bool lifecycle;
	const struct fault_layer *layer; /* NULL: as fault_layer_for() has it */
	const char *dir;		 /* where the command runs; absolute */
	enum isolation isolation;
	uint32_t classes; /* bits 1 << enum fault_class */
	bool forever;
	const char *call;   /* name; NULL: all of the classes */
	const char *path;   /* glob for what it works on; NULL: all */
	const char *caller; /* function in its call chain; NULL: all */
	uint64_t key;	    /* only this point; 0: all */
	int errnum;	    /* 0: the first of each call */
	bool no_fork;	    /* each point by a run of its own */
	/* The time that each point is reached at which it fails, in runs of their own;
	 * points that are reached less often are left out. 0: the first */
	unsigned nth;
	/* Only points of the places (fault_place_sign()) of its findings, settled or not;
	 * with none of those the command runs without a fault alone. NULL: all */
	const struct fault_report *only;
	struct fault_memory *memory; /* of points that are settled; NULL: none */
	/* Code that a patch changed: points that it leads to come first. NULL: none */
	const struct rev_ranges *changed;
	bool inside;	  /* never points of programs outside of the project */
	unsigned points;  /* at most; 0: all */
	uint64_t time_ms; /* begin no run after that; 0: no limit */
	const struct progress *progress;
};

/*
 * One way to make calls fail (DESIGN §6): one file, one const struct, one row of
 * fault_layers[] in engine/fault.c. A layer brings its own points, keys of 16 hex digits,
 * and runs; what it finds has the same form.
 */
struct fault_layer {
	const char *name; /* as --layer takes it */
	/* Is it meant for such commands, in that directory? NULL: no. */
	bool (*fits)(char *const *argv, const char *dir);
	bool (*knows_call)(const char *); /* may --call NAME be its? NULL: any name */
	/* Fills report (zeroed), but its wall_us; -1 as engine_fault(), which releases
	 * it. */
	int (*explore)(const struct fault_opts *opts, char *const *argv,
		       struct fault_report *report, struct err *err);
};
extern const struct fault_layer *const fault_layers[]; /* NULL at the end */
const struct fault_layer *fault_layer_find(const char *name);
/* That of the command's language; else the first. dir: where it runs, on the machine. */
const struct fault_layer *fault_layer_for(char *const *argv, const char *dir);

/* 0: a frame of it is in a changed function, 1: in a changed file, 2: no frame is. */
enum { FAULT_FAR = 2 };
unsigned fault_distance(const struct fault_opts *opts, const struct leak *chain);
/* For layers: does `only` leave this point out? */
bool fault_left_out(const struct fault_opts *opts, const char *call,
		    const struct leak *chain);

/* For options: the class, the key of that name. */
bool engine_fault_class(const char *name, enum fault_class *ret);
const char *engine_fault_class_name(enum fault_class c);
bool engine_fault_key(const char *text, uint64_t *ret);

/* -1: nothing could be said (ERR_USAGE, ERR_ENVIRONMENT, ERR_INTERRUPTED). */
int engine_fault(const struct fault_opts *opts, char *const *argv,
		 struct fault_report *ret, struct err *err);

#endif
