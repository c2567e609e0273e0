#include "engine/doctor.h"

#include "base/fs.h"
#include "base/mem.h"
#include "detect/detect.h"
#include "proc/proc.h"
#include "rev/rev.h"
#include "sandbox/cgroup.h"
#include "sandbox/sandbox.h"

#include <sched.h>
#include <string.h>
#include <unistd.h>

extern char **environ;

/* A canary compiles and runs one tiny program. */
#define CANARY_TIMEOUT_MS UINT64_C(60000)

/* An empty home. Compilers that have their work of earlier in the user's cache would take
 * half a minute without it. */
static void show_home(struct sandbox *s)
{
	const char *home = home_dir();
	CLEANUP_FREE char *cache = NULL;

	if (!home)
		return;
	s->home = xstrdup(home);
	cache = path_join(home, ".cache");
	if (access(cache, R_OK | X_OK) == 0)
		sandbox_add_view(s, cache, cache, VIEW_DISCARD);
}

static int run_canary(const struct detector *d, bool sandboxed, const char *dir,
		      struct probe *ret, struct run_result *ret_run, struct err *err)
{
	CLEANUP(sandbox) struct sandbox sandbox = {.network = NETWORK_NONE};
	CLEANUP(run_spec) struct run_spec spec = {0};
	CLEANUP_FREE char *tmp = path_join(dir, "tmp");
	struct detect_run run = {.dir = dir,
				 .tmpdir = tmp,
				 .checkout = dir,
				 .sandbox = sandboxed ? &sandbox : NULL};
	const char *command = d->canary_command ? d->canary_command() : "exec /bin/true";

	if (make_dirs(tmp, 0700, err) < 0)
		return -1;
	strv_add(&spec.argv, "/bin/sh");
	strv_add(&spec.argv, "-c");
	strv_add(&spec.argv, command);
	strv_copy(&spec.env, environ);
	env_set(&spec.env, "TMPDIR", tmp);
	spec.cwd = xstrdup(dir);
	spec.dir = xstrdup(dir);
	spec.timeout_ms = CANARY_TIMEOUT_MS;
	show_home(&sandbox);
	sandbox_add_view(&sandbox, dir, dir, VIEW_WRITE);
	spec.sandbox = run.sandbox;
	if (d->prepare(&run, &spec, err) < 0)
		return -1;
	if (proc_run(&spec, ret_run, err) < 0) {
		const struct run_result lost = {.end = RUN_LOST};

		d->collect(&run, &lost, ret, NULL);
		return -1;
	}
	return d->collect(&run, ret_run, ret, err);
}

static int examine(const struct detector *d, bool sandboxed, struct doctor_row *row,
		   struct err *err)
{
	CLEANUP(probe) struct probe p = {0};
	struct run_result r = {0};
	struct err why = {0};
	CLEANUP_FREE char *dir = NULL;
	int rc;

	row->name = d->name;
	row->summary = d->summary;
	if (d->probe(&row->version, &why) < 0) {
		row->detail = xstrdup(why.message);
		row->install = xstrdup(*why.hint ? why.hint : d->install);
		return 0;
	}
	if (d->server) {
		row->detail = xstrdup("it takes a server to prove it, which a lifecycle "
				      "names");
		row->install = xstrdup(d->install);
		return 0;
	}
	dir = make_temp_dir(scratch_parent(), "exitpath-doctor", err);
	if (!dir)
		return -1;
	rc = run_canary(d, sandboxed, dir, &p, &r, &why);
	row->works = rc == 0 && p.state == PROBE_COMPLETE && run_result_passed(&r);
	if (!row->works) {
		CLEANUP_FREE char *ending = run_result_describe(&r);

		row->detail = rc < 0 ? xstrdup(why.message)
			      : p.detail
				      ? xstrdup(p.detail)
				      : xasprintf("its canary run ended with %s", ending);
		row->install = xstrdup(d->install);
	}
	if (remove_tree(dir, err) < 0)
		return -1;
	if (proc_interrupted())
		return err_set(err, ERR_INTERRUPTED, "stopped by signal %d",
			       proc_interrupted());
	return 0;
}

static void examine_isolation(struct doctor *ret)
{
	static const struct {
		const char *name;
		int flag;
	} namespaces[] = {
		{"user", CLONE_NEWUSER},     {"mount", CLONE_NEWNS},
		{"pid", CLONE_NEWPID},	     {"network", CLONE_NEWNET},
		{"ipc", CLONE_NEWIPC},	     {"uts", CLONE_NEWUTS},
		{"cgroup", CLONE_NEWCGROUP},
	};
	const struct sandbox least = {.network = NETWORK_LOOPBACK};
	struct err why = {0};

	for (size_t i = 0; i < ARRAY_SIZE(namespaces); i++)
		strv_add(sandbox_has_namespace(namespaces[i].flag) ? &ret->namespaces
								   : &ret->missing,
			 namespaces[i].name);
	ret->landlock = sandbox_landlock_abi();
	ret->tier = cgroup_explain(&ret->tier_why);
	ret->sandbox_works = sandbox_check(&least, &why) == 0;
	if (!ret->sandbox_works) {
		ret->sandbox_why = xstrdup(why.message);
		ret->sandbox_next = *why.hint ? xstrdup(why.hint) : NULL;
	}
}

int engine_doctor(enum isolation isolation, const struct progress *progress,
		  struct doctor *ret, struct err *err)
{
	bool sandboxed;

	progress_tell(progress, "doctor", "sandbox", NULL, 0, 0);
	examine_isolation(ret);
	sandboxed = ret->sandbox_works && isolation == ISOLATION_SANDBOX;
	for (size_t i = 0; detectors[i]; i++) {
		struct doctor_row *row = VEC_ADD(ret->rows, ret->nrows, ret->rows_cap);

		progress_tell(progress, "doctor", detectors[i]->name, NULL, 0, 0);
		if (examine(detectors[i], sandboxed, row, err) < 0)
			return -1;
	}
	return 0;
}

void doctor_release(struct doctor *d)
{
	for (size_t i = 0; i < d->nrows; i++) {
		free(d->rows[i].version);
		free(d->rows[i].detail);
		free(d->rows[i].install);
	}
	free(d->rows);
	free(d->sandbox_why);
	free(d->sandbox_next);
	free(d->tier_why);
	strv_release(&d->namespaces);
	strv_release(&d->missing);
	*d = (struct doctor){0};
}
