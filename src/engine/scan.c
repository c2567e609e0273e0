#include "engine/scan.h"

#include "base/fs.h"
#include "base/mem.h"
#include "contract/rules.h"
#include "engine/scan_parts.h"
#include "engine/sources.h"
#include "scan/scan.h"
#include "source/source.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct worker {
	struct scan_findings findings;
	struct strv skipped;
	size_t files, ignored;
	uint64_t lines;
};

struct scanning {
	const struct source_files *files;
	const struct scan_set *rules;
	struct worker workers[16]; /* source_jobs(): at most so many */
};

static void scan_one(void *ctx, unsigned worker, size_t index,
		     const struct source_tree *t)
{
	struct scanning *s = ctx;
	struct worker *w = &s->workers[worker];
	const char *path = s->files->v[index].path;

	w->files++;
	if (t->skipped) {
		strv_addf(&w->skipped, "%s: %s", path, t->skipped);
		return;
	}
	for (const char *p = t->text;
	     (p = memchr(p, '\n', t->len - (size_t)(p - t->text))); p++)
		w->lines++;
	scan_file(s->rules, t, path, &w->findings, &w->ignored);
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void collect(struct scanning *s, struct scan_report *ret)
{
	for (size_t i = 0; i < ARRAY_SIZE(s->workers); i++) {
		struct worker *w = &s->workers[i];

		ret->files += w->files;
		ret->lines += w->lines;
		ret->ignored += w->ignored;
		for (size_t j = 0; j < w->findings.n; j++)
			*scan_findings_add(&ret->findings) = w->findings.v[j];
		free(w->findings.v);
		strv_copy(&ret->skipped, w->skipped.v);
		strv_release(&w->skipped);
	}
	/* Not as the threads came to them. */
	if (ret->skipped.n)
		qsort(ret->skipped.v, ret->skipped.n, sizeof(*ret->skipped.v), by_text);
}

/* Sorts, and leaves those that were asked for. */
static void choose(const struct scan_opts *opts, struct scan_report *ret)
{
	struct scan_findings *all = &ret->findings;
	size_t n = 0;

	scan_findings_sort(all);
	for (size_t i = 0; i < all->n; i++) {
		struct scan_finding *f = &all->v[i];
		bool low = f->severity < opts->severity;

		if (opts->rule && strcmp(opts->rule, f->rule) != 0) {
			scan_finding_release(f);
			continue;
		}
		ret->notes += low;
		if (low)
			scan_finding_release(f);
		else
			all->v[n++] = *f;
	}
	all->n = n;
}

int engine_scan_rules(const char *dir, struct scan_rules *ret, struct err *err)
{
	return rules_builtin(ret, err) < 0 ? -1 : rules_load_dir(dir, ret, err);
}

static int check_rule(const struct scan_opts *opts, const struct scan_rules *rules,
		      struct err *err)
{
	if (!opts->rule || scan_rule_find(rules, opts->rule))
		return 0;
	err_set(err, ERR_USAGE, "there is no rule \"%s\"", opts->rule);
	err_hint(err, "exitpath scan --explain all lists them");
	return -1;
}

static int scan_all(const struct scan_set *set, const struct scan_opts *opts,
		    struct scan_report *ret, struct err *err)
{
	CLEANUP(source_files) struct source_files files = {0};
	struct scanning s = {.files = &files, .rules = set};

	if (engine_sources(opts->paths, &files, err) < 0)
		return -1;
	if (!files.n) {
		err_set(err, ERR_USAGE, "no file of a known language");
		err_hint(err, "C, C++, Python, Go, JavaScript, TypeScript, Java and Rust "
			      "are known by their extensions");
		return -1;
	}
	source_each(&files, opts->jobs, NULL, scan_one, &s);
	ret->generated = files.generated;
	ret->vendored = files.vendored;
	collect(&s, ret);
	return 0;
}

int engine_scan(const struct scan_opts *opts, struct scan_report *ret, struct err *err)
{
	struct scan_set *set;
	int rc;

	*ret = (struct scan_report){0};
	if (engine_scan_rules(SCAN_RULES_DIR, &ret->rules, err) < 0 ||
	    check_rule(opts, &ret->rules, err) < 0)
		return -1;
	set = scan_set_new(&ret->rules, err);
	if (!set)
		return -1;
	rc = opts->diff ? scan_diff(set, opts, ret, err) : scan_all(set, opts, ret, err);
	scan_set_free(set);
	if (rc < 0)
		return -1;
	choose(opts, ret);
	ret->outcome = ret->findings.n ? OUTCOME_DEFECT : OUTCOME_CLEAN;
	return 0;
}

void scan_report_release(struct scan_report *r)
{
	scan_findings_release(&r->findings);
	scan_rules_release(&r->rules);
	strv_release(&r->skipped);
}
