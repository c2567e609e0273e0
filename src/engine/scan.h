/* `exitpath scan`: which files, the rules over each, on all processors. */
#ifndef EXITPATH_ENGINE_SCAN_H
#define EXITPATH_ENGINE_SCAN_H

#include "base/err.h"
#include "base/strv.h"
#include "model/outcome.h"
#include "model/rule.h"
#include "model/scan.h"

#include <stdint.h>

/* Nothing is owned. */
struct scan_opts {
	const struct strv *paths; /* none: the working directory */
	const char *rule;	  /* only this one; NULL: all */
	const char *diff;  /* a revision: what the working tree adds to it; or NULL */
	const char *store; /* for diff; NULL: beside the repository */
	enum scan_severity severity; /* at least */
	unsigned jobs;		     /* 0: one per processor */
};

struct scan_report {
	enum outcome outcome;
	struct scan_rules rules; /* findings name them */
	struct scan_findings findings;
	size_t files; /* looked at */
	uint64_t lines;
	size_t ignored;		      /* by a comment with a reason */
	size_t notes;		      /* found, and not shown */
	unsigned generated, vendored; /* left out */
	struct strv skipped;	      /* "path: why": not parsed, or only in part */
};
void scan_report_release(struct scan_report *r);
DEFINE_CLEANUP(scan_report)

/* Rules of a project, relative to its top. */
#define SCAN_RULES_DIR ".exitpath/rules"

/* The rules that are carried along, then those in dir. */
int engine_scan_rules(const char *dir, struct scan_rules *ret, struct err *err);
/* All that leads from one commit to another and its notes; the rules are those of the
 * working tree. */
struct repo;
int engine_scan_between(struct repo *r, const char *base, const char *candidate,
			struct scan_report *ret, struct err *err);
int engine_scan(const struct scan_opts *opts, struct scan_report *ret, struct err *err);

#endif
