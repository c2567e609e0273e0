/*
 * Mutants of Python: texts, found here in trees, tried by the adapter in forks of an
 * interpreter that has the tests (adapters/python/exitpath_mutate.py). Nothing is
 * written: not a file of the project changes.
 */
#include "engine/mutate_python.h"

#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"
#include "engine/sources.h"
#include "rev/changes.h"
#include "rev/rev.h"

#include <string.h>

static bool is_changed(const struct rev_ranges *changed, const char *prefix,
		       const char *path, unsigned first, unsigned last)
{
	CLEANUP_FREE char *full = *prefix ? path_join(prefix, path) : xstrdup(path);

	for (size_t i = 0; i < changed->n; i++)
		if (!strcmp(changed->v[i].path, full) && first <= changed->v[i].last &&
		    last >= changed->v[i].first)
			return true;
	return false;
}

struct changes {
	struct repo *repo;
	struct rev_ranges ranges;
};

static int find_changes(const struct mutate_opts *opts, struct changes *c,
			struct err *err)
{
	struct revision_info base = {0}, tree = {0};
	int rc = -1;

	c->repo = repo_open(opts->dir, opts->store, err);
	if (c->repo && rev_resolve(c->repo, opts->diff, &base, err) == 0 &&
	    rev_resolve(c->repo, REV_WORKTREE, &tree, err) == 0)
		rc = rev_changed_lines(c->repo, base.commit, tree.commit, &c->ranges,
				       err);
	revision_release(&base);
	revision_release(&tree);
	return rc;
}

static void drop_unchanged(struct mutants *found, const struct changes *c,
			   const char *path)
{
	size_t kept = 0;

	for (size_t i = 0; i < found->n; i++) {
		struct mutant *x = &found->v[i];
		/* Of a whole body its beginning counts. */
		unsigned last = x->form == MUTANT_GONE ? x->line : x->end_line;

		if (is_changed(&c->ranges, repo_prefix(c->repo), path, x->line, last))
			found->v[kept++] = *x;
		else
			mutant_release(x);
	}
	found->n = kept;
	mutants_one_a_line(found);
}

/* Mutants as rows. */
static void add_file(struct mutate_python *m, struct source_parser *parser,
		     const char *path, const struct buf *text, const struct changes *c)
{
	struct mutate_report *r = m->report;
	CLEANUP(source_tree) struct source_tree t = {0};
	CLEANUP(mutants) struct mutants found = {0};
	size_t cap;

	source_parse(parser, LANG_PYTHON, buf_str(text), text->len, NULL, &t);
	if (t.skipped) {
		strv_addf(&r->notes, "%s: %s", path, t.skipped);
		return;
	}
	mutants_python_find(&t, &found);
	if (c)
		drop_unchanged(&found, c, path);
	if (!found.n)
		return;
	strv_take(&m->paths, path_join(m->opts->dir, path));
	for (size_t i = 0; i < found.n; i++) {
		struct mutant *x = &found.v[i];
		struct mutate_row *row = VEC_ADD(r->v, r->n, r->cap);
		struct mutate_try *try;

		cap = r->n - 1;
		try = VEC_ADD(m->tries, cap, m->cap);
		*try = (struct mutate_try){
			.path = m->paths.v[m->paths.n - 1],
			.first = mutants_python_first_line(&t, x),
		};
		*row = (struct mutate_row){
			.path = xstrdup(path),
			.line = x->line,
			.column = x->column,
			.end_line = x->end_line,
			.end_column = x->end_column,
			.start = x->start,
			.end = x->end,
			.operator_ = x->operator_,
			.before = xstrndup(text->data + x->start, x->end - x->start),
			.after = TAKE_PTR(x->text),
			.verdict = MUTANT_UNDECIDED,
			.whole = true,
		};
	}
}

static int find(struct mutate_python *m, const struct changes *c, struct err *err)
{
	CLEANUP(source_files) struct source_files files = {0};
	struct source_parser *parser;
	bool chosen = m->opts->targets && m->opts->targets->n;
	int rc = 0;

	if (engine_sources(m->opts->targets, &files, err) < 0)
		return -1;
	parser = source_parser_new();
	for (size_t i = 0; i < files.n && rc == 0; i++) {
		const char *path = files.v[i].path;
		CLEANUP(buf) struct buf text = {0};

		while (!strncmp(path, "./", 2))
			path += 2;
		if (files.v[i].lang != LANG_PYTHON || (!chosen && mutate_is_test(path)))
			continue;
		rc = read_file(path, SOURCE_MAX_BYTES, &text, err);
		if (rc == 0 && !source_is_generated(path, buf_str(&text), text.len))
			add_file(m, parser, path, &text, c);
	}
	source_parser_free(parser);
	if (rc < 0 || m->report->n)
		return rc;
	err_set(err, ERR_USAGE, "there is no code of Python to mutate%s%s",
		c ? " that changed since " : "", c ? m->opts->diff : "");
	err_hint(err, "--target names the files or directories; tests are left out");
	return -1;
}

int mutate_python(const struct mutate_opts *opts, struct mutate_report *ret,
		  struct err *err)
{
	struct mutate_python m = {.opts = opts, .report = ret};
	struct changes c = {0};
	uint64_t start = clock_us();
	int rc = -1;

	if ((!opts->diff || find_changes(opts, &c, err) == 0) &&
	    find(&m, opts->diff ? &c : NULL, err) == 0)
		rc = mutate_python_try(&m, err);
	for (size_t i = 0; rc == 0 && i < ret->n; i++)
		ret->count[ret->v[i].verdict]++;
	rev_ranges_release(&c.ranges);
	if (c.repo)
		repo_close(c.repo);
	free(m.tries);
	free(m.failed);
	free(m.malformed);
	strv_release(&m.paths);
	ret->wall_us = clock_us() - start;
	return rc;
}
