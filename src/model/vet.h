/* What became of a generated test: verdict, score, and what is missing. */
#ifndef EXITPATH_MODEL_VET_H
#define EXITPATH_MODEL_VET_H

#include "base/json.h"
#include "base/strv.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum vet_stage {
#define STAGE(id, name, what) VET_##id,
#include "model/vet_stage.def"
#undef STAGE
	VET_STAGES
};
const char *vet_stage_name(enum vet_stage s);

enum vet_verdict {
	VET_ACCEPTED,
	VET_REJECTED,
	VET_ERROR, /* nothing is known: what should have judged it did not work */
};
const char *vet_verdict_name(enum vet_verdict v); /* "accepted" … */

/* Thresholds. */
struct vet_settings {
	double coverage;   /* at least: of the branches of the functions it enters */
	double kill_rate;  /* at least: of the mutants that it reaches */
	double score;	   /* at least */
	uint64_t limit_ms; /* one execution ends then */
	uint64_t time_ms;  /* one execution that takes longer is not worth it */
	unsigned mutants;  /* tried for one test, at most */
};
#define VET_DEFAULTS                                                               \
	{                                                                          \
		.coverage = 0.6, .kill_rate = 0.3, .score = 0.5, .limit_ms = 5000, \
		.time_ms = 2000, .mutants = 40                                     \
	}

/* Why it is rejected, or what its author should know. */
struct vet_reason {
	enum vet_stage stage;
	unsigned line; /* in the test's file; 0: none */
	char *text;
};
struct vet_reasons {
	struct vet_reason *v;
	size_t n, cap;
};
void vet_reason_add(struct vet_reasons *r, enum vet_stage stage, unsigned line,
		    const char *fmt, ...) PRINTF(4, 5);
void vet_reasons_release(struct vet_reasons *r);

#define VET_UNKNOWN (-1.0) /* a measure that was not taken */

struct vet_test {
	char *name;
	char *path; /* of its file, as given; NULL: from standard input */
	enum vet_verdict verdict;
	double score, coverage, kill_rate;
	struct vet_reasons reasons;  /* of a rejection; none when accepted */
	struct vet_reasons feedback; /* what would make it better */
	char *shape;		     /* the same for tests that say the same */
	struct strv kills, branches; /* keys of mutants killed, of branches taken */
	unsigned asserts, executions;
	double ms; /* one execution */
	char *source;
};
void vet_test_release(struct vet_test *t);
DEFINE_CLEANUP(vet_test)

/* One object, as `exitpath vet` prints it. */
json_t *vet_test_json(const struct vet_test *t);

#endif
