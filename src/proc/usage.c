#include "proc/usage.h"

#include "proc/tree.h"

#include <ctype.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* More than a run may have; of a bomb that grew over it the first are enough. */
#define PROCESSES_MAX 4096

int usage_read_file(pid_t pid, const char *name, char ret_text[USAGE_TEXT_MAX])
{
	char path[48];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	n = read(fd, ret_text, USAGE_TEXT_MAX - 1);
	close(fd);
	ret_text[n < 0 ? 0 : n] = '\0';
	return n < 0 ? -1 : 0;
}

int usage_parse_line(const char *text, const char *key, uint64_t *ret)
{
	size_t len = strlen(key);

	while (*text) {
		if (!strncmp(text, key, len) && text[len] == ':') {
			const char *p = text + len + 1 + strspn(text + len + 1, " \t");

			if (!isdigit((unsigned char)*p))
				return -1;
			*ret = strtoull(p, NULL, 10);
			return 0;
		}
		text += strcspn(text, "\n");
		text += *text == '\n';
	}
	return -1;
}

int usage_parse_resident(const char *text, uint64_t *ret_pages)
{
	char *end;

	if (!isdigit((unsigned char)*text))
		return -1;
	strtoull(text, &end, 10);
	if (*end != ' ' || !isdigit((unsigned char)end[1]))
		return -1;
	*ret_pages = strtoull(end + 1, NULL, 10);
	return 0;
}

static uint64_t resident(pid_t pid)
{
	char text[USAGE_TEXT_MAX];
	uint64_t pages;

	if (usage_read_file(pid, "statm", text) < 0 ||
	    usage_parse_resident(text, &pages) < 0)
		return 0;
	return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* A page that n processes map counts 1/n. One that we may not look into counts whole. */
static uint64_t proportional(pid_t pid)
{
	char text[USAGE_TEXT_MAX];
	uint64_t kib;

	if (usage_read_file(pid, "smaps_rollup", text) < 0 ||
	    usage_parse_line(text, "Pss", &kib) < 0)
		return resident(pid);
	return kib * 1024;
}

/* The kernel adds what a child wrote to its parent when that waits for it. */
uint64_t usage_written(pid_t pid)
{
	char text[USAGE_TEXT_MAX];
	uint64_t bytes, cancelled;

	if (usage_read_file(pid, "io", text) < 0 ||
	    usage_parse_line(text, "write_bytes", &bytes) < 0 ||
	    usage_parse_line(text, "cancelled_write_bytes", &cancelled) < 0)
		return 0;
	/* A process may truncate what another wrote. */
	return bytes > cancelled ? bytes - cancelled : 0;
}

static void add_process(pid_t pid, unsigned what, struct usage *u)
{
	struct proc_stat st;

	if ((what & (USAGE_CPU | USAGE_PIDS)) && !proc_stat_read(pid, &st)) {
		if (what & USAGE_CPU)
			u->cpu_us += (uint64_t)st.cpu * 1000000 /
				     (uint64_t)sysconf(_SC_CLK_TCK);
		/* A zombie has no threads, and holds its pid. */
		if (what & USAGE_PIDS)
			u->pids += st.threads > 1 ? (uint64_t)st.threads : 1;
	}
	if (what & USAGE_MEMORY)
		u->memory += resident(pid);
	if (what & USAGE_DISK)
		u->disk += usage_written(pid);
}

void usage_read(pid_t root, int with_root, unsigned what, uint64_t memory_cap,
		struct usage *ret)
{
	pid_t pids[PROCESSES_MAX];
	size_t n = 0;

	*ret = (struct usage){0};
	if (with_root)
		pids[n++] = root;
	if (!(what & USAGE_ALONE))
		n += proc_descendants_some(root, pids + n, PROCESSES_MAX - n);
	for (size_t i = 0; i < n; i++)
		add_process(pids[i], what, ret);
	if (!memory_cap || ret->memory <= memory_cap)
		return;
	ret->memory = 0;
	for (size_t i = 0; i < n; i++)
		ret->memory += proportional(pids[i]);
}
