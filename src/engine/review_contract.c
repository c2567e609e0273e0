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
	compare_lists(path, old.review.allow, old.review.nallow, now.review.allow,
		      now.review.nallow, out);
	compare_timeouts(path, &old, &now, out);
	contract_weakened(&old, &now, &lines);
	for (size_t i = 0; i < lines.n; i++)
		review_add(out, REVIEW_CONTRACT_WEAKENED, path, 0, "%s", lines.v[i]);
	return true;
}

static void allow_items(const struct review_settings *s, const char *today,
			struct review_items *items)
{
	for (size_t i = 0; i < items->n; i++)
		for (size_t k = 0; k < s->nallow; k++) {
			struct review_item *item = &items->v[i];
			const struct suppression *a = &s->allow[k];
			CLEANUP_FREE char *what = xasprintf(
				"%s:%s", review_rule_name(item->rule), item->path);

			if (item->justification || strcmp(what, a->match) != 0 ||
			    strcmp(today, a->expires) > 0)
				continue;
			item->justification = xasprintf("%s, owner %s, until %s",
							a->reason, a->owner, a->expires);
		}
}

/* One that cannot be read allows nothing; that it cannot is told elsewhere. */
int review_allow(struct repo *r, const char *base, const char *candidate,
		 const char *today, struct review_items *items, struct err *err)
{
	const char *commits[] = {candidate, base};

	for (size_t i = 0; i < ARRAY_SIZE(commits); i++) {
		CLEANUP(contract) struct contract c = {0};
		CLEANUP(buf) struct buf text = {0};
		struct err why = {0};
		bool found = false;

		if (rev_read_file(r, commits[i], CONTRACT_FILE, &text, &found, &why) <
		    0) {
			if (why.kind == ERR_USAGE)
				continue;
			*err = why;
			return -1;
		}
		if (found && contract_parse(buf_str(&text), text.len, CONTRACT_FILE, &c,
					    NULL) == 0)
			allow_items(&c.review, today, items);
	}
	return 0;
}
