/* `vet` of the contract: what generated tests are about, and what they must reach. */
#ifndef EXITPATH_CONTRACT_VET_H
#define EXITPATH_CONTRACT_VET_H

#include "base/json.h"
#include "contract/read.h"
#include "model/contract.h"

/* Into struct contract. */
int read_vet(const struct reader *, const struct key *, const struct yaml *, void *);
extern const struct keys vet_table; /* for hints */
/* Canonical, with its defaults. New reference. */
json_t *vet_settings_json(const struct vet_contract *v);

#endif
