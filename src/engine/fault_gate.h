/* Faults on base and candidate: `exitpath fault --base`, and the gate's part of it. */
#ifndef EXITPATH_ENGINE_FAULT_GATE_H
#define EXITPATH_ENGINE_FAULT_GATE_H

#include "base/hash.h"
#include "engine/fault.h"
#include "engine/session.h"
#include "rev/changes.h"

/* The flags of `exitpath fault` over the contract's `faults`. ERR_USAGE: a layer or a
 * class that there is not. */
int faults_apply(const struct gate_opts *opts, struct contract *c, struct err *err);
/* Of these bits those that can be made to fail; all, when there are none. */
uint32_t faults_usable(uint32_t classes);
/* The lines that changed from a revision to the candidate. */
int faults_changed_since(struct repo *r, const char *name, const char *candidate,
			 struct rev_ranges *ret, struct err *err);
/* Adds to a key what of contract and options decides about a point: not how many of them
 * are tried. */
void faults_add_key(const struct contract *c, const struct fault_opts *o,
		    struct sha256 *h);
/* Adds those flags to the command that repeats this invocation. */
void faults_reproduce(const struct gate_opts *opts, struct strv *v);
/* Do calls of this lifecycle fail in this invocation? */
bool faults_wanted(const struct session *s, const struct lifecycle *l);
/* Adds one check of the detector "fault" to the result. */
int session_faults(struct session *s, const struct lifecycle *l, struct err *err);

#endif
