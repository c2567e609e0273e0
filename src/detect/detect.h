/*
 * A detector observes runs. One file and one row in registry.c each; docs in
 * docs/HOWTO-detector.md, a worked example in skeleton.c.
 *
 * Detectors that only add environment or a watch share one run (lsan with ledger);
 * a detector that wraps the command (valgrind) has runs of its own.
 */
#ifndef EXITPATH_DETECT_DETECT_H
#define EXITPATH_DETECT_DETECT_H

#include "base/err.h"
#include "model/observation.h"
#include "model/run.h"

#include <stdbool.h>

/* What a detector is told about one run. */
struct detect_run {
	const char *dir;      /* the run's directory; also spec->dir */
	const char *tmpdir;   /* the run's TMPDIR, empty at the start */
	const char *checkout; /* root of the revision's checkout, on the machine */
	const char *seen;     /* the same as the run sees it; NULL: as on the machine */
	/* What the run sees of the machine, and where; prepare() may add views, below
	 * dir nothing is needed. NULL: all, as it is. */
	struct sandbox *sandbox;
	bool precise; /* whole stacks, whatever they cost: the engine measures again
			 with it when a leak has no frame of the project */
	unsigned warmup, cycles; /* of the lifecycle */
	bool within;		 /* all cycles pass inside of this run */
	const char *cache;	 /* a directory to keep things in, which no run sees
				    and prepare() makes; NULL: none */
	const char *server;	 /* URL of the lifecycle's database server; NULL: none */
	unsigned
		cycle; /* collect() of an inside detector: which, from 0, warm-up first */
	void *state; /* the detector's own, made by prepare, freed by the last collect */
};

struct detector {
	const char *name;
	const char *summary; /* one line for doctor and --help */
	bool wraps;	     /* cannot share a run */
	bool has_precise;    /* honours detect_run.precise */
	/* All cycles pass inside of one process: one run per measurement, with the
	 * deadline of all; then collect() is called for every cycle in turn, and reports
	 * what that cycle added and still holds. Such a detector wraps. */
	bool inside;
	/* Its adapter tells of each cycle (detect/pg_watch.h). */
	bool marks;
	/* Looks at the server that the lifecycle names, and has no use without. It joins
	 * the run of a detector that tells of its cycles, else those that are shared. */
	bool server;
	/* Is it worth a run, when the user named no detector? dir: the command's working
	 * directory. NULL: always. */
	bool (*fits)(const struct strv *argv, const char *dir);
	bool slow; /* its runs take many times the time and memory */
	/* Why it does not fit although the command is of its kind: a warning for those
	 * who named no detector. NULL, and NULL returned: nothing to say. */
	const char *(*stays_out)(const struct strv *argv);
	bool heap;	     /* sees memory that is not released */
	const char *install; /* how to get what is missing, for doctor */
	/* Is what it needs on this machine, and which version. */
	int (*probe)(char **ret_version, struct err *err);
	/* Of a server: can that one be reached, and its version. */
	int (*reach)(const char *server, char **ret_version, struct err *err);
	/* Changes argv, env, watch of the spec before the run. */
	int (*prepare)(struct detect_run *run, struct run_spec *spec, struct err *err);
	/* Reads the reports after the run; frees run->state; ret is zeroed before. An
	 * error is a broken machine (disk full); a broken report is a probe state. */
	int (*collect)(struct detect_run *run, const struct run_result *result,
		       struct probe *ret, struct err *err);
	/*
	 * The detector's own proof for doctor: writes nothing outside dir, runs a planted
	 * leak there (through run()), and sees whether it is reported. NULL: prepare and
	 * collect around `/bin/true` are the proof.
	 */
	const char *(*canary_command)(void);
};

extern const struct detector *const detectors[]; /* NULL at the end */
const struct detector *detector_find(const char *name);

/* The checkout as the run sees it, and as its reports name it. */
static inline const char *detect_seen(const struct detect_run *run)
{
	return run->seen ? run->seen : run->checkout;
}

#endif
