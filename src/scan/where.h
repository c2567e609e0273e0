/* Conditions of rules on what their query matched: `where: ["in-async", …]`. */
#ifndef EXITPATH_SCAN_WHERE_H
#define EXITPATH_SCAN_WHERE_H

#include "scan/lang.h"
#include "source/source.h"

#include <stdbool.h>

struct where_match {
	const struct source_tree *t;
	const struct scan_lang *lang;
	const struct source_query *query;
	const struct source_match *match;
	uint32_t here;
	bool test;
};

/* Is it one, and are its captures among the query's? NULL: yes; else what is wrong. */
const char *where_refused(const char *condition, const struct source_query *query);
bool where_holds(const char *condition, const struct where_match *m);
/* Can it hold anywhere in the file? By its text alone: most files need no query. */
bool where_possible(const char *condition, const struct source_tree *t);

#endif
