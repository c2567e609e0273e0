/* What reading the patch decides: the checks `scan` and `review` of the gate. */
#include "base/mem.h"
#include "verdict/verdict.h"

static const char *plural(size_t n, const char *one, const char *many)
{
	return n == 1 ? one : many;
}

static void add_scan(const struct scan_finding *f, struct check *ret)
{
	struct remark *r = check_remark(ret);

	*r = (struct remark){
		.blocks = true,
		.rule = xstrdup(f->rule),
		.path = xstrdup(f->path),
		.line = f->line,
		.function = f->function ? xstrdup(f->function) : NULL,
		.message = xstrdup(f->message),
		.excerpt = f->excerpt ? xstrdup(f->excerpt) : NULL,
	};
	for (size_t i = 0; i < f->nsteps; i++)
		strv_addf(&r->steps, "%u %s", f->steps[i].line, f->steps[i].text);
}

void verdict_scan(const struct scan_findings *found, bool notes, struct check *ret)
{
	size_t n = 0;

	ret->target = xstrdup("scan");
	for (size_t i = 0; i < found->n; i++)
		if (!found->v[i].inherited &&
		    (notes || found->v[i].severity > SCAN_NOTE)) {
			add_scan(&found->v[i], ret);
			n++;
		}
	ret->outcome = n ? OUTCOME_DEFECT : OUTCOME_CLEAN;
	if (!n) {
		ret->explanation = xstrdup("The patch adds no failure path of which a "
					   "rule says that it goes wrong.");
		return;
	}
	ret->explanation = xasprintf("The patch adds %zu %s where a failure path goes "
				     "wrong.",
				     n, plural(n, "place", "places"));
	ret->next = xasprintf("exitpath scan --explain %s; what is meant to be so gets a "
			      "comment with the reason: exitpath: ignore[%s] REASON",
			      ret->remarks[0].rule, ret->remarks[0].rule);
}

static void add_item(const struct review_item *i, bool blocks, struct check *ret)
{
	*check_remark(ret) = (struct remark){
		.blocks = blocks,
		.rule = xstrdup(review_rule_name(i->rule)),
		.path = xstrdup(i->path),
		.line = i->line,
		.on_base = i->on_base,
		.message = xstrdup(i->message),
		.excerpt = i->excerpt ? xstrdup(i->excerpt) : NULL,
		.justification = i->justification ? xstrdup(i->justification) : NULL,
	};
}

void verdict_review(const struct review_items *items, bool strict, struct check *ret)
{
	size_t n = 0;

	ret->target = xstrdup("review");
	for (size_t i = 0; i < items->n; i++)
		if (review_item_rejects(&items->v[i], strict)) {
			add_item(&items->v[i], true, ret);
			n++;
		}
	for (size_t i = 0; i < items->n; i++)
		if (!review_item_rejects(&items->v[i], strict))
			add_item(&items->v[i], false, ret);
	ret->outcome = review_outcome(items, strict);
	if (!n) {
		ret->explanation =
			xstrdup("The patch does not weaken what is to judge it.");
		return;
	}
	ret->explanation = xasprintf("The patch weakens what is to judge it in %zu %s.",
				     n, plural(n, "place", "places"));
	ret->next = xstrdup("take these changes out of the patch, or have them decided "
			    "upon in a patch of their own");
}
