/*
 * Is what a function acquires released on every way out? One search per acquisition over
 * the function's flow (shapes A, B, C, F, G). It says nothing rather than guess: what is
 * returned, stored, kept by a call or captured by a closure has another owner.
 */
#ifndef EXITPATH_SCAN_PATHS_H
#define EXITPATH_SCAN_PATHS_H

#include "model/scan.h"
#include "scan/flow.h"
#include "scan/lang.h"

/* What is acquired and must be released; a row of data. */
struct scan_pair {
	const char *what;      /* for people: "file", "lock" */
	const char *acquire;   /* callees, whole ("os.open") or ".method" or "*suffix", by
				  spaces */
	const char *release;   /* last parts of callees; NULL: whatever name_releases() */
	const char *names;     /* of several targets, which; of one, what it is called */
	bool last;	       /* sure: or as last argument */
	const char *first_not; /* no such first argument */
	const char *callee_not; /* whole callees that only look like it */
	bool sure;     /* released by names that mean nothing else, as first argument */
	bool derived;  /* of another resource, which takes it along: never-released is not
			  said */
	bool heap;     /* memory: whoever is given it may keep it */
	bool lock;     /* of its receiver or argument, not of its value */
	bool tuple;    /* all targets are resources: os.pipe() */
	bool awaited;  /* only what is waited for is new */
	bool response; /* of HTTP, if the function treats it as one */
	bool body;     /* shape G */
	bool held_when_raised; /* B: work between acquire and release must be protected */
};

struct helpers;

struct scan_function {
	const struct scan_lang *lang;
	const struct source_tree *t;
	const struct flow *flow;
	const struct helpers *helpers;
	const char *path;
	enum scan_severity severity; /* of what is found in this function */
	/* Does it call anything that releases by its name, or have a with? */
	bool releases;
};

void scan_paths(const struct scan_function *fn, const struct scan_pair *pairs,
		size_t npairs, struct scan_findings *out);
/* Shape A where nothing is acquired: a cleanup section whose release stands behind a call
 * that may raise. */
void scan_cleanup(const struct scan_function *fn, struct scan_findings *out);

/* The pairs of a language. */
const struct scan_pair *scan_pairs(enum source_lang lang, size_t *ret_n);

/* Does the function (its node) call anything that releases by its name, or have a with?
 */
bool scan_releases(const struct scan_lang *lang, const struct source_tree *t,
		   uint32_t function);
/* May evaluating the node raise? */
bool scan_may_raise(const struct scan_lang *lang, const struct source_tree *t,
		    uint32_t node);

#endif
