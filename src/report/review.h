/* What `exitpath review` says, as text, as JSON, and in the form of scan's findings for
 * the formats that both have. */
#ifndef EXITPATH_REPORT_REVIEW_H
#define EXITPATH_REPORT_REVIEW_H

#include "base/buf.h"
#include "base/json.h"
#include "model/review.h"
#include "model/rule.h"

/* What rejects, what is only shown, and what passes with its justification. */
void report_review_text(const struct review_items *items, bool strict, struct buf *out);
json_t *report_review_json(const struct review_items *items, bool strict); /* an array */
/* What rejects is an error, what is only shown a warning, what is justified a note. Adds
 * to both, which the caller releases. */
void report_review_findings(const struct review_items *items, bool strict,
			    struct scan_findings *ret, struct scan_rules *ret_rules);

#endif
