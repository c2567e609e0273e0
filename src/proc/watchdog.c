#include "proc/watchdog.h"

#include "proc/usage.h"
#include "sandbox/cgroup.h"

#include <sys/statvfs.h>
#include <sys/sysinfo.h>
#include <unistd.h>

enum {
	POLL_MS = 5,  /* what a cap may be overrun by, where nothing else holds it */
	LOOK_MS = 20, /* for what is capped elsewhere, or grows slowly */
};

static bool counted(const struct watchdog *w)
{
	return w->cgroup && cgroup_tier(w->cgroup) != TIER_POLLING;
}

/* libc reads a file of /sys each time, and we look every few milliseconds. */
static uint64_t processors(void)
{
	static long n;

	if (n <= 0)
		n = sysconf(_SC_NPROCESSORS_ONLN);
	return n > 0 ? (uint64_t)n : 1;
}

/* All processors together can use up the rest no earlier. */
static int cpu_pause_ms(const struct watchdog *w)
{
	uint64_t limit_us = w->limits.cpu_ms * 1000;
	uint64_t rest_us = limit_us > w->cpu_us ? limit_us - w->cpu_us : 0;
	uint64_t ms = rest_us / 1000 / processors();

	return ms < POLL_MS ? POLL_MS : ms > INT32_MAX ? INT32_MAX : (int)ms;
}

int watchdog_pause_ms(const struct watchdog *w)
{
	const struct limits *l = &w->limits;
	int pause = -1;

	if (l->memory || l->pids)
		pause = counted(w) ? LOOK_MS : POLL_MS;
	if (l->disk && (pause < 0 || pause > LOOK_MS))
		pause = LOOK_MS;
	if (l->cpu_ms) {
		int cpu = cpu_pause_ms(w);

		if (pause < 0 || cpu < pause)
			pause = cpu;
	}
	return pause;
}

/* The run may not see more than its bounded tmpfs, which is full. */
static bool private_full(const struct watchdog *w, uint64_t *ret_used)
{
	struct statvfs st;

	*ret_used = 0;
	if (w->private_dir < 0 || fstatvfs(w->private_dir, &st) < 0)
		return false;
	*ret_used = (uint64_t)(st.f_blocks - st.f_bfree) * st.f_frsize;
	return w->limits.disk && (st.f_bavail == 0 || st.f_favail == 0);
}

/* Has the machine more shared memory in use, by so much that it is worth to look whose
 * it is? Others may give some back at the same time: then the next look sees it. */
static bool shared_grew(struct watchdog *w)
{
	struct sysinfo info;
	uint64_t now;

	if (sysinfo(&info) < 0)
		return false;
	now = (uint64_t)info.sharedram * info.mem_unit;
	if (!w->shm_low || now < w->shm_low)
		w->shm_low = now;
	return now - w->shm_low > w->limits.memory / 4;
}

/* What is in no resident set. What is in one may be the same memory. */
static uint64_t unmapped(struct watchdog *w)
{
	struct usage_shared s;

	if (!w->limits.memory || !shared_grew(w))
		return 0;
	usage_read_shared(w->root, w->sysvipc, &s);
	return s.objects > s.mapped ? s.objects - s.mapped : 0;
}

/* What init waited for that we may not read. */
static uint64_t untold(const struct watchdog *w)
{
	uint64_t own = w->written ? usage_written(w->root) : 0;

	return w->written > own ? w->written - own : 0;
}

static bool over(uint64_t value, uint64_t limit)
{
	return limit && value > limit;
}

bool watchdog_look(struct watchdog *w, uint64_t output, enum run_end *ret)
{
	const struct limits *l = &w->limits;
	struct cgroup_usage kernel = {0};
	struct usage seen = {0};
	unsigned what = l->disk ? USAGE_DISK : 0;
	uint64_t in_private;
	bool full = private_full(w, &in_private);

	if (counted(w))
		cgroup_usage(w->cgroup, &kernel);
	else
		what |= (l->memory ? USAGE_MEMORY : 0u) | (l->pids ? USAGE_PIDS : 0u);
	if (l->cpu_ms && !kernel.cpu_us)
		what |= USAGE_CPU;
	if (what)
		usage_read(w->root, w->with_root, what | (w->alone ? USAGE_ALONE : 0u),
			   l->memory, &seen);
	w->cpu_us = kernel.cpu_us ? kernel.cpu_us : seen.cpu_us;
	if (kernel.oom_kills ||
	    (!counted(w) && over(seen.memory + in_private + unmapped(w), l->memory)))
		*ret = RUN_OVER_MEMORY;
	else if (kernel.refused || (l->pids && seen.pids > l->pids + w->with_root))
		*ret = RUN_OVER_PIDS;
	else if (full || over(seen.disk + untold(w) + in_private, l->disk))
		*ret = RUN_OVER_DISK;
	else if (over(output, l->output))
		*ret = RUN_OVER_OUTPUT;
	else if (l->cpu_ms && w->cpu_us >= l->cpu_ms * 1000)
		*ret = RUN_OVER_CPU;
	else
		return false;
	return true;
}
