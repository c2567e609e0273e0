/* `faults` of the contract. */
#ifndef EXITPATH_CONTRACT_FAULTS_H
#define EXITPATH_CONTRACT_FAULTS_H

#include "base/json.h"
#include "contract/read.h"
#include "model/contract.h"

/* Into struct contract; a contract that has the key has c->faults.given set. */
int read_faults(const struct reader *, const struct key *, const struct yaml *, void *);
/* After all keys were read: names in it that nothing else has. */
int check_faults(const struct reader *r, const struct yaml *root,
		 const struct contract *c);
extern const struct keys faults_table; /* for hints */
extern const struct keys ignore_table;
/* Canonical, with its defaults. New reference. */
json_t *faults_json(const struct fault_settings *f);

#endif
