/*
 * The zygote's root: a tmpfs with read-only clones of what every program needs, made
 * with the mount API of Linux 5.2 and 5.12, so that nothing is writable for a moment.
 *
 * The sources are cloned (open_tree) before anything is mounted, so that a view of the
 * machine's /tmp can be had although the new root is built upon it.
 */
#include "sandbox/inner.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef AT_RECURSIVE
#define AT_RECURSIVE 0x8000 /* linux/fcntl.h */
#endif

/* As bubblewrap's users do it: what an installed program reads. Links (/bin on a merged
 * /usr) are copied as links. */
static const char *const system_dirs[] = {
	"/usr",	   "/bin", "/sbin", "/lib", "/lib32", "/lib64",
	"/libx32", "/etc", "/opt",  "/nix", "/gnu",   "/sys",
};
enum { NDIRS = sizeof(system_dirs) / sizeof(*system_dirs) };

static const char *const devices[] = {"/dev/null", "/dev/zero",	  "/dev/full",
				      "/dev/tty",  "/dev/random", "/dev/urandom"};
enum { NDEVICES = sizeof(devices) / sizeof(*devices) };

/* Of files that only root may read and no test needs: shown empty when we may. */
static const char *const secrets[] = {
	"/etc/shadow",	    "/etc/shadow-",   "/etc/gshadow",
	"/etc/gshadow-",    "/etc/sudoers",   "/etc/krb5.keytab",
	"/etc/ssl/private", "/etc/sudoers.d", "/etc/ssh",
};

static int fail(const char **step, const char *what)
{
	*step = what;
	return -1;
}

/* A detached clone of path. recursive: AT_RECURSIVE, and of all that is mounted below it.
 */
static int clone_with(const char *path, unsigned recursive, uint64_t attributes)
{
	struct mount_attr attr = {.attr_set = attributes};
	int fd = open_tree(AT_FDCWD, path,
			   OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | recursive);

	if (fd < 0)
		return -1;
	if (mount_setattr(fd, "", AT_EMPTY_PATH | recursive, &attr, sizeof(attr)) < 0) {
		int errnum = errno;

		close(fd);
		errno = errnum;
		return -1;
	}
	return fd;
}

static int clone_tree(const char *path, bool writable)
{
	return clone_with(path, AT_RECURSIVE,
			  MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV |
				  (writable ? 0 : MOUNT_ATTR_RDONLY));
}

/* Read-only, a device can be written to, and its mode cannot be changed: it is the
 * machine's, and root owns it. */
static int clone_device(const char *path)
{
	return clone_with(path, 0,
			  MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC | MOUNT_ATTR_RDONLY);
}

struct sources {
	int dirs[NDIRS];
	char links[NDIRS][256]; /* the target, when it is a link */
	int devices[NDEVICES];
	int views[PLAN_VIEWS];
	int proc; /* a clone of /proc */
};

static int clone_sources(const struct plan *p, struct sources *s, const char **step)
{
	for (int i = 0; i < NDIRS; i++) {
		ssize_t n =
			readlink(system_dirs[i], s->links[i], sizeof(s->links[i]) - 1);

		s->links[i][n > 0 ? n : 0] = '\0';
		s->dirs[i] = n > 0 ? -1 : clone_tree(system_dirs[i], false);
		if (s->dirs[i] < 0 && n <= 0 && errno != ENOENT)
			return fail(step, "clone of a system directory");
	}
	for (int i = 0; i < NDEVICES; i++) {
		s->devices[i] = clone_device(devices[i]);
		if (s->devices[i] < 0 && errno != ENOENT)
			return fail(step, "clone of a device");
	}
	for (uint32_t i = 0; i < p->nviews; i++) {
		s->views[i] = clone_tree(plan_string(p, p->views[i].from),
					 p->views[i].mode == VIEW_WRITE);
		if (s->views[i] < 0)
			return fail(step, "clone of a view");
	}
	s->proc = open_tree(AT_FDCWD, "/proc",
			    OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE);
	return s->proc < 0 ? fail(step, "clone of /proc") : 0;
}

static int place(int fd, const char *at, bool is_dir)
{
	int rc = inner_make_point(at, is_dir);

	if (rc == 0)
		rc = move_mount(fd, "", AT_FDCWD, at, MOVE_MOUNT_F_EMPTY_PATH);
	close(fd);
	return rc;
}

static int place_devices(const struct sources *s)
{
	static const char *const links[][2] = {
		{"/proc/self/fd", "/dev/fd"},	    {"/proc/self/fd/0", "/dev/stdin"},
		{"/proc/self/fd/1", "/dev/stdout"}, {"/proc/self/fd/2", "/dev/stderr"},
		{"pts/ptmx", "/dev/ptmx"},
	};
	struct mount_attr read_only = {.attr_set = MOUNT_ATTR_RDONLY};

	if (inner_make_point("/dev/pts", true) < 0 ||
	    inner_make_point("/dev/shm", true) < 0)
		return -1;
	for (int i = 0; i < NDEVICES; i++)
		if (s->devices[i] >= 0 && place(s->devices[i], devices[i], false) < 0)
			return -1;
	for (size_t i = 0; i < sizeof(links) / sizeof(*links); i++)
		if (symlink(links[i][0], links[i][1]) < 0)
			return -1;
	/* Pseudo-terminals are a convenience: some kernels have none. One run could take
	 * them from the next, which has the same, by the mode of ptmx. */
	if (mount("devpts", "/dev/pts", "devpts", MS_NOSUID | MS_NOEXEC,
		  "newinstance,ptmxmode=0666,mode=0620") < 0)
		return errno == ENODEV ? 0 : -1;
	return mount_setattr(AT_FDCWD, "/dev/pts", 0, &read_only, sizeof(read_only));
}

static int place_system(const struct sources *s)
{
	for (int i = 0; i < NDIRS; i++) {
		if (s->links[i][0]) {
			if (symlink(s->links[i], system_dirs[i]) < 0)
				return -1;
		} else if (s->dirs[i] >= 0 &&
			   place(s->dirs[i], system_dirs[i], true) < 0) {
			return -1;
		}
	}
	return 0;
}

/*
 * A read-only mount does not stop connect(): the socket's inode is found, whoever listens
 * is reached. In an overlay it is another inode, nobody's. What is mounted below the
 * directory is not seen through it.
 */
static int cut_sockets(const char *at)
{
	char options[128];

	snprintf(options, sizeof(options), "lowerdir=%s:/var/empty", at);
	return mount("overlay", at, "overlay", MS_RDONLY | MS_NOSUID | MS_NODEV, options);
}

static int place_views(const struct plan *p, const struct sources *s)
{
	if (inner_make_point(INNER_VIEWS, true) < 0 ||
	    inner_make_point(INNER_PRIVATE, true) < 0)
		return -1;
	for (uint32_t i = 0; i < p->nviews; i++) {
		char at[64];

		snprintf(at, sizeof(at), INNER_VIEWS "/%u", i);
		if (place(s->views[i], at, p->views[i].is_dir) < 0)
			return -1;
		if (p->views[i].is_dir && p->views[i].mode == VIEW_READ &&
		    cut_sockets(at) < 0)
			return -1;
	}
	return 0;
}

/* Mount points for what each run mounts, where the root is not writable any more. Below
 * the private directories init makes them itself. */
static int make_points(const struct plan *p)
{
	static const char *const points[] = {"/proc", "/tmp",  "/var/tmp",
					     "/run",  "/root", "/home"};

	for (size_t i = 0; i < sizeof(points) / sizeof(*points); i++)
		if (inner_make_point(points[i], true) < 0)
			return -1;
	if (symlink("/run", "/var/run") < 0 || symlink("/run/lock", "/var/lock") < 0)
		return -1;
	if (p->home && inner_make_point(plan_string(p, p->home), true) < 0)
		return -1;
	for (uint32_t i = 0; i < p->nviews; i++) {
		const struct plan_view *v = &p->views[i];

		/* EROFS, ENOENT …: it lies within an earlier view, and is there or not.
		 */
		inner_make_point(plan_string(p, v->at), v->is_dir);
	}
	return 0;
}

/* Where root reads the kernel's memory, takes away what others trace, or finds logs of
 * crashes: nothing of a test. They are file systems of their own. */
static int hide_kernel(void)
{
	static const char *const dirs[] = {"/sys/kernel/debug", "/sys/kernel/tracing",
					   "/sys/fs/bpf", "/sys/fs/pstore",
					   "/sys/firmware/efi/efivars"};
	struct stat sys, st;

	if (stat("/sys", &sys) < 0)
		return 0;
	for (size_t i = 0; i < sizeof(dirs) / sizeof(*dirs); i++)
		if (stat(dirs[i], &st) == 0 && st.st_dev != sys.st_dev &&
		    mount("/var/empty", dirs[i], NULL, MS_BIND, NULL) < 0)
			return -1;
	return 0;
}

static int hide_secrets(void)
{
	for (size_t i = 0; i < sizeof(secrets) / sizeof(*secrets); i++) {
		struct stat st;

		if (stat(secrets[i], &st) < 0 || access(secrets[i], R_OK) < 0)
			continue;
		if (mount(S_ISDIR(st.st_mode) ? "/var/empty" : "/dev/null", secrets[i],
			  NULL, MS_BIND, NULL) < 0)
			return -1;
	}
	return 0;
}

static int pivot(void)
{
	if (syscall(SYS_pivot_root, ".", ".") < 0)
		return -1;
	/* The old root lies upon the new one now. */
	return umount2(".", MNT_DETACH) < 0 ? -1 : chdir("/");
}

static int fill(const struct plan *p, const struct sources *s, const char **step)
{
	struct mount_attr attr = {.attr_set = MOUNT_ATTR_RDONLY};

	if (place_system(s) < 0)
		return fail(step, "system directories");
	if (inner_make_point("/var/empty", true) < 0 || place_devices(s) < 0)
		return fail(step, "devices");
	if (place_views(p, s) < 0)
		return fail(step, "views");
	if (make_points(p) < 0)
		return fail(step, "mount points");
	/* A new /proc may be mounted only where one is seen already; each run mounts its
	 * own upon this one. */
	if (place(s->proc, "/proc", true) < 0)
		return fail(step, "/proc");
	if (mount_setattr(AT_FDCWD, "/", 0, &attr, sizeof(attr)) < 0)
		return fail(step, "read-only root");
	/* After that: a bind takes over what its source allows. */
	if (hide_secrets() < 0 || hide_kernel() < 0)
		return fail(step, "hiding secrets");
	return 0;
}

int inner_root(const struct plan *p, const char **step)
{
	static struct sources s; /* one zygote, one root */

	umask(022);
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return fail(step, "private mounts");
	if (clone_sources(p, &s, step) < 0)
		return -1;
	if (mount("tmpfs", "/tmp", "tmpfs", MS_NOSUID, "mode=0755,size=4m") < 0 ||
	    chdir("/tmp") < 0)
		return fail(step, "tmpfs");
	if (pivot() < 0)
		return fail(step, "pivot_root");
	return fill(p, &s, step);
}
