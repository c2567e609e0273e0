/* Does a command line run node's tests? */
#ifndef EXITPATH_DETECT_NODE_COMMAND_H
#define EXITPATH_DETECT_NODE_COMMAND_H

#include "base/strv.h"

#include <stdbool.h>

/*
 * node, jest, mocha, vitest, npx and the like anywhere in it; npm, yarn and pnpm when the
 * script of package.json that they run does, in dir or where `cd` has gone before.
 */
bool node_command(const struct strv *argv, const char *dir);

#endif
