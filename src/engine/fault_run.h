/* One run under the fault shim, watched by the detectors. Internal to engine/fault*.c. */
#ifndef EXITPATH_ENGINE_FAULT_RUN_H
#define EXITPATH_ENGINE_FAULT_RUN_H

#include "base/buf.h"
#include "detect/detect.h"
#include "engine/fault.h"
#include "fault/judge.h"
#include "fault/map.h"
#include "model/run.h"

/* The layers. */
extern const struct fault_layer fault_layer_libc;

/* What all runs have in common. */
struct fault_session {
	const struct fault_opts *opts;
	char *const *argv;
	char *scratch;	 /* directory of all runs */
	char *library;	 /* the shim, there */
	char *project;	 /* top of the working tree, as runs see it … */
	char *checkout;	 /* … and on the machine */
	const char *cwd; /* as runs see it */
	struct sandbox views;
	size_t next; /* number of the next run */
	uint64_t timeout_ms;
	bool without[FAULT_PROBES]; /* these have nothing to say */
};

/* What runs see of the machine, with file, and nothing of what they write below the
 * project stays. project: its top, as they see it, the caller frees. */
int fault_views_open(const struct fault_opts *o, const char *file, struct sandbox *views,
		     char **project, const char **cwd, struct err *err);

int fault_session_open(struct fault_session *s, const struct fault_opts *opts,
		       char *const *argv, struct err *err);
/* Removes what the runs left. */
void fault_session_close(struct fault_session *s);

struct fault_run {
	struct fault_session *session;
	char *dir, *tmpdir, *map;
	struct sandbox sandbox;
	struct detect_run detect[FAULT_PROBES];
	bool prepared[FAULT_PROBES];
};
/* Fills spec. Always followed by fault_run_finish(), also when it fails. */
int fault_run_prepare(struct fault_run *r, struct fault_session *s,
		      const struct fault_request *request, struct run_spec *spec,
		      struct err *err);
#define FAULT_OUTPUT_CAP (2 * DEFAULT_OUTPUT_CAP) /* bytes read of each stream */
/* Fills exact, worded and error of seen. */
void fault_run_output(const struct fault_run *r, const struct buf *out,
		      const struct buf *errors, struct fault_seen *seen);
/* Reads what was observed, and removes the run's directory. */
int fault_run_finish(struct fault_run *r, const struct run_result *result,
		     struct fault_seen *ret_seen, struct fault_record *ret_record,
		     struct err *err);

#endif
