/* One lifecycle: which detectors fit, and which of them share runs. */
#include "engine/measure.h"

#include "base/fs.h"
#include "base/mem.h"
#include "engine/server.h"
#include "verdict/verdict.h"

#include <string.h>

static void add_harness_error(struct session *s, const struct lifecycle *l,
			      const char *detector, char *explanation, const char *next)
{
	struct check *c = result_check(s->result);

	c->target = xstrdup(l->name);
	c->detector = xstrdup(detector);
	c->attempt = 1;
	c->outcome = OUTCOME_HARNESS_ERROR;
	c->explanation = explanation;
	c->next = xstrdup(next);
}

/* Adds a detector to the group; one that is not on this machine becomes a check of its
 * own when the user named it, and is left out otherwise. */
static void group_add(struct session *s, const struct lifecycle *l, struct group *g,
		      const struct detector *d)
{
	CLEANUP_FREE char *server = d->server ? server_of(l) : NULL;
	struct err why = {0};
	int rc = server ? d->reach(server, &g->version[g->n], &why)
			: d->probe(&g->version[g->n], &why);

	if (rc == 0)
		g->detector[g->n++] = d;
	else if (g->required || server)
		add_harness_error(
			s, l, d->name,
			xasprintf("detector %s does not work on this machine: %s",
				  d->name, why.message),
			*why.hint ? why.hint : d->install);
}

/* Does the detector expect to see something of the command? */
static bool fits(const struct session *s, const struct lifecycle *l,
		 const struct detector *d)
{
	CLEANUP(strv) struct strv argv = {0};
	CLEANUP_FREE char *tree = path_join(repo_top(s->repo), s->prefix);
	const char *checkout = s->side[SIDE_BASE].cwd;

	if (d->server)
		return l->pg != NULL;
	if (l->detectors.n || !d->fits)
		return true;
	lifecycle_argv(l, &argv);
	/* Before the first run there is no checkout yet. */
	return d->fits(&argv, checkout ? checkout : tree);
}

/* Measures the detectors of list[] that fit in one group. */
static int measure_together(struct session *s, const struct lifecycle *l,
			    const struct detector *const *list, size_t n,
			    bool *ret_base_ok, struct err *err)
{
	struct group g = {.required = l->detectors.n > 0};
	int rc = 0;

	for (size_t i = 0; i < n; i++)
		if (fits(s, l, list[i]))
			group_add(s, l, &g, list[i]);
	if (g.n)
		rc = measure_group(s, l, &g, ret_base_ok, err);
	for (size_t i = 0; i < g.n; i++)
		free(g.version[i]);
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

/* The heap of node or Go is nothing that another build or machine would show. */
static bool has_heap(const struct session *s, const struct lifecycle *l,
		     const struct detector *const *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (list[i]->heap && list[i]->fits && fits(s, l, list[i]))
			return true;
	return false;
}

/* Those that the lifecycle names, in its order; or all there are. */
static int choose(const struct lifecycle *l, const struct detector *ret[MAX_DETECTORS],
		  size_t *ret_n, struct err *err)
{
	size_t all = 0, n = l->detectors.n;

	while (detectors[all])
		all++;
	if (!n)
		n = all;
	if (n > MAX_DETECTORS)
		return err_set(err, ERR_INTERNAL, "too many detectors");
	for (size_t i = 0; i < n; i++)
		ret[i] = l->detectors.n ? detector_find(l->detectors.v[i]) : detectors[i];
	*ret_n = n;
	return 0;
}

/*
 * Unless it was named, a detector that wraps the command runs only when there is
 * something to learn, neither the set-up nor base failed; and one that watches the heap
 * (heap, valgrind) only when none before it did: in the order of their cost.
 */
static bool worthwhile(const struct session *s, const struct lifecycle *l,
		       const struct detector *d, bool base_ok)
{
	return l->detectors.n || (base_ok && !(d->heap && heap_checked(s, l)));
}

/* Nobody named a detector, and one that is made for the command cannot see it. */
static void warn_of_absent(struct session *s, const struct lifecycle *l,
			   const struct detector *const *list, size_t n)
{
	CLEANUP(strv) struct strv argv = {0};

	lifecycle_argv(l, &argv);
	for (size_t i = 0; i < n; i++) {
		const char *why = list[i]->stays_out ? list[i]->stays_out(&argv) : NULL;

		if (why)
			strv_addf(&s->result->warnings,
				  "%s: detector %s does not fit: %s", l->name,
				  list[i]->name, why);
	}
}

/* In whose runs one looks at the server: those that tell of their cycles, or NULL. */
static const struct detector *host_of(const struct session *s, const struct lifecycle *l,
				      const struct detector *const *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (list[i]->marks && fits(s, l, list[i]))
			return list[i];
	return NULL;
}

/* The detector at list[i] that wraps the command, and what joins its runs. */
static int measure_wrapping(struct session *s, const struct lifecycle *l,
			    const struct detector *const *list, size_t n, size_t i,
			    bool *ret_base_ok, struct err *err)
{
	const struct detector *together[MAX_DETECTORS] = {list[i]};
	bool host = host_of(s, l, list, n) == list[i];
	size_t m = 1;

	for (size_t k = 0; host && k < n; k++)
		if (list[k]->server)
			together[m++] = list[k];
	return measure_together(s, l, together, m, ret_base_ok, err);
}

/* Those that share a run first, then each that wraps the command in runs of its own. */
static int measure_detectors(struct session *s, const struct lifecycle *l,
			     struct err *err)
{
	const struct detector *list[MAX_DETECTORS], *shared[MAX_DETECTORS] = {0};
	bool named = l->detectors.n > 0, base_ok = true, host;
	size_t n = 0, m = 0;
	int rc;

	if (choose(l, list, &n, err) < 0)
		return -1;
	if (!named)
		warn_of_absent(s, l, list, n);
	host = host_of(s, l, list, n) != NULL;
	for (size_t i = 0; i < n; i++)
		if (!list[i]->wraps && !list[i]->server)
			shared[m++] = list[i];
	/* They look on beside whatever else watches. */
	for (size_t i = 0; i < n && !host; i++)
		if (list[i]->server)
			shared[m++] = list[i];
	rc = measure_together(s, l, shared, m, &base_ok, err);
	if (rc < 0)
		return -1;
	for (size_t i = 0; i < n && rc == 0; i++)
		if (list[i]->wraps && worthwhile(s, l, list[i], base_ok))
			rc = measure_wrapping(s, l, list, n, i, &base_ok, err);
	if (rc == 0 && base_ok && !named && has_heap(s, l, list, n) &&
	    !heap_checked(s, l))
		strv_addf(&s->result->warnings,
			  "%s: no detector watched the heap: build with "
			  "-fsanitize=address, or see whether valgrind works here: "
			  "exitpath doctor",
			  l->name);
	return rc;
}

int session_measure(struct session *s, const struct lifecycle *l, struct err *err)
{
	size_t before = s->result->nchecks;
	int rc = measure_detectors(s, l, err);

	if (rc == 0 && l->repairs)
		verdict_repairs(s->result->checks + before, s->result->nchecks - before);
	/* A lifecycle without any check would be clean for want of an observer. */
	if (rc == 0 && s->result->nchecks == before && !s->side[SIDE_BASE].setup_failed &&
	    !s->side[SIDE_CANDIDATE].setup_failed)
		add_harness_error(s, l, NULL,
				  xstrdup("No detector works on this machine."),
				  "see why: exitpath doctor");
	return rc;
}
