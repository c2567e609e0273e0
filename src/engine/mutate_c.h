/* Mutants of C. Internal to engine/mutate*.c. */
#ifndef EXITPATH_ENGINE_MUTATE_C_H
#define EXITPATH_ENGINE_MUTATE_C_H

#include "abi/mutants.h"
#include "engine/mutate.h"
#include "instrument/mutants_c.h"
#include "model/run.h"
#include "rev/changes.h"
#include "rev/rev.h"

struct mutate_file {
	char *path; /* below the top of the checkout */
	struct buf text;
	struct source_tree tree;
	struct mutants mutants;
	uint32_t first;		     /* number of its first mutant */
	struct buf written;	     /* the rewritten file, … */
	size_t head;		     /* … and where its own first line begins */
	struct mutant_place *places; /* of each mutant in written */
};

struct mutate_c {
	const struct mutate_opts *opts;
	struct mutate_report *report;
	struct repo *repo;
	struct revision_info rev;
	struct checkout checkout;
	bool have_checkout;
	char *cwd; /* of commands, as they see it */
	struct sandbox views;
	char *scratch, *shared; /* shared: seen by all runs at its own path */
	char *map, *library;
	size_t runs;
	struct source_parser *parser;
	struct mutate_file *files;
	size_t nfiles, files_cap;
	uint32_t n;    /* mutants of all files */
	uint8_t *used; /* of each: it is in the build */
	bool loud;     /* warnings of what is rewritten cannot be kept quiet */
};

/* mutate_c.c */
struct mutate_file *mutate_c_file_of(const struct mutate_c *m, uint32_t id);
/* One run of a command. Its standard error and output are added to ret_said, unless NULL.
 */
int mutate_c_run(struct mutate_c *m, char *const *argv, bool builds, uint64_t limit_ms,
		 bool forks, struct run_result *ret, struct buf *ret_said,
		 struct err *err);

/* mutate_c_build.c: builds what can be built; clears used[] of the rest. */
int mutate_c_build(struct mutate_c *m, struct err *err);

/* mutate_c_try.c: fills verdicts[] of all that are used. */
int mutate_c_try(struct mutate_c *m, enum mutant_verdict *verdicts, struct err *err);

#endif
