/*
 * One pass over /proc/PID of a process that waits in exit_group().
 *
 * Most processes hold descriptors 0 to 2 and one thread. Two stat() calls say so: the
 * size of /proc/PID/fd is the number of descriptors (since Linux 6.2, 0 before), the
 * links of /proc/PID/task are two and one per thread. Listing the directory instead
 * makes the kernel create an inode for each entry, which costs three times as much.
 *
 * Whose is a descriptor? The root starts with 0 to 2 alone. A child that was forked and
 * has not called exec (PF_FORKNOEXEC) has copies of all that its parent had; those are
 * the parent's, and so are those of LeakSanitizer's tracer, which shares its parent's
 * table. What the parent closed after the fork cannot be told from what the child opened.
 * A child that called exec and has its parent's descriptor at the same number inherited
 * it: the leak of bubblewrap #221, where O_CLOEXEC was forgotten.
 */
#include "ledger/snapshot.h"

#include "base/fs.h"
#include "base/mem.h"
#include "ledger/procfs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/kcmp.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>

/* include/linux/sched.h */
#define PF_IO_WORKER 0x10UL
#define PF_FORKNOEXEC 0x40UL

enum {
	FIRST_FD = 3,
	SHELL_FD = 10,
	NET_FILE_CAP = 16 << 20, /* bytes read of files of /proc */
	FDINFO_CAP = 65536,
	CMDLINE_CAP = 16384,
	DENTS_SIZE = 8192,
	TARGET_MAX = 4096,
};

struct held *snapshot_add(struct snapshot *s, enum resource r, int fd, const char *target)
{
	struct held *h;

	if (s->nheld == SNAPSHOT_CAP) {
		s->more = true;
		return NULL;
	}
	h = VEC_ADD(s->held, s->nheld, s->held_cap);
	*h = (struct held){.resource = r, .fd = fd, .target = xstrdup(target)};
	return h;
}

void snapshot_release(struct snapshot *s)
{
	for (size_t i = 0; i < s->nheld; i++) {
		free(s->held[i].target);
		free(s->held[i].from);
	}
	free(s->held);
	*s = (struct snapshot){0};
}

static void hide(struct snapshot *s, const char *part)
{
	if (!s->hidden[0])
		snprintf(s->hidden, sizeof(s->hidden), "%s: %s", part, strerror(errno));
}

/* Reads the link; "" when it cannot be read. */
static void read_link(int dir, const char *path, char ret[TARGET_MAX])
{
	ssize_t n = readlinkat(dir, path, ret, TARGET_MAX - 1);

	ret[n < 0 ? 0 : n] = '\0';
}

static void read_fd_link(pid_t pid, int fd, char ret[TARGET_MAX])
{
	char path[48];

	snprintf(path, sizeof(path), "/proc/%d/fd/%d", pid, fd);
	read_link(AT_FDCWD, path, ret);
}

void snapshot_name(pid_t pid, const char *comm, char *ret, size_t size)
{
	char path[32], target[TARGET_MAX], *deleted;

	snprintf(path, sizeof(path), "/proc/%d/exe", pid);
	read_link(AT_FDCWD, path, target);
	deleted = strstr(target, " (deleted)");
	if (deleted)
		*deleted = '\0';
	snprintf(ret, size, "%s", target[0] ? path_base(target) : comm);
}

static bool read_proc(pid_t pid, const char *name, size_t cap, struct buf *ret)
{
	CLEANUP_FD int fd = -1;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd >= 0 && read_fd(fd, cap, ret) == 0;
}

static int number_of(const char *name)
{
	int n = 0;

	for (; *name; name++) {
		if (*name < '0' || *name > '9' || n > INT_MAX / 10 - 1)
			return -1;
		n = n * 10 + (*name - '0');
	}
	return n;
}

/* Calls each() with every number that names an entry of the open directory. */
static int each_number(int dir, void (*each)(struct snapshot *s, int dir, int number),
		       struct snapshot *s)
{
	char dents[DENTS_SIZE] __attribute__((aligned(16)));

	for (;;) {
		ssize_t n = getdents64(dir, dents, sizeof(dents));

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return (int)n;
		for (ssize_t at = 0; at < n;) {
			const struct dirent64 *d = (const void *)(dents + at);
			int number = number_of(d->d_name);

			if (number >= 0)
				each(s, dir, number);
			at += d->d_reclen;
		}
	}
}

static void add_fd(struct snapshot *s, int dir, int fd)
{
	char name[16], target[TARGET_MAX];

	if (fd < FIRST_FD)
		return;
	snprintf(name, sizeof(name), "%d", fd);
	read_link(dir, name, target);
	if (target[0])
		snapshot_add(s, RESOURCE_FD, fd, target);
}

/* False: the process is gone. */
static bool take_fds(struct snapshot *s, pid_t pid)
{
	CLEANUP_FD int dir = -1;
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/fd", pid);
	dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0 && (errno == ENOENT || errno == ESRCH))
		return false;
	if (dir < 0 || each_number(dir, add_fd, s) < 0)
		hide(s, "fd");
	return true;
}

static bool holds(const struct snapshot *s, const char *target)
{
	for (size_t i = 0; i < s->nheld; i++)
		if (!strcmp(s->held[i].target, target))
			return true;
	return false;
}

/*
 * Drops the copies that a forked child has of its parent's descriptors, at any number:
 * both ends of a pipe have one name, and the parent may have closed its own copy.
 */
static void drop_copies(struct snapshot *s, pid_t parent)
{
	CLEANUP(snapshot) struct snapshot theirs = {0};
	size_t n = 0;

	take_fds(&theirs, parent);
	for (size_t i = 0; i < s->nheld; i++) {
		if (holds(&theirs, s->held[i].target))
			free(s->held[i].target);
		else
			s->held[n++] = s->held[i];
	}
	s->nheld = n;
}

/* The parent is gone: every process of the tree with the same program may have been. */
static void drop_orphan_copies(struct snapshot *s, pid_t supervisor)
{
	pid_t pids[256];
	size_t n = proc_descendants(supervisor, pids, ARRAY_SIZE(pids));
	char exe[sizeof(s->exe)];

	for (size_t i = 0; i < n && i < ARRAY_SIZE(pids) && s->nheld; i++) {
		snapshot_name(pids[i], "", exe, sizeof(exe));
		if (pids[i] != s->stat.pid && !strcmp(exe, s->exe))
			drop_copies(s, pids[i]);
	}
}

static void mark_inherited(struct snapshot *s, pid_t parent)
{
	char target[TARGET_MAX], exe[sizeof(s->exe)] = "";

	for (size_t i = 0; i < s->nheld; i++) {
		struct held *h = &s->held[i];

		read_fd_link(parent, h->fd, target);
		if (strcmp(target, h->target))
			continue;
		if (!exe[0])
			snapshot_name(parent, "parent", exe, sizeof(exe));
		h->from = xstrdup(exe);
	}
}

static void settle_owners(struct snapshot *s, pid_t supervisor)
{
	bool orphan = s->stat.ppid == supervisor;

	if (s->stat.flags & PF_FORKNOEXEC) {
		if (orphan)
			drop_orphan_copies(s, supervisor);
		else
			drop_copies(s, s->stat.ppid);
	} else if (!orphan) {
		mark_inherited(s, s->stat.ppid);
	}
}

/* Describes the socket, by its protocol where the kernel lists only bound ones. */
static void describe_socket(pid_t pid, int fd, uint64_t inode,
			    struct buf texts[NET_FILES], struct buf *out)
{
	char path[48], protocol[32] = "", name[32];
	ssize_t n;
	int only;

	snprintf(path, sizeof(path), "/proc/%d/fd/%d", pid, fd);
	n = getxattr(path, "system.sockprotoname", protocol, sizeof(protocol) - 1);
	protocol[n < 0 ? 0 : n] = '\0';
	only = net_file_of(protocol);
	for (int f = 0; f < NET_FILES; f++) {
		if (only >= 0 ? f != only : protocol[0] != '\0')
			continue;
		snprintf(name, sizeof(name), "net/%s", net_file_name((enum net_file)f));
		if (!texts[f].len && !read_proc(pid, name, NET_FILE_CAP, &texts[f]))
			continue;
		if (procfs_socket((enum net_file)f, buf_str(&texts[f]), texts[f].len,
				  inode, out))
			return;
	}
	if (only >= 0)
		buf_addf(out, "%s unconnected", net_file_name((enum net_file)only));
	else
		buf_adds(out, protocol[0] ? protocol : "of unknown protocol");
}

static void resolve_sockets(struct snapshot *s)
{
	struct buf texts[NET_FILES] = {0};
	uint64_t inode;

	for (size_t i = 0; i < s->nheld; i++) {
		struct held *h = &s->held[i];
		struct buf out = {0};

		if (!procfs_socket_inode(h->target, &inode))
			continue;
		describe_socket(s->stat.pid, h->fd, inode, texts, &out);
		free(h->target);
		h->target = buf_detach(&out);
		h->resource = RESOURCE_SOCKET;
	}
	for (size_t f = 0; f < NET_FILES; f++)
		buf_release(&texts[f]);
}

static void drop_held(struct snapshot *s,
		      bool (*drop)(struct snapshot *s, const struct held *h))
{
	size_t n = 0;

	for (size_t i = 0; i < s->nheld; i++) {
		if (drop(s, &s->held[i]))
			free(s->held[i].target);
		else
			s->held[n++] = s->held[i];
	}
	s->nheld = n;
}

/*
 * A forked child talks to its parent through a pipe or a socket pair, whose other end
 * the parent holds, may read /dev/null instead of its parent's input, and leaves it to
 * its exit to close them: that is how it is done.
 */
static bool is_channel(struct snapshot *s, const struct held *h)
{
	(void)s;
	return !strncmp(h->target, "pipe:[", 6) || !strcmp(h->target, "/dev/null") ||
	       (h->resource == RESOURCE_SOCKET && !strcmp(h->target, "unix connected"));
}

/* A shell keeps the script that it reads, for itself, at a number from 10 on (POSIX
 * leaves 0 to 9 to the script): whoever calls one more script has leaked nothing. */
static bool is_script(struct snapshot *s, const struct held *h)
{
	CLEANUP(buf) struct buf info = {0}, line = {0};
	char name[32];
	unsigned flags;

	if (h->fd < SHELL_FD || h->target[0] != '/' || h->from)
		return false;
	snprintf(name, sizeof(name), "fdinfo/%d", h->fd);
	if (!read_proc(s->stat.pid, name, FDINFO_CAP, &info))
		return false;
	flags = procfs_fdinfo_flags(buf_str(&info), info.len);
	return (flags & O_CLOEXEC) && (flags & O_ACCMODE) == O_RDONLY &&
	       read_proc(s->stat.pid, "cmdline", CMDLINE_CAP, &line) &&
	       procfs_cmdline_names(buf_str(&line), line.len, path_base(h->target));
}

static void take_locks(struct snapshot *s)
{
	size_t nfds = s->nheld;

	for (size_t i = 0; i < nfds; i++) {
		CLEANUP(buf) struct buf text = {0};
		char name[32];
		int fd = s->held[i].fd;

		if (s->held[i].target[0] != '/')
			continue;
		snprintf(name, sizeof(name), "fdinfo/%d", fd);
		if (read_proc(s->stat.pid, name, FDINFO_CAP, &text) &&
		    procfs_fdinfo_locks(buf_str(&text), text.len)) {
			CLEANUP_FREE char *target = xstrdup(s->held[i].target);

			snapshot_add(s, RESOURCE_LOCK, fd, target);
		}
	}
}

/*
 * A thread that is on its way out is not running at exit: one that was joined shows for
 * a moment longer (the kernel sets PF_EXITING before it wakes pthread_join()), and any
 * thread may be the one that calls exit_group(), Go's does.
 */
static bool thread_is_leaving(const struct proc_stat *st)
{
	CLEANUP(buf) struct buf text = {0};
	long call;

	if (st->flags & (PF_EXITING | PF_IO_WORKER) || st->state == 'Z' ||
	    st->state == 'X')
		return true;
	if (!read_proc(st->pid, "syscall", 256, &text))
		return false;
	call = procfs_syscall(buf_str(&text), text.len);
	return call == SYS_exit_group || call == SYS_exit;
}

static void add_thread(struct snapshot *s, int dir, int tid)
{
	struct proc_stat st;

	(void)dir;
	if (tid == s->stat.pid || proc_stat_read(tid, &st) < 0 || thread_is_leaving(&st))
		return;
	snapshot_add(s, RESOURCE_THREAD, -1, st.comm);
}

static void take_threads(struct snapshot *s)
{
	CLEANUP_FD int dir = -1;
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/task", s->stat.pid);
	dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0 || each_number(dir, add_thread, s) < 0)
		hide(s, "task");
}

/* Are descriptors 0 to 2 open? Comparing with one that is not gives EBADF. */
static bool has_standard(pid_t pid)
{
	return syscall(SYS_kcmp, pid, pid, KCMP_FILE, 0UL, 1UL) >= 0 &&
	       syscall(SYS_kcmp, pid, pid, KCMP_FILE, 2UL, 2UL) >= 0;
}

/* False: the process is gone. */
static bool stat_proc(pid_t pid, const char *name, struct stat *ret)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
	return stat(path, ret) == 0;
}

bool snapshot_identify(struct snapshot *s, pid_t pid)
{
	if (s->exe[0])
		return true;
	if (proc_stat_read(pid, &s->stat) < 0)
		return false;
	snapshot_name(pid, s->stat.comm, s->exe, sizeof(s->exe));
	return true;
}

bool snapshot_take(struct snapshot *s, pid_t pid, pid_t supervisor)
{
	struct stat fds, tasks;

	*s = (struct snapshot){0};
	if (!stat_proc(pid, "fd", &fds) || !stat_proc(pid, "task", &tasks))
		return false;
	if ((fds.st_size != FIRST_FD || !has_standard(pid)) && !take_fds(s, pid))
		return false;
	if (!s->nheld && !s->hidden[0] && tasks.st_nlink == 2 + 1)
		return true;
	if (!snapshot_identify(s, pid))
		return false;
	if (s->nheld)
		settle_owners(s, supervisor);
	if (s->nheld) {
		resolve_sockets(s);
		if (s->stat.flags & PF_FORKNOEXEC)
			drop_held(s, is_channel);
		drop_held(s, is_script);
		take_locks(s);
	}
	if (s->stat.threads > 1)
		take_threads(s);
	return true;
}
