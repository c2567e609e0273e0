/* What `exitpath review` says about a patch. Plain data. */
#ifndef EXITPATH_MODEL_REVIEW_H
#define EXITPATH_MODEL_REVIEW_H

#include "base/macros.h"
#include "model/outcome.h"

#include <stdbool.h>
#include <stddef.h>

enum review_rule {
#define RULE(id, name, rejects, meaning) REVIEW_##id,
#include "model/review_rule.def"
#undef RULE
	REVIEW_RULES
};
const char *review_rule_name(enum review_rule r);
bool review_rule_parse(const char *name, size_t len, enum review_rule *ret);
const char *review_rule_meaning(enum review_rule r);
bool review_rule_rejects(enum review_rule r);

struct review_item {
	enum review_rule rule;
	char *path;
	unsigned
		line; /* from 1; of the candidate, or of base for what is gone; 0: none */
	bool on_base; /* path and line are those of base */
	char *message; /* what the patch does there */
	char *excerpt; /* the line; NULL: none */
	/* Owner, reason and date as the patch gives them: it passes, and is listed. */
	char *justification;
};

struct review_items {
	struct review_item *v;
	size_t n, cap;
};
struct review_item *review_add(struct review_items *r, enum review_rule rule,
			       const char *path, unsigned line, const char *fmt, ...)
	PRINTF(5, 6);
/* By path, line, rule; drops what is said twice. */
void review_items_sort(struct review_items *r);
/* rejected when some item rejects and is not justified; with `strict`, any item. */
bool review_item_rejects(const struct review_item *i, bool strict);
enum outcome review_outcome(const struct review_items *r, bool strict);
void review_items_release(struct review_items *r);
DEFINE_CLEANUP(review_items)

#endif
