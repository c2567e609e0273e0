/* Verdicts on their way into the store: many in one transaction, none for long. */
#include "base/clock.h"
#include "base/mem.h"
#include "engine/vet_parts.h"

#include <string.h>

enum { MANY = 64, LONG_US = 1000000 };

char *vet_target_name(const struct strv *targets)
{
	return strv_join(targets, ",");
}

int vet_record_open(struct vet_record *r, const struct vet_opts *opts, struct strv *notes,
		    struct err *err)
{
	struct err why = {0};

	r->target = vet_target_name(opts->targets);
	r->repo = repo_open(opts->dir, opts->store, &why);
	if (r->repo)
		r->store = store_open(repo_store(r->repo), &why);
	if (r->store)
		return 0;
	if (opts->store || why.kind == ERR_INTERRUPTED) {
		*err = why;
		return -1;
	}
	strv_addf(notes, "not recorded: %s", why.message);
	return 0;
}

int vet_record_flush(struct vet_record *r, struct err *err)
{
	int rc = 0;

	if (r->n && r->store)
		rc = store_vet_put(r->store, r->target, r->waiting, r->n, err);
	for (size_t i = 0; i < r->n; i++)
		vet_test_release(&r->waiting[i]);
	r->n = 0;
	return rc;
}

int vet_record_add(struct vet_record *r, struct vet_test *t, struct err *err)
{
	if (!r->store)
		return 0;
	if (!r->n)
		r->since_us = clock_us();
	*VEC_ADD(r->waiting, r->n, r->cap) = *t;
	*t = (struct vet_test){0};
	if (r->n < MANY && clock_us() - r->since_us < LONG_US)
		return 0;
	return vet_record_flush(r, err);
}

void vet_record_close(struct vet_record *r)
{
	for (size_t i = 0; i < r->n; i++)
		vet_test_release(&r->waiting[i]);
	free(r->waiting);
	free(r->target);
	if (r->store)
		store_close(r->store);
	if (r->repo)
		repo_close(r->repo);
}
