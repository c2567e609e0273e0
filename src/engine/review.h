/* `exitpath review`: the texts of both revisions, the contract, and what is a module. */
#ifndef EXITPATH_ENGINE_REVIEW_H
#define EXITPATH_ENGINE_REVIEW_H

#include "base/err.h"
#include "base/strv.h"
#include "model/result.h"
#include "model/review.h"

/* Nothing is owned; NULL where the user said nothing. */
struct review_opts {
	const char *dir, *store;
	const char *base, *candidate;
	bool strict; /* whatever is shown rejects, too */
};

struct review_report {
	enum outcome outcome;
	bool strict;
	struct revision_info base, candidate;
	struct review_items items;
	size_t files;	     /* that the patch changes */
	struct strv skipped; /* "path: why": not looked into */
};
void review_report_release(struct review_report *r);
DEFINE_CLEANUP(review_report)

/* From one commit to another: fills items, files, skipped and outcome; ret->strict is
 * read. */
struct repo;
int engine_review_between(struct repo *r, const char *base, const char *candidate,
			  struct review_report *ret, struct err *err);
int engine_review(const struct review_opts *opts, struct review_report *ret,
		  struct err *err);

#endif
