/*
 * The project as tests see it, and one process that runs before all tests: it compiles
 * the adapter's files and the target's, and tries whether the target can be loaded, from
 * where it should be. Only that one may write into the directory of these files.
 */
#include "base/fs.h"
#include "base/mem.h"
#include "detect/embed.h"
#include "engine/run_session.h"
#include "engine/sources.h"
#include "engine/vet_parts.h"
#include "proc/proc.h"
#include "sandbox/sandbox.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#define PREPARE "import sys; sys.path.insert(0, sys.argv[1]); import exitpath_vet_prepare"
#define PREPARE_MS 60000

enum { SAID_CAP = 1 << 20 };

/* ---- which files are tested ---- */

static bool is_target(const char *path)
{
	const char *name = path_base(path);

	return source_lang_of_path(path) == LANG_PYTHON &&
	       strncmp(name, "test_", 5) != 0 && strcmp(name, "conftest.py") != 0 &&
	       strcmp(name, "setup.py") != 0;
}

static int find_targets(struct vet_places *p, struct err *err)
{
	CLEANUP(source_files) struct source_files found = {0};

	if (engine_sources(p->opts->targets, &found, err) < 0)
		return -1;
	for (size_t i = 0; i < found.n; i++) {
		const char *path = found.v[i].path;
		CLEANUP_FREE char *full =
			*path == '/' ? xstrdup(path) : path_join(p->opts->dir, path);
		char *real = realpath(full, NULL);

		if (real && is_target(real))
			strv_take(&p->targets, real);
		else
			free(real);
	}
	if (p->targets.n)
		return 0;
	err_set(err, ERR_USAGE, "--target: there is no file of Python to test");
	err_hint(err, "name the files or directories that the tests are about");
	return -1;
}

/* ---- the process before all tests ---- */

static int write_config(const struct vet_places *p, const struct vet_place *place,
			struct err *err)
{
	CLEANUP_JSON json_t *j = json_object();
	CLEANUP_FREE char *path = path_join(place->code, "config.json");
	CLEANUP_FREE char *code = path_join(place->code, "target.bin");
	CLEANUP_FREE char *text = NULL;
	json_t *files = json_array(), *paths = json_array();

	for (size_t i = 0; i < p->targets.n; i++)
		json_array_append_new(files, json_text(p->targets.v[i]));
	json_array_append_new(paths, json_text(p->opts->dir));
	json_object_set_new(j, "files", files);
	json_object_set_new(j, "paths", paths);
	json_put(j, "root", p->top);
	json_put(j, "code", code);
	json_put(j, "scratch", "/tmp/exitpath-vet/own");
	json_put_int(j, "limit_ms", (int64_t)p->opts->settings.limit_ms);
	json_put_int(j, "mutants", p->opts->settings.mutants);
	json_put_int(j, "time_ms", (int64_t)p->opts->settings.time_ms);
	json_put_int(j, "budget_ms",
		     (int64_t)p->opts->settings.limit_ms * (VET_RUN_LIMITS - 1));
	text = json_canonical(j);
	return write_file(path, text, strlen(text), err);
}

static int no_target(const struct vet_places *p, const struct vet_place *place,
		     const char *why, struct err *err)
{
	if (place == &p->buggy)
		err_set(err, ERR_USAGE, "--buggy: the target cannot be loaded there: %s",
			why);
	else
		err_set(err, ERR_USAGE, "--target: cannot be loaded: %s", why);
	err_hint(err, "a test could not import it either; --python names another "
		      "interpreter");
	return -1;
}

/* The last line of the file that a run left. */
static char *last_line(const char *dir, const char *name)
{
	CLEANUP_FREE char *path = path_join(dir, name);
	CLEANUP(buf) struct buf text = {0};
	char *newline;

	if (read_file(path, SAID_CAP, &text, NULL) < 0 || !text.len)
		return NULL;
	while (text.len && text.data[text.len - 1] == '\n')
		text.data[--text.len] = '\0';
	newline = strrchr(buf_str(&text), '\n');
	return xstrdup(newline ? newline + 1 : buf_str(&text));
}

static int read_said(const struct vet_places *p, const struct vet_place *place,
		     const char *dir, const struct run_result *run, struct err *err)
{
	CLEANUP_FREE char *out = last_line(dir, "stdout"),
			  *said = last_line(dir, "stderr");
	CLEANUP_JSON json_t *j =
		out ? json_parse(out, strlen(out), "prepare", NULL) : NULL;
	CLEANUP_FREE char *how = run_result_describe(run);

	if (!run_result_passed(run) || !json_is_object(j)) {
		err_set(err, ERR_ENVIRONMENT, "%s cannot be made ready: %s%s%s",
			p->opts->python ? p->opts->python : "python3", how,
			said ? ": " : "", said ? said : "");
		err_hint(err, "vet needs Python 3.9 or later; --python names one");
		return -1;
	}
	if (json_get(j, "error", NULL))
		return no_target(p, place, json_get(j, "error", NULL), err);
	return 0;
}

static int prepare(const struct vet_places *p, struct vet_place *place, struct err *err)
{
	CLEANUP(run_spec) struct run_spec spec = {0};
	CLEANUP(sandbox) struct sandbox sandbox = {0};
	CLEANUP_FREE char *archive = path_join(place->code, "adapter.zip");
	CLEANUP_FREE char *dir = xasprintf("%s.run", place->code);
	struct run_result run = {0};

	if (write_file(archive, embed_python_start,
		       (size_t)(embed_python_end - embed_python_start), err) < 0 ||
	    make_dirs(dir, 0700, err) < 0)
		return -1;
	strv_add(&spec.argv, p->opts->python ? p->opts->python : "python3");
	strv_add(&spec.argv, "-c");
	strv_add(&spec.argv, PREPARE);
	strv_add(&spec.argv, archive);
	strv_add(&spec.argv, place->code);
	strv_copy(&spec.env, place->env.v);
	spec.cwd = xstrdup(p->opts->dir);
	spec.dir = xstrdup(dir);
	spec.timeout_ms = PREPARE_MS;
	sandbox_copy(&sandbox, &place->sandbox);
	for (size_t i = 0; i < sandbox.nviews; i++)
		if (sandbox.views[i].mode == VIEW_WRITE)
			sandbox.views[i].mode = VIEW_DISCARD;
	sandbox_add_view(&sandbox, place->code, place->code, VIEW_WRITE);
	spec.sandbox = &sandbox;
	if (proc_run(&spec, &run, err) < 0)
		return -1;
	return read_said(p, place, dir, &run, err);
}

/* ---- a place ---- */

static int open_place(struct vet_places *p, struct vet_place *place, const char *name,
		      struct err *err)
{
	const struct run_opts opts = {.isolation = ISOLATION_SANDBOX};
	struct pool_opts pool = {
		.workers = p->opts->workers,
		.queue = p->opts->queue,
	};

	place->code = path_join(p->scratch, name);
	run_env(&opts, &place->env);
	if (make_dirs(place->code, 0700, err) < 0 || write_config(p, place, err) < 0 ||
	    prepare(p, place, err) < 0)
		return -1;
	sandbox_add_view(&place->sandbox, place->code, place->code, VIEW_READ);
	pool.sandbox = &place->sandbox;
	place->pool = pool_new(&pool, err);
	return place->pool ? 0 : -1;
}

static int open_right(struct vet_places *p, struct err *err)
{
	const struct run_opts opts = {.dir = p->opts->dir, .network = NETWORK_NONE};

	if (run_sandbox(&opts, &p->right.sandbox, err) < 0 ||
	    sandbox_check(&p->right.sandbox, err) < 0)
		return -1;
	p->top = xstrdup(p->right.sandbox.views[0].at);
	return open_place(p, &p->right, "right", err);
}

static int open_buggy(struct vet_places *p, struct err *err)
{
	if (!p->opts->buggy)
		return 0;
	p->repo = repo_open(p->opts->dir, p->opts->store, err);
	if (!p->repo || rev_resolve(p->repo, p->opts->buggy, &p->rev, err) < 0)
		return -1;
	if (checkout_get(p->repo, &p->rev, p->opts->digest, p->opts->share, true, NULL,
			 NULL, &p->checkout, err) < 0)
		return -1;
	p->have_checkout = true;
	if (checkout_views(p->repo, &p->checkout, &p->buggy.sandbox, err) < 0)
		return -1;
	p->buggy.sandbox.network = NETWORK_NONE;
	return open_place(p, &p->buggy, "buggy", err);
}

int vet_places_open(struct vet_places *p, const struct vet_opts *opts, struct err *err)
{
	p->opts = opts;
	p->scratch = scratch_make_alone(err);
	if (!p->scratch || find_targets(p, err) < 0 || open_right(p, err) < 0)
		return -1;
	return open_buggy(p, err);
}

static void close_place(struct vet_place *p)
{
	pool_free(p->pool);
	sandbox_release(&p->sandbox);
	strv_release(&p->env);
	free(p->code);
}

void vet_places_close(struct vet_places *p)
{
	close_place(&p->right);
	close_place(&p->buggy);
	if (p->have_checkout)
		checkout_release(&p->checkout);
	revision_release(&p->rev);
	if (p->repo)
		repo_close(p->repo);
	if (p->scratch)
		scratch_remove(p->scratch);
	free(p->scratch);
	free(p->top);
	strv_release(&p->targets);
}
