#include "proc/tree.h"

#include "base/clock.h"
#include "base/mem.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define STAT_MAX 1024		 /* /proc/PID/stat: 52 numbers and a name of 15 bytes */
#define KILL_PATIENCE_US 5000000 /* a process in D state may outlive this */

/* Reads one decimal field and the blank before it. */
static int next_number(const char **p, const char *end, bool negative,
		       unsigned long long *ret)
{
	unsigned long long n = 0;
	const char *s = *p;
	bool minus = false;

	if (s == end || *s++ != ' ')
		return -1;
	if (negative && s < end && *s == '-') {
		minus = true;
		s++;
	}
	if (s == end || *s < '0' || *s > '9')
		return -1;
	for (; s < end && *s >= '0' && *s <= '9'; s++) {
		unsigned digit = (unsigned)(*s - '0');

		if (n > (ULLONG_MAX - digit) / 10)
			return -1;
		n = n * 10 + digit;
	}
	if (s < end && *s != ' ' && *s != '\n')
		return -1;
	*p = s;
	*ret = minus ? 0 - n : n;
	return 0;
}

/* The fields after comm; numbers are those of proc(5). */
static int parse_fields(const char *p, const char *end, struct proc_stat *ret)
{
	unsigned long long n;

	if (end - p < 2 || p[0] != ' ' || !isalpha((unsigned char)p[1]))
		return -1;
	ret->state = p[1];
	p += 2;
	for (int field = 4; field <= 22; field++) {
		if (next_number(&p, end, true, &n) < 0)
			return -1;
		if (field == 4 && n > INT_MAX)
			return -1;
		if (field == 4)
			ret->ppid = (pid_t)n;
		else if (field == 9)
			ret->flags = (unsigned long)n;
		else if (field >= 14 && field <= 17)
			ret->cpu += n;
		else if (field == 20)
			ret->threads = (long)n;
		else if (field == 22)
			ret->start = n;
	}
	return 0;
}

int proc_stat_parse(const char *text, size_t len, struct proc_stat *ret)
{
	struct proc_stat st = {0};
	const char *open = memchr(text, '(', len);
	/* comm may hold anything, ") R 1" too: the last ')' ends it. */
	const char *close = len ? memrchr(text, ')', len) : NULL;
	unsigned long long pid = 0;
	size_t n;

	if (!open || !close || close < open || open - text < 2 || open[-1] != ' ')
		return -1;
	for (const char *p = text; p < open - 1; p++) {
		if (*p < '0' || *p > '9' || pid > INT_MAX)
			return -1;
		pid = pid * 10 + (unsigned)(*p - '0');
	}
	if (!pid || pid > INT_MAX)
		return -1;
	st.pid = (pid_t)pid;
	n = (size_t)(close - open - 1);
	if (n >= sizeof(st.comm))
		n = sizeof(st.comm) - 1;
	memcpy(st.comm, open + 1, n);
	if (parse_fields(close + 1, text + len, &st) < 0)
		return -1;
	*ret = st;
	return 0;
}

static int stat_read_at(int proc, const char *pid, struct proc_stat *ret)
{
	char path[32], text[STAT_MAX];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "%s/stat", pid);
	fd = openat(proc, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	n = read(fd, text, sizeof(text));
	close(fd);
	if (n < 0)
		return -1;
	return proc_stat_parse(text, (size_t)n, ret);
}

int proc_stat_read(pid_t pid, struct proc_stat *ret)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d", pid);
	return stat_read_at(AT_FDCWD, path, ret);
}

struct entry {
	pid_t pid, ppid;
	char state;
	bool below; /* descends from the process in question */
};

struct table {
	struct entry *v;
	size_t n, cap;
};

static int by_pid(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	return (x->pid > y->pid) - (x->pid < y->pid);
}

static void table_read(struct table *t)
{
	DIR *dir = opendir("/proc");
	struct dirent *e;
	struct proc_stat st;

	if (!dir)
		return;
	while ((e = readdir(dir))) {
		if (!isdigit((unsigned char)e->d_name[0]) || strlen(e->d_name) > 10 ||
		    stat_read_at(dirfd(dir), e->d_name, &st) < 0)
			continue;
		*VEC_ADD(t->v, t->n, t->cap) =
			(struct entry){.pid = st.pid, .ppid = st.ppid, .state = st.state};
	}
	closedir(dir);
	if (t->n)
		qsort(t->v, t->n, sizeof(*t->v), by_pid);
}

/* A child mostly has a higher number than its parent, so that one pass is the rule. */
static void mark_below(struct table *t, pid_t root)
{
	bool changed = true;

	while (changed) {
		changed = false;
		for (size_t i = 0; i < t->n; i++) {
			struct entry key = {.pid = t->v[i].ppid}, *parent;

			if (t->v[i].below)
				continue;
			parent = bsearch(&key, t->v, t->n, sizeof(key), by_pid);
			if (t->v[i].ppid == root || (parent && parent->below))
				t->v[i].below = changed = true;
		}
	}
}

static void table_below(struct table *t, pid_t root)
{
	size_t n = 0;

	table_read(t);
	mark_below(t, root);
	for (size_t i = 0; i < t->n; i++)
		if (t->v[i].below)
			t->v[n++] = t->v[i];
	t->n = n;
}

static bool is_dead(const struct entry *e)
{
	return e->state == 'Z' || e->state == 'X';
}

size_t proc_descendants(pid_t pid, pid_t *ret, size_t cap)
{
	struct table t = {0};
	size_t n;

	table_below(&t, pid);
	n = t.n;
	for (size_t i = 0; i < n && i < cap; i++)
		ret[i] = t.v[i].pid;
	free(t.v);
	return n;
}

/* Returns how many were still alive. */
static size_t signal_all(const struct table *t, int sig)
{
	size_t n = 0;

	for (size_t i = 0; i < t->n; i++) {
		if (is_dead(&t->v[i]))
			continue;
		kill(t->v[i].pid, sig);
		n++;
	}
	return n;
}

/* Adds those not yet in the list of pids; a list that a fork bomb fills is sorted by
 * nothing, but each pid is looked up once per round and rounds are few. */
static void remember(struct table *seen, const struct table *t)
{
	size_t old = seen->n;

	for (size_t i = 0; i < t->n; i++) {
		if (is_dead(&t->v[i]) ||
		    (old && bsearch(&t->v[i], seen->v, old, sizeof(*seen->v), by_pid)))
			continue;
		*VEC_ADD(seen->v, seen->n, seen->cap) = t->v[i];
	}
	if (seen->n > old)
		qsort(seen->v, seen->n, sizeof(*seen->v), by_pid);
}

static void reap(const struct table *t, pid_t parent)
{
	if (parent == getpid())
		for (size_t i = 0; i < t->n; i++)
			if (is_dead(&t->v[i]) && t->v[i].ppid == parent)
				waitpid(t->v[i].pid, NULL, WNOHANG | __WALL);
}

unsigned proc_kill_descendants(pid_t pid)
{
	uint64_t give_up = clock_us() + KILL_PATIENCE_US;
	long wait_ns = 100000;
	struct table seen = {0};
	unsigned killed;
	size_t alive;

	do {
		struct table t = {0};

		table_below(&t, pid);
		/* A stopped process forks no more: without this a fork bomb may win. */
		signal_all(&t, SIGSTOP);
		alive = signal_all(&t, SIGKILL);
		remember(&seen, &t);
		reap(&t, pid);
		free(t.v);
		if (alive) {
			struct timespec pause = {.tv_nsec = wait_ns};

			nanosleep(&pause, NULL);
			if (wait_ns < 5000000)
				wait_ns *= 2;
		}
	} while (alive && clock_us() < give_up);
	killed = (unsigned)seen.n;
	free(seen.v);
	return killed;
}
