/*
 * The report of adapters/python: lines of "TOKEN {json}". The token is the run's: a line
 * without it was written by somebody else.
 */
#ifndef EXITPATH_DETECT_PYTHON_REPORT_H
#define EXITPATH_DETECT_PYTHON_REPORT_H

#include "base/macros.h"
#include "base/strv.h"
#include "model/observation.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PYTHON_LEAKS_MAX = 1000, PYTHON_CYCLES_MAX = 100000 };

struct python_leak {
	struct leak leak; /* signed; with one unit and byte, both zero */
	uint64_t *units;  /* one per measured cycle */
	size_t nunits;
	uint64_t bytes; /* of each cycle */
};

struct python_report {
	bool started, exited, done;
	bool canary;  /* seen before and after the cycles, all that was planted */
	char *missed; /* what of it was not; or NULL */
	char *runner, *python; /* "pytest 8.3.2", "3.11.2" */
	char *refused;	       /* why these tests cannot be observed */
	char *failed;	       /* a test of the first pass, and how */
	bool counted;	       /* the first pass ended */
	uint64_t tests, skipped;
	struct strv notes;
	struct python_leak *leaks;
	size_t nleaks, leaks_cap, dropped;
	char *malformed; /* the first line that cannot be read; or NULL */
};

/* Pure. A last line without its end was cut off, and is left out. */
void python_report_parse(const char *text, size_t len, const char *token,
			 struct python_report *ret);
void python_report_release(struct python_report *r);
DEFINE_CLEANUP(python_report)

#endif
