#include "engine/review.h"

#include "base/clock.h"
#include "base/mem.h"
#include "engine/review_parts.h"
#include "review/review.h"
#include "source/source.h"

#include <string.h>

enum { MAX_BYTES = 4 << 20 }; /* of one side of a changed file */

static int resolve(struct repo *r, const struct review_opts *opts,
		   struct review_report *ret, struct err *err)
{
	CLEANUP_FREE char *base = opts->base ? xstrdup(opts->base) : NULL;

	if (!base && rev_default_base(r, &base, err) < 0)
		return -1;
	if (rev_resolve(r, base, &ret->base, err) < 0)
		return -1;
	return rev_resolve(r, opts->candidate ? opts->candidate : REV_WORKTREE,
			   &ret->candidate, err);
}

static size_t take_files(const struct rev_changes *changes, struct review_file *files,
			 struct review_report *ret)
{
	size_t n = 0;

	for (size_t i = 0; i < changes->n; i++) {
		const struct rev_change *c = &changes->v[i];
		const char *path = c->path ? c->path : c->old_path;

		if (c->too_large)
			strv_addf(&ret->skipped, "%s: it is too large", path);
		else if (c->is_text && !source_is_vendored(path))
			files[n++] = (struct review_file){
				.old_path = c->old_path,
				.path = c->path,
				.old_text = buf_str(&c->old_text),
				.text = buf_str(&c->text),
				.old_len = c->old_text.len,
				.len = c->text.len,
			};
		review_contract(c, &ret->items);
	}
	return n;
}

int engine_review_between(struct repo *r, const char *base, const char *candidate,
			  struct review_report *ret, struct err *err)
{
	CLEANUP(rev_changes) struct rev_changes changes = {0};
	struct review_modules *modules = NULL;
	struct review_file *files;
	struct review_patch patch = {.knows_module = review_modules_know};
	char now[21];
	int rc;

	if (rev_changes(r, base, candidate, MAX_BYTES, &changes, err) < 0 ||
	    review_modules_read(r, base, candidate, &modules, err) < 0)
		return -1;
	files = xcalloc(changes.n + 1, sizeof(*files));
	ret->files = changes.n;
	patch.files = files;
	patch.n = take_files(&changes, files, ret);
	patch.ctx = modules;
	review_patch(&patch, &ret->items);
	clock_iso(now);
	now[10] = '\0';
	rc = review_allow(r, base, candidate, now, &ret->items, err);
	ret->outcome = review_outcome(&ret->items, ret->strict);
	review_modules_free(modules);
	free(files);
	return rc;
}

int engine_review(const struct review_opts *opts, struct review_report *ret,
		  struct err *err)
{
	struct repo *r = repo_open(opts->dir, opts->store, err);
	int rc;

	if (!r)
		return -1;
	ret->strict = opts->strict;
	rc = resolve(r, opts, ret, err) < 0
		     ? -1
		     : engine_review_between(r, ret->base.commit, ret->candidate.commit,
					     ret, err);
	repo_close(r);
	return rc;
}

void review_report_release(struct review_report *r)
{
	revision_release(&r->base);
	revision_release(&r->candidate);
	review_items_release(&r->items);
	strv_release(&r->skipped);
}
