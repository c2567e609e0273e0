/* Results and stores for the tests of store/. */
#ifndef TESTS_UNIT_STORE_FIXTURE_H
#define TESTS_UNIT_STORE_FIXTURE_H

#include "harness.h"

#include "base/fs.h"
#include "base/mem.h"
#include "store/store.h"

#include <stdio.h>
#include <string.h>

#define COMMIT_A "a1b2c3d4e5f60718293a4b5c6d7e8f9012345678"
#define COMMIT_B "b1b2c3d4e5f60718293a4b5c6d7e8f9012345678"
#define DIGEST "sha256:0f1e2d3c4b5a69788796a5b4c3d2e1f00f1e2d3c4b5a69788796a5b4c3d2e1f0"
#define ARTIFACT "artifacts/worker_shutdown/lsan/candidate.json"

/* A check with one new heap leak of 2 and 3 allocations in worker_loop(). */
static inline void fixture_leak(struct result *r)
{
	struct check *c = result_check(r);
	struct finding *f = check_finding(c);
	struct frame *frame;

	c->target = xstrdup("worker_shutdown");
	c->detector = xstrdup("lsan");
	c->version = xstrdup("12.2.0");
	c->outcome = OUTCOME_LEAK;
	c->explanation = xstrdup("worker_loop() leaks");
	c->attempt = 1;
	c->duration_us = 842700;
	strv_add(&c->base_artifacts, "artifacts/worker_shutdown/lsan/base.json");
	strv_add(&c->candidate_artifacts, ARTIFACT);
	f->class = FINDING_NEW;
	f->ncycles = 2;
	f->leak.resource = RESOURCE_HEAP;
	f->leak.signature = xstrdup("heap worker!worker_loop");
	f->leak.what = xstrdup("80 bytes");
	f->leak.units = xcalloc(2, sizeof(uint64_t));
	f->leak.bytes = xcalloc(2, sizeof(uint64_t));
	f->leak.units[0] = 2;
	f->leak.units[1] = 3;
	frame = leak_frame(&f->leak);
	frame->function = xstrdup("worker_loop");
	frame->module = xstrdup("worker");
	frame->project = true;
}

/* take_id becomes the result's. */
static inline void fixture_result(struct result *r, char *take_id)
{
	*r = (struct result){0};
	r->run_id = take_id;
	r->command = xstrdup("gate");
	r->started = xstrdup("2026-11-30T20:11:00Z");
	r->exitpath_version = xstrdup("0.1.0");
	r->config_digest = xstrdup(DIGEST);
	r->isolation = xstrdup("sandbox");
	r->limit_tier = xstrdup("cgroup v2");
	r->repository = xstrdup("project");
	r->base.commit = xstrdup(COMMIT_A);
	r->candidate.commit = xstrdup(COMMIT_B);
	r->candidate.tree = xstrdup(COMMIT_A);
	r->outcome = OUTCOME_LEAK;
	r->reproduce = xstrdup("exitpath gate");
	fixture_leak(r);
}

/* One finished run with one artifact; returns its id, which the caller frees, or NULL. */
static inline char *fixture_run(struct store *s, const char *artifact, struct err *err)
{
	CLEANUP(result) struct result r = {0};
	struct artifact_ref ref = {.name = xstrdup(ARTIFACT)};
	char *id = store_begin(s, "gate", DIGEST, err);
	int rc = -1;

	if (id) {
		fixture_result(&r, xstrdup(id));
		rc = store_artifact(s, artifact, strlen(artifact), ref.sha256, err);
		if (rc == 0)
			rc = store_finish(s, &r, &ref, 1, err);
	}
	free(ref.name);
	if (rc < 0) {
		free(id);
		return NULL;
	}
	return id;
}

static inline struct store *fixture_open(const char *dir)
{
	struct err err = {0};
	struct store *s = store_open(dir, &err);

	if (!s)
		fail_msg("%s; %s", err.message, err.hint);
	return s;
}

/* A store in the test's directory; the caller closes it. */
static inline struct store *fixture_store(void)
{
	CLEANUP_FREE char *dir = path_join(harness_tmpdir(), "store");

	return fixture_open(dir);
}

/* How many problems verify names, having opened the store afresh; -1: cannot be read. */
static inline long fixture_problems(const char *dir, struct verify_stats *ret)
{
	struct err err = {0};
	struct store *s = store_open(dir, &err);
	struct verify_stats stats = {0};
	long n = -1;

	if (s && store_verify(s, &stats, &err) == 0)
		n = (long)stats.problems.n;
	store_close(s);
	if (ret)
		*ret = stats;
	else
		strv_release(&stats.problems);
	return n;
}

#endif
