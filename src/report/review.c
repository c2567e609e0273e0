#include "report/review.h"

#include "base/mem.h"
#include "report/escape.h"

static void add_item(const struct review_item *i, struct buf *out)
{
	escape_line(out, i->path);
	if (i->line)
		buf_addf(out, ":%u", i->line);
	if (i->on_base)
		buf_adds(out, " (base)");
	buf_adds(out, ": ");
	escape_line(out, i->message);
	buf_addf(out, " [%s]\n", review_rule_name(i->rule));
	if (i->excerpt) {
		buf_adds(out, "    > ");
		escape_line(out, i->excerpt);
		buf_addc(out, '\n');
	}
	if (i->justification) {
		buf_adds(out, "    justified: ");
		escape_line(out, i->justification);
		buf_addc(out, '\n');
	}
}

enum part { PART_REJECTS, PART_SHOWN, PART_JUSTIFIED, PARTS };

static enum part part_of(const struct review_item *i, bool strict)
{
	if (i->justification)
		return PART_JUSTIFIED;
	return review_item_rejects(i, strict) ? PART_REJECTS : PART_SHOWN;
}

void report_review_text(const struct review_items *items, bool strict, struct buf *out)
{
	static const char *const heads[PARTS] = {
		[PART_REJECTS] = "weakens the gate:\n",
		[PART_SHOWN] = "worth a look:\n",
		[PART_JUSTIFIED] = "passes, with owner, reason and date:\n",
	};

	for (enum part p = 0; p < PARTS; p++) {
		bool begun = false;

		for (size_t i = 0; i < items->n; i++) {
			if (part_of(&items->v[i], strict) != p)
				continue;
			if (!begun)
				buf_adds(out, heads[p]);
			begun = true;
			add_item(&items->v[i], out);
		}
		if (begun)
			buf_addc(out, '\n');
	}
}

json_t *report_review_json(const struct review_items *items, bool strict)
{
	json_t *all = json_array();

	for (size_t i = 0; i < items->n; i++) {
		const struct review_item *v = &items->v[i];
		json_t *j = json_object();

		json_put(j, "rule", review_rule_name(v->rule));
		json_put(j, "meaning", review_rule_meaning(v->rule));
		json_put_bool(j, "rejects", review_item_rejects(v, strict));
		json_put(j, "path", v->path);
		if (v->line)
			json_put_int(j, "line", v->line);
		json_put(j, "revision", v->on_base ? "base" : "candidate");
		json_put(j, "message", v->message);
		json_put(j, "excerpt", v->excerpt);
		json_put(j, "justification", v->justification);
		json_array_append_new(all, j);
	}
	return all;
}

static void add_rules(struct scan_rules *to)
{
	to->of_review = true;
	for (int r = 0; r < REVIEW_RULES; r++) {
		struct scan_rule *rule = VEC_ADD(to->v, to->n, to->cap);

		rule->id = xstrdup(review_rule_name((enum review_rule)r));
		rule->explain = xstrdup(review_rule_meaning((enum review_rule)r));
		rule->fix =
			xstrdup("take it out of the patch, or have it decided upon in "
				"a patch of its own");
		rule->severity = review_rule_rejects((enum review_rule)r) ? SCAN_ERROR
									  : SCAN_WARNING;
	}
}

void report_review_findings(const struct review_items *items, bool strict,
			    struct scan_findings *ret, struct scan_rules *ret_rules)
{
	static const enum scan_severity severities[PARTS] = {
		[PART_REJECTS] = SCAN_ERROR,
		[PART_SHOWN] = SCAN_WARNING,
		[PART_JUSTIFIED] = SCAN_NOTE,
	};

	add_rules(ret_rules);
	for (size_t i = 0; i < items->n; i++) {
		const struct review_item *v = &items->v[i];
		struct scan_finding *f = scan_findings_add(ret);

		f->rule = review_rule_name(v->rule);
		f->severity = severities[part_of(v, strict)];
		f->path = xstrdup(v->path);
		f->line = f->end_line = v->line ? v->line : 1;
		f->column = f->utf16_column = 1;
		f->end_column = f->utf16_end_column = 2;
		f->message = xasprintf("%s%s%s%s", v->message,
				       v->on_base ? " (a line of base)" : "",
				       v->justification ? "; justified: " : "",
				       v->justification ? v->justification : "");
		f->excerpt = v->excerpt ? xstrdup(v->excerpt) : NULL;
	}
}
