/* `exitpath init`: a first contract for the project around dir. */
#ifndef EXITPATH_ENGINE_INIT_H
#define EXITPATH_ENGINE_INIT_H

#include "base/err.h"

/* Writes exitpath.yaml in the repository's top (or in dir outside of one), never over an
 * existing file. ret_path: what was written, the caller frees; ret_kind: "meson", … */
int engine_init(const char *dir, char **ret_path, const char **ret_kind, struct err *err);

#endif
