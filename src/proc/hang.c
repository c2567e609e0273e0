#include "proc/hang.h"

#include "base/buf.h"
#include "base/fs.h"
#include "proc/tree.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

/* A fork bomb may time out as well: enough to see what hangs, in bounded time. */
enum { MAX_PROCESSES = 64, MAX_THREADS = 64, MAX_FDS = 256 };

/* comm, command lines and link targets are the program's own text. */
static void add_text(struct buf *b, const char *s, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (isprint((unsigned char)s[i]) && s[i] != '\\')
			buf_addc(b, s[i]);
		else if (s[i] == '\0')
			buf_addc(b, ' ');
		else
			buf_addf(b, "\\x%02x", (unsigned char)s[i]);
	}
}

static size_t read_small(const char *dir, const char *name, char *text, size_t size)
{
	char path[PATH_MAX];
	int fd;
	ssize_t n;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	n = read(fd, text, size);
	close(fd);
	if (n > 0 && (text[n - 1] == '\n' || text[n - 1] == '\0'))
		n--;
	return n < 0 ? 0 : (size_t)n;
}

/* "NAME, state S, waits in CHANNEL" */
static void add_state(struct buf *b, const char *dir)
{
	struct proc_stat st;
	char text[1024];
	size_t n = read_small(dir, "stat", text, sizeof(text));

	if (proc_stat_parse(text, n, &st) == 0) {
		add_text(b, st.comm, strlen(st.comm));
		buf_addf(b, ", state %c", st.state);
	}
	n = read_small(dir, "wchan", text, sizeof(text));
	if (n && !(n == 1 && text[0] == '0')) {
		buf_adds(b, ", waits in ");
		add_text(b, text, n);
	}
	buf_addc(b, '\n');
}

typedef void (*entry_fn)(struct buf *b, const char *dir, const char *name);

static void each_entry(struct buf *b, const char *dir, int max, entry_fn fn)
{
	DIR *d = opendir(dir);
	struct dirent *e;
	int n = 0;

	if (!d)
		return;
	while ((e = readdir(d))) {
		if (e->d_name[0] == '.')
			continue;
		if (n++ < max)
			fn(b, dir, e->d_name);
	}
	closedir(d);
	if (n > max)
		buf_addf(b, "  … and %d more\n", n - max);
}

static void add_thread(struct buf *b, const char *dir, const char *name)
{
	char path[320];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	buf_addf(b, "  thread %s: ", name);
	add_state(b, path);
}

static void add_fd(struct buf *b, const char *dir, const char *name)
{
	char path[320], target[PATH_MAX];
	ssize_t n;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	n = readlink(path, target, sizeof(target));
	if (n < 0)
		return;
	buf_addf(b, "  fd %s -> ", name);
	add_text(b, target, (size_t)n);
	buf_addc(b, '\n');
}

static void add_process(struct buf *b, pid_t pid)
{
	char dir[32], sub[48], text[512];
	struct proc_stat st;
	size_t n;

	if (proc_stat_read(pid, &st) < 0)
		return;
	snprintf(dir, sizeof(dir), "/proc/%d", pid);
	buf_addf(b, "process %d (parent %d, %ld threads): ", pid, st.ppid, st.threads);
	add_state(b, dir);
	n = read_small(dir, "cmdline", text, sizeof(text));
	if (n) {
		buf_adds(b, "  command: ");
		add_text(b, text, n);
		buf_addc(b, '\n');
	}
	if (st.threads > 1) {
		snprintf(sub, sizeof(sub), "%s/task", dir);
		each_entry(b, sub, MAX_THREADS, add_thread);
	}
	snprintf(sub, sizeof(sub), "%s/fd", dir);
	each_entry(b, sub, MAX_FDS, add_fd);
}

void hang_write(const char *dir, pid_t pid)
{
	CLEANUP(buf) struct buf b = {0};
	CLEANUP_FREE char *path = dir ? path_join(dir, "hang.txt") : NULL;
	CLEANUP_FD int fd = -1;
	pid_t pids[MAX_PROCESSES];
	size_t n = path ? proc_descendants(pid, pids, MAX_PROCESSES) : 0;

	if (!path)
		return;
	for (size_t i = 0; i < n && i < MAX_PROCESSES; i++)
		add_process(&b, pids[i]);
	if (n > MAX_PROCESSES)
		buf_addf(&b, "… and %zu more processes\n", n - MAX_PROCESSES);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd >= 0 && write_all(fd, buf_str(&b), b.len) < 0)
		return; /* a full disk: the deadline is told all the same */
}
