/* What `go test -overlay` puts in the place of files of the standard library. */
#ifndef EXITPATH_DETECT_GO_OVERLAY_H
#define EXITPATH_DETECT_GO_OVERLAY_H

#include "detect/detect.h"

/*
 * Writes the files and the list of them into dir, and lets GOFLAGS of spec name it. Fails
 * when go cannot be asked or its package testing is not as expected. Where package time
 * is not, or is older than what adapters/go/time.go needs, tickers are not watched.
 * tickers false: nor then. All that imports package time has to be compiled for them.
 */
int go_overlay_make(const struct detect_run *run, const char *dir, bool tickers,
		    struct run_spec *spec, struct err *err);

#endif
