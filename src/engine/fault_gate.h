/* Faults on base and candidate: `exitpath fault --base`, and the gate's part of it. */
#ifndef EXITPATH_ENGINE_FAULT_GATE_H
#define EXITPATH_ENGINE_FAULT_GATE_H

#include "engine/session.h"

/* The flags of `exitpath fault` over the contract's `faults`. ERR_USAGE: a layer or a
 * class that there is not. */
int faults_apply(const struct gate_opts *opts, struct contract *c, struct err *err);
/* Adds those flags to the command that repeats this invocation. */
void faults_reproduce(const struct gate_opts *opts, struct strv *v);
/* Do calls of this lifecycle fail in this invocation? */
bool faults_wanted(const struct session *s, const struct lifecycle *l);
/* Adds one check of the detector "fault" to the result. */
int session_faults(struct session *s, const struct lifecycle *l, struct err *err);

#endif
