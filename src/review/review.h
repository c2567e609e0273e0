/*
 * `exitpath review`: what a patch does to the checks that are to judge it. Both texts of
 * every changed file go in, items come out; nothing is read or run.
 */
#ifndef EXITPATH_REVIEW_REVIEW_H
#define EXITPATH_REVIEW_REVIEW_H

#include "model/review.h"

#include <stdbool.h>
#include <stddef.h>

/* A changed file. Nothing is owned; texts are NUL-terminated. */
struct review_file {
	const char *old_path, *path; /* NULL: it was added, or deleted */
	const char *old_text, *text; /* "" where there is none */
	size_t old_len, len;
};

struct review_patch {
	const struct review_file *files;
	size_t n;
	/*
	 * Whether a module that a test replaces is one: in a manifest of the repository,
	 * a file or directory of it, or part of the language. NULL: nobody can tell.
	 * `from` is the path of the file that names it.
	 */
	bool (*knows_module)(void *ctx, const char *module, const char *from);
	void *ctx;
};

void review_patch(const struct review_patch *patch, struct review_items *out);

#endif
