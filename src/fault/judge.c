#include "fault/judge.h"

#include "base/mem.h"

#include <signal.h>
#include <string.h>

enum { SHELL_SIGNAL = 128 }; /* a shell's exit status for a signal's death */

void fault_seen_release(struct fault_seen *s)
{
	for (size_t i = 0; i < FAULT_PROBES; i++)
		probe_release(&s->probe[i]);
	free(s->error);
	free(s->check_said);
	*s = (struct fault_seen){0};
}

void fault_judgement_release(struct fault_judgement *j)
{
	free(j->what);
	strv_release(&j->more);
	*j = (struct fault_judgement){0};
}

enum fault_compare fault_comparison(const struct fault_seen *a,
				    const struct fault_seen *b)
{
	if (!strcmp(a->exact, b->exact))
		return COMPARE_EXACT;
	return strcmp(a->worded, b->worded) ? COMPARE_NOT : COMPARE_WORDED;
}

/* The first defect is the finding, those after it are told with it. */
static void add(struct fault_judgement *j, enum fault_defect d, char *what,
		struct leak *stack)
{
	if (j->defect != DEFECT_NONE) {
		strv_take(&j->more, what);
		return;
	}
	j->defect = d;
	j->what = what;
	j->stack = stack;
}

/* ---- crashes ---- */

static int deadly_signal(const struct run_result *r)
{
	static const int deadly[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTRAP};
	int signal = r->end == RUN_SIGNALED ? r->signal
		     : r->end == RUN_EXITED ? r->status - SHELL_SIGNAL
					    : 0;

	for (size_t i = 0; i < ARRAY_SIZE(deadly); i++)
		if (signal == deadly[i])
			return signal;
	return 0;
}

/* glibc's allocator says so before it aborts. */
static bool is_corruption(const char *line)
{
	static const char *const texts[] = {
		"free(): ",	      "malloc(): ",	  "realloc(): ",
		"corrupted",	      "munmap_chunk(): ", "double free",
		"malloc_consolidate", "stack smashing",	  "buffer overflow"};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		if (line && strstr(line, texts[i]))
			return true;
	return false;
}

/* A shell around the program says how that ended. */
static bool is_shells(const struct fault_seen *s)
{
	return s->run.end == RUN_EXITED && s->run.status > SHELL_SIGNAL &&
	       strstr(s->error, "Aborted");
}

static void judge_end(const struct fault_expect *e, const struct fault_seen *s,
		      struct fault_judgement *j)
{
	int signal = deadly_signal(&s->run);
	bool said = s->error && !is_shells(s) &&
		    (!e->base->error || strcmp(s->error, e->base->error));

	for (size_t i = 0; i < FAULT_PROBES; i++)
		if (s->probe[i].failed) {
			const char *text = s->probe[i].failure ? s->probe[i].failure
							       : "a sanitizer's error";

			add(j, strncmp(text, "SEGV", 4) ? DEFECT_SANITIZER : DEFECT_CRASH,
			    xstrdup(text), NULL);
			return;
		}
	if (run_result_late(&s->run)) {
		CLEANUP_FREE char *how = run_result_describe(&s->run);

		add(j, DEFECT_HANG,
		    xasprintf("%s; %.1f s without the fault", how,
			      (double)e->base->run.wall_us / 1e6),
		    NULL);
	} else if (signal && deadly_signal(&e->base->run) != signal &&
		   (signal != SIGABRT || !said || is_corruption(s->error))) {
		add(j, DEFECT_CRASH,
		    xasprintf("SIG%s%s%s", sigabbrev_np(signal), s->error ? ": " : "",
			      s->error ? s->error : ""),
		    NULL);
	}
}

/* ---- what is held ---- */

/* What the run without the fault had of the same signature, or NULL. */
static const struct leak *find_before(const struct fault_seen *base, size_t probe,
				      const struct leak *l)
{
	const struct probe *p = &base->probe[probe];

	for (size_t i = 0; i < p->nleaks; i++)
		if (!strcmp(p->leaks[i].signature, l->signature))
			return &p->leaks[i];
	return NULL;
}

/* More than without the fault. Memory that something points to may be kept on purpose:
 * only where all of it is given back without the fault it ought to be with it. */
static bool is_more(const struct fault_seen *base, size_t probe, const struct leak *l)
{
	const struct leak *before = find_before(base, probe, l);

	if (l->resource == RESOURCE_REACHABLE)
		return l->units[0] && before && before->released && !before->units[0];
	return l->units[0] > (before ? before->units[0] : 0);
}

static enum fault_defect defect_of(const struct leak *l)
{
	if (l->resource == RESOURCE_HEAP)
		return DEFECT_LEAK;
	if (l->resource == RESOURCE_TEMPFILE || l->resource == RESOURCE_POSIX_SHM ||
	    l->resource == RESOURCE_SYSV_SHM)
		return DEFECT_FILE;
	return DEFECT_HELD;
}

static bool ends_like_base(const struct fault_expect *e, const struct fault_seen *s)
{
	return s->run.end == e->base->run.end && s->run.status == e->base->run.status &&
	       s->run.signal == e->base->run.signal;
}

static void judge_held(const struct fault_expect *e, struct fault_seen *s,
		       struct fault_judgement *j)
{
	if (s->run.end != RUN_EXITED || deadly_signal(&s->run))
		return;
	for (size_t i = 0; i < FAULT_PROBES; i++) {
		struct probe *p = &s->probe[i];

		for (size_t k = 0; p->state == PROBE_COMPLETE && k < p->nleaks; k++) {
			struct leak *l = &p->leaks[k];

			if (!is_more(e->base, i, l) ||
			    (e->removes && defect_of(l) == DEFECT_FILE) ||
			    (!leak_lasting(l) && !ends_like_base(e, s)))
				continue;
			add(j, defect_of(l),
			    xasprintf("%s %s: %s", resource_name(l->resource),
				      l->resource == RESOURCE_HEAP ? "lost"
				      : leak_lasting(l)		   ? "left behind"
								   : "held at exit",
				      l->what ? l->what : "?"),
			    l->nframes ? l : NULL);
		}
	}
}

static bool same_output(const struct fault_expect *e, const struct fault_seen *s)
{
	switch (e->compare) {
	case COMPARE_EXACT:
		return !strcmp(e->base->exact, s->exact);
	case COMPARE_WORDED:
		return !strcmp(e->base->worded, s->worded);
	case COMPARE_NOT:
		break;
	}
	return false;
}

static void judge_report(const struct fault_expect *e, const struct fault_seen *s,
			 struct fault_judgement *j)
{
	bool repeated = s->reached > e->occurrences;

	if (!e->must_report || repeated || !run_result_passed(&s->run) ||
	    !run_result_passed(&e->base->run) || !same_output(e, s))
		return;
	add(j, DEFECT_SWALLOWED,
	    xstrdup("nobody was told: exit status and output are as if it had worked"),
	    NULL);
}

static void judge_check(const struct fault_expect *e, const struct fault_seen *s,
			struct fault_judgement *j)
{
	if (!e->base->checked || s->run.end != RUN_EXITED)
		return;
	if (!s->checked)
		add(j, DEFECT_CHECK, xstrdup("the check did not come to its end"), NULL);
	else if (s->check_status)
		add(j, DEFECT_CHECK,
		    xasprintf("the check fails with %d%s%s", s->check_status,
			      s->check_said ? ": " : "",
			      s->check_said ? s->check_said : ""),
		    NULL);
}

void fault_judge(const struct fault_expect *e, struct fault_seen *seen,
		 struct fault_judgement *ret)
{
	*ret = (struct fault_judgement){0};
	if (!seen->fired)
		return;
	judge_end(e, seen, ret);
	judge_check(e, seen, ret);
	judge_report(e, seen, ret);
	judge_held(e, seen, ret);
}
