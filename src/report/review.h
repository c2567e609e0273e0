/* What `exitpath review` says, as text and as JSON. */
#ifndef EXITPATH_REPORT_REVIEW_H
#define EXITPATH_REPORT_REVIEW_H

#include "base/buf.h"
#include "base/json.h"
#include "model/review.h"

/* What rejects, what is only shown, and what passes with its justification. */
void report_review_text(const struct review_items *items, bool strict, struct buf *out);
json_t *report_review_json(const struct review_items *items, bool strict); /* an array */

#endif
