#include "model/run.h"

#include "base/mem.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char *const end_names[] = {
	[RUN_EXITED] = "exited",       [RUN_SIGNALED] = "signaled",
	[RUN_TIMED_OUT] = "timed_out", [RUN_NOT_STARTED] = "not_started",
	[RUN_CANCELLED] = "cancelled", [RUN_LOST] = "lost",
};

const char *run_end_name(enum run_end e)
{
	return end_names[e];
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
