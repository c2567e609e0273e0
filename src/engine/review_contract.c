/* What a patch does to the contract. */
#include "engine/review_parts.h"

#include "base/fs.h"
#include "base/mem.h"
#include "contract/load.h"

#include <string.h>

static const struct suppression *find(const struct suppression *list, size_t n,
				      const char *match)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(list[i].match, match))
			return &list[i];
	return NULL;
}

static bool lasts_longer(const struct suppression *old, const struct suppression *now)
{
	return old->expires && (!now->expires || strcmp(now->expires, old->expires) > 0);
}

/* Owner, reason and date: it passes, and is listed. */
static void compare_lists(const char *path, const struct suppression *old, size_t nold,
			  const struct suppression *now, size_t nnow,
			  struct review_items *out)
{
	for (size_t i = 0; i < nnow; i++) {
		const struct suppression *was = find(old, nold, now[i].match);
		struct review_item *item;

		if (was && !lasts_longer(was, &now[i]))
			continue;
		item = review_add(out, REVIEW_SUPPRESSION_ADDED, path, now[i].line,
				  was ? "`%s` is not reported for longer"
				      : "`%s` is not reported any more",
				  now[i].match);
		if (now[i].owner && now[i].reason && now[i].expires)
			item->justification =
				xasprintf("%s, owner %s, until %s", now[i].reason,
					  now[i].owner, now[i].expires);
	}
}

/* A hang is seen later, or not before the job's own end. */
static void compare_timeouts(const char *path, const struct contract *old,
			     const struct contract *now, struct review_items *out)
{
	for (size_t i = 0; i < old->nlifecycles; i++)
		for (size_t k = 0; k < now->nlifecycles; k++) {
			const struct lifecycle *a = &old->lifecycles[i];
			const struct lifecycle *b = &now->lifecycles[k];

			if (!strcmp(a->name, b->name) && b->timeout_ms > a->timeout_ms)
				review_add(out, REVIEW_CONTRACT_WEAKENED, path, 0,
					   "lifecycle %s: a longer timeout: %.1f s, was "
					   "%.1f s",
					   b->name, (double)b->timeout_ms / 1000,
					   (double)a->timeout_ms / 1000);
		}
}

bool review_contract(const struct rev_change *c, struct review_items *out)
{
	CLEANUP(contract) struct contract old = {0}, now = {0};
	CLEANUP(strv) struct strv lines = {0};
	const char *path = c->path ? c->path : c->old_path;
	struct err err = {0};

	if (strcmp(path_base(path), CONTRACT_FILE) != 0 || !c->is_text || !c->old_path)
		return false;
	if (contract_parse(buf_str(&c->old_text), c->old_text.len, path, &old, NULL) < 0)
		return true; /* nothing that could be weakened */
	if (!c->path) {
		review_add(out, REVIEW_CONTRACT_WEAKENED, path, 0, "the contract is gone")
			->on_base = true;
		return true;
	}
	if (contract_parse(buf_str(&c->text), c->text.len, path, &now, &err) < 0) {
		review_add(out, REVIEW_CONTRACT_WEAKENED, path, 0,
			   "the contract cannot be read: %s", err.message);
		return true;
	}
	compare_lists(path, old.suppressions, old.nsuppressions, now.suppressions,
		      now.nsuppressions, out);
	compare_lists(path, old.faults.ignore, old.faults.nignore, now.faults.ignore,
		      now.faults.nignore, out);
	compare_timeouts(path, &old, &now, out);
	contract_weakened(&old, &now, &lines);
	for (size_t i = 0; i < lines.n; i++)
		review_add(out, REVIEW_CONTRACT_WEAKENED, path, 0, "%s", lines.v[i]);
	return true;
}
