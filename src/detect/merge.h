/* How the reports of several processes become one probe. */
#ifndef EXITPATH_DETECT_MERGE_H
#define EXITPATH_DETECT_MERGE_H

#include "model/observation.h"

/* The worst of all processes is the run's state; of two alike the first keeps its
 * detail. Takes detail. */
void probe_worsen(struct probe *p, enum probe_state state, char *detail);

/*
 * A forked child reports its parent's blocks again. So a signature has as many units as
 * its programs report together (dst), or as the forked child that reports most (src).
 * Takes what it needs of src's leaks; both are merged and signed.
 */
void probe_take_most(struct probe *dst, struct probe *src);

/* A note that is said once. Takes note. */
void probe_note(struct probe *p, char *note);

#endif
