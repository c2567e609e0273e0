/* What of the machine and of the environment decides about a run. */
#ifndef EXITPATH_ENGINE_SURROUNDINGS_H
#define EXITPATH_ENGINE_SURROUNDINGS_H

#include "base/hash.h"

/* Adds to a key what of the environment decides about a build. */
void surroundings_add_build(struct sha256 *h);
/* … and about what is run and what is reported: that, the user, the kernel, exitpath. */
void surroundings_add(struct sha256 *h);

#endif
