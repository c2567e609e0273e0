#include "engine/vet.h"

#include "base/fs.h"
#include "base/mem.h"
#include "contract/load.h"
#include "engine/session.h"
#include "engine/vet_parts.h"

#include <string.h>

void vet_report_release(struct vet_report *r)
{
	strv_release(&r->notes);
}

/* What has judged no test has shown nothing. */
static enum outcome outcome_of(const struct vet_report *r)
{
	if (r->broken || r->accepted + r->rejected == 0)
		return OUTCOME_HARNESS_ERROR;
	return r->rejected ? OUTCOME_REJECTED : OUTCOME_CLEAN;
}

/* What flags and the contract ask for. */
struct asked {
	struct contract contract;
	struct strv targets;
	char digest[SHA256_HEX];
	struct vet_opts opts; /* borrows from all of them */
};

static void asked_release(struct asked *a)
{
	contract_release(&a->contract);
	strv_release(&a->targets);
}
DEFINE_CLEANUP(asked)

static int load_contract(struct asked *a, const struct vet_opts *opts, struct err *err)
{
	struct repo *repo = NULL;
	CLEANUP_FREE char *path = xstrdup(opts->contract);

	if (!path && (repo = repo_open(opts->dir, opts->store, NULL))) {
		path = session_find_contract(repo_top(repo), repo_prefix(repo));
		repo_close(repo);
	}
	if (!path || !strcmp(path, "/dev/null"))
		return 0;
	return contract_load(path, &a->contract, err);
}

/* The contract's targets are relative to where it lies, and shown so from here. */
static void take_targets(struct asked *a)
{
	CLEANUP_FREE char *dir = xstrdup(a->contract.path ? a->contract.path : "");
	const char *here = a->opts.dir;
	char *slash = strrchr(dir, '/');

	if (slash)
		*slash = '\0';
	for (size_t i = 0; i < a->contract.vet.target.n; i++) {
		CLEANUP_FREE char *full =
			slash ? path_join(dir, a->contract.vet.target.v[i])
			      : xstrdup(a->contract.vet.target.v[i]);
		bool below = path_is_below(full, here) && strcmp(full, here) != 0;

		strv_add(&a->targets, below ? full + strlen(here) + 1 : full);
	}
}

static int ask(struct asked *a, const struct vet_opts *opts, struct err *err)
{
	const struct vet_settings defaults = VET_DEFAULTS;

	a->opts = *opts;
	a->opts.settings = defaults;
	if (load_contract(a, opts, err) < 0)
		return -1;
	contract_setup_digest(&a->contract, a->digest);
	a->opts.share = &a->contract.share;
	a->opts.digest = a->digest;
	if (a->contract.vet.given)
		a->opts.settings = a->contract.vet.settings;
	if (opts->limit_ms)
		a->opts.settings.limit_ms = opts->limit_ms;
	if (!opts->python)
		a->opts.python = a->contract.vet.python;
	a->opts.limits.cpu_ms = a->opts.settings.limit_ms * VET_RUN_LIMITS;
	if (opts->targets->n)
		return 0;
	take_targets(a);
	a->opts.targets = &a->targets;
	if (a->targets.n)
		return 0;
	err_set(err, ERR_USAGE, "--target is missing: what are the tests about?");
	err_hint(err, "exitpath vet --target src/module.py tests/test_new.py, or `vet: "
		      "{target: [src]}` in the contract");
	return -1;
}

static int vet_with(const struct vet_opts *opts, struct vet_report *ret, struct err *err)
{
	struct vet_places places = {0};
	struct vet_input in = {0};
	struct vet_record record = {0};
	int rc = -1;

	if (vet_input_open(&in, opts, err) == 0 &&
	    vet_record_open(&record, opts, &ret->notes, err) == 0 &&
	    vet_places_open(&places, opts, err) == 0)
		rc = vet_stream(&places, &in, &record, ret, err);
	/* What was told is kept, whatever became of the rest. */
	if (vet_record_flush(&record, rc == 0 ? err : NULL) < 0)
		rc = -1;
	vet_record_close(&record);
	vet_places_close(&places);
	vet_input_close(&in);
	if (rc == 0)
		ret->outcome = outcome_of(ret);
	return rc;
}

int engine_vet(const struct vet_opts *opts, struct vet_report *ret, struct err *err)
{
	CLEANUP(asked) struct asked a = {0};

	return ask(&a, opts, err) < 0 ? -1 : vet_with(&a.opts, ret, err);
}
