#include "engine/fault_fork.h"

#include "base/fs.h"
#include "base/mem.h"
#include "proc/proc.h"

#include <inttypes.h>
#include <sys/wait.h>

/* A run of forks for fewer points costs what it saves. */
enum { POINTS_MIN = 3 };
#define CHILD_MAX_MS (UINT64_C(600) * 1000)
#define RUN_MAX_MS (UINT64_C(3600) * 1000)

void fault_forked_release(struct fault_forked *f)
{
	free(f->clean);
	free(f->why);
	*f = (struct fault_forked){0};
}

/* ---- what to fork at ---- */

/* LeakSanitizer reports where a process ends; a forked child is not let write that. */
static bool sees_more(const struct fault_seen *base)
{
	return base->probe[FAULT_PROBE_LSAN].state == PROBE_COMPLETE;
}

static size_t choose_keys(const struct fault_plan *plan, uint64_t *keys)
{
	size_t n = 0;

	for (size_t i = 0; i < plan->n && n < FAULT_POINTS / 2; i++)
		if (!(plan->points[i]->flags & FAULT_UNSAFE))
			keys[n++] = plan->points[i]->key;
	return n;
}

/* As long as a run of its own: on a busy machine less makes children late, and after a
 * few of these no more are made. */
static uint32_t child_ms(const struct fault_session *s)
{
	return (uint32_t)(s->timeout_ms < CHILD_MAX_MS ? s->timeout_ms : CHILD_MAX_MS);
}

/* Each child may go on for as long as the run without a fault. */
static uint64_t run_ms(const struct fault_session *s, const struct fault_fork *f,
		       size_t points)
{
	uint64_t ms = s->timeout_ms + points * child_ms(s);

	ms = ms < RUN_MAX_MS ? ms : RUN_MAX_MS;
	return f->time_ms && f->time_ms < ms ? f->time_ms : ms;
}

/* ---- why not ---- */

static const struct {
	uint32_t flag;
	const char *text;
} reasons[] = {
	{FAULT_SANITIZED, "a sanitizer"},
	{FAULT_DESCENDANT, "not the first process"},
	{FAULT_THREADS, "threads"},
	{FAULT_CHILDREN, "children"},
	{FAULT_SOCKETS, "sockets"},
	{FAULT_FILES, "files open for writing"},
	{FAULT_DEVICES, "pipes, terminals, timers"},
	{FAULT_TIMERS, "an interval timer"},
	{FAULT_SCRATCH, "much in TMPDIR"},
};

enum { WHY_LEFT = ARRAY_SIZE(reasons), WHY_DOUBT, WHY_NOT_REACHED, WHYS };

static size_t reason_of(uint32_t flags)
{
	for (size_t i = 0; i < ARRAY_SIZE(reasons); i++)
		if (flags & reasons[i].flag)
			return i;
	return WHY_DOUBT;
}

/* t NULL: it was unsafe when it was recorded already. */
static size_t why_not(const struct fault_point *p, const struct fault_trial *t)
{
	if (!t)
		return reason_of(p->flags);
	switch ((enum fault_trial_state)t->state) {
	case TRIAL_NOT_REACHED:
		return WHY_NOT_REACHED;
	case TRIAL_UNSAFE:
		return reason_of(t->why);
	case TRIAL_LEFT:
		return WHY_LEFT;
	case TRIAL_BEGUN:
	case TRIAL_LATE:
	case TRIAL_ENDED:
		break;
	}
	return WHY_DOUBT;
}

static char *list_whys(const size_t *counts)
{
	static const char *const more[] = {
		"would change files of others or start programs", "not clean, or late",
		"not reached"};
	struct buf b = {0};

	for (size_t i = 0; i < WHYS; i++)
		if (counts[i])
			buf_addf(&b, "%s%zu %s", b.len ? ", " : "", counts[i],
				 i < WHY_LEFT ? reasons[i].text : more[i - WHY_LEFT]);
	return b.len ? buf_detach(&b) : NULL;
}

/* ---- what came of it ---- */

struct reading {
	const struct fault_fork *fork;
	const struct fault_run *run;
	struct fault_trials trials;
	struct buf out, errors; /* of the run itself */
};

/* At most cap bytes of what is there. */
static bool read_output(const struct reading *r, const char *name, struct buf *to)
{
	CLEANUP_FREE char *path = xasprintf("%s/fork/%s", r->run->dir, name);

	return read_file(path, FAULT_OUTPUT_CAP, to, NULL) == 0;
}

/* What the parent had written before the fork, then the child's. */
static bool read_child_output(const struct reading *r, const struct fault_trial *t,
			      struct fault_seen *seen)
{
	const struct buf *before[2] = {&r->out, &r->errors};
	CLEANUP(buf) struct buf out = {0}, errors = {0};
	struct buf *both[2] = {&out, &errors};

	for (size_t i = 0; i < 2; i++) {
		CLEANUP_FREE char *name =
			xasprintf("%016" PRIx64 ".%s", t->key, i ? "err" : "out");

		if (t->written[i] > before[i]->len)
			return false;
		buf_add(both[i], buf_str(before[i]), t->written[i]);
		if (!read_output(r, name, both[i]))
			return false;
	}
	fault_run_output(r->run, &out, &errors, seen);
	return true;
}

static bool watches_heap(const struct reading *r)
{
	const struct fault_seen *base = r->fork->base;

	return !sees_more(base) && base->probe[FAULT_PROBE_HEAP].state == PROBE_COMPLETE;
}

/* Nothing is lost. Where the run itself loses memory, a run of its own must tell. */
static bool keeps_memory(const struct reading *r, const struct fault_trial *t)
{
	return !watches_heap(r) ||
	       (t->lost_blocks == 0 && r->trials.held_blocks != UINT64_MAX);
}

/* What is held counts when it ends like the run without a fault; files always do. */
static bool holds_nothing(const struct reading *r, const struct fault_trial *t,
			  const struct fault_seen *seen)
{
	const struct run_result *base = &r->fork->base->run;

	if (t->left || !keeps_memory(r, t))
		return false;
	if (seen->run.end != base->end || seen->run.status != base->status)
		return true;
	if (watches_heap(r) && t->held_blocks > r->trials.held_blocks)
		return false;
	return t->held == 0 || (t->held != UINT32_MAX && t->held == r->trials.held &&
				t->names == r->trials.names);
}

static bool is_clean(const struct reading *r, size_t point, const struct fault_trial *t)
{
	CLEANUP(fault_seen) struct fault_seen seen = {0};
	CLEANUP(fault_judgement) struct fault_judgement j = {0};
	struct fault_expect expect;

	if (t->state != TRIAL_ENDED || !t->fired || !WIFEXITED(t->status))
		return false;
	seen.run.end = RUN_EXITED;
	seen.run.status = WEXITSTATUS(t->status);
	seen.fired = true;
	seen.reached = t->reached;
	if (!holds_nothing(r, t, &seen) || !read_child_output(r, t, &seen))
		return false;
	r->fork->expect(r->fork->ctx, point, &expect);
	fault_judge(&expect, &seen, &j);
	return j.defect == DEFECT_NONE;
}

/* Did the forks leave the run itself alone? */
static bool is_like_base(const struct reading *r, const struct run_result *result)
{
	const struct fault_seen *base = r->fork->base;
	CLEANUP(fault_seen) struct fault_seen seen = {.run = *result};

	if (result->end != base->run.end || result->status != base->run.status)
		return false;
	fault_run_output(r->run, &r->out, &r->errors, &seen);
	return fault_comparison(base, &seen) <= r->fork->compare;
}

static int read_trials(struct reading *r, const struct run_result *result,
		       struct fault_forked *ret, struct err *err)
{
	const struct fault_plan *plan = r->fork->plan;
	size_t whys[WHYS] = {0};

	if (fault_trials_read(r->run->map, &r->trials, err) < 0)
		return -1;
	if (!read_output(r, "out", &r->out) || !read_output(r, "err", &r->errors) ||
	    !is_like_base(r, result)) {
		ret->why = xstrdup("the run that forks did not end like the one without "
				   "a fault");
		return 0;
	}
	for (size_t i = 0; i < plan->n; i++) {
		const struct fault_trial *t =
			fault_trials_find(&r->trials, plan->points[i]->key);

		ret->nforked += t && t->state >= TRIAL_BEGUN;
		ret->clean[i] = t && is_clean(r, i, t);
		ret->nclean += ret->clean[i];
		if (!ret->clean[i])
			whys[why_not(plan->points[i], t)]++;
	}
	ret->why = list_whys(whys);
	return 0;
}

/* ---- the run ---- */

static int run_with(struct fault_session *s, const struct fault_fork *f,
		    const struct fault_request *request, struct fault_forked *ret,
		    struct err *err)
{
	CLEANUP(run_spec) struct run_spec spec = {0};
	CLEANUP(fault_seen) struct fault_seen seen = {0};
	CLEANUP(fault_record) struct fault_record record = {0};
	struct fault_run run;
	struct reading r = {.fork = f, .run = &run};
	CLEANUP_FREE char *outputs = NULL;
	int rc = fault_run_prepare(&run, s, request, &spec, err);

	ret->run = (struct run_result){.end = RUN_LOST};
	spec.timeout_ms = run_ms(s, f, request->nkeys);
	outputs = xasprintf("%s/fork", run.dir);
	if (rc == 0)
		rc = make_dirs(outputs, 0700, err);
	if (rc == 0)
		rc = proc_run(&spec, &ret->run, err);
	if (rc == 0)
		rc = read_trials(&r, &ret->run, ret, err);
	if (fault_run_finish(&run, &ret->run, &seen, &record, rc == 0 ? err : NULL) < 0)
		rc = -1;
	buf_release(&r.out);
	buf_release(&r.errors);
	fault_trials_release(&r.trials);
	return rc;
}

int fault_fork_explore(struct fault_session *s, const struct fault_fork *f,
		       struct fault_forked *ret, struct err *err)
{
	CLEANUP_FREE uint64_t *keys = xcalloc(f->plan->n + 1, sizeof(*keys));
	struct fault_request request = {
		.mode = FAULT_EXPLORE,
		.classes = s->opts->classes,
		.call = UINT32_MAX,
		.errnum = s->opts->errnum,
		.keys = keys,
		.nkeys = choose_keys(f->plan, keys),
		.forever = s->opts->forever,
		.deadline_ms = child_ms(s),
	};

	*ret = (struct fault_forked){.clean = xcalloc(f->plan->n + 1, 1)};
	/* A check looks at what a whole run has left. --call and forever: a re-run makes
	 * only calls of that name fail. */
	if (request.nkeys < POINTS_MIN || sees_more(f->base) || s->opts->check ||
	    (s->opts->forever && s->opts->call))
		return 0;
	ret->ran = true;
	return run_with(s, f, &request, ret, err);
}
