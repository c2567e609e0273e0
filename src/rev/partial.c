/*
 * Partial clones (`git clone --filter=blob:none`) fetch objects when they are first
 * needed. A checkout has no remote to ask, so what a commit lacks is fetched before,
 * in one request as git's own fetch_objects() makes it, into our object directory.
 */
#include "rev/repo.h"

#include "base/fs.h"
#include "base/mem.h"

#include <string.h>

#define MAX_ROUNDS 64 /* a clone without trees learns of one level in each */

/* Lines "?<oid>" of what the commit's tree names and nobody has. */
static int list_missing(const struct git_call *call, const char *commit, struct buf *ret,
			struct err *err)
{
	CLEANUP(buf) struct buf out = {0};
	char *save = NULL;

	if (git_run(call, &out, err, "rev-list", "--objects", "--missing=print",
		    "--no-walk", commit, "--", NULL) < 0)
		return -1;
	for (char *p = out.len ? strtok_r(out.data, "\n", &save) : NULL; p;
	     p = strtok_r(NULL, "\n", &save))
		if (*p == '?')
			buf_addf(ret, "%s\n", p + 1);
	return 0;
}

int repo_fetch_missing(const struct repo *r, const char *commit, struct err *err)
{
	CLEANUP_FREE char *objects = path_join(r->frozen, "objects");
	CLEANUP(strv) struct strv env = {0};
	struct git_call call = {.env = &env, .cwd = r->top};

	if (!r->promisor)
		return 0;
	strv_copy(&env, r->user_env.v);
	env_set(&env, "GIT_OBJECT_DIRECTORY", objects);
	for (unsigned round = 0; round < MAX_ROUNDS; round++) {
		CLEANUP(buf) struct buf missing = {0};

		call.input = NULL;
		if (list_missing(&call, commit, &missing, err) < 0)
			return -1;
		if (!missing.len)
			return 0;
		call.input = missing.data;
		if (git_run(&call, NULL, err, "-c", "fetch.negotiationAlgorithm=noop",
			    "fetch", "-q", r->promisor, "--no-tags",
			    "--no-write-fetch-head", "--recurse-submodules=no",
			    "--filter=blob:none", "--stdin", NULL) < 0) {
			err_prefix(err, "this partial clone lacks objects of %.12s",
				   commit);
			err_hint(err, "git checkout %.12s once, while %s can be reached",
				 commit, r->promisor);
			return -1;
		}
	}
	return err_set(err, ERR_ENVIRONMENT, "%s does not give the objects of %.12s",
		       r->promisor, commit);
}
