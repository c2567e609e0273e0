/*
 * One lifecycle: which detectors fit, which of them share a run, warm-up and measured
 * cycles on base and candidate, verdicts, and re-runs of what was intermittent.
 */
#include "engine/lane.h"
#include "engine/session.h"

#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/version.h"
#include "contract/load.h"
#include "detect/detect.h"
#include "detect/report_file.h"
#include "verdict/verdict.h"

#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>

enum {
	MAX_GROUP = 8,	  /* detectors that share a run */
	MAX_ATTEMPTS = 3, /* DESIGN §5.6 */
	/* valgrind slows a program down 50 to 70 times; most of a lifecycle is start-up
	 * and waiting, so ten times the deadline of a plain run is enough in practice. */
	WRAP_TIMEOUT_FACTOR = 10,
};
/* Of each report, stdout and stderr that go into the artifact. */
#define KEEP_REPORT ((size_t)4 << 20)

struct group {
	const struct detector *detector[MAX_GROUP];
	char *version[MAX_GROUP];
	size_t n;
	bool required; /* named by the user */
};

/* The runs of one group on one side. */
struct measurement {
	struct session *session;
	const struct lifecycle *lifecycle;
	const struct group *group;
	enum side side;
	size_t next, total; /* runs */
	bool stop, precise;
	char *dir, *tmpdir;
	struct detect_run run[MAX_GROUP];
	struct observation obs[MAX_GROUP];
	struct buf report[MAX_GROUP]; /* full text of the most telling run */
	bool telling[MAX_GROUP];
	uint64_t duration_us;
};

static char *group_names(const struct group *g)
{
	struct buf b = {0};

	for (size_t i = 0; i < g->n; i++)
		buf_addf(&b, "%s%s", i ? "+" : "", g->detector[i]->name);
	return buf_detach(&b);
}

/*
 * A command line that needs no shell: plain words only. `./build/worker_test -v` runs
 * directly, so that no shell stands between exitpath and what it watches.
 */
static bool plain_words(const char *command, struct strv *ret)
{
	static const char special[] = "|&;<>()$`\\\"'*?[]#~=%!{}\n\t";
	const char *p = command;

	if (command[strcspn(command, special)])
		return false;
	while (*p) {
		size_t n = strcspn(p, " ");

		if (n)
			strv_take(ret, xstrndup(p, n));
		p += n + (p[n] == ' ');
	}
	/* A name without a slash may be a shell builtin: ask PATH. */
	if (ret->n && !strchr(ret->v[0], '/')) {
		CLEANUP_FREE char *program = find_program(ret->v[0]);

		return program != NULL;
	}
	return ret->n > 0;
}

static void lifecycle_argv(const struct lifecycle *l, struct strv *ret)
{
	if (l->argv.n) {
		strv_copy(ret, l->argv.v);
		return;
	}
	if (plain_words(l->command, ret))
		return;
	strv_release(ret);
	strv_add(ret, "/bin/sh");
	strv_add(ret, "-c");
	strv_add(ret, l->command);
}

/* The first n detectors were prepared for a run that will not be. */
static void unprepare(struct measurement *m, size_t n)
{
	const struct run_result lost = {.end = RUN_LOST};

	for (size_t i = 0; i < n; i++) {
		CLEANUP(probe) struct probe p = {0};

		m->group->detector[i]->collect(&m->run[i], &lost, &p, NULL);
	}
}

static int prepare(struct measurement *m, struct run_spec *spec, struct err *err)
{
	for (size_t i = 0; i < m->group->n; i++) {
		m->run[i] = (struct detect_run){
			.dir = m->dir,
			.tmpdir = m->tmpdir,
			.checkout = m->session->side[m->side].use->dir,
			.precise = m->precise,
		};
		if (m->group->detector[i]->prepare(&m->run[i], spec, err) < 0) {
			unprepare(m, i);
			return -1;
		}
		if (m->group->detector[i]->wraps)
			spec->timeout_ms *= WRAP_TIMEOUT_FACTOR;
	}
	return 1;
}

static int measure_next(void *ctx, struct run_spec *spec, struct err *err)
{
	struct measurement *m = ctx;
	struct session *s = m->session;
	CLEANUP_FREE char *names = NULL;

	if (m->next == m->total || m->stop)
		return 0;
	names = group_names(m->group);
	m->dir = xasprintf("%s/%s-%zu", s->scratch, side_name(m->side), m->next);
	m->tmpdir = path_join(m->dir, "tmp");
	if (make_dirs(m->tmpdir, 0700, err) < 0)
		return -1;
	progress_tell(s->opts->progress, m->lifecycle->name, side_name(m->side), names,
		      m->next, m->total);
	lifecycle_argv(m->lifecycle, &spec->argv);
	spec->cwd = xstrdup(s->side[m->side].cwd);
	spec->dir = xstrdup(m->dir);
	spec->timeout_ms = m->lifecycle->timeout_ms;
	session_env(s, m->side, m->tmpdir, &spec->env);
	return prepare(m, spec, err);
}

static void add_file(struct buf *out, const char *title, const char *path)
{
	buf_addf(out, "\n--- %s\n", title);
	if (read_regular(path, KEEP_REPORT, out) < 0)
		buf_adds(out, "(none)\n");
}

/* Keeps the full text of this run when it says more than what is kept so far. */
static void keep_report(struct measurement *m, size_t i, const struct run_result *r,
			const struct probe *p)
{
	bool telling = p->nleaks || p->failed || p->state != PROBE_COMPLETE ||
		       r->end != RUN_EXITED || r->status;
	static const char *const files[] = {"stdout", "stderr", "hang.txt"};
	CLEANUP_FREE char *ending = run_result_describe(r);
	struct buf *b = &m->report[i];

	if (m->telling[i] && !telling)
		return;
	m->telling[i] = telling;
	buf_clear(b);
	buf_addf(b, "%s %s, run %zu of %zu on %s: %s; detector: %s%s%s\n",
		 m->group->detector[i]->name,
		 m->group->version[i] ? m->group->version[i] : "", m->next, m->total,
		 side_name(m->side), ending, probe_state_name(p->state),
		 p->detail ? ": " : "", p->detail ? p->detail : "");
	for (size_t k = 0; k < p->files.n; k++)
		add_file(b, path_base(p->files.v[k]), p->files.v[k]);
	for (size_t k = 0; k < ARRAY_SIZE(files); k++) {
		CLEANUP_FREE char *path = path_join(m->dir, files[k]);

		if (path_exists(path))
			add_file(b, files[k], path);
	}
}

static int measure_done(void *ctx, const struct run_result *r, struct err *err)
{
	struct measurement *m = ctx;
	bool measured = m->next >= m->lifecycle->warmup;
	int rc = 0;

	m->next++;
	m->duration_us += r->wall_us;
	for (size_t i = 0; i < m->group->n; i++) {
		CLEANUP(probe) struct probe p = {0};

		if (m->group->detector[i]->collect(&m->run[i], r, &p,
						   rc == 0 ? err : NULL) < 0) {
			rc = -1;
			continue;
		}
		observation_add(&m->obs[i], r, &p, measured);
		keep_report(m, i, r, &p);
	}
	/* More of the same would only cost the deadline again. */
	m->stop = r->end == RUN_TIMED_OUT || r->end == RUN_NOT_STARTED ||
		  r->end == RUN_LOST;
	if (m->dir && remove_tree(m->dir, rc == 0 ? err : NULL) < 0)
		rc = -1;
	free(TAKE_PTR(m->dir));
	free(TAKE_PTR(m->tmpdir));
	return rc;
}

static void measurement_init(struct measurement *m, struct session *s,
			     const struct lifecycle *l, const struct group *g,
			     enum side side)
{
	*m = (struct measurement){
		.session = s,
		.lifecycle = l,
		.group = g,
		.side = side,
		.total = (size_t)l->warmup + l->cycles,
	};
	for (size_t i = 0; i < g->n; i++) {
		m->obs[i].detector = xstrdup(g->detector[i]->name);
		m->obs[i].version = xstrdup(g->version[i]);
	}
}

static void measurement_release(struct measurement *m)
{
	for (size_t i = 0; i < MAX_GROUP; i++) {
		observation_release(&m->obs[i]);
		buf_release(&m->report[i]);
	}
	free(m->dir);
	free(m->tmpdir);
}

/*
 * DESIGN §5.10: same tree, same digest (whatever name the base has), same detector
 * version, same machine; and observed in the same way: by the same user, together with
 * the same detectors, beside the candidate or not, under the same options.
 */
static void reuse_key(const struct session *s, const struct lifecycle *l,
		      const struct group *g, size_t i, char ret[SHA256_HEX])
{
	/* What of the environment decides about what is run and what is reported. */
	static const char *const steering[] = {
		"PATH",		"LD_PRELOAD",	 "LD_LIBRARY_PATH", "ASAN_OPTIONS",
		"LSAN_OPTIONS", "UBSAN_OPTIONS", "VALGRIND_OPTS"};
	CLEANUP_FREE char *names = group_names(g);
	CLEANUP_FREE char *how = xasprintf("%lu %u", (unsigned long)geteuid(),
					   s->same ? 1 : s->opts->jobs);
	struct contract unnamed = s->contract; /* shallow: for its digest alone */
	struct sha256 *h = sha256_new();
	struct utsname u = {0};

	uname(&u);
	unnamed.base = NULL;
	contract_digest(&unnamed);
	sha256_add_field(h, s->side[SIDE_BASE].rev.tree);
	sha256_add_field(h, unnamed.digest);
	sha256_add_field(h, s->prefix);
	sha256_add_field(h, l->name);
	sha256_add_field(h, names);
	sha256_add_field(h, how);
	for (size_t k = 0; k < ARRAY_SIZE(steering); k++)
		sha256_add_field(h, getenv(steering[k]));
	sha256_add_field(h, g->detector[i]->name);
	sha256_add_field(h, g->version[i]);
	sha256_add_field(h, EXITPATH_VERSION);
	sha256_add_field(h, u.nodename);
	sha256_add_field(h, u.release);
	sha256_add_field(h, u.machine);
	sha256_finish(h, ret);
}

static bool reuse_base(struct session *s, struct measurement *m)
{
	if (s->opts->fresh)
		return false;
	for (size_t i = 0; i < m->group->n; i++) {
		char key[SHA256_HEX];
		CLEANUP_JSON json_t *j = NULL;
		CLEANUP(observation) struct observation o = {0};

		reuse_key(s, m->lifecycle, m->group, i, key);
		j = store_get_observation(s->store, key, NULL);
		if (!j || observation_from_json(j, &o, NULL) < 0)
			return false;
		observation_release(&m->obs[i]);
		m->obs[i] = o;
		m->obs[i].reused = true;
		o = (struct observation){0};
	}
	return true;
}

/* Only whole and quiet observations are worth keeping. */
static int remember_base(struct session *s, const struct measurement *m, struct err *err)
{
	for (size_t i = 0; i < m->group->n; i++) {
		const struct observation *o = &m->obs[i];
		CLEANUP_JSON json_t *j = NULL;
		char key[SHA256_HEX];

		for (size_t k = 0; k < o->ncycles; k++)
			if (o->cycles[k].state != PROBE_COMPLETE || o->cycles[k].failed ||
			    o->cycles[k].run.end != RUN_EXITED || o->cycles[k].run.status)
				return 0;
		if (o->ncycles != m->total)
			return 0;
		reuse_key(s, m->lifecycle, m->group, i, key);
		j = observation_to_json(o);
		if (store_put_observation(s->store, key, j, err) < 0)
			return -1;
	}
	return 0;
}

static int keep_side(struct session *s, struct measurement *m, size_t i,
		     struct strv *list, struct err *err)
{
	const char *side = side_name(m->side);
	const char *target = m->lifecycle->name, *detector = m->group->detector[i]->name;
	CLEANUP_JSON json_t *j = observation_to_json(&m->obs[i]);
	CLEANUP_FREE char *text = json_pretty(j);
	CLEANUP_FREE char *data_name = xasprintf("%s/%s/%s.json", target, detector, side);
	CLEANUP_FREE char *report_name =
		xasprintf("%s/%s/%s-report.txt", target, detector, side);

	if (session_keep(s, data_name, text, strlen(text), list, err) < 0)
		return -1;
	if (!m->report[i].len)
		return 0;
	return session_keep(s, report_name, buf_str(&m->report[i]), m->report[i].len,
			    list, err);
}

static void today(char ret[11])
{
	time_t now = time(NULL);
	struct tm tm;

	gmtime_r(&now, &tm);
	strftime(ret, 11, "%Y-%m-%d", &tm);
}

/* No name at all: where names matter, for suppressions, they cost too much to have them
 * in each run. */
static bool nameless(const struct leak *l)
{
	for (size_t i = 0; i < l->nframes; i++)
		if (l->frames[i].function)
			return false;
	return l->nframes > 0;
}

/* A leak without names, or a new one whose cheap stack ended before it reached code of
 * the project. */
static bool wants_precise(const struct detector *d, const struct check *c)
{
	if (!d->has_precise)
		return false;
	for (size_t i = 0; i < c->nfindings; i++) {
		const struct finding *f = &c->findings[i];
		const struct frame *top = leak_top_frame(&f->leak);

		if (f->class == FINDING_SUPPRESSED)
			continue;
		if (nameless(&f->leak) ||
		    (f->class == FINDING_NEW && !(top && top->project)))
			return true;
	}
	return false;
}

enum again { AGAIN_NO, AGAIN_INTERMITTENT, AGAIN_PRECISE };

/* Decides one detector. ret_again: whether, and why, to measure once more. */
static int judge(struct session *s, struct measurement m[2], size_t i, unsigned attempt,
		 enum again *ret_again, struct err *err)
{
	const struct lifecycle *l = m[0].lifecycle;
	bool precise = m[0].precise;
	CLEANUP(check) struct check c = {0};
	char date[11];
	bool skip = false;

	today(date);
	verdict_leak(
		&(struct leak_case){
			.lifecycle = l,
			.base = &m[SIDE_BASE].obs[i],
			.candidate = &m[SIDE_CANDIDATE].obs[i],
			.suppressions = s->contract.suppressions,
			.nsuppressions = s->contract.nsuppressions,
			.today = date,
			.attempt = attempt,
			.max_attempts = MAX_ATTEMPTS,
			.required = m[0].group->required,
		},
		&c, &skip);
	*ret_again = c.retry ? AGAIN_INTERMITTENT
		     : !precise && wants_precise(m[0].group->detector[i], &c)
			     ? AGAIN_PRECISE
			     : AGAIN_NO;
	if (keep_side(s, &m[SIDE_BASE], i, &c.base_artifacts, err) < 0 ||
	    keep_side(s, &m[SIDE_CANDIDATE], i, &c.candidate_artifacts, err) < 0)
		return -1;
	if (skip || *ret_again != AGAIN_NO)
		return 0;
	if (!c.command.n)
		lifecycle_argv(l, &c.command);
	c.duration_us = m[SIDE_CANDIDATE].duration_us;
	*result_check(s->result) = c;
	c = (struct check){0};
	return 0;
}

struct attempt {
	unsigned number; /* 1 … MAX_ATTEMPTS: re-runs of what was intermittent */
	bool precise;	 /* once more with whole stacks, to name the place */
};

/* "artifacts/worker/lsan/base.json" → "artifacts/worker/lsan/attempt-1/base.json": the
 * last attempt, whose names the record holds, keeps the short ones. */
static void set_aside(struct session *s, size_t first)
{
	unsigned round = ++s->rounds_set_aside;

	for (size_t i = first; i < s->nartifacts; i++) {
		char *old = s->artifacts[i].name;
		const char *base = path_base(old);

		s->artifacts[i].name = xasprintf("%.*sattempt-%u/%s", (int)(base - old),
						 old, round, base);
		free(old);
	}
}

static bool all_passed(const struct observation *o)
{
	for (size_t i = 0; i < o->ncycles; i++)
		if (o->cycles[i].run.end != RUN_EXITED || o->cycles[i].run.status)
			return false;
	return true;
}

/* Judges each detector of the group after both sides were measured. */
static int judge_group(struct session *s, struct measurement m[2],
		       const struct attempt *a, enum again *ret_again, struct err *err)
{
	size_t checks = s->result->nchecks, artifacts = s->nartifacts;

	*ret_again = AGAIN_NO;
	for (size_t i = 0; i < m[0].group->n; i++) {
		enum again again;

		if (judge(s, m, i, a->number, &again, err) < 0)
			return -1;
		if (again == AGAIN_INTERMITTENT || *ret_again == AGAIN_NO)
			*ret_again = again;
	}
	if (*ret_again == AGAIN_NO)
		return 0;
	/* The whole group is measured anew: one check for each detector stays. */
	while (s->result->nchecks > checks)
		check_release(&s->result->checks[--s->result->nchecks]);
	set_aside(s, artifacts);
	return 0;
}

/* One attempt: both sides measured, each detector judged. */
static int attempt_group(struct session *s, const struct lifecycle *l,
			 const struct group *g, const struct attempt *a,
			 enum again *ret_again, bool *ret_base_ok, struct err *err)
{
	struct measurement m[2];
	struct lane lanes[2] = {0};
	size_t nlanes = 0;
	bool first = a->number == 1 && !a->precise, reused, ready = true;
	int rc = -1;

	measurement_init(&m[SIDE_BASE], s, l, g, SIDE_BASE);
	measurement_init(&m[SIDE_CANDIDATE], s, l, g, SIDE_CANDIDATE);
	m[SIDE_BASE].precise = m[SIDE_CANDIDATE].precise = a->precise;
	*ret_again = AGAIN_NO;
	*ret_base_ok = false;
	reused = first && reuse_base(s, &m[SIDE_BASE]);
	if (session_setup(s, reused && !s->same ? 1u << SIDE_CANDIDATE : 3u, &ready,
			  err) < 0)
		goto out;
	if (!ready) {
		rc = 0;
		goto out;
	}
	if (!reused)
		lanes[nlanes++] = (struct lane){
			.next = measure_next, .done = measure_done, .ctx = &m[0]};
	lanes[nlanes++] =
		(struct lane){.next = measure_next, .done = measure_done, .ctx = &m[1]};
	if (lanes_run(lanes, nlanes, s->same ? 1 : s->opts->jobs, err) < 0)
		goto out;
	if (!reused && !a->precise && remember_base(s, &m[SIDE_BASE], err) < 0)
		goto out;
	if (judge_group(s, m, a, ret_again, err) < 0)
		goto out;
	*ret_base_ok = all_passed(&m[SIDE_BASE].obs[0]);
	rc = 0;
out:
	measurement_release(&m[SIDE_BASE]);
	measurement_release(&m[SIDE_CANDIDATE]);
	return rc;
}

static int measure_group(struct session *s, const struct lifecycle *l,
			 const struct group *g, bool *ret_base_ok, struct err *err)
{
	struct attempt a = {.number = 1};
	enum again again = AGAIN_NO;

	do {
		if (attempt_group(s, l, g, &a, &again, ret_base_ok, err) < 0)
			return -1;
		if (again == AGAIN_PRECISE)
			a.precise = true;
		else
			a.number++;
	} while (again != AGAIN_NO);
	return 0;
}

/* Adds a detector to the group; one that is not on this machine becomes a check of its
 * own when the user named it, and is left out otherwise. */
static int group_add(struct session *s, const struct lifecycle *l, struct group *g,
		     const struct detector *d, bool *ret_added, struct err *err)
{
	struct err why = {0};
	struct check *c;

	*ret_added = false;
	if (g->n == MAX_GROUP)
		return err_set(err, ERR_INTERNAL, "too many detectors in one run");
	if (d->probe(&g->version[g->n], &why) == 0) {
		g->detector[g->n++] = d;
		*ret_added = true;
		return 0;
	}
	if (!g->required)
		return 0;
	c = result_check(s->result);
	c->target = xstrdup(l->name);
	c->detector = xstrdup(d->name);
	c->attempt = 1;
	c->outcome = OUTCOME_HARNESS_ERROR;
	c->explanation = xasprintf("detector %s does not work on this machine: %s",
				   d->name, why.message);
	c->next = xstrdup(*why.hint ? why.hint : d->install);
	return 0;
}

static void group_release(struct group *g)
{
	for (size_t i = 0; i < g->n; i++)
		free(g->version[i]);
	*g = (struct group){.required = g->required};
}

static int measure_named(struct session *s, const struct lifecycle *l, struct err *err)
{
	struct group shared = {.required = true};
	bool added, base_ok;
	int rc = 0;

	for (size_t i = 0; i < l->detectors.n && rc == 0; i++) {
		const struct detector *d = detector_find(l->detectors.v[i]);

		if (!d->wraps)
			rc = group_add(s, l, &shared, d, &added, err);
	}
	if (rc == 0 && shared.n)
		rc = measure_group(s, l, &shared, &base_ok, err);
	group_release(&shared);
	for (size_t i = 0; i < l->detectors.n && rc == 0; i++) {
		const struct detector *d = detector_find(l->detectors.v[i]);
		struct group own = {.required = true};

		if (!d->wraps)
			continue;
		rc = group_add(s, l, &own, d, &added, err);
		if (rc == 0 && added)
			rc = measure_group(s, l, &own, &base_ok, err);
		group_release(&own);
	}
	return rc;
}

static bool heap_checked(const struct session *s, const struct lifecycle *l)
{
	for (size_t i = 0; i < s->result->nchecks; i++) {
		const struct check *c = &s->result->checks[i];

		if (c->target && !strcmp(c->target, l->name) && c->detector &&
		    detector_find(c->detector)->heap)
			return true;
	}
	return false;
}

/*
 * Every detector that fits: those that share a run first; a wrapping one (valgrind)
 * only when no other saw the heap, since it costs fifty times as much.
 */
static int measure_fitting(struct session *s, const struct lifecycle *l, struct err *err)
{
	struct group shared = {0};
	bool added, base_ok = true;
	int rc = 0;

	for (size_t i = 0; detectors[i] && rc == 0; i++)
		if (!detectors[i]->wraps)
			rc = group_add(s, l, &shared, detectors[i], &added, err);
	if (rc == 0 && shared.n)
		rc = measure_group(s, l, &shared, &base_ok, err);
	group_release(&shared);
	/* A failed set-up or a failing base: nothing more is to be learned. */
	if (rc < 0 || !base_ok || heap_checked(s, l))
		return rc;
	for (size_t i = 0; detectors[i] && rc == 0; i++) {
		struct group own = {0};

		if (!detectors[i]->wraps)
			continue;
		rc = group_add(s, l, &own, detectors[i], &added, err);
		if (rc == 0 && added)
			rc = measure_group(s, l, &own, &base_ok, err);
		group_release(&own);
	}
	if (rc == 0 && !heap_checked(s, l))
		strv_addf(&s->result->warnings,
			  "%s: no detector watched the heap: build with "
			  "-fsanitize=address, "
			  "or install valgrind",
			  l->name);
	return rc;
}

/* A lifecycle without any check would be clean for want of an observer. */
static void add_unwatched(struct session *s, const struct lifecycle *l)
{
	struct check *c = result_check(s->result);

	c->target = xstrdup(l->name);
	c->attempt = 1;
	c->outcome = OUTCOME_HARNESS_ERROR;
	c->explanation = xstrdup("No detector works on this machine.");
	c->next = xstrdup("see why: exitpath doctor");
}

int session_measure(struct session *s, const struct lifecycle *l, struct err *err)
{
	size_t before = s->result->nchecks;
	int rc = l->detectors.n ? measure_named(s, l, err) : measure_fitting(s, l, err);

	if (rc == 0 && s->result->nchecks == before && !s->side[SIDE_BASE].setup_failed &&
	    !s->side[SIDE_CANDIDATE].setup_failed)
		add_unwatched(s, l);
	return rc;
}
