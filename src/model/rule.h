/* A rule of `exitpath scan`, as its file says (rules/README.md). Plain data. */
#ifndef EXITPATH_MODEL_RULE_H
#define EXITPATH_MODEL_RULE_H

#include "base/strv.h"
#include "model/scan.h"

struct rule_example {
	char *language; /* "python" */
	char *code;
	unsigned line; /* in the rule's file */
};

struct scan_rule {
	char *file;   /* its name, for messages */
	bool builtin; /* its query is known to fit: made ready when it is needed */
	char *id;
	enum scan_shape shape;
	enum scan_severity severity;
	struct strv languages;
	/* A tree-sitter query with the place as @here; NULL: the rule is an analysis in
	 * scan/, which reports under this id. */
	char *query;
	unsigned query_line; /* in the file */
	struct strv where;   /* further conditions: "in-async", "lacks:rows:.Err" */
	char *message;	     /* {name}: the text of the capture @name */
	char *explain;	     /* what goes wrong, when */
	char *fix;
	struct strv references;
	struct rule_example *bad, *good;
	size_t nbad, bad_cap, ngood, good_cap;
};

struct scan_rules {
	struct scan_rule *v;
	size_t n, cap;
	bool of_review; /* rules of `exitpath review` in this form: they have no shape */
};
const struct scan_rule *scan_rule_find(const struct scan_rules *rules, const char *id);
void scan_rule_release(struct scan_rule *r);
void scan_rules_release(struct scan_rules *r);
DEFINE_CLEANUP(scan_rules)

#endif
