#include "engine/gate.h"

#include "base/clock.h"
#include "base/mem.h"
#include "engine/fault_gate.h"
#include "engine/gate_readings.h"
#include "engine/isolation.h"
#include "verdict/verdict.h"

#include <string.h>

/* The suite has no cycles; it gets the set-up's deadline. */
static int run_suite(struct session *s, struct err *err)
{
	struct run_result results[2] = {0};
	struct strv lists[2] = {0};
	unsigned sides = s->same ? 1u << SIDE_BASE : 3u;
	struct check *c;
	bool ready;

	if (session_setup(s, 3u, &ready, err) < 0)
		return -1;
	if (!ready)
		return 0;
	if (session_commands(s, "suite", s->contract.suite, s->contract.setup_timeout_ms,
			     session_network(s), sides, results, lists, err) < 0) {
		strv_release(&lists[0]);
		strv_release(&lists[1]);
		return -1;
	}
	c = result_check(s->result);
	verdict_suite(&results[SIDE_BASE], &results[s->same ? SIDE_BASE : SIDE_CANDIDATE],
		      c);
	if (!c->target)
		c->target = xstrdup("suite");
	c->base_artifacts = lists[SIDE_BASE];
	c->candidate_artifacts = lists[SIDE_CANDIDATE];
	if (s->same)
		strv_copy(&c->candidate_artifacts, c->base_artifacts.v);
	return 0;
}

static bool is_command(const struct session *s, const char *name)
{
	return !strcmp(s->opts->command, name);
}

static bool review_wanted(const struct session *s)
{
	return s->review.wanted && is_command(s, "gate");
}

static bool scan_wanted(const struct session *s)
{
	return s->scan.wanted && is_command(s, "gate");
}

static bool leaks_wanted(const struct session *s)
{
	return !is_command(s, "fault");
}

static int run_leaks(struct session *s, struct err *err)
{
	for (size_t i = 0; i < s->contract.nlifecycles; i++)
		if (session_measure(s, &s->contract.lifecycles[i], err) < 0)
			return -1;
	return 0;
}

static int run_faults(struct session *s, struct err *err)
{
	for (size_t i = 0; i < s->contract.nlifecycles; i++)
		if (faults_wanted(s, &s->contract.lifecycles[i]) &&
		    session_faults(s, &s->contract.lifecycles[i], err) < 0)
			return -1;
	return 0;
}

static bool suite_wanted(const struct session *s)
{
	return s->contract.suite && (is_command(s, "gate") || s->opts->suite);
}

/* In this order: what only reads comes first, it takes no time. */
static const struct {
	bool (*wanted)(const struct session *s); /* NULL: always */
	int (*run)(struct session *s, struct err *err);
	bool only_clean; /* left out when a check before it was not clean */
} stages[] = {
	{review_wanted, session_review, false}, {scan_wanted, session_scan, false},
	{leaks_wanted, run_leaks, false},	{NULL, run_faults, false},
	{suite_wanted, run_suite, true},
};

static int decide(struct session *s, struct err *err)
{
	struct result *r = s->result;

	for (size_t i = 0; i < ARRAY_SIZE(stages); i++) {
		if (stages[i].wanted && !stages[i].wanted(s))
			continue;
		if (stages[i].only_clean && r->outcome != OUTCOME_CLEAN)
			continue;
		if (stages[i].run(s, err) < 0)
			return -1;
		r->outcome = verdict_overall(r->checks, r->nchecks);
	}
	return 0;
}

int engine_gate(const struct gate_opts *opts, struct result *ret, struct err *err)
{
	uint64_t start = clock_us();
	struct session s;
	int rc = session_open(&s, opts, ret, err);

	if (rc == 0)
		rc = decide(&s, err);
	if (rc == 0) {
		ret->reproduce = session_reproduce(&s);
		ret->duration_us = clock_us() - start;
		progress_tell(opts->progress, "evidence", "recording", NULL, 0, 0);
		rc = store_finish(s.store, ret, s.artifacts, s.nartifacts, err);
	}
	session_close(&s);
	return rc;
}
