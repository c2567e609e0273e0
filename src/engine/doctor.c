#include "engine/doctor.h"

#include "base/fs.h"
#include "base/mem.h"
#include "contract/load.h"
#include "detect/detect.h"
#include "engine/server.h"
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

static int run_canary(const struct detector *d, bool sandboxed, const char *server,
		      const char *dir, struct probe *ret, struct run_result *ret_run,
		      struct err *err)
{
	CLEANUP(sandbox) struct sandbox sandbox = {.network = NETWORK_NONE};
	CLEANUP(run_spec) struct run_spec spec = {0};
	CLEANUP_FREE char *tmp = path_join(dir, "tmp");
	struct detect_run run = {.dir = dir,
				 .tmpdir = tmp,
				 .checkout = dir,
				 .server = server,
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
	if (server && server_prove(server, dir, &spec.env, run.sandbox, err) < 0)
		return -1;
	if (d->prepare(&run, &spec, err) < 0)
		return -1;
	if (proc_run(&spec, ret_run, err) < 0) {
		const struct run_result lost = {.end = RUN_LOST};

		d->collect(&run, &lost, ret, NULL);
		return -1;
	}
	return d->collect(&run, ret_run, ret, err);
}

/* Why it is not proved, or NULL. A server's sessions must also be told apart. */
static char *unproved(const struct detector *d, const struct probe *p,
		      const struct run_result *r)
{
	CLEANUP_FREE char *ending = run_result_describe(r);

	if (p->state == PROBE_COMPLETE && run_result_passed(r))
		return d->server && !p->nleaks
			       ? xstrdup("the planted transaction was not reported")
			       : NULL;
	if (p->detail && run_result_passed(r))
		return xstrdup(p->detail);
	return xasprintf("its canary run ended with %s%s%s", ending,
			 p->detail ? ": " : "", p->detail ? p->detail : "");
}

static int examine(const struct detector *d, bool sandboxed, const char *server,
		   struct doctor_row *row, struct err *err)
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
	if (d->server && !server) {
		row->untried = true;
		row->detail = xstrdup("it takes a server to prove it: exitpath doctor "
				      "--pg URL, or `pg: URL` in a lifecycle");
		row->install = xstrdup(d->install);
		return 0;
	}
	dir = make_temp_dir(scratch_parent(), "exitpath-doctor", err);
	if (!dir)
		return -1;
	rc = run_canary(d, sandboxed, d->server ? server : NULL, dir, &p, &r, &why);
	row->detail = rc < 0 ? xstrdup(why.message) : unproved(d, &p, &r);
	row->works = !row->detail;
	if (!row->works)
		row->install = xstrdup(*why.hint ? why.hint : d->install);
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

/* The one to prove things by: as asked, or the contract's first. A contract that cannot
 * be read is not the doctor's business. The caller frees. */
static char *server_for(const struct doctor_opts *o)
{
	const char *path = o->contract ? o->contract : CONTRACT_FILE;
	CLEANUP(contract) struct contract c = {0};
	struct lifecycle asked = {.pg = xstrdup(o->server)};
	char *server = asked.pg ? server_of(&asked) : NULL;
	struct err why = {0};

	lifecycle_release(&asked);
	if (o->server || !path_exists(path) || contract_load(path, &c, &why) < 0)
		return server;
	for (size_t i = 0; i < c.nlifecycles; i++)
		if (c.lifecycles[i].pg)
			return server_of(&c.lifecycles[i]);
	return NULL;
}

int engine_doctor(const struct doctor_opts *opts, const struct progress *progress,
		  struct doctor *ret, struct err *err)
{
	CLEANUP_FREE char *server = server_for(opts);
	bool sandboxed;

	progress_tell(progress, "doctor", "sandbox", NULL, 0, 0);
	examine_isolation(ret);
	sandboxed = ret->sandbox_works && opts->isolation == ISOLATION_SANDBOX;
	for (size_t i = 0; detectors[i]; i++) {
		struct doctor_row *row = VEC_ADD(ret->rows, ret->nrows, ret->rows_cap);

		progress_tell(progress, "doctor", detectors[i]->name, NULL, 0, 0);
		if (examine(detectors[i], sandboxed, server, row, err) < 0)
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
