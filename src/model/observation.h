/*
 * What detectors saw. One run of one detector yields a probe; the probes of all cycles
 * of one detector on one revision make an observation, with a series per signature.
 */
#ifndef EXITPATH_MODEL_OBSERVATION_H
#define EXITPATH_MODEL_OBSERVATION_H

#include "base/err.h"
#include "base/json.h"
#include "base/strv.h"
#include "model/normalize.h" /* normalize_target() */
#include "model/resource.h"
#include "model/run.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct frame {
	char *function; /* NULL: unknown */
	char *module; /* file name of the binary or library, without directory; or NULL */
	char *file;   /* repository-relative where it lies in the checkout; or NULL */
	unsigned line;	 /* 0: unknown */
	uint64_t offset; /* in the module; 0: unknown */
	bool project;	 /* the source or the module lies in the checkout */
};

/* Something that is held: one signature. */
struct leak {
	enum resource resource;
	/* Every cycle of one process adds to it: a leak by itself, whatever the resource;
	 * see leak_lasting(). */
	bool growth;
	/* Of memory: some of what the same stack allocated was given back in that run. It
	 * may have no units then: only the release was seen. */
	bool released;
	char *signature; /* stable over runs, builds and line moves; see leak_sign() */
	char *what;	 /* for people: "40 bytes", "data/log.txt" */
	char *process;	 /* file name of the executable that held it */
	struct frame *frames; /* innermost first; where it was acquired. May be none */
	size_t nframes;
	uint64_t *units; /* one per measured cycle */
	uint64_t *bytes; /* heap: per measured cycle; else zeros */
};

/* How far a detector got in one run. */
enum probe_state {
	PROBE_COMPLETE,	   /* canary seen, report parsed, completion marker there */
	PROBE_NOT_FITTING, /* nothing in the run can be observed by it: no instrumentation
			    */
	PROBE_SILENT,	   /* it should have reported, and its canary is missing */
	PROBE_FORCED_EXIT, /* the process left without giving the detector its turn */
	PROBE_UNPARSED,	   /* its report cannot be read */
	PROBE_INTERRUPTED, /* the run crashed, was killed or timed out before the report
			    */
};
const char *probe_state_name(enum probe_state s);

/* One run, one detector. Filled by detector->collect(). */
struct probe {
	enum probe_state state;
	char *detail; /* why, when not complete: names the place and the next step */
	struct leak *leaks; /* units and bytes have one element each */
	size_t nleaks, leaks_cap;
	struct strv notes; /* "2 leaks suppressed by LSAN_OPTIONS: leak:foo" */
	struct strv files; /* absolute paths of full reports, kept as artifacts */
	bool failed;   /* the detector saw a failure of behaviour (an ASan error) … */
	char *failure; /* … and what it was */
	/* The run failed, and not in this cycle: of detectors that have all in one run.
	 */
	bool passed;
};

/* One run as the verdict sees it. */
struct cycle {
	struct run_result run;
	enum probe_state state;
	char *detail, *failure; /* of the probe */
	bool failed, passed;	/* of the probe */
	bool measured;		/* false: warm-up */
};

struct observation {
	char *detector, *version;
	struct cycle *cycles; /* warm-up first */
	size_t ncycles, cycles_cap;
	size_t nmeasured;
	struct leak *leaks;
	size_t nleaks, leaks_cap;
	struct strv notes;
	bool reused; /* taken from an earlier run of the same tree and digest */
};

/* Adds a zeroed leak with one-element units and bytes. */
struct leak *probe_leak(struct probe *p, enum resource r, uint64_t units, uint64_t bytes);
struct frame *leak_frame(struct leak *l); /* adds a zeroed frame */
/*
 * Sets l->signature: resource, process, what (only for resources without frames) and
 * at most SIGNATURE_FRAMES frames as module!function, "?" for unknown ones, runtime
 * frames (allocators, interceptors, libc start) left out. No address, line or pid.
 */
#define SIGNATURE_FRAMES 8
void leak_sign(struct leak *l);
/* The frames part of it; "?" when there are none. The caller frees. */
char *frames_sign(const struct leak *l);
/* Merges leaks of the same signature in p: units and bytes are added. */
void probe_merge(struct probe *p);
/* Adds one run to the observation; its leaks extend the series when it was measured. */
void observation_add(struct observation *o, const struct run_result *run,
		     const struct probe *p, bool measured);
/* The first project-owned frame, else the first with a function, else NULL. */
const struct frame *leak_top_frame(const struct leak *l);
/* Is it judged by itself (growth, or a lasting resource), not by the level of base? */
bool leak_lasting(const struct leak *l);
void leak_copy(struct leak *dst, const struct leak *src, size_t ncycles);

json_t *observation_to_json(const struct observation *o);
int observation_from_json(const json_t *j, struct observation *ret, struct err *err);
json_t *leak_to_json(const struct leak *l, size_t ncycles);
int leak_from_json(const json_t *j, struct leak *ret, size_t *ret_ncycles);

void leak_release(struct leak *l);
void probe_release(struct probe *p);
void observation_release(struct observation *o);
DEFINE_CLEANUP(probe)
DEFINE_CLEANUP(observation)

#endif
