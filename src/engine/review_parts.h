/* Parts of `exitpath review` that need more than texts. Internal to engine/review*.c */
#ifndef EXITPATH_ENGINE_REVIEW_PARTS_H
#define EXITPATH_ENGINE_REVIEW_PARTS_H

#include "model/review.h"
#include "rev/changes.h"
#include "rev/rev.h"

/* Adds what a change of a contract does; false when the file is none. */
bool review_contract(const struct rev_change *c, struct review_items *out);

/* Gives a justification to what the contract of either revision allows, as long as that
 * has not expired. today: YYYY-MM-DD */
int review_allow(struct repo *r, const char *base, const char *candidate,
		 const char *today, struct review_items *items, struct err *err);

/* What is known of modules: the candidate's files and manifests, and what base imports.
 * Borrows the repository. */
struct review_modules;
int review_modules_read(struct repo *r, const char *base, const char *candidate,
			struct review_modules **ret, struct err *err);
void review_modules_free(struct review_modules *m);
/* review_patch.knows_module; ctx is the review_modules. */
bool review_modules_know(void *ctx, const char *module, const char *from);

#endif
