/*
 * controls PATH…: opens the kernel's controls for writing, and writes nothing. Of the
 * cgroups it looks at the top of each hierarchy (inside: its own) and at exitpath's, for
 * the files by which it would raise its own limits or have a program run outside. Last:
 * asks never to be the victim of the OOM killer.
 */
#include "hostile.h"
#include <fcntl.h>
#include <glob.h>

static int writable(const char *path)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return -1;
	close(fd);
	return 0;
}

static void search_cgroups(void)
{
	static const char *const places[] = {"", "/*", "/exitpath-*", "/*/exitpath-*"};
	static const char *const names[] = {"memory.max", "memory.limit_in_bytes",
					    "pids.max", "cgroup.procs", "release_agent"};
	char pattern[256];
	glob_t found;

	for (size_t p = 0; p < sizeof(places) / sizeof(*places); p++)
		for (size_t n = 0; n < sizeof(names) / sizeof(*names); n++) {
			snprintf(pattern, sizeof(pattern), "/sys/fs/cgroup%s/%s",
				 places[p], names[n]);
			if (glob(pattern, 0, NULL, &found) == 0)
				for (size_t i = 0; i < found.gl_pathc; i++)
					report(found.gl_pathv[i],
					       writable(found.gl_pathv[i]));
			globfree(&found);
		}
}

int main(int argc, char **argv)
{
	int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	for (int i = 1; i < argc; i++)
		report(argv[i], writable(argv[i]));
	search_cgroups();
	report("oom_score_adj -1000", fd < 0 || write(fd, "-1000", 5) != 5);
	return 0;
}
