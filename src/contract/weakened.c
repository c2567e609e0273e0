/*
 * What a patch does to its own gate through the contract: other commands, fewer cycles,
 * fewer detectors, wider limits. Not every change weakens; a reader decides, and has to
 * see it.
 */
#include "contract/load.h"

#include "base/buf.h"
#include "base/mem.h"

#include <inttypes.h>
#include <string.h>

static const struct lifecycle *find(const struct contract *c, const char *name)
{
	for (size_t i = 0; i < c->nlifecycles; i++)
		if (!strcmp(c->lifecycles[i].name, name))
			return &c->lifecycles[i];
	return NULL;
}

static bool same(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}

/* what: "setup", "suite", "lifecycle t: command". */
static void compare_text(const char *what, const char *old, const char *new,
			 struct strv *lines)
{
	if (!same(old, new))
		strv_addf(lines, "%s changed: `%s`, was `%s`", what, new ? new : "none",
			  old ? old : "none");
}

/* No names: all there are. */
static bool fewer_names(const struct strv *old, const struct strv *new)
{
	if (!new->n)
		return false;
	if (!old->n)
		return true;
	for (size_t i = 0; i < old->n; i++)
		if (!strv_contains(new, old->v[i]))
			return true;
	return false;
}

static char *detector_list(const struct strv *names)
{
	struct buf b = {0};

	for (size_t i = 0; i < names->n; i++)
		buf_addf(&b, "%s%s", i ? ", " : "", names->v[i]);
	return names->n ? buf_detach(&b) : xstrdup("every one that fits");
}

/* A limit that is not set (0) is the widest. */
static void compare_limit(const char *lifecycle, const char *what, const char *unit,
			  uint64_t old, uint64_t new, struct strv *lines)
{
	if (!old || (new &&new <= old))
		return;
	if (new)
		strv_addf(lines,
			  "lifecycle %s: limit of %s raised: %" PRIu64 "%s, was %" PRIu64
			  "%s",
			  lifecycle, what, new, unit, old, unit);
	else
		strv_addf(lines, "lifecycle %s: limit of %s removed, was %" PRIu64 "%s",
			  lifecycle, what, old, unit);
}

static void compare_limits(const char *lifecycle, const struct limits *old,
			   const struct limits *new, struct strv *lines)
{
	const struct {
		const char *what, *unit;
		uint64_t old, new;
	} all[] = {
		{"memory", " bytes", old->memory, new->memory},
		{"disk", " bytes", old->disk, new->disk},
		{"output", " bytes", old->output, new->output},
		{"cpu", " ms", old->cpu_ms, new->cpu_ms},
		{"pids", "", old->pids, new->pids},
		{"files", "", old->files, new->files},
	};

	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		compare_limit(lifecycle, all[i].what, all[i].unit, all[i].old, all[i].new,
			      lines);
}

static void compare_lifecycle(const struct lifecycle *old, const struct lifecycle *new,
			      struct strv *lines)
{
	CLEANUP_FREE char *command = xasprintf("lifecycle %s: command", old->name);
	CLEANUP_FREE char *server = xasprintf("lifecycle %s: pg", old->name);
	CLEANUP_FREE char *had = server_public(old->pg), *has = server_public(new->pg);

	compare_text(command, old->command, new->command, lines);
	if (new->cycles < old->cycles)
		strv_addf(lines, "lifecycle %s: fewer cycles: %u, was %u", old->name,
			  new->cycles, old->cycles);
	if (new->warmup > old->warmup)
		strv_addf(lines, "lifecycle %s: more warm-up: %u, was %u", old->name,
			  new->warmup, old->warmup);
	if (fewer_names(&old->detectors, &new->detectors)) {
		CLEANUP_FREE char *before = detector_list(&old->detectors);
		CLEANUP_FREE char *now = detector_list(&new->detectors);

		strv_addf(lines, "lifecycle %s: fewer detectors: %s, was %s", old->name,
			  now, before);
	}
	compare_text(server, had, has, lines);
	if (new->repairs && !old->repairs)
		strv_addf(lines, "lifecycle %s: `repairs` is set", old->name);
	if (new->network > old->network)
		strv_addf(lines, "lifecycle %s: network: %s, was %s", old->name,
			  network_name(new->network), network_name(old->network));
	compare_limits(old->name, &old->limits, &new->limits, lines);
}

static void compare_faults(const struct fault_settings *old,
			   const struct fault_settings *new, struct strv *lines)
{
	if (!old->given)
		return;
	if (!new->given) {
		strv_add(lines, "faults removed");
		return;
	}
	if (new->classes && (~new->classes &(old->classes ? old->classes : UINT32_MAX)))
		strv_add(lines, "faults: fewer classes");
	if (new->points && (!old->points || new->points < old->points))
		strv_addf(lines, "faults: at most %u points", new->points);
	if (new->time_ms && (!old->time_ms || new->time_ms < old->time_ms))
		strv_addf(lines, "faults: less time: %" PRIu64 " ms", new->time_ms);
	if (fewer_names(&old->lifecycles, &new->lifecycles))
		strv_add(lines, "faults: fewer lifecycles");
	compare_text("faults: layer", old->layer, new->layer, lines);
	compare_text("faults: check", old->check, new->check, lines);
	if (old->forever != new->forever)
		strv_addf(lines, "faults: mode changed: %s",
			  new->forever ? "forever" : "once");
}

static void compare_readings(const struct contract *old, const struct contract *new,
			     struct strv *lines)
{
	if (old->scan.wanted && !new->scan.wanted)
		strv_add(lines, "scan removed");
	else if (old->scan.notes && !new->scan.notes)
		strv_add(lines, "scan: notes are left out");
	if (old->review.wanted && !new->review.wanted)
		strv_add(lines, "review removed");
	else if (old->review.strict && !new->review.strict)
		strv_add(lines, "review: not strict any more");
}

static void compare_parts(const char *name, double old, double new, struct strv *lines)
{
	if (new < old)
		strv_addf(lines, "vet: lower %s: %.2f, was %.2f", name, new, old);
}

static void compare_vet(const struct vet_contract *old, const struct vet_contract *new,
			struct strv *lines)
{
	if (!old->given)
		return;
	if (!new->given) {
		strv_add(lines, "vet removed");
		return;
	}
	compare_parts("coverage", old->settings.coverage, new->settings.coverage, lines);
	compare_parts("kill_rate", old->settings.kill_rate, new->settings.kill_rate,
		      lines);
	compare_parts("score", old->settings.score, new->settings.score, lines);
	if (new->settings.mutants < old->settings.mutants)
		strv_addf(lines, "vet: at most %u mutants, was %u", new->settings.mutants,
			  old->settings.mutants);
	if (new->settings.time_ms > old->settings.time_ms)
		strv_addf(lines, "vet: more time: %" PRIu64 " ms", new->settings.time_ms);
	if (fewer_names(&old->target, &new->target))
		strv_add(lines, "vet: fewer targets");
}

void contract_weakened(const struct contract *base, const struct contract *candidate,
		       struct strv *ret_lines)
{
	if (!base->nlifecycles)
		return;
	for (size_t i = 0; i < base->nlifecycles; i++) {
		const struct lifecycle *old = &base->lifecycles[i];
		const struct lifecycle *new = find(candidate, old->name);

		if (new)
			compare_lifecycle(old, new, ret_lines);
		else
			strv_addf(ret_lines, "lifecycle removed: %s", old->name);
	}
	compare_text("setup", base->setup, candidate->setup, ret_lines);
	compare_text("suite", base->suite, candidate->suite, ret_lines);
	compare_faults(&base->faults, &candidate->faults, ret_lines);
	compare_vet(&base->vet, &candidate->vet, ret_lines);
	compare_readings(base, candidate, ret_lines);
	for (size_t i = 0; i < candidate->expose.n; i++)
		if (!strv_contains(&base->expose, candidate->expose.v[i]))
			strv_addf(ret_lines, "runs may read more of the machine: %s",
				  candidate->expose.v[i]);
}
