/* What the runs of a session see of the machine. */
#include "engine/isolation.h"

#include "base/fs.h"
#include "base/mem.h"
#include "sandbox/sandbox.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

bool session_sandboxed(const struct session *s)
{
	return s->opts->isolation == ISOLATION_SANDBOX;
}

static int refuse(const char *path, const char *why, struct err *err)
{
	err_set(err, ERR_USAGE, "expose: %s %s", path, why);
	err_hint(err, "expose names single files and directories that runs may read; "
		      "directories of the working tree are for share");
	return -1;
}

/* Why a path of the contract cannot be shown, as far as only this machine can tell. */
const char *isolation_refused(const struct session *s, const char *path)
{
	const char *home = getenv("HOME");

	if (home && home[0] == '/' && path_is_below(home, path))
		return "would show all of the home directory";
	if (path_is_below(repo_top(s->repo), path) ||
	    path_is_below(path, repo_top(s->repo)))
		return "would show the working tree in place of the revision";
	if (path_is_below(repo_store(s->repo), path))
		return "would show the store, and both revisions in it";
	if (sandbox_is_own_dir(path) || path_is_below(path, "/dev") ||
	    path_is_below(path, "/proc"))
		return "is a run's own in the sandbox";
	return NULL;
}

static int expose_one(struct session *s, const char *path, struct err *err)
{
	const char *home = getenv("HOME"), *why;
	CLEANUP_FREE char *full = NULL, *real = NULL;

	if (!strncmp(path, "~/", 2) && (!home || home[0] != '/'))
		return refuse(path, "has no meaning where $HOME is not set", err);
	full = path[0] == '~' ? path_join(home, path + 2) : xstrdup(path);
	real = realpath(full, NULL);
	if (!real) {
		err_errno(err, ERR_USAGE, errno, "expose: %s", path);
		err_hint(err, "take it out of the contract, or make it");
		return -1;
	}
	why = isolation_refused(s, full);
	if (!why)
		why = isolation_refused(s, real);
	if (why)
		return refuse(path, why, err);
	sandbox_add_view(&s->exposed, real, full, VIEW_READ);
	return 0;
}

int isolation_open(struct session *s, struct err *err)
{
	const struct sandbox least = {.network = NETWORK_LOOPBACK};

	s->result->isolation = xstrdup(isolation_name(s->opts->isolation));
	if (!session_sandboxed(s))
		return 0;
	for (size_t i = 0; i < s->contract.expose.n; i++)
		if (expose_one(s, s->contract.expose.v[i], err) < 0)
			return -1;
	return sandbox_check(&least, err);
}

int isolation_add_checkout(struct session *s, struct side_state *st, struct err *err)
{
	if (!session_sandboxed(s))
		return 0;
	if (checkout_views(s->repo, &st->checkout, &st->views, err) < 0)
		return -1;
	for (size_t i = 0; i < s->exposed.nviews; i++)
		sandbox_add_view(&st->views, s->exposed.views[i].from,
				 s->exposed.views[i].at, VIEW_READ);
	return 0;
}

const struct sandbox *session_sandbox(const struct session *s, enum side side,
				      const char *dir, enum network network,
				      struct sandbox *ret)
{
	const struct side_state *own = &s->side[s->same ? SIDE_BASE : side];

	if (!session_sandboxed(s))
		return NULL;
	sandbox_copy(ret, &own->views);
	sandbox_add_view(ret, dir, dir, VIEW_WRITE);
	ret->network = network;
	return ret;
}

/* Of lifecycles that differ the suite gets what any has: it is about all of them. */
enum network session_network(const struct session *s)
{
	enum network n = NETWORK_NONE;

	for (size_t i = 0; i < s->contract.nlifecycles; i++)
		if (s->contract.lifecycles[i].network > n)
			n = s->contract.lifecycles[i].network;
	return n;
}

void session_note_run(struct session *s, const struct run_result *r)
{
	char **tier = &s->result->limit_tier;

	if (r->end == RUN_LOST || r->end == RUN_NOT_STARTED || r->end == RUN_CANCELLED ||
	    r->end == RUN_SANDBOX_FAILED)
		return;
	if (*tier && limit_tier_parse(*tier) <= r->tier)
		return;
	free(*tier);
	*tier = xstrdup(limit_tier_name(r->tier));
}
