/* What the files of the Python layer share: its runs, and what they found. Internal to
 * engine/fault_python*.c. */
#ifndef EXITPATH_ENGINE_FAULT_PYTHON_RUN_H
#define EXITPATH_ENGINE_FAULT_PYTHON_RUN_H

#include "base/json.h"
#include "engine/fault.h"
#include "fault/site.h"
#include "model/run.h"

enum { SITE_TOKEN_BYTES = 16 };
#define SITE_TIMEOUT_MS (UINT64_C(3600) * 1000) /* of a run that has many points */

/* What all runs have in common. */
struct sites {
	const struct fault_opts *opts;
	char *const *argv;
	struct fault_report *report;
	char *scratch, *adapter;
	char *project;	 /* top of the working tree, as runs see it */
	const char *cwd; /* as runs see it */
	struct sandbox views;
	size_t next; /* number of the next run */
	uint64_t start_us;
	uint64_t whole_us; /* of the run that explored */
	bool here;	   /* no forks: a run for each point */
	bool first;	   /* some points were explored in first runs of tests */
	char *said;	   /* the last line of the last run that failed; NULL: none */
	struct site_report found;
	size_t nknown; /* of its points, from an earlier run */
};
int sites_open(struct sites *s, struct err *err);
/* Removes what the runs left. */
void sites_close(struct sites *s);
bool sites_late(const struct sites *s); /* no run is to begin any more */

/* What one run is asked. */
struct site_ask {
	json_t *keys, *tests; /* borrowed; NULL: all */
	json_t *first;	      /* points that fail in a test's first run; NULL: none */
	json_t *known;	      /* sites_known(); NULL: none */
	bool all;	      /* the run that explores */
	bool here;	      /* in the process itself, without forks */
	uint64_t bare;	      /* the runner's own pass, with that point failing … */
	bool check;	      /* … and opts->check behind it */
	bool must;	      /* of the point: only where it writes */
	uint64_t timeout_ms;
};

struct site_run {
	struct sites *s;
	char *dir, *tmpdir, token[2 * SITE_TOKEN_BYTES + 1];
	struct sandbox sandbox;
};
/* Always followed by site_run_finish(), also when it fails. */
int site_run_prepare(struct site_run *r, struct sites *s, const struct site_ask *a,
		     struct run_spec *spec, struct err *err);
/* Reads the reports into ret, which may be NULL, and removes the run's directory. */
int site_run_finish(struct site_run *r, const struct run_result *result,
		    struct site_report *ret, struct err *err);
/* One run by itself; its end in result. */
int sites_run(struct sites *s, const struct site_ask *a, struct run_result *result,
	      struct site_report *ret, struct err *err);

/* fault_python.c: points of which nothing is known yet, or all of the array, in
 * processes that have run no test. */
json_t *site_first_json(const struct site_point *p);
int sites_explore_first(struct sites *s, json_t *points, struct site_report *ret,
			struct err *err);
/* What a process that died could not say. */
void site_take_death(struct site_report *r, const struct run_result *result);
/* One point, the runner's own pass, and the check. Its trial is added to ret. */
int sites_check(struct sites *s, const struct site_point *p, struct site_report *ret,
		struct err *err);

/* fault_python_known.c: what an earlier run came to know of points. */
/* Reads it. For the adapter, which leaves these points out; NULL: none. */
json_t *sites_known(struct sites *s);
/* After the run that explores: which of its points are known; findings are reported. */
void sites_recall(struct sites *s);
bool sites_knows(const struct sites *s, uint64_t key);
/* Keeps what was survived, and what was found and confirmed. */
void sites_remember(struct sites *s);

/* fault_python_found.c: what is found is confirmed, and the report is filled. */
char *site_replay(const struct sites *s, uint64_t key);
int sites_conclude(struct sites *s, struct err *err);

#endif
