/* From what a user names to the files of source that are read. */
#ifndef EXITPATH_ENGINE_SOURCES_H
#define EXITPATH_ENGINE_SOURCES_H

#include "base/err.h"
#include "base/strv.h"
#include "source/source.h"

/*
 * paths[]: files, and directories with all below them; none: the current directory.
 * Where there is a git repository git says what is ignored. Sorted by path. ERR_USAGE
 * for a path that does not exist.
 */
int engine_sources(const struct strv *paths, struct source_files *ret, struct err *err);

#endif
