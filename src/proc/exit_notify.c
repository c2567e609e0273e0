/*
 * The filter asks for a user notification (seccomp_unotify(2)) on exit_group: the process
 * stops inside the system call, with all it holds still in place, the supervisor looks at
 * /proc/PID and lets the call continue. ptrace would do the same but takes it away from
 * LeakSanitizer and gdb, and stops at every signal.
 *
 * A watch that wants names also sees the calls that make a name in the file system: who
 * made a file cannot be told afterwards. Of the templates of mkstemp() in a stack frame,
 * and of Python's, nothing is left in memory when the process exits.
 */
#include "proc/exit_notify.h"

#include "base/fs.h"
#include "proc/tree.h"
#include "sandbox/message.h"
#include "sandbox/notify_filter.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

/* linux/seccomp.h of Linux 6.6 */
#ifndef SECCOMP_IOCTL_NOTIF_SET_FLAGS
#define SECCOMP_IOCTL_NOTIF_SET_FLAGS SECCOMP_IOW(4, __u64)
#define SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP (1UL << 0)
#endif

enum { READ_CHUNK = 4096 }; /* no page is smaller */

int exit_notify_install(int socket, bool names)
{
	int fd = notify_filter_install(names);

	return fd < 0 ? -1 : message_send(socket, "", 1, &fd, 1);
}

int exit_notify_receive(int socket)
{
	char byte;
	int fd;

	/* It is CLOEXEC; -1 when none came. */
	message_receive(socket, &byte, 1, &fd, 1, NULL, MSG_DONTWAIT);
	return fd;
}

void exit_notify_init(struct exit_notify *n, int fd, pid_t root,
		      const struct run_watch *watch)
{
	__u64 flags = SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP;

	*n = (struct exit_notify){.fd = fd, .root = root, .watch = watch};
	/* One process sleeps while the other works: the kernel may hand the processor
	 * over directly. Older kernels refuse, and are slower. */
	if (fd >= 0)
		ioctl(fd, SECCOMP_IOCTL_NOTIF_SET_FLAGS, flags);
}

void exit_notify_release(struct exit_notify *n)
{
	if (n->fd < 0)
		return;
	close(n->fd);
	n->fd = -1;
}

static pid_t read_tgid(pid_t tid)
{
	char path[40], text[1024];
	const char *line;
	ssize_t len;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/status", tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	len = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (len < 0)
		return -1;
	text[len] = '\0';
	/* comm comes first, its newlines are escaped: the first match is the field */
	line = strstr(text, "\nTgid:");
	return line ? (pid_t)strtol(line + 6, NULL, 10) : -1;
}

/* The notification names a thread. A signal 0 for it as the leader of a group of its own
 * finds nobody when it leads none: the cheap way to ask. */
static pid_t resolve(pid_t tid)
{
	if (syscall(SYS_tgkill, tid, tid, 0) == 0 || errno == EPERM)
		return tid;
	return read_tgid(tid);
}

static uint64_t since_boot_us(void)
{
	struct timespec t = {0};

	clock_gettime(CLOCK_BOOTTIME, &t);
	return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

/* Did the process that has the number now start before that moment? */
static bool started_before(pid_t pid, uint64_t us)
{
	long per_second = sysconf(_SC_CLK_TCK);
	struct proc_stat st;

	return proc_stat_read(pid, &st) == 0 && per_second > 0 &&
	       st.start <= us * (uint64_t)per_second / 1000000;
}

/*
 * A process may come twice: several threads call exit_group before the first of them
 * has killed the others, or a signal interrupted the stop. A pid that was seen and has
 * started before that is the same process; otherwise the number was used again.
 */
static bool already_seen(struct exit_notify *n, pid_t pid)
{
	unsigned slot = n->nseen % EXIT_NOTIFY_SEEN;

	for (unsigned i = 0; i < EXIT_NOTIFY_SEEN; i++)
		if (n->seen[i].pid == pid && started_before(pid, n->seen[i].us))
			return true;
	n->seen[slot].pid = pid;
	n->seen[slot].us = since_boot_us();
	n->nseen++;
	return false;
}

enum path_state {
	PATH_READ,
	PATH_HIDDEN, /* another user's: a setuid program */
	PATH_NONE,   /* the call will fail, or makes no name */
};

static enum path_state read_failed(void)
{
	return errno == EPERM ? PATH_HIDDEN : PATH_NONE;
}

static enum path_state read_string(pid_t pid, uint64_t at, char *ret, size_t size)
{
	size_t len = 0;

	while (len < size) {
		/* To the end of the page: the next one may not be there. */
		size_t chunk = READ_CHUNK - (size_t)((at + len) % READ_CHUNK);
		struct iovec to = {ret + len, chunk < size - len ? chunk : size - len};
		struct iovec from = {(void *)(uintptr_t)(at + len), to.iov_len};
		ssize_t n = process_vm_readv(pid, &to, 1, &from, 1, 0);

		if (n <= 0)
			return read_failed();
		if (memchr(ret + len, '\0', (size_t)n))
			return PATH_READ;
		len += (size_t)n;
	}
	return PATH_NONE; /* ENAMETOOLONG */
}

/* The path of a Unix socket; others make no name. */
static enum path_state read_address(pid_t pid, uint64_t at, uint64_t size, char *ret)
{
	struct sockaddr_un a = {0};
	struct iovec to = {&a, size < sizeof(a) ? (size_t)size : sizeof(a)};
	struct iovec from = {(void *)(uintptr_t)at, to.iov_len};

	if (process_vm_readv(pid, &to, 1, &from, 1, 0) < 0)
		return read_failed();
	if (a.sun_family != AF_UNIX || !a.sun_path[0])
		return PATH_NONE;
	memcpy(ret, a.sun_path, sizeof(a.sun_path));
	ret[sizeof(a.sun_path)] = '\0';
	return PATH_READ;
}

static void show_name(struct exit_notify *n, const struct seccomp_notif *req,
		      const struct name_call *c)
{
	char path[PATH_MAX];
	const __u64 *args = req->data.args;
	pid_t tid = (pid_t)req->pid;
	int dirfd = c->dirfd < 0 ? AT_FDCWD : (int)args[c->dirfd];
	enum path_state state;

	if (c->is_address)
		state = read_address(tid, args[c->path], args[c->path + 1], path);
	else
		state = read_string(tid, args[c->path], path, sizeof(path));
	if (state != PATH_NONE &&
	    ioctl(n->fd, SECCOMP_IOCTL_NOTIF_ID_VALID, &req->id) == 0)
		n->watch->at_name(n->watch->ctx, tid, dirfd,
				  state == PATH_READ ? path : NULL);
}

static void show_exit(struct exit_notify *n, const struct seccomp_notif *req)
{
	pid_t pid = resolve((pid_t)req->pid);

	/* Valid after the pid was looked up: then it was this process that we found. */
	if (pid > 0 && ioctl(n->fd, SECCOMP_IOCTL_NOTIF_ID_VALID, &req->id) == 0 &&
	    !already_seen(n, pid))
		n->watch->at_exit(n->watch->ctx, pid, (int)(req->data.args[0] & 0xff),
				  pid == n->root);
}

int exit_notify_serve(struct exit_notify *n)
{
	struct seccomp_notif req;
	struct seccomp_notif_resp resp = {.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE};
	struct name_call call;

	memset(&req, 0, sizeof(req)); /* the kernel insists */
	if (ioctl(n->fd, SECCOMP_IOCTL_NOTIF_RECV, &req) < 0)
		return errno == ENOENT || errno == EINTR || errno == EAGAIN ? 0 : -1;
	if (notify_name_call(&req.data, &call))
		show_name(n, &req, &call);
	else
		show_exit(n, &req);
	resp.id = req.id;
	if (ioctl(n->fd, SECCOMP_IOCTL_NOTIF_SEND, &resp) < 0 && errno != ENOENT)
		return -1;
	return 0;
}
