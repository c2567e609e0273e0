#include "engine/fault_tree.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/version.h"
#include "contract/load.h"
#include "engine/fault_gate.h"
#include "engine/fault_memory.h"
#include "engine/session.h"
#include "engine/surroundings.h"
#include "rev/changes.h"
#include "verdict/verdict.h"

#include <string.h>

/* One invocation on the working tree. */
struct tree {
	const struct gate_opts *flags;
	char *const *argv;
	struct fault_opts opts; /* the flags, and what the contract says beside them */
	struct contract contract;
	struct repo *repo;   /* NULL: none around */
	struct store *store; /* NULL: nothing is recorded */
	struct revision_info rev;
	struct rev_ranges changed;
	struct result result;
};

static void tree_close(struct tree *t)
{
	if (t->store)
		store_close(t->store);
	if (t->repo)
		repo_close(t->repo);
	contract_release(&t->contract);
	revision_release(&t->rev);
	rev_ranges_release(&t->changed);
	result_release(&t->result);
}

/* Must there be a repository, or a store? */
static bool is_asked_for(const struct gate_opts *o)
{
	return o->store || o->diff;
}

/* A place that cannot be written, or none at all, is no reason not to test. */
static int open_store(struct tree *t, struct strv *notes, struct err *err)
{
	const struct gate_opts *o = t->flags;
	struct err why = {0};

	t->repo = repo_open(o->dir, o->store, &why);
	if (t->repo)
		t->store = store_open(repo_store(t->repo), &why);
	if (t->store)
		return 0;
	if (is_asked_for(o) || why.kind == ERR_INTERRUPTED) {
		*err = why;
		return -1;
	}
	if (t->repo || why.kind == ERR_ENVIRONMENT)
		strv_addf(notes, "not recorded: %s", why.message);
	return 0;
}

static int load_contract(struct tree *t, struct err *err)
{
	const struct gate_opts *o = t->flags;
	CLEANUP_FREE char *path = xstrdup(o->contract);

	if (!path && t->repo)
		path = session_find_contract(repo_top(t->repo), repo_prefix(t->repo));
	if (path && strcmp(path, "/dev/null") != 0 &&
	    contract_load(path, &t->contract, err) < 0)
		return -1;
	contract_only_command(&t->contract, t->argv);
	if (faults_apply(o, &t->contract, err) < 0)
		return -1;
	contract_digest(&t->contract);
	return 0;
}

static void fill_opts(struct tree *t)
{
	const struct fault_settings *f = &t->contract.faults;

	t->opts = *t->flags->fault;
	t->opts.classes = faults_usable(f->classes);
	t->opts.forever = f->forever;
	t->opts.points = f->points;
	t->opts.time_ms = f->time_ms;
	t->opts.check = f->check;
	t->opts.layer = f->layer ? fault_layer_find(f->layer) : NULL;
}

/* A repository without any commit has no revision, and still a working tree. */
static int find_revision(struct tree *t, struct err *err)
{
	const struct gate_opts *o = t->flags;

	if (!t->repo)
		return 0;
	if (rev_resolve(t->repo, REV_WORKTREE, &t->rev, o->diff ? err : NULL) < 0)
		return o->diff ? -1 : 0;
	if (!o->diff)
		return 0;
	if (faults_changed_since(t->repo, o->diff, t->rev.commit, &t->changed, err) < 0)
		return -1;
	t->opts.changed = &t->changed;
	return 0;
}

static int begin(struct tree *t, struct err *err)
{
	struct result *r = &t->result;
	char now[21];

	clock_iso(now);
	r->command = xstrdup("fault");
	r->started = xstrdup(now);
	r->exitpath_version = xstrdup(EXITPATH_VERSION);
	r->config_digest = xstrdup(t->contract.digest);
	r->isolation = xstrdup(isolation_name(t->opts.isolation));
	r->repository = xstrdup(repo_name(t->repo));
	revision_copy(&r->candidate, &t->rev);
	r->run_id = store_begin(t->store, "fault", t->contract.digest, err);
	return r->run_id ? 0 : -1;
}

static void memory_key(const struct tree *t, char ret[SHA256_HEX])
{
	struct sha256 *h = sha256_new();

	sha256_add_field(h, t->rev.tree);
	sha256_add_field(h, t->opts.dir);
	faults_add_key(&t->contract, &t->opts, h);
	surroundings_add(h);
	sha256_finish(h, ret);
}

/* The one command that does it again. */
static char *reproduce(const struct tree *t)
{
	const struct gate_opts *o = t->flags;
	CLEANUP(strv) struct strv v = {0};

	strv_add(&v, "exitpath");
	strv_add(&v, "fault");
	if (o->store)
		strv_addf(&v, "--store=%s", o->store);
	if (o->contract)
		strv_addf(&v, "--contract=%s", o->contract);
	faults_reproduce(o, &v);
	if (t->opts.isolation != ISOLATION_SANDBOX)
		strv_add(&v, "--isolation=none");
	strv_add(&v, "--fresh");
	strv_add(&v, "--");
	strv_copy(&v, t->argv);
	return shell_quote(v.v);
}

/* The findings are lent to a check while that is written. */
static int record(struct tree *t, struct fault_report *report, struct err *err)
{
	struct result *r = &t->result;
	struct check *c = result_check(r);
	int rc;

	c->target = xstrdup(t->contract.lifecycles[0].name);
	c->version = xstrdup(EXITPATH_VERSION);
	c->attempt = 1;
	strv_copy(&c->command, t->argv);
	r->duration_us = report->wall_us;
	verdict_fault_alone(report, c);
	r->outcome = c->outcome;
	r->reproduce = reproduce(t);
	rc = store_finish(t->store, r, NULL, 0, err);
	for (size_t i = 0; i < c->nfaults; i++)
		c->faults[i].fault = (struct fault_finding){0}; /* the report's */
	return rc;
}

static int explore(struct tree *t, struct fault_report *ret, struct err *err)
{
	__attribute__((cleanup(fault_memory_cleanup))) struct fault_memory *memory = NULL;
	char key[SHA256_HEX], today[21];

	if (t->store && t->rev.tree && !t->opts.key) {
		memory_key(t, key);
		memory = fault_memory_new(t->store, key, false, t->flags->fresh);
		t->opts.memory = memory;
	}
	if (engine_fault(&t->opts, t->argv, ret, err) < 0)
		return -1;
	clock_iso(today);
	today[10] = '\0'; /* the day of it */
	verdict_fault_ignore(ret, t->contract.faults.ignore, t->contract.faults.nignore,
			     today);
	return 0;
}

static int run(struct tree *t, struct fault_report *ret, struct err *err)
{
	CLEANUP(strv) struct strv notes = {0};

	if (open_store(t, &notes, err) < 0 || load_contract(t, err) < 0)
		return -1;
	fill_opts(t);
	if (find_revision(t, err) < 0)
		return -1;
	if (t->store && begin(t, err) < 0)
		return -1;
	if (explore(t, ret, err) < 0)
		return -1;
	strv_copy(&ret->notes, notes.v);
	ret->run_id = xstrdup(t->result.run_id);
	return t->store ? record(t, ret, err) : 0;
}

int engine_fault_tree(const struct gate_opts *flags, char *const *argv,
		      struct fault_report *ret, struct err *err)
{
	struct tree t = {.flags = flags, .argv = argv};
	CLEANUP(fault_report) struct fault_report report = {0};
	int rc = run(&t, &report, err);

	tree_close(&t);
	if (rc < 0)
		return -1;
	*ret = report;
	report = (struct fault_report){0};
	return 0;
}
