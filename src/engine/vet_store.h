/* `exitpath vet list|show|export`: generated tests that were judged. */
#ifndef EXITPATH_ENGINE_VET_STORE_H
#define EXITPATH_ENGINE_VET_STORE_H

#include "base/err.h"
#include "base/json.h"
#include "base/strv.h"

struct vet_kept {
	const char *dir, *store;    /* store NULL: that of the repository at dir */
	const struct strv *targets; /* none: of all targets */
};

/* An array of objects: key, target, judged, and all that the verdict had; without the
 * sources and keys unless `whole`. name NULL: all; else those of that name or key, the
 * beginning of a key is enough. */
int engine_vet_list(const struct vet_kept *kept, const char *name, bool whole,
		    json_t **ret, struct err *err);

/*
 * Writes accepted tests into out, which is made when it is not there: a file each, and
 * manifest.json that says what each kills. Without `all` only the fewest that together
 * kill what all of them do. ret_written, of ret_accepted.
 */
int engine_vet_export(const struct vet_kept *kept, const char *out, bool all,
		      size_t *ret_written, size_t *ret_accepted, struct err *err);

#endif
