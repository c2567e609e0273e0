/*
 * syscalls DIRECTORY: calls that reach into the kernel or make namespaces, each with
 * arguments that succeed for a privileged program and change nothing that lasts, each in
 * a process of its own. DIRECTORY is where it may mount.
 */
#include "hostile.h"
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/io_uring.h>
#include <linux/keyctl.h>
#include <linux/mount.h>
#include <linux/perf_event.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <sys/fanotify.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <sys/wait.h>

static const char *directory;

static long ret_io_uring(void)
{
	struct io_uring_params params = {0};

	return syscall(SYS_io_uring_setup, 4, &params);
}

static long ret_bpf(void)
{
	union bpf_attr attr = {.map_type = BPF_MAP_TYPE_ARRAY,
			       .key_size = 4,
			       .value_size = 4,
			       .max_entries = 1};

	return syscall(SYS_bpf, BPF_MAP_CREATE, &attr, sizeof(attr));
}

static long ret_keyctl(void)
{
	return syscall(SYS_keyctl, KEYCTL_GET_KEYRING_ID, KEY_SPEC_SESSION_KEYRING, 1);
}

static long ret_add_key(void)
{
	return syscall(SYS_add_key, "user", "hostile", "x", 1, KEY_SPEC_PROCESS_KEYRING);
}

static long ret_userfaultfd(void)
{
	return syscall(SYS_userfaultfd, O_CLOEXEC | 1 /* UFFD_USER_MODE_ONLY */);
}

static long ret_perf(void)
{
	struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE,
				       .size = sizeof(attr),
				       .config = PERF_COUNT_SW_TASK_CLOCK,
				       .exclude_kernel = 1};

	return syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);
}

static long ret_mount(void)
{
	if (mount("hostile", directory, "tmpfs", 0, "size=64k"))
		return -1;
	return umount2(directory, MNT_DETACH);
}

static long ret_bind(void)
{
	if (mount("/", directory, NULL, MS_BIND, NULL))
		return -1;
	return umount2(directory, MNT_DETACH);
}

/* Makes what is read-only writable: of a directory of ours in the control. */
static long ret_remount(void)
{
	return mount(NULL, "/usr", NULL, MS_REMOUNT | MS_BIND, NULL);
}

static long ret_umount(void)
{
	return umount2("/proc", MNT_DETACH);
}

static long ret_fsopen(void)
{
	return syscall(SYS_fsopen, "tmpfs", 0);
}

static long ret_open_tree(void)
{
	return syscall(SYS_open_tree, AT_FDCWD, "/", OPEN_TREE_CLONE);
}

static long ret_mount_setattr(void)
{
	struct mount_attr attr = {.attr_clr = MOUNT_ATTR_RDONLY};

	return syscall(SYS_mount_setattr, AT_FDCWD, "/usr", 0, &attr, sizeof(attr));
}

static long ret_pivot_root(void)
{
	long r = syscall(SYS_pivot_root, directory, directory);

	/* That the arguments are wrong, a program that may not call it is not told. */
	return r && (errno == EINVAL || errno == EBUSY) ? 0 : r;
}

static long ret_chroot(void)
{
	int fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (chroot(directory))
		return -1;
	for (int i = 0; i < 64; i++)
		if (fchdir(fd) || chdir(".."))
			return -1;
	return chroot(".");
}

static long join(const char *kind)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/self/ns/%s", kind);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -1 : setns(fd, 0);
}

static long ret_setns_net(void)
{
	return join("net");
}

static long ret_setns_mnt(void)
{
	return join("mnt");
}

static long ret_setns_pid(void)
{
	return join("pid");
}

#define UNSHARE(name, flag)                                                         \
	static long ret_unshare_##name(void)                                        \
	{                                                                           \
		return unshare(flag);                                               \
	}                                                                           \
	static long ret_clone_##name(void)                                          \
	{                                                                           \
		long pid = syscall(SYS_clone, (flag) | SIGCHLD, 0, 0, 0, 0);        \
                                                                                    \
		if (pid == 0)                                                       \
			_exit(0);                                                   \
		return pid;                                                         \
	}                                                                           \
	static long ret_clone3_##name(void)                                         \
	{                                                                           \
		struct clone_args args = {.flags = (flag), .exit_signal = SIGCHLD}; \
		long pid = syscall(SYS_clone3, &args, sizeof(args));                \
                                                                                    \
		if (pid == 0)                                                       \
			_exit(0);                                                   \
		return pid;                                                         \
	}
UNSHARE(user, CLONE_NEWUSER)
UNSHARE(mount, CLONE_NEWNS)
UNSHARE(pid, CLONE_NEWPID)
UNSHARE(net, CLONE_NEWNET)
UNSHARE(ipc, CLONE_NEWIPC)
UNSHARE(uts, CLONE_NEWUTS)
UNSHARE(cgroup, CLONE_NEWCGROUP)

static long ret_unshare_time(void)
{
	return unshare(CLONE_NEWTIME);
}

/* Opens a file by its number, past every mount (the "shocker" of containers). */
static long ret_open_by_handle(void)
{
	struct {
		struct file_handle h;
		unsigned char bytes[MAX_HANDLE_SZ];
	} handle = {.h.handle_bytes = MAX_HANDLE_SZ};
	int mount_id, fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (name_to_handle_at(AT_FDCWD, directory, &handle.h, &mount_id, 0))
		return -1;
	return open_by_handle_at(fd, &handle.h, O_RDONLY);
}

static long ret_fanotify(void)
{
	int fd = fanotify_init(FAN_CLASS_NOTIF | FAN_CLOEXEC, O_RDONLY);

	return fd < 0 ? -1
		      : fanotify_mark(fd, FAN_MARK_ADD | FAN_MARK_FILESYSTEM, FAN_OPEN,
				      AT_FDCWD, directory);
}

/* Calls whose wrong arguments are told only to those that may call: EPERM, or else. */
static long told(long r)
{
	return r && errno != EPERM && errno != ENOSYS && errno != EACCES ? 0 : r;
}

static long ret_init_module(void)
{
	return told(syscall(SYS_init_module, "x", 1UL, ""));
}

static long ret_kexec(void)
{
	return told(syscall(SYS_kexec_load, 0, 1000UL, NULL, 0));
}

static long ret_swapon(void)
{
	return told(syscall(SYS_swapon, "/nonexistent", 0));
}

static long ret_acct(void)
{
	return told(syscall(SYS_acct, "/nonexistent"));
}

static long ret_reboot(void)
{
	return told(syscall(SYS_reboot, 0, 0, 0, NULL)); /* wrong magic numbers */
}

static long ret_syslog(void)
{
	return syscall(SYS_syslog, 10 /* size of the buffer */, NULL, 0);
}

static long ret_sethostname(void)
{
	char name[256];

	return gethostname(name, sizeof(name)) ? -1 : sethostname(name, strlen(name));
}

static long ret_priority(void)
{
	struct sched_param param = {.sched_priority = 1};

	return sched_setscheduler(0, SCHED_FIFO, &param);
}

#define CALL(name)                \
	{                         \
#name, ret_##name \
	}
#define NAMESPACE(name) CALL(unshare_##name), CALL(clone_##name), CALL(clone3_##name)

static const struct {
	const char *name;
	long (*call)(void);
} table[] = {
	CALL(io_uring),	    CALL(bpf),
	CALL(keyctl),	    CALL(add_key),
	CALL(userfaultfd),  CALL(perf),
	CALL(mount),	    CALL(bind),
	CALL(remount),	    CALL(fsopen),
	CALL(open_tree),    CALL(mount_setattr),
	CALL(pivot_root),   CALL(chroot),
	CALL(setns_net),    CALL(setns_mnt),
	CALL(setns_pid),    NAMESPACE(user),
	NAMESPACE(mount),   NAMESPACE(pid),
	NAMESPACE(net),	    NAMESPACE(ipc),
	NAMESPACE(uts),	    NAMESPACE(cgroup),
	CALL(unshare_time), CALL(open_by_handle),
	CALL(fanotify),	    CALL(init_module),
	CALL(kexec),	    CALL(swapon),
	CALL(acct),	    CALL(reboot),
	CALL(syslog),	    CALL(sethostname),
	CALL(priority),
};

/* 0: it succeeded; else the errno, or 255 when a signal ended it. */
static int try_call(long (*call)(void))
{
	int status;
	pid_t pid = fork();

	if (pid == 0)
		_exit(call() < 0 ? errno : 0);
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return errno;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 255;
}

int main(int argc, char **argv)
{
	if (argc < 2)
		return 2;
	directory = argv[1];
	/* In the control it plays in a mount namespace of its own; inside this fails. */
	if (unshare(CLONE_NEWNS) == 0)
		mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL);
	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		int result = try_call(table[i].call);

		if (result == 255)
			printf("contained: %s: killed\n", table[i].name);
		else
			report(table[i].name, (errno = result) != 0);
	}
	/* Last: without /proc nothing above would work. */
	report("umount", (errno = try_call(ret_umount)) != 0);
	return 0;
}
