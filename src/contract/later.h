/* Keys of commands that come later: checked and part of the digest, otherwise unused. */
#ifndef EXITPATH_CONTRACT_LATER_H
#define EXITPATH_CONTRACT_LATER_H

#include "contract/read.h"

int read_worlds(const struct reader *, const struct key *, const struct yaml *, void *);
/* The canonical JSON of it in a contract that was accepted; NULL when there is none. The
 * caller frees. */
char *later_canonical(const struct yaml *contract);

#endif
