/*
 * The runs of one group of detectors on one side: warm-up, measured cycles, and what is
 * kept of each; or what was observed before, in place of them.
 */
#include "engine/measure.h"

#include "base/fs.h"
#include "base/mem.h"
#include "contract/load.h"
#include "engine/isolation.h"
#include "engine/server.h"
#include "engine/surroundings.h"

#include <string.h>

/* valgrind slows a program down 50 to 70 times; most of a lifecycle is start-up and
 * waiting, so ten times the deadline of a plain run is enough in practice. Its shadow
 * memory and its translations take some 100 MB and a half of what the program has. */
enum { SLOW_TIME_FACTOR = 10, SLOW_MEMORY_FACTOR = 4 };
/* The heap library keeps 24 bytes for each live block, and 40 more at the exit. */
enum { WRAP_MEMORY_FACTOR = 2 };
/* Of each report, stdout and stderr that go into the artifact. */
#define KEEP_REPORT ((size_t)4 << 20)

char *group_names(const struct group *g)
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

void lifecycle_argv(const struct lifecycle *l, struct strv *ret)
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

static size_t all_cycles(const struct lifecycle *l)
{
	return (size_t)l->warmup + l->cycles;
}

/* The contract's limits are those of a plain run of one cycle. */
static void allow(struct run_spec *spec, uint64_t time, uint64_t memory)
{
	spec->timeout_ms *= time;
	spec->limits.cpu_ms *= time;
	if (spec->limits.memory < UINT64_MAX / memory)
		spec->limits.memory *= memory;
}

static int prepare(struct measurement *m, struct run_spec *spec, struct err *err)
{
	for (size_t i = 0; i < m->group->n; i++) {
		m->run[i] = (struct detect_run){
			.dir = m->dir,
			.tmpdir = m->tmpdir,
			.checkout = m->session->side[m->side].use->dir,
			.seen = session_seen(m->session, m->side),
			.sandbox = spec->sandbox ? &m->sandbox : NULL,
			.precise = m->precise,
			.warmup = m->lifecycle->warmup,
			.cycles = m->lifecycle->cycles,
			.within = m->group->detector[0]->inside,
			.cache = m->cache,
			.server = m->server,
		};
		if (m->group->detector[i]->prepare(&m->run[i], spec, err) < 0) {
			unprepare(m, i);
			return -1;
		}
		if (m->group->detector[i]->inside)
			allow(spec, all_cycles(m->lifecycle), 1);
		else if (m->group->detector[i]->slow)
			allow(spec, SLOW_TIME_FACTOR, SLOW_MEMORY_FACTOR);
		else if (m->group->detector[i]->wraps)
			allow(spec, 1, WRAP_MEMORY_FACTOR);
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
	spec->cwd = xstrdup(s->side[m->side].seen_cwd);
	spec->dir = xstrdup(m->dir);
	spec->limits = m->lifecycle->limits;
	spec->sandbox =
		session_sandbox(s, m->side, m->dir, m->lifecycle->network, &m->sandbox);
	if (spec->sandbox && server_show(s, m->lifecycle, &m->sandbox, err) < 0)
		return -1;
	spec->timeout_ms = m->lifecycle->timeout_ms;
	session_env(s, m->side, m->tmpdir, &spec->env);
	return prepare(m, spec, err);
}

/* Keeps the full text of this run when it says more than what is kept so far. */
static void keep_report(struct measurement *m, size_t i, const struct run_result *r,
			const struct probe *p)
{
	bool telling = p->nleaks || p->failed || p->state != PROBE_COMPLETE ||
		       !run_result_passed(r);
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
		session_add_file(b, p->files.v[k], KEEP_REPORT);
	for (size_t k = 0; k < ARRAY_SIZE(files); k++) {
		CLEANUP_FREE char *path = path_join(m->dir, files[k]);

		if (path_exists(path))
			session_add_file(b, path, KEEP_REPORT);
	}
}

/* One cycle as one detector saw it. */
static int collect(struct measurement *m, size_t i, size_t cycle,
		   const struct run_result *r, struct err *err)
{
	CLEANUP(probe) struct probe p = {0};

	m->run[i].cycle = (unsigned)cycle;
	if (m->group->detector[i]->collect(&m->run[i], r, &p, err) < 0)
		return -1;
	/* What is held where a limit cut in says nothing about an end in order. */
	if (run_result_over_limit(r) && p.state == PROBE_COMPLETE) {
		p.state = PROBE_INTERRUPTED;
		free(p.detail);
		p.detail = run_result_describe(r);
	}
	observation_add(&m->obs[i], r, &p, cycle >= m->lifecycle->warmup);
	keep_report(m, i, r, &p);
	return 0;
}

static int measure_done(void *ctx, const struct run_result *r, struct err *err)
{
	struct measurement *m = ctx;
	bool inside = m->group->detector[0]->inside;
	size_t first = m->next++;
	int rc = 0;

	m->duration_us += r->wall_us;
	session_note_run(m->session, r);
	for (size_t i = 0; i < m->group->n; i++) {
		size_t last = inside ? all_cycles(m->lifecycle) - 1 : first;

		for (size_t k = first; k <= last; k++)
			if (collect(m, i, k, r, rc == 0 ? err : NULL) < 0)
				rc = -1;
	}
	/* More of the same would only cost the deadline again. */
	m->stop = r->end == RUN_TIMED_OUT || r->end == RUN_NOT_STARTED ||
		  r->end == RUN_LOST || r->end == RUN_SANDBOX_FAILED ||
		  run_result_over_limit(r);
	sandbox_release(&m->sandbox);
	if (m->dir && remove_tree(m->dir, rc == 0 ? err : NULL) < 0)
		rc = -1;
	free(TAKE_PTR(m->dir));
	free(TAKE_PTR(m->tmpdir));
	return rc;
}

void measurement_init(struct measurement *m, struct session *s, const struct lifecycle *l,
		      const struct group *g, enum side side)
{
	*m = (struct measurement){
		.session = s,
		.lifecycle = l,
		.group = g,
		.side = side,
		.cache = path_join(repo_store(s->repo), "cache"),
		.server = server_of(l),
		.total = g->detector[0]->inside ? 1 : all_cycles(l),
	};
	for (size_t i = 0; i < g->n; i++) {
		m->obs[i].detector = xstrdup(g->detector[i]->name);
		m->obs[i].version = xstrdup(g->version[i]);
	}
}

struct lane measurement_lane(struct measurement *m)
{
	return (struct lane){.next = measure_next, .done = measure_done, .ctx = m};
}

void measurement_release(struct measurement *m)
{
	for (size_t i = 0; i < MAX_GROUP; i++) {
		observation_release(&m->obs[i]);
		buf_release(&m->report[i]);
	}
	sandbox_release(&m->sandbox);
	free(m->dir);
	free(m->tmpdir);
	free(m->cache);
	free(m->server);
}

/*
 * DESIGN §5.10: same tree, same digest (whatever name the base has), same detector
 * version, same machine; and observed in the same way: by the same user, together with
 * the same detectors, beside the candidate or not, under the same options.
 */
static void reuse_key(const struct session *s, const struct lifecycle *l,
		      const struct group *g, char ret[SHA256_HEX])
{
	CLEANUP_FREE char *names = group_names(g);
	CLEANUP_FREE char *url = server_of(l), *server = server_public(url);
	CLEANUP_FREE char *how = xasprintf("%u", s->same ? 1 : s->opts->jobs);
	struct contract unnamed = s->contract; /* shallow: for its digest alone */
	struct sha256 *h = sha256_new();

	unnamed.base = NULL;
	contract_digest(&unnamed);
	sha256_add_field(h, s->side[SIDE_BASE].rev.tree);
	sha256_add_field(h, unnamed.digest);
	sha256_add_field(h, s->prefix);
	sha256_add_field(h, l->name);
	sha256_add_field(h, names);
	sha256_add_field(h, how);
	sha256_add_field(h, server);
	sha256_add_field(h, isolation_name(s->opts->isolation));
	for (size_t i = 0; i < g->n; i++)
		sha256_add_field(h, g->version[i]);
	surroundings_add(h);
	sha256_finish(h, ret);
}

bool measurement_reuse(struct session *s, struct measurement *m)
{
	char key[SHA256_HEX];
	CLEANUP_JSON json_t *all = NULL;
	struct observation o[MAX_GROUP] = {0};
	size_t n = 0;

	if (s->opts->fresh)
		return false;
	reuse_key(s, m->lifecycle, m->group, key);
	all = store_get_observation(s->store, key, NULL);
	while (n < m->group->n &&
	       observation_from_json(json_array_get(all, n), &o[n], NULL) == 0)
		n++;
	if (n < m->group->n) {
		while (n)
			observation_release(&o[--n]);
		return false;
	}
	for (size_t i = 0; i < n; i++) {
		observation_release(&m->obs[i]);
		m->obs[i] = o[i];
		m->obs[i].reused = true;
	}
	return true;
}

static bool whole_and_quiet(const struct measurement *m, const struct observation *o)
{
	for (size_t k = 0; k < o->ncycles; k++)
		if (o->cycles[k].state != PROBE_COMPLETE || o->cycles[k].failed ||
		    !run_result_passed(&o->cycles[k].run))
			return false;
	return o->ncycles == all_cycles(m->lifecycle);
}

/* One value for all detectors of the group: they saw the same runs. */
int measurement_remember(struct session *s, const struct measurement *m, struct err *err)
{
	CLEANUP_JSON json_t *all = json_array();
	char key[SHA256_HEX];

	for (size_t i = 0; i < m->group->n; i++) {
		if (!whole_and_quiet(m, &m->obs[i]))
			return 0;
		json_array_append_new(all, observation_to_json(&m->obs[i]));
	}
	reuse_key(s, m->lifecycle, m->group, key);
	return store_put_observation(s->store, key, all, err);
}
