#include "sandbox/explain.h"

#include "base/buf.h"
#include "base/fs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ASK_NONE "or run without isolation: --isolation none"

/* The number in a file of /proc/sys; fallback when there is none. */
static long setting(const char *path, long fallback)
{
	CLEANUP(buf) struct buf b = {0};

	if (read_file(path, 64, &b, NULL) < 0)
		return fallback;
	return strtol(buf_str(&b), NULL, 10);
}

static bool in_chroot(void)
{
	struct stat ours, first;

	return stat("/", &ours) == 0 && stat("/proc/1/root/.", &first) == 0 &&
	       (ours.st_dev != first.st_dev || ours.st_ino != first.st_ino);
}

static bool in_container(void)
{
	return path_exists("/.dockerenv") || path_exists("/run/.containerenv") ||
	       getenv("KUBERNETES_SERVICE_HOST") || getenv("container");
}

static void hint_user_namespace(struct err *err)
{
	if (in_chroot())
		err_hint(err, "a chroot cannot make user namespaces: enter it with "
			      "pivot_root (systemd-nspawn, bubblewrap), " ASK_NONE);
	else if (setting("/proc/sys/user/max_user_namespaces", 1) == 0)
		err_hint(err, "user namespaces are off: sudo sysctl "
			      "user.max_user_namespaces=15000, " ASK_NONE);
	else if (setting("/proc/sys/kernel/unprivileged_userns_clone", 1) == 0)
		err_hint(err, "user namespaces are for root here: sudo sysctl "
			      "kernel.unprivileged_userns_clone=1, " ASK_NONE);
	else if (in_container())
		err_hint(err, "this container may not nest namespaces: docker run "
			      "--security-opt seccomp=unconfined --security-opt "
			      "systempaths=unconfined (apparmor=unconfined on "
			      "Ubuntu), " ASK_NONE);
	else
		err_hint(err, "see user_namespaces(7), " ASK_NONE);
}

/* Ubuntu 24.04 lets anybody make a user namespace, but gives no rights in it. */
static bool apparmor_restricts(void)
{
	return setting("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", 0) ==
		       1 &&
	       geteuid() != 0;
}

/* The first that fits; errnum 0: any, step: a part of it. */
static const struct {
	int errnum;
	const char *step, *hint;
} reasons[] = {
	{ENOSYS, "", "Linux 5.12 or later is needed, " ASK_NONE},
	{EINVAL, "clone of", "Linux 5.12 or later is needed, " ASK_NONE},
	{EMFILE, "", "too few files may be open: ulimit -n 1024, " ASK_NONE},
	{ENFILE, "", "too few files may be open: see fs.file-max, " ASK_NONE},
	{EAGAIN, "",
	 "no process can be made: see ulimit -u, pids.max of the cgroup and "
	 "kernel.pid_max, " ASK_NONE},
	{ENOSPC, "namespace",
	 "as many namespaces as allowed are in use: sudo sysctl "
	 "user.max_user_namespaces=15000 (its like for pid, mnt and net), " ASK_NONE},
	{0, "/proc",
	 "a container that hides parts of /proc cannot nest another: "
	 "docker run --security-opt systempaths=unconfined, " ASK_NONE},
	{0, "clone of a view",
	 "a view must be readable, and on no file system of another user's, " ASK_NONE},
	{0, "views",
	 "what lies in a read-only view must be there already, and nothing may be "
	 "mounted below what is to be discarded, " ASK_NONE},
	{0, "cgroup namespace", "see cgroup_namespaces(7), " ASK_NONE},
	{0, "cgroup", "exitpath doctor says which cgroup can be had, " ASK_NONE},
};

int sandbox_explain(const char *step, int errnum, struct err *err)
{
	err_errno(err, ERR_ENVIRONMENT, errnum, "the sandbox cannot be made: %s", step);
	if (apparmor_restricts()) {
		err_hint(err, "AppArmor keeps rights from user namespaces: sudo sysctl "
			      "kernel.apparmor_restrict_unprivileged_userns=0, or give "
			      "exitpath a profile with `userns,`, " ASK_NONE);
		return -1;
	}
	for (size_t i = 0; i < ARRAY_SIZE(reasons); i++)
		if ((!reasons[i].errnum || reasons[i].errnum == errnum) &&
		    strstr(step, reasons[i].step)) {
			err_hint(err, "%s", reasons[i].hint);
			return -1;
		}
	hint_user_namespace(err);
	return -1;
}
