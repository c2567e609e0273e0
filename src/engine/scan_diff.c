/*
 * What a patch adds: the findings of each changed file as it is, without those that it
 * had before (the same rule, function and words; lines move). Those are notes, when the
 * patch touches their function.
 */
#include "base/fs.h"
#include "base/mem.h"
#include "engine/scan_parts.h"
#include "rev/changes.h"
#include "rev/rev.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_BYTES = 4 << 20 };

struct scan_diff {
	const struct scan_set *set;
	struct source_parser *parser;
};

static void scan_text(struct scan_diff *d, const char *path, const struct buf *text,
		      struct scan_findings *out, struct scan_report *ret)
{
	CLEANUP(source_tree) struct source_tree t = {0};
	enum source_lang lang = source_lang_of(path, buf_str(text), text->len);

	if (lang == LANG_NONE || source_is_generated(path, buf_str(text), text->len))
		return;
	source_parse(d->parser, lang, buf_str(text), text->len, NULL, &t);
	if (t.skipped)
		strv_addf(&ret->skipped, "%s: %s", path, t.skipped);
	else
		scan_file(d->set, &t, path, out, &ret->ignored);
}

static bool is_same(const struct scan_finding *a, const struct scan_finding *b)
{
	return !strcmp(a->rule, b->rule) && !strcmp(a->message, b->message) &&
	       !strcmp(a->function ? a->function : "", b->function ? b->function : "");
}

/* Takes one that is the same out of `old`. */
static bool was_there(struct scan_findings *old, const struct scan_finding *f)
{
	for (size_t i = 0; i < old->n; i++)
		if (is_same(&old->v[i], f)) {
			scan_finding_release(&old->v[i]);
			old->v[i] = old->v[--old->n];
			return true;
		}
	return false;
}

static bool is_touched(const struct rev_ranges *ranges, const struct scan_finding *f)
{
	for (size_t i = 0; i < ranges->n; i++)
		if (!strcmp(ranges->v[i].path, f->path) &&
		    f->line >= ranges->v[i].first && f->line <= ranges->v[i].last)
			return true;
	return false;
}

static void scan_change(struct scan_diff *d, const struct rev_change *c,
			const struct rev_ranges *ranges, struct scan_report *ret)
{
	CLEANUP(scan_findings) struct scan_findings old = {0};
	CLEANUP(scan_findings) struct scan_findings now = {0};

	if (!c->path || source_is_vendored(c->path) ||
	    source_lang_of_path(c->path) == LANG_NONE)
		return;
	if (c->too_large || !c->is_text) {
		strv_addf(&ret->skipped, "%s: %s", c->path,
			  c->too_large ? "it is too large" : "it is no text");
		return;
	}
	ret->files++;
	scan_text(d, c->path, &c->text, &now, ret);
	if (c->old_path) {
		struct scan_report before = {0};

		scan_text(d, c->old_path, &c->old_text, &old, &before);
		strv_release(&before.skipped);
	}
	for (size_t i = 0; i < now.n; i++) {
		struct scan_finding *f = &now.v[i];

		if (was_there(&old, f)) {
			if (!is_touched(ranges, f)) {
				scan_finding_release(f);
				continue;
			}
			f->severity = SCAN_NOTE;
			f->inherited = true;
		}
		*scan_findings_add(&ret->findings) = *f;
	}
	now.n = 0;
}

static int scan_between(struct repo *r, struct scan_diff *d, const char *base,
			const char *candidate, struct scan_report *ret, struct err *err)
{
	CLEANUP(rev_changes) struct rev_changes changes = {0};
	CLEANUP(rev_ranges) struct rev_ranges ranges = {0};

	if (rev_changes(r, base, candidate, MAX_BYTES, &changes, err) < 0 ||
	    rev_changed_ranges(r, base, candidate, &ranges, err) < 0)
		return -1;
	for (size_t i = 0; i < changes.n; i++)
		scan_change(d, &changes.v[i], &ranges, ret);
	return 0;
}

static int scan_between_with(const struct scan_set *set, struct repo *r, const char *base,
			     const char *candidate, struct scan_report *ret,
			     struct err *err)
{
	struct scan_diff d = {.set = set, .parser = source_parser_new()};
	int rc = scan_between(r, &d, base, candidate, ret, err);

	source_parser_free(d.parser);
	return rc;
}

int scan_diff(const struct scan_set *set, const struct scan_opts *opts,
	      struct scan_report *ret, struct err *err)
{
	struct repo *r = repo_open(".", opts->store, err);
	struct revision_info base = {0}, candidate = {0};
	int rc = -1;

	if (!r)
		return -1;
	if (rev_resolve(r, opts->diff, &base, err) == 0 &&
	    rev_resolve(r, REV_WORKTREE, &candidate, err) == 0)
		rc = scan_between_with(set, r, base.commit, candidate.commit, ret, err);
	revision_release(&base);
	revision_release(&candidate);
	repo_close(r);
	return rc;
}

int engine_scan_between(struct repo *r, const char *base, const char *candidate,
			struct scan_report *ret, struct err *err)
{
	CLEANUP_FREE char *dir = path_join(repo_top(r), SCAN_RULES_DIR);
	struct scan_set *set;
	int rc;

	*ret = (struct scan_report){0};
	if (engine_scan_rules(dir, &ret->rules, err) < 0)
		return -1;
	set = scan_set_new(&ret->rules, err);
	if (!set)
		return -1;
	rc = scan_between_with(set, r, base, candidate, ret, err);
	scan_set_free(set);
	if (rc == 0)
		scan_findings_sort(&ret->findings);
	return rc;
}
