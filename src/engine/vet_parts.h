/* What the files of `exitpath vet` share. Internal to engine/vet*.c. */
#ifndef EXITPATH_ENGINE_VET_PARTS_H
#define EXITPATH_ENGINE_VET_PARTS_H

#include "engine/run_line.h"
#include "engine/vet.h"
#include "proc/pool.h"
#include "rev/rev.h"
#include "store/store.h"
#include "vet/judge.h"

/* A process that executes a test often may take as many times what one may. */
enum { VET_RUN_LIMITS = 5 };

/* ---- vet_place.c: a revision, ready for tests ---- */

struct vet_place {
	struct sandbox sandbox;
	struct strv env;
	char *code; /* directory of the adapter's files, as runs see it */
	struct pool *pool;
};
struct vet_places {
	const struct vet_opts *opts;
	char *scratch;
	char *top;	     /* of the project, as runs see it */
	struct strv targets; /* absolute files */
	struct vet_place right, buggy;
	struct repo *repo; /* of the buggy revision; NULL: there is none */
	struct revision_info rev;
	struct checkout checkout;
	bool have_checkout;
};
/* ERR_USAGE when the target cannot be loaded. */
int vet_places_open(struct vet_places *p, const struct vet_opts *opts, struct err *err);
void vet_places_close(struct vet_places *p);

/* ---- vet_input.c: tests, one after the other ---- */

struct vet_input {
	const struct vet_opts *opts;
	struct strv files;
	size_t next; /* of files */
	bool from_files, read_done;
	struct lines lines;
};
enum vet_next {
	VET_NEXT_NONE, /* for now: poll `in`; or at the end */
	VET_NEXT_TEST,
	VET_NEXT_BAD, /* not a test; ret_why says why */
};
int vet_input_open(struct vet_input *in, const struct vet_opts *opts, struct err *err);
bool vet_input_over(const struct vet_input *in);
bool vet_input_waits(const struct vet_input *in); /* for bytes */
int vet_input_read(struct vet_input *in, struct err *err);
/* ret: name, path and source are set; of a bad one the name. */
enum vet_next vet_input_next(struct vet_input *in, struct vet_test *ret, char **ret_why);
void vet_input_close(struct vet_input *in);

/* ---- vet_record.c: verdicts, kept in the store ---- */

struct vet_record {
	struct repo *repo;
	struct store *store; /* NULL: nothing is kept */
	char *target;
	struct vet_test *waiting;
	size_t n, cap;
	uint64_t since_us; /* when the first of them came */
};
/* Outside of a repository, or where it cannot be written, nothing is kept, and a note
 * says so; not when a store is asked for. */
int vet_record_open(struct vet_record *r, const struct vet_opts *opts, struct strv *notes,
		    struct err *err);
/* Takes over what *t owns, but for what later tests are compared with. */
int vet_record_add(struct vet_record *r, struct vet_test *t, struct err *err);
int vet_record_flush(struct vet_record *r, struct err *err);
void vet_record_close(struct vet_record *r);
/* "a.py,b.py": how the store calls a target. The caller frees. */
char *vet_target_name(const struct strv *targets);

/* ---- vet_stream.c ---- */

int vet_stream(struct vet_places *places, struct vet_input *in, struct vet_record *record,
	       struct vet_report *ret, struct err *err);

#endif
