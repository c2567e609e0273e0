/* `scan` and `review` of the contract: true, false, or a map of settings. */
#ifndef EXITPATH_CONTRACT_READINGS_H
#define EXITPATH_CONTRACT_READINGS_H

#include "base/json.h"
#include "contract/read.h"
#include "model/contract.h"

/* Into struct contract. */
int read_scan(const struct reader *, const struct key *, const struct yaml *, void *);
int read_review(const struct reader *, const struct key *, const struct yaml *, void *);
extern const struct keys scan_table, review_table, allow_table; /* for hints */
/* Canonical. New references. */
json_t *scan_settings_json(const struct scan_settings *s);
json_t *review_settings_json(const struct review_settings *r);

#endif
