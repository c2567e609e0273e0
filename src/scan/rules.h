/* Rules whose place a tree-sitter query says, with conditions on it that a query cannot.
 */
#ifndef EXITPATH_SCAN_RULES_H
#define EXITPATH_SCAN_RULES_H

#include "base/err.h"
#include "model/rule.h"
#include "source/source.h"

/* The rules made ready; only read then, by any thread. `rules` must outlive it. */
struct scan_set;
/* ERR_USAGE, "FILE:LINE: …": a query that does not fit a grammar, an unknown condition.
 */
struct scan_set *scan_set_new(const struct scan_rules *rules, struct err *err);
void scan_set_free(struct scan_set *s);
/* NULL: there is no such rule; scan's own analyses report by these names. */
const struct scan_rule *scan_set_rule(const struct scan_set *s, const char *id);

/* test: the file is one of tests. */
void scan_queries(const struct scan_set *s, const struct source_tree *t, const char *path,
		  bool test, struct scan_findings *out);

#endif
