#include "model/run.h"

#include "base/mem.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char *const end_names[] = {
	[RUN_EXITED] = "exited",       [RUN_SIGNALED] = "signaled",
	[RUN_TIMED_OUT] = "timed_out", [RUN_NOT_STARTED] = "not_started",
	[RUN_CANCELLED] = "cancelled", [RUN_LOST] = "lost",
	[RUN_OVER_CPU] = "over_cpu",   [RUN_OVER_MEMORY] = "over_memory",
	[RUN_OVER_PIDS] = "over_pids", [RUN_OVER_OUTPUT] = "over_output",
	[RUN_OVER_DISK] = "over_disk", [RUN_SANDBOX_FAILED] = "sandbox_failed",
};

const char *run_end_name(enum run_end e)
{
	return end_names[e];
}

static const char *const verdict_names[RUN_ENDS] = {
	[RUN_EXITED] = "exit",	       [RUN_SIGNALED] = "signal",
	[RUN_TIMED_OUT] = "wall",      [RUN_NOT_STARTED] = "not-started",
	[RUN_CANCELLED] = "cancelled", [RUN_LOST] = "lost",
	[RUN_OVER_CPU] = "cpu",	       [RUN_OVER_MEMORY] = "oom",
	[RUN_OVER_PIDS] = "pids",      [RUN_OVER_OUTPUT] = "output",
	[RUN_OVER_DISK] = "disk",      [RUN_SANDBOX_FAILED] = "sandbox-error",
};

const char *run_verdict_name(enum run_end e)
{
	return verdict_names[e];
}

static char *describe_signal(int sig)
{
	const char *name = sigabbrev_np(sig);

	return name ? xasprintf("killed by SIG%s", name)
		    : xasprintf("killed by signal %d", sig);
}

static char *describe_timeout(uint64_t us)
{
	uint64_t ms = us / 1000;

	if (ms < 1000)
		return xasprintf("timed out after %" PRIu64 " ms", ms);
	if (ms < 10000 && ms % 1000 >= 100)
		return xasprintf("timed out after %" PRIu64 ".%" PRIu64 " s", ms / 1000,
				 ms % 1000 / 100);
	return xasprintf("timed out after %" PRIu64 " s", ms / 1000);
}

bool run_result_over_limit(const struct run_result *r)
{
	return r->end >= RUN_OVER_CPU && r->end <= RUN_OVER_DISK;
}

bool run_result_late(const struct run_result *r)
{
	return r->end == RUN_TIMED_OUT || r->end == RUN_OVER_CPU;
}

bool run_result_passed(const struct run_result *r)
{
	return r->end == RUN_EXITED && r->status == 0;
}

char *run_result_describe(const struct run_result *r)
{
	switch (r->end) {
	case RUN_EXITED:
		return xasprintf("exit %d", r->status);
	case RUN_SIGNALED:
		return describe_signal(r->signal);
	case RUN_TIMED_OUT:
		return describe_timeout(r->wall_us);
	case RUN_NOT_STARTED:
		return xasprintf("could not be started: %s: %s", r->step,
				 strerror(r->errnum));
	case RUN_CANCELLED:
		return xstrdup("cancelled");
	case RUN_LOST:
		return xstrdup("lost: its supervisor was killed");
	case RUN_OVER_CPU:
		return xstrdup("used up its CPU time");
	case RUN_OVER_MEMORY:
		return xstrdup("killed for memory");
	case RUN_OVER_PIDS:
		return xstrdup("reached its limit of processes");
	case RUN_OVER_OUTPUT:
		return xstrdup("wrote more output than it may");
	case RUN_OVER_DISK:
		return xstrdup("wrote more to disk than it may");
	case RUN_SANDBOX_FAILED:
		return xasprintf("not sandboxed: %s: %s", r->step, strerror(r->errnum));
	case RUN_ENDS:
		break;
	}
	abort();
}

void run_spec_release(struct run_spec *s)
{
	strv_release(&s->argv);
	strv_release(&s->env);
	free(s->cwd);
	free(s->dir);
	memset(s, 0, sizeof(*s));
}

int warm_parse(const char *name, enum warm *ret)
{
	static const char *const names[] = {"none", "python", "node"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (!strcmp(names[i], name)) {
			*ret = (enum warm)i;
			return 0;
		}
	return -1;
}
