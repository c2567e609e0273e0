/* Mutants of Python. Internal to engine/mutate_python*.c. */
#ifndef EXITPATH_ENGINE_MUTATE_PYTHON_H
#define EXITPATH_ENGINE_MUTATE_PYTHON_H

#include "engine/mutate.h"
#include "instrument/mutants_python.h"

struct mutate_try {
	const char *path; /* as runs see it; borrowed */
	unsigned first;	  /* line from which on it may be reached */
	bool tried, late;
};

struct mutate_python {
	const struct mutate_opts *opts;
	struct mutate_report *report; /* its rows: all mutants */
	struct mutate_try *tries;     /* of each row */
	size_t cap;
	struct strv paths; /* those that tries borrow */
	char *failed;	   /* the tests without a mutant; NULL: they pass */
	char *malformed;   /* what a report has that no adapter wrote; NULL */
	bool recorded;	   /* the tests have run without a mutant */
	uint64_t tests;
};
/* Fills the verdicts of all rows. */
int mutate_python_try(struct mutate_python *m, struct err *err);

#endif
