/* Commands that run once per revision: the set-up and the suite. */
#include "engine/isolation.h"
#include "engine/lane.h"

#include "base/fs.h"
#include "base/mem.h"

#include <stdio.h>
#include <string.h>

/* Of each stream, what a person needs to see why it failed. */
#define KEEP_OUTPUT ((size_t)1 << 20)

struct command_lane {
	struct session *session;
	enum side side;
	const char *target, *command;
	uint64_t timeout_ms;
	enum network network;
	struct sandbox sandbox;
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
	spec->cwd = xstrdup(s->side[c->side].seen_cwd);
	spec->dir = xstrdup(c->dir);
	spec->timeout_ms = c->timeout_ms;
	spec->sandbox = session_sandbox(s, c->side, c->dir, c->network, &c->sandbox);
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
	session_note_run(c->session, r);
	buf_addf(&text, "$ %s\n%s\n", c->command, ending);
	for (size_t i = 0; i < ARRAY_SIZE(streams); i++) {
		CLEANUP_FREE char *path = path_join(c->dir, streams[i]);

		session_add_file(&text, path, KEEP_OUTPUT);
	}
	if (session_keep(c->session, name, buf_str(&text), text.len, c->list, err) < 0)
		return -1;
	return remove_tree(c->dir, err);
}

int session_commands(struct session *s, const char *target, const char *command,
		     uint64_t timeout_ms, enum network network, unsigned sides,
		     struct run_result results[2], struct strv lists[2], struct err *err)
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
			.network = network,
			.result = &results[i],
			.list = &lists[i],
		};
		lanes[n] = (struct lane){
			.next = command_next, .done = command_done, .ctx = &ctx[n]};
		n++;
	}
	rc = lanes_run(lanes, n, s->same ? 1 : s->opts->jobs, err);
	for (size_t i = 0; i < n; i++) {
		free(ctx[i].dir);
		sandbox_release(&ctx[i].sandbox);
	}
	return rc;
}
