#include "proc/tree.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct list {
	pid_t *v;
	size_t n, cap;
};

/* "12 34 56 ": a number may be cut by the end of a read. */
static void read_children(int fd, struct list *l)
{
	char text[1024];
	long pid = 0;
	ssize_t n;

	while ((n = read(fd, text, sizeof(text))) > 0) {
		for (ssize_t i = 0; i < n; i++) {
			if (isdigit((unsigned char)text[i])) {
				if (pid < INT_MAX / 10)
					pid = pid * 10 + (text[i] - '0');
				continue;
			}
			if (pid && l->n < l->cap)
				l->v[l->n++] = (pid_t)pid;
			pid = 0;
		}
	}
}

/* Children of one thread. false: it has no such file, or is gone. */
static bool add_thread(pid_t pid, int tid, struct list *l)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)pid, tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	read_children(fd, l);
	close(fd);
	return true;
}

static bool add_children(pid_t pid, struct list *l)
{
	char path[32];
	struct dirent *e;
	bool found = false;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	dir = opendir(path);
	if (!dir)
		return false;
	while ((e = readdir(dir)))
		if (isdigit((unsigned char)e->d_name[0]))
			found |= add_thread(pid, atoi(e->d_name), l);
	closedir(dir);
	return found;
}

ssize_t proc_descendants_quick(pid_t pid, pid_t *ret, size_t cap)
{
	struct list l = {ret, 0, cap};
	size_t next = 0;

	if (!add_children(pid, &l) && access("/proc/thread-self/children", F_OK) < 0)
		return -1;
	while (next < l.n)
		add_children(l.v[next++], &l);
	return (ssize_t)l.n;
}

size_t proc_descendants_some(pid_t pid, pid_t *ret, size_t cap)
{
	ssize_t quick = proc_descendants_quick(pid, ret, cap);
	size_t n = quick < 0 ? proc_descendants(pid, ret, cap) : (size_t)quick;

	return n < cap ? n : cap;
}
