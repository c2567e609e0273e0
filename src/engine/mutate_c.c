/*
 * Mutants of C: a checkout of the working tree, its files rewritten so that they hold all
 * mutants at once, one build, and then runs that choose one each (shim/mutants.c).
 */
#include "engine/mutate_c.h"

#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"
#include "detect/embed.h"
#include "engine/run_session.h"
#include "instrument/code_c.h"
#include "proc/proc.h"
#include "sandbox/sandbox.h"

#include <string.h>

#define FILE_CAP ((size_t)SOURCE_MAX_BYTES)
#define SAID_CAP ((size_t)4 << 20)
#define MEMORY (UINT64_C(4) << 30) /* of all processes of a run */

/* ---- files ---- */

static bool is_wanted(const struct mutate_c *m, const char *path)
{
	const char *prefix = repo_prefix(m->repo);
	const struct strv *targets = m->opts->targets;

	for (size_t i = 0; targets && i < targets->n; i++) {
		CLEANUP_FREE char *full = *prefix ? path_join(prefix, targets->v[i])
						  : xstrdup(targets->v[i]);
		char *at = full;
		size_t n;

		while (!strncmp(at, "./", 2))
			at += 2;
		n = strlen(at);
		while (n && at[n - 1] == '/')
			n--;
		if (!n || !strcmp(at, ".") ||
		    (!strncmp(path, at, n) && (!path[n] || path[n] == '/')))
			return true;
	}
	return (!targets || !targets->n) && !mutate_is_test(path);
}

static int add_file(struct mutate_c *m, const char *path, struct err *err)
{
	CLEANUP_FREE char *full = path_join(m->checkout.dir, path);
	struct mutate_file *f;
	CLEANUP(buf) struct buf text = {0};

	if (read_file(full, FILE_CAP, &text, err) < 0)
		return -1;
	if (source_lang_of(path, buf_str(&text), text.len) != LANG_C ||
	    source_is_generated(path, buf_str(&text), text.len))
		return 0;
	f = VEC_ADD(m->files, m->nfiles, m->files_cap);
	f->path = xstrdup(path);
	f->text = text;
	text = (struct buf){0};
	return 0;
}

static int find_files(struct mutate_c *m, struct err *err)
{
	CLEANUP(buf) struct buf list = {0};
	size_t len;

	if (rev_tree_files(m->repo, m->rev.commit, &list, err) < 0)
		return -1;
	for (const char *p = list.data, *end = p + list.len; p && p < end; p += len + 1) {
		len = strlen(p);
		if (source_lang_of_path(p) == LANG_C && !source_is_vendored(p) &&
		    is_wanted(m, p) && add_file(m, p, err) < 0)
			return -1;
	}
	return 0;
}

static void only_changed(struct mutants *m, const char *path,
			 const struct rev_ranges *changed)
{
	size_t kept = 0;

	for (size_t i = 0; i < m->n; i++) {
		bool within = false;

		for (size_t k = 0; k < changed->n && !within; k++)
			within = !strcmp(changed->v[k].path, path) &&
				 m->v[i].line >= changed->v[k].first &&
				 m->v[i].line <= changed->v[k].last;
		if (within)
			m->v[kept++] = m->v[i];
		else
			mutant_release(&m->v[i]);
	}
	m->n = kept;
}

static void find_mutants(struct mutate_c *m, const struct rev_ranges *changed)
{
	CLEANUP(strv) struct strv macros = {0};

	m->parser = source_parser_new();
	for (size_t i = 0; i < m->nfiles; i++) {
		struct mutate_file *f = &m->files[i];

		source_parse(m->parser, LANG_C, buf_str(&f->text), f->text.len, NULL,
			     &f->tree);
		if (f->tree.skipped)
			strv_addf(&m->report->notes, "%s: %s", f->path, f->tree.skipped);
		code_c_macros(&f->tree, &macros);
	}
	for (size_t i = 0; i < m->nfiles; i++) {
		struct mutate_file *f = &m->files[i];
		CLEANUP_FREE uint8_t *code = code_c_mark(&f->tree, &macros);

		f->first = m->n;
		mutants_c_find(&f->tree, code, &f->mutants);
		if (changed) {
			only_changed(&f->mutants, f->path, changed);
			mutants_one_a_line(&f->mutants);
		}
		m->n += (uint32_t)f->mutants.n;
	}
	m->used = xcalloc(m->n ? m->n : 1, 1);
	memset(m->used, 1, m->n);
}

struct mutate_file *mutate_c_file_of(const struct mutate_c *m, uint32_t id)
{
	for (size_t i = 0; i < m->nfiles; i++)
		if (id >= m->files[i].first &&
		    id - m->files[i].first < m->files[i].mutants.n)
			return &m->files[i];
	return NULL;
}

/* ---- runs ---- */

static void add_output(const char *dir, struct buf *ret)
{
	static const char *const names[] = {"stderr", "stdout"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		CLEANUP_FREE char *path = path_join(dir, names[i]);
		CLEANUP(buf) struct buf text = {0};

		if (read_file(path, SAID_CAP, &text, NULL) == 0)
			buf_add(ret, text.data, text.len);
	}
}

int mutate_c_run(struct mutate_c *m, char *const *argv, bool builds, uint64_t limit_ms,
		 bool forks, struct run_result *ret, struct buf *ret_said,
		 struct err *err)
{
	const struct run_opts run = {.isolation = m->opts->isolation};
	CLEANUP(run_spec) struct run_spec spec = {0};
	CLEANUP(sandbox) struct sandbox sandbox = {0};
	CLEANUP_FREE char *dir = xasprintf("%s/%zu", m->scratch, m->runs++);
	CLEANUP_FREE char *tmp = path_join(dir, "tmp");

	if (make_dirs(tmp, 0700, err) < 0)
		return -1;
	strv_copy(&spec.argv, argv);
	run_env(&run, &spec.env);
	env_set(&spec.env, "TMPDIR", tmp);
	if (forks) {
		env_set(&spec.env, "LD_PRELOAD", m->library);
		env_set(&spec.env, MUTANTS_ENV, m->map);
	}
	spec.cwd = xstrdup(m->cwd);
	spec.dir = xstrdup(dir);
	spec.timeout_ms = limit_ms;
	if (!builds) /* a loop that allocates and does not end is near */
		spec.limits.memory = MEMORY;
	if (m->opts->isolation == ISOLATION_SANDBOX) {
		sandbox_copy(&sandbox, &m->views);
		sandbox.network = builds ? NETWORK_HOST : NETWORK_LOOPBACK;
		for (size_t i = 0; !builds && i < sandbox.nviews; i++)
			if (sandbox.views[i].mode == VIEW_WRITE)
				sandbox.views[i].mode = VIEW_DISCARD;
		sandbox_add_view(&sandbox, m->shared, m->shared, VIEW_WRITE);
		sandbox_add_view(&sandbox, dir, dir, VIEW_WRITE);
		spec.sandbox = &sandbox;
	}
	if (proc_run(&spec, ret, err) < 0)
		return -1;
	if (ret_said)
		add_output(dir, ret_said);
	if (ret->end == RUN_CANCELLED)
		return err_set(err, ERR_INTERRUPTED, "interrupted");
	if (ret->end == RUN_NOT_STARTED || ret->end == RUN_LOST ||
	    ret->end == RUN_SANDBOX_FAILED) {
		CLEANUP_FREE char *how = run_result_describe(ret);

		return err_set(err, ERR_ENVIRONMENT, "%s: %s", argv[0], how);
	}
	return remove_tree(dir, err);
}

/* ---- the whole ---- */

static int open_place(struct mutate_c *m, struct err *err)
{
	const char *prefix;
	const char *top;
	const struct strv none = {0};
	bool boxed = m->opts->isolation == ISOLATION_SANDBOX;
	char digest[SHA256_HEX] = {0};

	m->repo = repo_open(m->opts->dir, m->opts->store, err);
	if (!m->repo || rev_resolve(m->repo, REV_WORKTREE, &m->rev, err) < 0)
		return -1;
	/* One of its own: no other command wants rewritten files. */
	memset(digest, boxed ? 'c' : 'd', SHA256_HEX - 1);
	if (checkout_get(m->repo, &m->rev, digest, &none, boxed, NULL, NULL, &m->checkout,
			 err) < 0)
		return -1;
	m->have_checkout = true;
	if (checkout_setup_begin(&m->checkout, err) < 0 ||
	    (boxed && checkout_views(m->repo, &m->checkout, &m->views, err) < 0) ||
	    (boxed && sandbox_check(&m->views, err) < 0))
		return -1;
	top = boxed ? repo_top(m->repo) : m->checkout.dir;
	prefix = repo_prefix(m->repo);
	m->cwd = *prefix ? path_join(top, prefix) : xstrdup(top);
	m->scratch = scratch_make(m->repo, err);
	if (!m->scratch)
		return -1;
	m->shared = path_join(m->scratch, "shared");
	m->map = path_join(m->shared, MUTANTS_NAME);
	m->library = path_join(m->shared, "exitpath-mutants.so");
	return make_dirs(m->shared, 0700, err) < 0
		       ? -1
		       : write_file(m->library, (const char *)embed_mutants_start,
				    (size_t)(embed_mutants_end - embed_mutants_start),
				    err);
}

static int find(struct mutate_c *m, struct err *err)
{
	CLEANUP(rev_ranges) struct rev_ranges changed = {0};
	struct revision_info base = {0};
	int rc = 0;

	if (m->opts->diff &&
	    (rev_resolve(m->repo, m->opts->diff, &base, err) < 0 ||
	     rev_changed_lines(m->repo, base.commit, m->rev.commit, &changed, err) < 0))
		rc = -1;
	revision_release(&base);
	if (rc < 0 || find_files(m, err) < 0)
		return -1;
	find_mutants(m, m->opts->diff ? &changed : NULL);
	if (m->n)
		return 0;
	err_set(err, ERR_USAGE, "there is no code of C to mutate%s%s",
		m->opts->diff ? " that changed since " : "",
		m->opts->diff ? m->opts->diff : "");
	err_hint(err, "--target names the files or directories; tests are left out");
	return -1;
}

static void fill_rows(const struct mutate_c *m, const enum mutant_verdict *verdicts)
{
	struct mutate_report *r = m->report;

	for (size_t i = 0; i < m->nfiles; i++) {
		const struct mutate_file *f = &m->files[i];

		for (uint32_t k = 0; k < f->mutants.n; k++) {
			struct mutant *x = &f->mutants.v[k];
			struct mutate_row *row;

			if (x->numbers && !m->used[f->first + k])
				continue; /* it compares addresses */
			row = VEC_ADD(r->v, r->n, r->cap);

			*row = (struct mutate_row){
				.path = xstrdup(f->path),
				.line = x->line,
				.column = x->column,
				.end_line = x->end_line,
				.end_column = x->end_column,
				.start = x->start,
				.end = x->end,
				.operator_ = x->operator_,
				.before = xstrndup(f->text.data + x->start,
						   x->end - x->start),
				.after = TAKE_PTR(x->text),
				.verdict = verdicts[f->first + k],
			};
			r->count[row->verdict]++;
		}
	}
}

static void close_place(struct mutate_c *m)
{
	for (size_t i = 0; i < m->nfiles; i++) {
		free(m->files[i].path);
		buf_release(&m->files[i].text);
		buf_release(&m->files[i].written);
		free(m->files[i].places);
		source_tree_release(&m->files[i].tree);
		mutants_release(&m->files[i].mutants);
	}
	free(m->files);
	free(m->used);
	if (m->parser)
		source_parser_free(m->parser);
	sandbox_release(&m->views);
	if (m->have_checkout)
		checkout_release(&m->checkout);
	revision_release(&m->rev);
	if (m->scratch)
		scratch_remove(m->scratch);
	if (m->repo)
		repo_close(m->repo);
	free(m->scratch);
	free(m->shared);
	free(m->map);
	free(m->library);
	free(m->cwd);
}

int mutate_c(const struct mutate_opts *opts, struct mutate_report *ret, struct err *err)
{
	struct mutate_c m = {.opts = opts, .report = ret};
	CLEANUP_FREE enum mutant_verdict *verdicts = NULL;
	uint64_t start = clock_us();
	int rc = -1;

	if (open_place(&m, err) == 0 && find(&m, err) == 0 &&
	    mutate_c_build(&m, err) == 0) {
		verdicts = xcalloc(m.n, sizeof(*verdicts));
		rc = mutate_c_try(&m, verdicts, err);
		if (rc == 0)
			fill_rows(&m, verdicts);
	}
	close_place(&m);
	ret->wall_us = clock_us() - start;
	return rc;
}
