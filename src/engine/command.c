/* Commands that run once per revision: the set-up and the suite. */
#include "engine/lane.h"
#include "engine/session.h"

#include "base/fs.h"
#include "base/mem.h"
#include "detect/report_file.h"
#include "verdict/verdict.h"

#include <stdio.h>
#include <string.h>

/* Of each stream, what a person needs to see why it failed. */
#define KEEP_OUTPUT ((size_t)1 << 20)

struct command_lane {
	struct session *session;
	enum side side;
	const char *target, *command;
	uint64_t timeout_ms;
	bool started;
	char *dir;
	struct run_result *result;
	struct strv *list;
};

static int command_next(void *ctx, struct run_spec *spec, struct err *err)
{
	struct command_lane *c = ctx;
	struct session *s = c->session;
	CLEANUP_FREE char *tmp = NULL;

	if (c->started)
		return 0;
	c->started = true;
	c->dir = xasprintf("%s/%s-%s", s->scratch, c->target, side_name(c->side));
	tmp = path_join(c->dir, "tmp");
	if (make_dirs(tmp, 0700, err) < 0)
		return -1;
	progress_tell(s->opts->progress, c->target, side_name(c->side), NULL, 0, 0);
	strv_add(&spec->argv, "/bin/sh");
	strv_add(&spec->argv, "-c");
	strv_add(&spec->argv, c->command);
	spec->cwd = xstrdup(s->side[c->side].cwd);
	spec->dir = xstrdup(c->dir);
	spec->timeout_ms = c->timeout_ms;
	session_env(s, c->side, tmp, &spec->env);
	return 1;
}

static int command_done(void *ctx, const struct run_result *r, struct err *err)
{
	struct command_lane *c = ctx;
	CLEANUP(buf) struct buf text = {0};
	CLEANUP_FREE char *name = xasprintf("%s/%s.txt", c->target, side_name(c->side));
	CLEANUP_FREE char *ending = run_result_describe(r);
	static const char *const streams[] = {"stdout", "stderr"};

	*c->result = *r;
	buf_addf(&text, "$ %s\n%s\n", c->command, ending);
	for (size_t i = 0; i < ARRAY_SIZE(streams); i++) {
		CLEANUP_FREE char *path = path_join(c->dir, streams[i]);

		buf_addf(&text, "\n--- %s\n", streams[i]);
		if (read_regular(path, KEEP_OUTPUT, &text) < 0)
			buf_adds(&text, "(none)\n");
	}
	if (session_keep(c->session, name, buf_str(&text), text.len, c->list, err) < 0)
		return -1;
	return remove_tree(c->dir, err);
}

int session_commands(struct session *s, const char *target, const char *command,
		     uint64_t timeout_ms, unsigned sides, struct run_result results[2],
		     struct strv lists[2], struct err *err)
{
	struct command_lane ctx[2] = {0};
	struct lane lanes[2] = {0};
	size_t n = 0;
	int rc;

	for (int i = 0; i < 2; i++) {
		if (!(sides & (1u << i)))
			continue;
		ctx[n] = (struct command_lane){
			.session = s,
			.side = (enum side)i,
			.target = target,
			.command = command,
			.timeout_ms = timeout_ms,
			.result = &results[i],
			.list = &lists[i],
		};
		lanes[n] = (struct lane){
			.next = command_next, .done = command_done, .ctx = &ctx[n]};
		n++;
	}
	rc = lanes_run(lanes, n, s->same ? 1 : s->opts->jobs, err);
	for (size_t i = 0; i < n; i++)
		free(ctx[i].dir);
	return rc;
}

static void keep_setup_log(struct session *s, enum side side, const char *artifact)
{
	CLEANUP(buf) struct buf text = {0};

	for (size_t i = 0; i < s->nartifacts; i++) {
		if (strcmp(s->artifacts[i].name, artifact))
			continue;
		if (store_read_artifact(s->store, s->artifacts[i].sha256, &text, NULL) ==
		    0)
			write_file(s->side[side].use->setup_log, buf_str(&text), text.len,
				   NULL);
	}
}

static bool all_ready(const struct session *s, unsigned sides)
{
	for (int i = 0; i < 2; i++)
		if ((sides & (1u << i) || s->same) && s->side[i].setup_failed)
			return false;
	return true;
}

int session_setup(struct session *s, unsigned sides, bool *ret_ok, struct err *err)
{
	struct run_result results[2] = {0};
	struct strv lists[2] = {0};
	const struct run_result *ran[2] = {NULL, NULL};
	unsigned todo = 0;
	bool failed = false;
	struct check *c;
	int rc = 0;

	for (int i = 0; i < 2; i++) {
		struct side_state *st = &s->side[i];

		if (!(sides & (1u << i)) || st->setup_ran)
			continue;
		if (session_checkout(s, (enum side)i, err) < 0)
			return -1;
		st->setup_ran = true;
		if (s->same && s->side[!i].setup_ran)
			continue; /* the same checkout */
		if (!s->contract.setup || (st->use->setup_done && !s->opts->fresh))
			continue;
		if (checkout_setup_begin(st->use, err) < 0)
			return -1;
		todo |= 1u << i;
	}
	if (!todo) {
		*ret_ok = all_ready(s, sides);
		return 0;
	}
	rc = session_commands(s, "setup", s->contract.setup, s->contract.setup_timeout_ms,
			      todo, results, lists, err);
	for (int i = 0; i < 2 && rc == 0; i++) {
		if (!(todo & (1u << i)))
			continue;
		ran[i] = &results[i];
		keep_setup_log(s, (enum side)i, lists[i].v[0]);
		if (results[i].end == RUN_EXITED && results[i].status == 0)
			rc = checkout_setup_done(s->side[i].use, err);
		else
			s->side[i].setup_failed = failed = true;
	}
	*ret_ok = all_ready(s, sides);
	if (rc == 0 && failed) {
		c = result_check(s->result);
		verdict_setup(ran[SIDE_BASE], ran[SIDE_CANDIDATE], c);
		if (!c->target)
			c->target = xstrdup("setup");
		c->base_artifacts = lists[SIDE_BASE];
		c->candidate_artifacts = lists[SIDE_CANDIDATE];
		return 0;
	}
	strv_release(&lists[0]);
	strv_release(&lists[1]);
	return rc;
}
