/*
 * `exitpath mutate`: which changes of the code under test do its tests notice?
 */
#ifndef EXITPATH_ENGINE_MUTATE_H
#define EXITPATH_ENGINE_MUTATE_H

#include "base/err.h"
#include "base/json.h"
#include "base/strv.h"
#include "engine/progress.h"
#include "model/outcome.h"
#include "model/sandbox.h"

#include <stdbool.h>
#include <stdint.h>

enum mutant_verdict {
	MUTANT_KILLED,
	MUTANT_SURVIVED,
	MUTANT_UNREACHED,  /* no test runs that code */
	MUTANT_UNDECIDED,  /* alone and with more time, it was late again */
	MUTANT_INVALID,	   /* does not compile */
	MUTANT_EQUIVALENT, /* compiles to the same code (Python) */
	MUTANT_VERDICTS,
};
const char *mutant_verdict_name(enum mutant_verdict v);

struct mutate_row {
	char *path; /* below the top of the repository */
	unsigned line, column, end_line, end_column;
	uint32_t start, end; /* bytes of the file */
	const char *operator_;
	char *before, *after; /* texts; after "" : it is gone */
	enum mutant_verdict verdict;
	/* Python: tests that reached it (some of them, and how
	 * many), the one that killed it, and why it is undecided. NULL, 0: not known */
	bool whole; /* path is relative to the directory, and after stands there as it is
		     */
	struct strv tests;
	size_t reached;
	char *by, *why;
};

struct mutate_opts {
	const char *dir;   /* absolute */
	const char *store; /* NULL: the default */
	const struct strv
		*targets;  /* files and directories, relative to dir; none: all */
	const char *setup; /* what builds the program; a line of shell */
	const char *diff;  /* mutate what changed since then, one a line; NULL */
	char *const *argv; /* the tests */
	enum isolation isolation;
	uint64_t limit_ms; /* of the tests without a mutant */
	unsigned jobs;
	bool fork; /* try mutants in forks where that is safe */
	const struct progress *progress;
};

struct mutate_report {
	struct mutate_row *v;
	size_t n, cap;
	size_t count[MUTANT_VERDICTS];
	size_t forked, reruns, builds;
	uint64_t build_us, test_us; /* one build; the tests once */
	uint64_t fork_us, wall_us;  /* the run that forks; all */
	struct strv notes;
	enum outcome outcome;
};
/* ERR_USAGE when there is nothing to mutate, it does not build, or the tests fail. */
int engine_mutate(const struct mutate_opts *opts, struct mutate_report *ret,
		  struct err *err);
void mutate_report_release(struct mutate_report *r);
DEFINE_CLEANUP(mutate_report)

/* The language that mutates: by the command. Internal to engine/mutate*.c. */
int mutate_c(const struct mutate_opts *opts, struct mutate_report *ret, struct err *err);
int mutate_python(const struct mutate_opts *opts, struct mutate_report *ret,
		  struct err *err);
/* Of a path below the directory that is mutated. */
bool mutate_is_test(const char *path);

/* mutation-testing-report-schema, version 2, of all files with mutants. texts: dir/path.
 */
json_t *mutate_schema(const struct mutate_report *r, const char *dir);

/* Killed, of those that are decided and were not killed by the compiler; -1: none. */
double mutate_score(const struct mutate_report *r);

#endif
