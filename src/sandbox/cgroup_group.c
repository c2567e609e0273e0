#include "sandbox/cgroup_group.h"

#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define STAT_MAX 1024
#define NAMES_TRIED 16
/* The last process of a group is gone for wait() before it is for rmdir(). */
#define REMOVE_PATIENCE_US 1000000

static void note_fatal(struct cgroup *c)
{
	if (errno == EMFILE || errno == ENFILE || errno == ENOMEM)
		c->fatal = errno;
}

static void read_text(int fd, char *ret_text, size_t cap)
{
	ssize_t n = fd < 0 ? -1 : pread(fd, ret_text, cap - 1, 0);

	ret_text[n < 0 ? 0 : n] = '\0';
}

void cgroup_read_kept(const struct cgroup *c, enum cgroup_file f, char *ret_text,
		      size_t cap)
{
	read_text(c->files[f], ret_text, cap);
}

void cgroup_read(const char *dir, const char *name, char *ret_text, size_t cap)
{
	CLEANUP_FREE char *path = path_join(dir, name);
	CLEANUP_FD int fd = open(path, O_RDONLY | O_CLOEXEC);

	read_text(fd, ret_text, cap);
}

static int write_text(int fd, const char *text)
{
	return pwrite(fd, text, strlen(text), 0) < 0 ? -1 : 0;
}

static int open_to_write(const char *dir, const char *name)
{
	CLEANUP_FREE char *path = path_join(dir, name);

	return open(path, O_WRONLY | O_CLOEXEC);
}

int cgroup_write(const char *dir, const char *name, const char *text)
{
	CLEANUP_FD int fd = open_to_write(dir, name);

	return fd < 0 ? -1 : write_text(fd, text);
}

int cgroup_write_limit(int fd, uint64_t limit, const char *no_limit)
{
	char text[32];

	snprintf(text, sizeof(text), "%llu", (unsigned long long)limit);
	return write_text(fd, limit == CGROUP_NO_LIMIT ? no_limit : text);
}

int cgroup_keep(struct cgroup *c, enum cgroup_file f, int dir, const char *name,
		int flags)
{
	CLEANUP_FREE char *path = path_join(c->dirs[dir].path, name);

	c->files[f] = open(path, flags | O_CLOEXEC);
	if (c->files[f] < 0)
		note_fatal(c);
	return c->files[f] < 0 ? -1 : 0;
}

static int read_start(const char *pid, char *ret_state, unsigned long long *ret_start)
{
	char dir[32], text[STAT_MAX];

	snprintf(dir, sizeof(dir), "/proc/%s", pid);
	cgroup_read(dir, "stat", text, sizeof(text));
	return cgroup_parse_start(text, ret_state, ret_start);
}

static int owner_self(struct cgroup_owner *ret)
{
	struct stat st;
	char state;

	*ret = (struct cgroup_owner){.pid = getpid()};
	if (stat("/proc/self/ns/pid", &st) < 0 ||
	    read_start("self", &state, &ret->start) < 0)
		return -1;
	ret->pid_namespace = st.st_ino;
	return 0;
}

/* A process of another user may be hidden from us in /proc: kill() sees it. */
static bool owner_is_dead(const struct cgroup_owner *o)
{
	unsigned long long start;
	char pid[16], state;

	if (kill(o->pid, 0) < 0 && errno == ESRCH)
		return true;
	snprintf(pid, sizeof(pid), "%d", (int)o->pid);
	if (read_start(pid, &state, &start) < 0)
		return false;
	return start != o->start || state == 'Z' || state == 'X';
}

/* One that still has processes stays (EBUSY), and is removed by a later exitpath. */
static void remove_stale(const char *parent, const struct cgroup_owner *self)
{
	DIR *dir = opendir(parent);
	struct cgroup_owner o;
	struct dirent *e;

	if (!dir)
		return;
	while ((e = readdir(dir)))
		if (!cgroup_name_parse(e->d_name, &o) &&
		    o.pid_namespace == self->pid_namespace && owner_is_dead(&o))
			unlinkat(dirfd(dir), e->d_name, AT_REMOVEDIR);
	closedir(dir);
}

static bool is_cgroup_fs(const char *dir, bool v2)
{
	struct statfs fs;

	return !statfs(dir, &fs) &&
	       fs.f_type == (v2 ? CGROUP2_SUPER_MAGIC : CGROUP_SUPER_MAGIC);
}

/* The group of ours whose parent that is, or -1. */
static int find_below(const struct cgroup *c, const char *parent)
{
	size_t len = strlen(parent);

	for (size_t i = 0; i < c->ndirs; i++) {
		const char *path = c->dirs[i].path;

		if (!strncmp(path, parent, len) && path[len] == '/' &&
		    !strchr(path + len + 1, '/'))
			return (int)i;
	}
	return -1;
}

/* Returns the path of a directory that was not there before, or NULL with errno. */
static char *make_dir(const char *parent)
{
	static unsigned made;
	struct cgroup_owner self;

	if (owner_self(&self) < 0)
		return NULL;
	remove_stale(parent, &self);
	for (int i = 0; i < NAMES_TRIED; i++) {
		char name[CGROUP_NAME_MAX];
		char *path;

		self.n = made++;
		cgroup_name(&self, name);
		path = path_join(parent, name);
		if (!mkdir(path, 0755))
			return path;
		free(path);
		if (errno != EEXIST)
			break;
	}
	return NULL;
}

int cgroup_make(struct cgroup *c, const char *parent, bool v2)
{
	int known = find_below(c, parent);
	struct cgroup_dir *dir = &c->dirs[c->ndirs];

	if (known >= 0)
		return known;
	if (!is_cgroup_fs(parent, v2)) {
		errno = ENOENT; /* something else is mounted over it */
		return -1;
	}
	dir->path = make_dir(parent);
	if (!dir->path) {
		note_fatal(c);
		return -1;
	}
	c->ndirs++;
	dir->procs = open_to_write(dir->path, "cgroup.procs");
	dir->tasks = v2 ? -1 : open_to_write(dir->path, "tasks");
	if (dir->procs < 0) {
		note_fatal(c);
		return -1;
	}
	return (int)c->ndirs - 1;
}

/* Handlers of the caller's must not run in the child: it has the same pipes. */
static pid_t fork_sleeper(void)
{
	sigset_t all, old;
	pid_t parent = getpid(), pid;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &old);
	pid = fork();
	while (pid == 0 && getppid() == parent)
		poll(NULL, 0, 100);
	if (pid == 0)
		raise(SIGKILL);
	sigprocmask(SIG_SETMASK, &old, NULL);
	return pid;
}

int cgroup_try_attach(struct cgroup *c)
{
	pid_t pid = fork_sleeper();
	int failed, errnum;

	if (pid < 0) {
		c->fatal = errno;
		return -1;
	}
	failed = cgroup_attach(c, pid);
	errnum = errno;
	kill(pid, SIGKILL);
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	errno = errnum;
	return failed;
}

static void remove_dir(const char *path)
{
	uint64_t give_up = clock_us() + REMOVE_PATIENCE_US;
	struct timespec pause = {.tv_nsec = 100000};

	while (rmdir(path) < 0 && errno == EBUSY && clock_us() < give_up) {
		nanosleep(&pause, NULL);
		if (pause.tv_nsec < 10000000)
			pause.tv_nsec *= 2;
	}
}

void cgroup_drop(struct cgroup *c)
{
	for (size_t i = 0; i < CGROUP_FILES; i++) {
		if (c->files[i] >= 0)
			close(c->files[i]);
		c->files[i] = -1;
	}
	for (size_t i = 0; i < c->ndirs; i++) {
		if (c->dirs[i].procs >= 0)
			close(c->dirs[i].procs);
		if (c->dirs[i].tasks >= 0)
			close(c->dirs[i].tasks);
		remove_dir(c->dirs[i].path);
		free(c->dirs[i].path);
	}
	c->ndirs = 0;
	c->memory_max = c->pids_max = 0;
}
