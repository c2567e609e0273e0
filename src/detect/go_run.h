/* One run of `go test` under the Go detector: what prepare() leaves for collect(). */
#ifndef EXITPATH_DETECT_GO_RUN_H
#define EXITPATH_DETECT_GO_RUN_H

#include "detect/detect.h"
#include "detect/go_report.h"

/* `go test …`, alone or within a shell command. */
bool go_test_command(const struct strv *argv);

struct go_run {
	char *dir;		   /* of the reports */
	char *refused;		   /* why no cycle can be made, or NULL */
	bool read;		   /* the reports were */
	struct go_report *reports; /* one for each test binary */
	char **paths;		   /* of them */
	size_t nreports;
	char *failure; /* why the run failed, in a line; or NULL */
	unsigned left; /* collect() calls to come */
};

int go_collect(struct detect_run *run, const struct run_result *result, struct probe *ret,
	       struct err *err);

/*
 * The line of go's output that says why nothing was built or found, or NULL. Pure.
 * ret_modules: a module was missing, and go wanted the network.
 */
char *go_output_error(const char *text, bool *ret_modules);

#endif
