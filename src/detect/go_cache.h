/* Go's build cache of a sandboxed checkout, with the standard library in it. */
#ifndef EXITPATH_DETECT_GO_CACHE_H
#define EXITPATH_DETECT_GO_CACHE_H

#include "detect/detect.h"

/*
 * In the sandbox each checkout has a home and so a GOCACHE of its own, else one revision
 * could leave object files for the other; and go compiles what it needs of the standard
 * library anew. This puts it there: compiled once, by us, from GOROOT and overlay.json
 * alone, outside of all that runs under test see (run->cache), and copied, so that they
 * share no file. Before the run; nothing of the revision may be running.
 *
 * goroot, version, gocache: as `go env` has them. Where it does not work, go compiles.
 */
void go_cache_fill(const struct detect_run *run, const struct run_spec *spec,
		   const char *goroot, const char *version, const char *gocache);

#endif
