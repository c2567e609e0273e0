/*
 * `exitpath vet`: generated tests, each judged by executing it under all that it must
 * stand. Tests come from files or, one JSON object a line, from a descriptor:
 *
 *	{"test": "name", "source": "text"}
 *
 * Verdicts are told in the order of the tests, each as soon as those before it are known.
 */
#ifndef EXITPATH_ENGINE_VET_H
#define EXITPATH_ENGINE_VET_H

#include "base/err.h"
#include "base/strv.h"
#include "model/limits.h"
#include "model/outcome.h"
#include "model/vet.h"

/* Nothing is owned. */
struct vet_opts {
	const char *dir;	    /* absolute: where tests run */
	const char *store;	    /* NULL: beside the repository */
	const char *contract;	    /* NULL: the nearest */
	const struct strv *targets; /* what is tested; none: as the contract says */
	const struct strv *paths;   /* of tests; none: from `in` */
	const char *buggy;	    /* a revision that tests must fail on; NULL: none */
	const char *python;	    /* the interpreter; NULL: python3 of $PATH */
	int in;
	unsigned workers, queue; /* 0: default, see proc/pool.h */
	struct limits limits;	 /* of one process with all executions of a test */
	uint64_t limit_ms;	 /* of one execution; 0: as the contract says */
	/* engine_vet() fills these in: */
	struct vet_settings settings;
	const struct strv *share; /* what the buggy revision has of the working tree */
	const char *digest;	  /* that decides its checkout, beside its tree */
	/* Each verdict. False: nobody listens, so that it ends. */
	bool (*tell)(void *ctx, const struct vet_test *t);
	void *ctx;
};

struct vet_report {
	enum outcome outcome;
	size_t accepted, rejected, broken;
	uint64_t executions;
	struct strv notes;
};
void vet_report_release(struct vet_report *r);
DEFINE_CLEANUP(vet_report)

/* -1: nothing was judged, or something of ours broke. ERR_USAGE, ERR_ENVIRONMENT,
 * ERR_INTERRUPTED. */
int engine_vet(const struct vet_opts *opts, struct vet_report *ret, struct err *err);

#endif
