/* Which detectors work on this machine, and which isolation can be had, proved by running
 * canaries. */
#ifndef EXITPATH_ENGINE_DOCTOR_H
#define EXITPATH_ENGINE_DOCTOR_H

#include "base/err.h"
#include "base/strv.h"
#include "engine/progress.h"
#include "model/limits.h"
#include "model/sandbox.h"

#include <stdbool.h>
#include <stddef.h>

struct doctor_row {
	const char *name, *summary;
	char *version; /* NULL: not found */
	bool works;    /* the canary was run and seen */
	bool untried;  /* it takes a server, and none is named */
	char *detail;  /* why not */
	char *install; /* the next step when it does not work; else NULL */
};

struct doctor {
	struct doctor_row *rows;
	size_t nrows, rows_cap;
	/* Can runs be sandboxed, proved by making a sandbox; why not, and the next step.
	 */
	bool sandbox_works;
	char *sandbox_why, *sandbox_next;
	struct strv namespaces; /* that can be made here: "user", "mount" … */
	struct strv missing;	/* that cannot */
	int landlock;		/* ABI; 0: none */
	enum limit_tier tier;	/* how memory and processes are capped */
	char *tier_why;		/* why not better, and what to do; NULL: it is the best */
};

struct doctor_opts {
	enum isolation isolation; /* canaries are sandboxed, unless none or impossible */
	/* URL of a database server, or $NAME of a variable that has it; NULL: the first
	 * that a lifecycle of the contract names. */
	const char *server;
	const char *contract; /* its path; NULL: that of the current directory, if any */
};
int engine_doctor(const struct doctor_opts *opts, const struct progress *progress,
		  struct doctor *ret, struct err *err);
void doctor_release(struct doctor *d);

#endif
