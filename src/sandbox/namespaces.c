/* User namespaces and what they own. */
#include "sandbox/inner.h"

#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

static int fail(const char **step, const char *what)
{
	*step = what;
	return -1;
}

static int write_at(int proc, const char *name, const char *text)
{
	int fd = openat(proc, name, O_WRONLY | O_CLOEXEC);
	ssize_t n;
	int errnum;

	if (fd < 0)
		return -1;
	n = write(fd, text, strlen(text));
	errnum = errno;
	close(fd);
	errno = errnum;
	return n < 0 ? -1 : 0;
}

/* Every user and group is itself, so that files belong to whom they belong outside. */
static int unshare_user(int proc, int more, const char **step)
{
	char map[64];
	unsigned uid = geteuid(), gid = getegid();

	if (unshare(CLONE_NEWUSER | more) < 0)
		return fail(step, "user namespace");
	if (write_at(proc, "self/setgroups", "deny") < 0 && errno != ENOENT)
		return fail(step, "setgroups");
	snprintf(map, sizeof(map), "%u %u 1", uid, uid);
	if (write_at(proc, "self/uid_map", map) < 0)
		return fail(step, "user map");
	snprintf(map, sizeof(map), "%u %u 1", gid, gid);
	if (write_at(proc, "self/gid_map", map) < 0)
		return fail(step, "group map");
	return 0;
}

int inner_namespaces(const struct plan *p, const char **step)
{
	int proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int rc;

	if (proc < 0)
		return fail(step, "/proc");
	rc = unshare_user(proc, 0, step);
	close(proc);
	if (rc < 0)
		return -1;
	if (unshare(CLONE_NEWNS) < 0)
		return fail(step, "mount namespace");
	if (p->network == NETWORK_NONE && unshare(CLONE_NEWNET) < 0)
		return fail(step, "network namespace");
	if (unshare(CLONE_NEWUTS) < 0)
		return fail(step, "UTS namespace");
	if (unshare(CLONE_NEWCGROUP) < 0)
		return fail(step, "cgroup namespace");
	return 0;
}

int inner_lock(int proc_fd, const char **step)
{
	return unshare_user(proc_fd, CLONE_NEWNS, step);
}

int inner_loopback_up(void)
{
	struct ifreq lo = {.ifr_name = "lo"};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int rc;

	if (fd < 0)
		return -1;
	rc = ioctl(fd, SIOCGIFFLAGS, &lo);
	lo.ifr_flags |= IFF_UP;
	if (rc == 0)
		rc = ioctl(fd, SIOCSIFFLAGS, &lo);
	close(fd);
	return rc;
}
