/* The checkouts of a session, and their set-up. */
#include "engine/isolation.h"
#include "engine/surroundings.h"

#include "base/fs.h"
#include "base/mem.h"
#include "contract/load.h"
#include "verdict/verdict.h"

#include <stdio.h>
#include <string.h>

static void tell_waiting(void *ctx, pid_t owner)
{
	const struct session *s = ctx;
	char text[96];

	snprintf(text, sizeof(text), "waiting for another exitpath (pid %ld)",
		 (long)owner);
	progress_tell(s->opts->progress, "checkout", text, NULL, 0, 0);
}

/* Two contracts of one repository may have the same command line for their set-up. */
static void setup_digest(const struct session *s, char ret[SHA256_HEX])
{
	struct sha256 *h = sha256_new();
	char commands[SHA256_HEX];

	contract_setup_digest(&s->contract, commands);
	sha256_add_field(h, commands);
	sha256_add_field(h, s->prefix);
	/* What was built in the sandbox holds the path that it had there. */
	sha256_add_field(h, isolation_name(s->opts->isolation));
	sha256_add_field(h, session_sandboxed(s) ? repo_top(s->repo) : NULL);
	surroundings_add_build(h);
	sha256_finish(h, ret);
}

static char *in_prefix(const struct session *s, const char *top)
{
	return *s->prefix ? path_join(top, s->prefix) : xstrdup(top);
}

static int get_checkout(struct session *s, enum side side, struct err *err)
{
	struct side_state *st = &s->side[side];
	struct side_state *own = s->same ? &s->side[SIDE_BASE] : st;
	char digest[SHA256_HEX];

	if (!own->have_checkout) {
		progress_tell(s->opts->progress, "checkout", side_name(side), NULL, 0, 0);
		setup_digest(s, digest);
		if (checkout_get(s->repo, &own->rev, digest, &s->contract.share,
				 session_sandboxed(s), tell_waiting, s, &own->checkout,
				 err) < 0)
			return -1;
		own->have_checkout = true;
		if (isolation_add_checkout(s, own, err) < 0)
			return -1;
	}
	st->use = &own->checkout;
	if (!st->cwd) {
		st->cwd = in_prefix(s, st->use->dir);
		st->seen_cwd = in_prefix(s, session_seen(s, side));
	}
	if (path_exists(st->cwd))
		return 0;
	err_set(err, ERR_USAGE, "%s has no directory %s", side_name(side), s->prefix);
	err_hint(err, "commands run in the contract's directory; call exitpath from a "
		      "directory that both revisions have");
	return -1;
}

/*
 * Two exitpaths that work on the same revisions the other way round must not wait for
 * each other: checkouts are locked in the order of their trees. When the second is held
 * already (base was reused, and is needed after all), it is given back for a moment.
 */
static int get_checkouts(struct session *s, unsigned sides, struct err *err)
{
	const bool swap =
		strcmp(s->side[SIDE_BASE].rev.tree, s->side[SIDE_CANDIDATE].rev.tree) > 0;
	const enum side order[] = {swap ? SIDE_CANDIDATE : SIDE_BASE,
				   swap ? SIDE_BASE : SIDE_CANDIDATE};
	struct side_state *first = &s->side[order[0]], *second = &s->side[order[1]];

	if (sides == 3u && !first->have_checkout && second->have_checkout) {
		checkout_release(&second->checkout);
		sandbox_release(&second->views);
		second->have_checkout = second->setup_ran = false;
	}
	for (size_t i = 0; i < ARRAY_SIZE(order); i++)
		if (sides & (1u << order[i]) && get_checkout(s, order[i], err) < 0)
			return -1;
	return 0;
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

	if (get_checkouts(s, sides, err) < 0)
		return -1;
	for (int i = 0; i < 2; i++) {
		struct side_state *st = &s->side[i];

		if (!(sides & (1u << i)) || st->setup_ran)
			continue;
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
			      NETWORK_HOST, todo, results, lists, err);
	for (int i = 0; i < 2 && rc == 0; i++) {
		if (!(todo & (1u << i)))
			continue;
		ran[i] = &results[i];
		keep_setup_log(s, (enum side)i, lists[i].v[0]);
		if (run_result_passed(&results[i]))
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
