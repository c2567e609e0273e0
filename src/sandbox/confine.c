/* What a process gives up before it becomes the command, and cannot get back. */
#include "sandbox/inner.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <linux/securebits.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* linux/landlock.h of Linux 5.19, 6.2 and 6.12 */
#ifndef LANDLOCK_ACCESS_FS_REFER
#define LANDLOCK_ACCESS_FS_REFER (1ULL << 13)
#endif
#ifndef LANDLOCK_ACCESS_FS_TRUNCATE
#define LANDLOCK_ACCESS_FS_TRUNCATE (1ULL << 14)
#endif
#define SCOPE_ABSTRACT_UNIX_SOCKET (1ULL << 0)
#define SCOPE_SIGNAL (1ULL << 1)

#define SPARSE_FILE (UINT64_C(4) << 30) /* bytes */
enum { LAST_CAPABILITY = 63 }; /* the kernel refuses those that it does not know */

int inner_drop_capabilities(void)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct none[2] = {{0}, {0}};

	for (unsigned long c = 0; c <= LAST_CAPABILITY; c++)
		if (prctl(PR_CAPBSET_DROP, c, 0UL, 0UL, 0UL) < 0)
			break;
	/* A root without privilege: exec gives it nothing back. */
	if (prctl(PR_SET_SECUREBITS,
		  (unsigned long)(SECBIT_NOROOT | SECBIT_NOROOT_LOCKED |
				  SECBIT_NO_SETUID_FIXUP | SECBIT_NO_SETUID_FIXUP_LOCKED |
				  SECBIT_NO_CAP_AMBIENT_RAISE |
				  SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED),
		  0UL, 0UL, 0UL) < 0)
		return -1;
	if (syscall(SYS_capset, &head, none) < 0)
		return -1;
	return prctl(PR_SET_NO_NEW_PRIVS, 1UL, 0UL, 0UL, 0UL);
}

/*
 * What a server needs for the inits that it makes: namespaces and mounts, giving up the
 * rest, the loopback interface; overlayfs works with the rights of who mounted it, and
 * has directories of mode 0. Ambient, they stay over the exec of the interpreter.
 */
int inner_server_capabilities(void)
{
	static const unsigned long kept[] = {CAP_SYS_ADMIN,    CAP_SETPCAP, CAP_NET_ADMIN,
					     CAP_DAC_OVERRIDE, CAP_FOWNER,  CAP_CHOWN};
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2] = {{0}, {0}};
	uint32_t mask = 0;

	for (size_t i = 0; i < sizeof(kept) / sizeof(*kept); i++)
		mask |= UINT32_C(1) << kept[i]; /* all below 32 */
	for (unsigned long c = 0; c <= LAST_CAPABILITY; c++)
		if ((c >= 32 || !(mask & (UINT32_C(1) << c))) &&
		    prctl(PR_CAPBSET_DROP, c, 0UL, 0UL, 0UL) < 0)
			break;
	data[0] = (struct __user_cap_data_struct){mask, mask, mask};
	if (syscall(SYS_capset, &head, data) < 0)
		return -1;
	for (size_t i = 0; i < sizeof(kept) / sizeof(*kept); i++)
		if (prctl(PR_CAP_AMBIENT, (unsigned long)PR_CAP_AMBIENT_RAISE, kept[i],
			  0UL, 0UL) < 0)
			return -1;
	return prctl(PR_SET_NO_NEW_PRIVS, 1UL, 0UL, 0UL, 0UL);
}

/* The size of struct landlock_ruleset_attr decides which fields the kernel reads. */
struct ruleset {
	uint64_t fs, net, scoped;
};

#define FS_ABI_1                                                         \
	(LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR | \
	 LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_MAKE_CHAR | \
	 LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG |     \
	 LANDLOCK_ACCESS_FS_MAKE_SOCK | LANDLOCK_ACCESS_FS_MAKE_FIFO |   \
	 LANDLOCK_ACCESS_FS_MAKE_BLOCK | LANDLOCK_ACCESS_FS_MAKE_SYM)
#define FS_OF_FILES (LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_TRUNCATE)

static int allow_below(int ruleset, const char *path, uint64_t access)
{
	struct landlock_path_beneath_attr rule = {.allowed_access = access};
	struct stat st;
	int rc;

	rule.parent_fd = open(path, O_PATH | O_CLOEXEC);
	if (rule.parent_fd < 0)
		return errno == ENOENT ? 0 : -1;
	if (fstat(rule.parent_fd, &st) == 0 && !S_ISDIR(st.st_mode))
		rule.allowed_access &= FS_OF_FILES;
	rc = (int)syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH,
			  &rule, 0);
	close(rule.parent_fd);
	return rc;
}

static int allow_writes(const struct plan *p, int ruleset, uint64_t access)
{
	static const char *const private[] = {"/tmp", "/var/tmp", "/dev/shm",
					      "/dev", "/dev/pts", "/proc"};

	for (size_t i = 0; i < sizeof(private) / sizeof(*private); i++)
		if (allow_below(ruleset, private[i], access) < 0)
			return -1;
	if (p->home && allow_below(ruleset, plan_string(p, p->home), access) < 0)
		return -1;
	for (uint32_t i = 0; i < p->nviews; i++)
		if (p->views[i].mode != VIEW_READ &&
		    allow_below(ruleset, plan_string(p, p->views[i].at), access) < 0)
			return -1;
	return 0;
}

int inner_landlock(const struct plan *p)
{
	struct ruleset r = {.fs = FS_ABI_1};
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0,
			   LANDLOCK_CREATE_RULESET_VERSION);
	int fd, rc;

	if (abi < 1)
		return 0; /* the mounts alone must do */
	if (abi >= 2)
		r.fs |= LANDLOCK_ACCESS_FS_REFER;
	if (abi >= 3)
		r.fs |= LANDLOCK_ACCESS_FS_TRUNCATE;
	if (abi >= 6)
		r.scoped = SCOPE_ABSTRACT_UNIX_SOCKET | SCOPE_SIGNAL;
	fd = (int)syscall(SYS_landlock_create_ruleset, &r,
			  abi >= 6 ? sizeof(r) : sizeof(r.fs), 0);
	if (fd < 0)
		return -1;
	rc = allow_writes(p, fd, r.fs);
	if (rc == 0)
		rc = (int)syscall(SYS_landlock_restrict_self, fd, 0);
	close(fd);
	return rc;
}

static int install(const struct sock_filter *code, uint32_t n)
{
	struct sock_fprog prog = {
		.len = (unsigned short)n,
		.filter = (struct sock_filter *)(uintptr_t)code,
	};

	return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
			    (unsigned long)SECCOMP_FILTER_FLAG_SPEC_ALLOW, &prog);
}

int inner_seccomp(const struct plan *p)
{
	return install(p->filter, p->nfilter);
}

int inner_server_seccomp(const struct plan *p)
{
	return install(p->server_filter, p->nserver_filter);
}

static int cap(int resource, uint64_t value)
{
	struct rlimit old, new = {value, value};

	if (getrlimit((__rlimit_resource_t)resource, &old) < 0)
		return -1;
	if (old.rlim_max != RLIM_INFINITY && old.rlim_max < value)
		new.rlim_cur = new.rlim_max = old.rlim_max;
	return setrlimit((__rlimit_resource_t)resource, &new);
}

int inner_rlimits(const struct limits *l)
{
	/* 1 and not 0: a core_pattern that is a pipe would start a program of the
	 * machine's, as root, for whatever crashes here, but for this value:
	 * fs/coredump.c. */
	if (cap(RLIMIT_CORE, 1) < 0 || (l->files && cap(RLIMIT_NOFILE, l->files) < 0))
		return -1;
	/* What is written is counted. This counts a sparse file whole, as the heaps of V8
	 * and of Java are, and is for when nobody counts. */
	if (l->disk && cap(RLIMIT_FSIZE, 16 * l->disk + SPARSE_FILE) < 0)
		return -1;
	/* Counted in the user namespace, and root is exempt: the cgroup, or the polling
	 * supervisor, is to be first. */
	if (l->pids && cap(RLIMIT_NPROC, 2 * l->pids + 16) < 0)
		return -1;
	/* The supervisor counts all together and is first; this is for when it is not. */
	if (l->cpu_ms && cap(RLIMIT_CPU, l->cpu_ms / 1000 + 2) < 0)
		return -1;
	return 0;
}
