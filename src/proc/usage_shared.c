/* Shared memory that no process need map: it is in nobody's resident set. */
#include "proc/usage.h"

#include "proc/tree.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	PROCESSES_MAX = 4096,
	LINKS_MAX = 16384, /* descriptors that are looked at: some 20 ms */
	SEEN = 4096,	   /* memfds that are told apart */
	SYSV_RSS = 14,	   /* the column, from 0; the next is what is swapped */
};

struct seen {
	ino_t inodes[SEEN]; /* by their hash; 0: free */
	size_t n;
};

/* True: not seen before. All memfds lie on one file system. */
static bool add(struct seen *s, ino_t inode)
{
	size_t i = (size_t)(inode * 2654435761u) % SEEN;

	while (s->inodes[i] && s->inodes[i] != inode)
		i = (i + 1) % SEEN;
	if (s->inodes[i] || s->n == SEEN - 1)
		return false;
	s->inodes[i] = inode;
	s->n++;
	return true;
}

static bool is_memfd(int dir, const char *name, struct stat *ret)
{
	char target[16];
	ssize_t n = readlinkat(dir, name, target, sizeof(target));

	return n >= 7 && !memcmp(target, "/memfd:", 7) && !fstatat(dir, name, ret, 0);
}

/* Returns how many links were read. */
static size_t add_memfds(pid_t pid, struct seen *seen, size_t most, uint64_t *bytes)
{
	char path[32];
	struct dirent *e;
	size_t links = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	dir = opendir(path);
	if (!dir)
		return 0;
	while (links < most && (e = readdir(dir))) {
		struct stat st;

		links++;
		if (is_memfd(dirfd(dir), e->d_name, &st) && add(seen, st.st_ino))
			*bytes += (uint64_t)st.st_blocks * 512;
	}
	closedir(dir);
	return links;
}

static uint64_t mapped_by(pid_t pid)
{
	char text[USAGE_TEXT_MAX];
	uint64_t kib;

	if (usage_read_file(pid, "status", text) < 0 ||
	    usage_parse_line(text, "RssShmem", &kib) < 0)
		return 0;
	return kib * 1024;
}

uint64_t usage_parse_sysv(const char *line)
{
	uint64_t bytes = 0;

	for (int column = 0; column <= SYSV_RSS + 1; column++) {
		line += strspn(line, " ");
		if (!isdigit((unsigned char)*line) && *line != '-')
			return 0; /* the heading, or no line of that kernel's */
		if (column >= SYSV_RSS)
			bytes += strtoull(line, NULL, 10);
		line += strcspn(line, " \n");
	}
	return bytes;
}

static uint64_t sysv(int file)
{
	int fd = fcntl(file, F_DUPFD_CLOEXEC, 3);
	FILE *f = fd < 0 ? NULL : fdopen(fd, "r");
	char line[512];
	uint64_t bytes = 0;

	if (!f) {
		if (fd >= 0)
			close(fd);
		return 0;
	}
	rewind(f);
	while (fgets(line, sizeof(line), f))
		bytes += usage_parse_sysv(line);
	fclose(f);
	return bytes;
}

void usage_read_shared(pid_t root, int sysvipc, struct usage_shared *ret)
{
	pid_t pids[PROCESSES_MAX];
	size_t n = proc_descendants_some(root, pids, PROCESSES_MAX);
	size_t left = LINKS_MAX;
	struct seen seen = {.n = 0};

	*ret = (struct usage_shared){.objects = sysvipc < 0 ? 0 : sysv(sysvipc)};
	for (size_t i = 0; i < n; i++) {
		left -= add_memfds(pids[i], &seen, left, &ret->objects);
		ret->mapped += mapped_by(pids[i]);
	}
}
