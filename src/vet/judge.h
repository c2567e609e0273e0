/*
 * From what the adapter saw of one test to its verdict. What it says is a JSON object,
 * written by the process that the test was executed from: fields that are missing or of
 * another type are as if nothing had been seen, and then nothing is accepted.
 */
#ifndef EXITPATH_VET_JUDGE_H
#define EXITPATH_VET_JUDGE_H

#include "model/run.h"
#include "model/vet.h"

/* One process, and the last line that it wrote. */
struct vet_sight {
	bool asked, broken; /* broken: it says itself that it does not work */
	struct run_result run;
	json_t *seen; /* NULL: it ended before it could say */
	char *stage;  /* that it had said it would begin; NULL: none */
	char *said;   /* the last line of its standard error; NULL: none */
};
void vet_sight_release(struct vet_sight *s);
/* Reads what a process wrote. */
void vet_sight_take(struct vet_sight *s, const struct run_result *run, const char *out,
		    size_t len, const char *err);

struct vet_sights {
	struct vet_sight judge; /* on the right code, under all conditions but … */
	struct vet_sight again; /* … another hash seed: a new process */
	struct vet_sight buggy; /* on the buggy revision, if there is one */
};

/* The names of the tests of a file that has several, else NULL. Borrowed. */
const json_t *vet_several(const struct vet_sight *judge);
/* Is it worth asking the others? */
bool vet_promising(const struct vet_sight *judge, const struct vet_settings *settings);
/* max(0, min(1, 0.4 · coverage + 0.6 · kill rate − 0.2 · errors)) */
double vet_score(double coverage, double kill_rate, unsigned errors);
/* Fills all of ret but name and path; says nothing of duplicates. Of a file of several
 * tests the source becomes that of the one. */
void vet_judge(const struct vet_sights *s, const struct vet_settings *settings,
	       struct vet_test *ret);

#endif
