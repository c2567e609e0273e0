/*
 * One run under the fault shim. What it writes below the project is thrown away, so that
 * every run finds what the first one found, and several may go on side by side. Without
 * the sandbox they write the very files, and follow one another.
 */
#include "engine/fault_run.h"

#include "base/fs.h"
#include "base/mem.h"
#include "detect/embed.h"
#include "engine/fault_check.h"
#include "engine/run_session.h"
#include "rev/rev.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#define LIBRARY "exitpath-fault.so" /* shim/fault/decide.c knows the start of it */

static const char *const probes[FAULT_PROBES] = {"lsan", "heap", "ledger"};

static int write_library(const char *path, struct err *err)
{
	size_t n = (size_t)(embed_fault_end - embed_fault_start);
	CLEANUP_FD int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0755);

	if (fd < 0 || write_all(fd, embed_fault_start, n) < 0)
		return err_errno(err, ERR_ENVIRONMENT, errno, "cannot write %s", path);
	return 0;
}

static bool is_directory(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static void discard_writes(struct sandbox *sb)
{
	for (size_t i = 0; i < sb->nviews; i++)
		if (sb->views[i].mode == VIEW_WRITE && is_directory(sb->views[i].from))
			sb->views[i].mode = VIEW_DISCARD;
}

/* The working tree itself. */
static int open_tree(const struct fault_opts *o, struct sandbox *views, char **project,
		     struct err *err)
{
	const struct run_opts opts = {.dir = o->dir, .network = NETWORK_LOOPBACK};
	bool sandboxed = o->isolation == ISOLATION_SANDBOX;

	if (sandboxed && run_sandbox(&opts, views, err) < 0)
		return -1;
	*project = xstrdup(sandboxed ? views->views[0].at : o->dir);
	return 0;
}

int fault_views_open(const struct fault_opts *o, const char *file, struct sandbox *views,
		     char **project, const char **cwd, struct err *err)
{
	*cwd = o->place ? o->place->cwd : o->dir;
	if (!o->place) {
		if (open_tree(o, views, project, err) < 0)
			return -1;
	} else {
		/* A revision: its views are those of all of its runs. */
		*project = xstrdup(o->place->seen);
		if (o->place->views)
			sandbox_copy(views, o->place->views);
	}
	if (o->isolation != ISOLATION_SANDBOX)
		return 0;
	discard_writes(views);
	sandbox_add_view(views, file, file, VIEW_READ);
	return 0;
}

int fault_session_open(struct fault_session *s, const struct fault_opts *opts,
		       char *const *argv, struct err *err)
{
	s->opts = opts;
	s->argv = argv;
	s->scratch = scratch_make_alone(err);
	if (!s->scratch)
		return -1;
	s->library = path_join(s->scratch, LIBRARY);
	if (write_library(s->library, err) < 0 ||
	    fault_views_open(opts, s->library, &s->views, &s->project, &s->cwd, err) < 0)
		return -1;
	s->checkout = xstrdup(opts->place ? opts->place->checkout : s->project);
	return 0;
}

void fault_session_close(struct fault_session *s)
{
	scratch_remove(s->scratch);
	free(s->scratch);
	free(s->library);
	free(s->project);
	free(s->checkout);
	sandbox_release(&s->views);
	*s = (struct fault_session){0};
}

static void fill_env(const struct fault_run *r, struct strv *env)
{
	const struct fault_opts *o = r->session->opts;
	const struct run_opts opts = {.isolation = o->isolation};

	if (o->place)
		strv_copy(env, o->place->env->v);
	else
		run_env(&opts, env);
	env_set(env, "TMPDIR", r->tmpdir);
}

/* First of all that is preloaded: it must stand before the runtimes of sanitizers. */
static void preload(const struct fault_run *r, struct strv *env)
{
	const char *old = env_get(env, "LD_PRELOAD");
	CLEANUP_FREE char *all = old && *old
					 ? xasprintf("%s:%s", r->session->library, old)
					 : xstrdup(r->session->library);

	env_set(env, "LD_PRELOAD", all);
	env_set(env, FAULT_ENV, r->map);
}

int fault_run_prepare(struct fault_run *r, struct fault_session *s,
		      const struct fault_request *request, struct run_spec *spec,
		      struct err *err)
{
	CLEANUP(strv) struct strv clean = {0};
	struct fault_request asked = *request;

	*r = (struct fault_run){.session = s};
	r->dir = xasprintf("%s/%zu", s->scratch, s->next++);
	r->tmpdir = path_join(r->dir, "tmp");
	r->map = path_join(r->dir, "fault.map");
	asked.scratch = r->tmpdir;
	if (make_dirs(r->tmpdir, 0700, err) < 0 ||
	    fault_map_make(r->map, &asked, err) < 0)
		return -1;
	if (s->opts->isolation == ISOLATION_SANDBOX) {
		sandbox_copy(&r->sandbox, &s->views);
		sandbox_add_view(&r->sandbox, r->dir, r->dir, VIEW_WRITE);
		spec->sandbox = &r->sandbox;
	}
	strv_copy(&spec->argv, s->argv);
	fill_env(r, &spec->env);
	strv_copy(&clean, spec->env.v);
	spec->cwd = xstrdup(s->cwd);
	spec->dir = xstrdup(r->dir);
	if (s->opts->place)
		spec->limits = s->opts->place->limits;
	spec->timeout_ms = s->timeout_ms;
	for (size_t i = 0; i < FAULT_PROBES; i++) {
		/* Forked children are judged by what the shim notes. */
		if (s->without[i] ||
		    (request->mode == FAULT_EXPLORE && i != FAULT_PROBE_HEAP))
			continue;
		r->detect[i] = (struct detect_run){
			.dir = r->dir,
			.tmpdir = r->tmpdir,
			.checkout = s->checkout,
			.seen = s->project,
			.sandbox = spec->sandbox ? &r->sandbox : NULL,
			.cycles = 1,
		};
		if (detector_find(probes[i])->prepare(&r->detect[i], spec, err) < 0)
			return -1;
		r->prepared[i] = true;
	}
	preload(r, &spec->env);
	if (s->opts->check)
		fault_check_add(s->opts->check, r->dir, &clean, spec);
	return 0;
}

/* ---- output ---- */

static void hash_without_paths(const struct fault_run *r, struct sha256 *exact,
			       struct sha256 *worded, const char *text, size_t len)
{
	size_t n = strlen(r->dir);
	bool number = false;

	for (const char *p = text, *end = text + len; p < end; p++) {
		if ((size_t)(end - p) >= n && !memcmp(p, r->dir, n)) {
			p += n - 1;
			continue;
		}
		sha256_add(exact, p, 1);
		if (!isdigit((unsigned char)*p))
			sha256_add(worded, p, 1);
		else if (!number)
			sha256_add(worded, "0", 1);
		number = isdigit((unsigned char)*p);
	}
}

void fault_run_output(const struct fault_run *r, const struct buf *out,
		      const struct buf *errors, struct fault_seen *seen)
{
	struct sha256 *exact = sha256_new(), *worded = sha256_new();
	const struct buf *const texts[] = {out, errors};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		hash_without_paths(r, exact, worded, buf_str(texts[i]), texts[i]->len);
		sha256_add_field(exact, "");
		sha256_add_field(worded, "");
	}
	free(seen->error);
	seen->error = fault_last_line(errors);
	sha256_finish(exact, seen->exact);
	sha256_finish(worded, seen->worded);
}

static void read_output(const struct fault_run *r, struct fault_seen *seen)
{
	CLEANUP_FREE char *out_path = path_join(r->dir, "stdout");
	CLEANUP_FREE char *errors_path = path_join(r->dir, "stderr");
	CLEANUP(buf) struct buf out = {0}, errors = {0};

	if (read_file(out_path, FAULT_OUTPUT_CAP, &out, NULL) < 0)
		buf_clear(&out);
	if (read_file(errors_path, FAULT_OUTPUT_CAP, &errors, NULL) < 0)
		buf_clear(&errors);
	fault_run_output(r, &out, &errors, seen);
}

int fault_run_finish(struct fault_run *r, const struct run_result *result,
		     struct fault_seen *ret_seen, struct fault_record *ret_record,
		     struct err *err)
{
	int rc = 0;

	ret_seen->run = *result;
	for (size_t i = 0; i < FAULT_PROBES; i++)
		if (r->prepared[i] && detector_find(probes[i])->collect(
					      &r->detect[i], result, &ret_seen->probe[i],
					      rc == 0 ? err : NULL) < 0)
			rc = -1;
	read_output(r, ret_seen);
	if (r->dir && r->session->opts->check)
		fault_check_read(r->dir, &ret_seen->checked, &ret_seen->check_status,
				 &ret_seen->check_said);
	if (rc == 0 && r->map && path_exists(r->map))
		rc = fault_map_read(r->map, ret_record, err);
	ret_seen->fired = ret_record->fired > 0;
	if (r->dir && remove_tree(r->dir, rc == 0 ? err : NULL) < 0)
		rc = -1;
	free(r->dir);
	free(r->tmpdir);
	free(r->map);
	sandbox_release(&r->sandbox);
	*r = (struct fault_run){0};
	return rc;
}
