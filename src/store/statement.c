/*
 * in-toto Statements v1 about a run, unsigned.
 *   https://github.com/in-toto/attestation/blob/main/spec/predicates/test-result.md v0.1
 *   https://github.com/in-toto/attestation/blob/main/spec/predicates/svr.md         v0.2
 */
#include "store/internal.h"

#include "base/buf.h"
#include "base/mem.h"

#include <ctype.h>
#include <string.h>

#define STATEMENT_TYPE "https://in-toto.io/Statement/v1"
#define TEST_RESULT_TYPE "https://in-toto.io/attestation/test-result/v0.1"
#define SVR_TYPE "https://in-toto.io/attestation/svr/v0.2"

static json_t *digest_of(const char *name, const char *algorithm, const char *hex)
{
	json_t *j = json_object(), *digest = json_object();

	json_put(digest, algorithm, hex);
	json_put(j, "name", name);
	json_object_set_new(j, "digest", digest);
	return j;
}

static json_t *statement(const struct result *r, const char *type, json_t *predicate)
{
	json_t *j = json_object(), *subjects = json_array(), *subject;

	subject = digest_of(r->repository, "gitCommit", r->candidate.commit);
	json_put(json_object_get(subject, "digest"), "gitTree", r->candidate.tree);
	json_array_append_new(subjects, subject);
	json_put(j, "_type", STATEMENT_TYPE);
	json_object_set_new(j, "subject", subjects);
	json_put(j, "predicateType", type);
	json_object_set_new(j, "predicate", predicate);
	return j;
}

/* The contract as a ResourceDescriptor; NULL when its digest is not known. */
static json_t *contract_descriptor(const struct result *r)
{
	const char *d = r->config_digest;

	return d && !strncmp(d, "sha256:", 7) ? digest_of("contract", "sha256", d + 7)
					      : NULL;
}

static char *check_name(const struct check *c)
{
	const char *target = c->target ? c->target : "check";

	return c->detector ? xasprintf("%s/%s", target, c->detector) : xstrdup(target);
}

static bool has_suppressed(const struct check *c)
{
	for (size_t i = 0; i < c->nfindings; i++)
		if (c->findings[i].class == FINDING_SUPPRESSED)
			return true;
	return false;
}

json_t *statement_test_result(const struct result *r)
{
	json_t *predicate = json_object(), *configuration = json_array();
	json_t *passed = json_array(), *warned = json_array(), *failed = json_array();
	json_t *contract = contract_descriptor(r);

	for (size_t i = 0; i < r->nchecks; i++) {
		const struct check *c = &r->checks[i];
		CLEANUP_FREE char *name = check_name(c);

		json_array_append_new(c->outcome != OUTCOME_CLEAN ? failed
				      : has_suppressed(c)	  ? warned
								  : passed,
				      json_text(name));
	}
	if (contract)
		json_array_append_new(configuration, contract);
	if (r->base.commit)
		json_array_append_new(configuration,
				      digest_of("base", "gitCommit", r->base.commit));
	json_put(predicate, "result",
		 r->outcome != OUTCOME_CLEAN || json_array_size(failed) ? "FAILED"
		 : r->warnings.n || json_array_size(warned)		? "WARNED"
									: "PASSED");
	json_object_set_new(predicate, "configuration", configuration);
	json_object_set_new(predicate, "passedTests", passed);
	json_object_set_new(predicate, "warnedTests", warned);
	json_object_set_new(predicate, "failedTests", failed);
	return statement(r, TEST_RESULT_TYPE, predicate);
}

/* EXITPATH_<part>_CLEAN, as a property of the verifier's own scope. */
static void add_property(json_t *properties, const char *part)
{
	struct buf b = {0};

	buf_adds(&b, "EXITPATH_");
	for (const char *p = part; *p; p++) {
		unsigned char c = (unsigned char)*p;

		buf_addc(&b, isalnum(c) ? (char)toupper(c) : '_');
	}
	buf_adds(&b, "_CLEAN");
	json_array_append_new(properties, json_text(buf_str(&b)));
	buf_release(&b);
}

static const char *part_name(const struct check *c)
{
	return c->detector ? c->detector : c->target;
}

/* A detector's property holds when every check of it is clean. */
static bool part_clean(const struct result *r, const char *part)
{
	for (size_t i = 0; i < r->nchecks; i++)
		if (part_name(&r->checks[i]) && !strcmp(part_name(&r->checks[i]), part) &&
		    r->checks[i].outcome != OUTCOME_CLEAN)
			return false;
	return true;
}

static json_t *properties(const struct result *r)
{
	CLEANUP(strv) struct strv seen = {0};
	json_t *list = json_array();

	if (r->outcome == OUTCOME_CLEAN && r->nchecks)
		add_property(list, r->command ? r->command : "gate");
	for (size_t i = 0; i < r->nchecks; i++) {
		const char *part = part_name(&r->checks[i]);

		if (!part || strv_contains(&seen, part))
			continue;
		strv_add(&seen, part);
		if (part_clean(r, part))
			add_property(list, part);
	}
	return list;
}

json_t *statement_svr(const struct result *r, const char *finished)
{
	CLEANUP_FREE char *id =
		xasprintf("pkg:generic/exitpath@%s",
			  r->exitpath_version ? r->exitpath_version : "0");
	json_t *predicate = json_object(), *verifier = json_object();
	json_t *policies = json_array(), *contract = contract_descriptor(r);

	if (contract)
		json_array_append_new(policies, contract);
	json_put(verifier, "id", id);
	json_object_set_new(verifier, "policies", policies);
	json_object_set_new(predicate, "verifier", verifier);
	json_put(predicate, "timeCreated", finished);
	json_object_set_new(predicate, "properties", properties(r));
	return statement(r, SVR_TYPE, predicate);
}
