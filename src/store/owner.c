/*
 * Who does a run: pid, start time (a pid is used again), boot id (a start time as
 * well), and pid namespace (a store may be shared with containers).
 */
#include "store/owner.h"

#include "base/fs.h"
#include "base/mem.h"

#include <stdio.h>
#include <string.h>

/* Field 22 of /proc/PID/stat, in clock ticks since boot (proc(5)); 0: there is none. */
static int64_t start_time(pid_t pid)
{
	CLEANUP(buf) struct buf b = {0};
	char path[64];
	const char *p;
	char state;
	long long start;

	snprintf(path, sizeof(path), "/proc/%ld/stat", (long)pid);
	if (read_file(path, 4096, &b, NULL) < 0)
		return 0;
	/* The name is in parentheses and may hold any byte. */
	p = strrchr(buf_str(&b), ')');
	if (!p || sscanf(p + 1,
			 " %c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s "
			 "%*s %*s %*s %*s %lld",
			 &state, &start) != 2)
		return 0;
	return state == 'Z' || state == 'X' ? 0 : start;
}

static char *boot_id(void)
{
	CLEANUP(buf) struct buf b = {0};

	read_file("/proc/sys/kernel/random/boot_id", 64, &b, NULL);
	return xstrndup(buf_str(&b), strcspn(buf_str(&b), "\n"));
}

static char *pid_namespace(void)
{
	char link[64];
	ssize_t n = readlink("/proc/self/ns/pid", link, sizeof(link));

	return n <= 0 ? xstrdup("") : xstrndup(link, (size_t)n);
}

void owner_self(struct owner *ret)
{
	ret->pid = getpid();
	ret->start = start_time(getpid());
	ret->boot_id = boot_id();
	ret->pid_ns = pid_namespace();
}

enum owner_state owner_state(const struct owner *o, const struct owner *self)
{
	int64_t start;

	if (*o->boot_id && *self->boot_id && strcmp(o->boot_id, self->boot_id))
		return OWNER_GONE;
	if (!*o->pid_ns || strcmp(o->pid_ns, self->pid_ns))
		return OWNER_UNKNOWN;
	start = start_time((pid_t)o->pid);
	return start && start == o->start ? OWNER_ALIVE : OWNER_GONE;
}

void owner_release(struct owner *o)
{
	free(o->boot_id);
	free(o->pid_ns);
}
