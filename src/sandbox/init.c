/*
 * pid 1 of a run. A command that were pid 1 itself would behave otherwise: signals
 * without a handler do not reach pid 1, abort() ends in another status, nobody reaps.
 *
 * It makes the run's own mounts, gives up everything, starts the command by vfork (the
 * zygote's memory is shared until the exec, nothing is copied), reaps what is orphaned,
 * and stays until it is killed: with it dies the whole namespace.
 */
#include "sandbox/exec.h"
#include "sandbox/inner.h"
#include "sandbox/notify_filter.h"
#include "sandbox/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

enum { STDIN, STDOUT, STDERR, EVENTS };

struct failure {
	const char *step;
	int errnum;
};

static int fail(struct failure *f, const char *step)
{
	f->step = step;
	f->errnum = errno;
	return -1;
}

static int say(const struct message_request *req, enum box_event_kind kind, int status,
	       const int *fds, int nfds)
{
	const struct message_event e = {.kind = kind, .status = status};

	return message_send(req->fds[EVENTS], &e, sizeof(e), fds, nfds);
}

/* Who is not heard ends the run, for nobody would know how it ended. */
static void must_say(const struct message_request *req, const struct message_event *e)
{
	if (message_send(req->fds[EVENTS], e, sizeof(*e), NULL, 0) < 0)
		_exit(1);
}

static void say_failed(const struct message_request *req, const struct failure *f)
{
	struct message_event e = {.kind = BOX_FAILED, .errnum = f->errnum};

	snprintf(e.step, sizeof(e.step), "%s", f->step);
	must_say(req, &e);
}

/* A tmpfs with mount points bound to its directories: their sum is bounded. */
static int mount_private(const struct plan *p, const struct message_request *req)
{
	static const struct {
		const char *name, *at;
		mode_t mode;
	} dirs[] = {
		{INNER_PRIVATE "/tmp", "/tmp", 01777},
		{INNER_PRIVATE "/vartmp", "/var/tmp", 01777},
		{INNER_PRIVATE "/shm", "/dev/shm", 01777},
		{INNER_PRIVATE "/home", NULL, 0700},
	};
	uint64_t size = req->head.limits.disk;
	char options[96] = "mode=0755";

	if (size)
		snprintf(options, sizeof(options), "mode=0755,size=%llu,nr_inodes=%llu",
			 (unsigned long long)size,
			 (unsigned long long)(size / 1024 + 64));
	if (mount("tmpfs", INNER_PRIVATE, "tmpfs", MS_NOSUID | MS_NODEV, options) < 0)
		return -1;
	for (size_t i = 0; i < sizeof(dirs) / sizeof(*dirs); i++) {
		const char *at = dirs[i].at;

		if (!at && p->home)
			at = plan_string(p, p->home);
		if (mkdir(dirs[i].name, 0700) < 0 ||
		    chmod(dirs[i].name, dirs[i].mode) < 0)
			return -1;
		/* Home may lie below /tmp. */
		if (at && (inner_make_point(at, true) < 0 ||
			   mount(dirs[i].name, at, NULL, MS_BIND, NULL) < 0))
			return -1;
	}
	return 0;
}

static int mount_discard(uint32_t i, const char *at)
{
	char upper[64], work[64], options[256];

	snprintf(upper, sizeof(upper), INNER_PRIVATE "/upper%u", i);
	snprintf(work, sizeof(work), INNER_PRIVATE "/work%u", i);
	if (mkdir(upper, 0755) < 0 || mkdir(work, 0755) < 0)
		return -1;
	snprintf(options, sizeof(options),
		 "lowerdir=" INNER_VIEWS "/%u,upperdir=%s,workdir=%s,userxattr", i, upper,
		 work);
	return mount("overlay", at, "overlay", MS_NOSUID | MS_NODEV, options);
}

static int mount_views(const struct plan *p, bool discard)
{
	for (uint32_t i = 0; i < p->nviews; i++) {
		const struct plan_view *v = &p->views[i];
		const char *at = plan_string(p, v->at);
		char from[64];

		snprintf(from, sizeof(from), INNER_VIEWS "/%u", i);
		if (inner_make_point(at, v->is_dir) < 0)
			return -1;
		if (v->is_dir &&
		    (v->mode == VIEW_DISCARD || (v->mode == VIEW_WRITE && discard))) {
			if (mount_discard(i, at) < 0)
				return -1;
		} else if (mount(from, at, NULL, MS_BIND | MS_REC, NULL) < 0) {
			return -1;
		}
	}
	return 0;
}

/* What was mounted for us only is out of reach, below an empty directory. */
static int cover_inner(void)
{
	if (mkdir(INNER_PRIVATE "/nothing", 0555) < 0)
		return -1;
	return mount(INNER_PRIVATE "/nothing", INNER_DIR, NULL, MS_BIND, NULL);
}

static int make_mounts(const struct plan *p, const struct message_request *req,
		       struct failure *f)
{
	unsigned long flags = MS_NOSUID | MS_NODEV | MS_NOEXEC;

	/* The machine's root may write to /proc/sys by its number alone, whatever
	 * capabilities it lost. */
	if (p->is_root)
		flags |= MS_RDONLY;
	if (mount("proc", "/proc", "proc", flags, NULL) < 0)
		return fail(f, "mount of /proc");
	if (mount_private(p, req) < 0)
		return fail(f, "private directories");
	if (mount_views(p, req->head.flags & MESSAGE_DISCARD) < 0)
		return fail(f, "views");
	if (cover_inner() < 0)
		return fail(f, "cover");
	return 0;
}

static int send_private(const struct message_request *req)
{
	int fds[3] = {
		open("/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC),
		open("/dev/shm", O_RDONLY | O_DIRECTORY | O_CLOEXEC),
		open("/proc/sysvipc/shm", O_RDONLY | O_CLOEXEC),
	};

	int rc = fds[0] < 0 || fds[1] < 0 ? -1 : say(req, BOX_PRIVATE, 0, fds, 3);
	int errnum = errno;

	for (int i = 0; i < 3; i++)
		if (fds[i] >= 0)
			close(fds[i]);
	errno = errnum;
	return rc;
}

static int confine(const struct plan *p, const struct message_request *req,
		   struct failure *f)
{
	if (p->network == NETWORK_LOOPBACK && inner_loopback_up() < 0)
		return fail(f, "loopback");
	if (send_private(req) < 0)
		return fail(f, "private directories");
	if (inner_drop_capabilities() < 0)
		return fail(f, "capabilities");
	if (inner_landlock(p) < 0)
		return fail(f, "Landlock");
	if (inner_seccomp(p) < 0)
		return fail(f, "seccomp");
	return 0;
}

/* A directory of the machine's would be a way out of the root, and its /dev/null can be
 * changed by root: we have one of our own. */
static int place_stdio(const int *fds)
{
	for (int i = STDIN; i <= STDERR; i++) {
		int from = fds[i];
		struct stat st;

		if (fstat(from, &st) < 0)
			return -1;
		if (S_ISDIR(st.st_mode)) {
			errno = EISDIR;
			return -1;
		}
		if (S_ISCHR(st.st_mode) && st.st_rdev == makedev(1, 3))
			from = open("/dev/null", O_RDWR | O_CLOEXEC);
		if (from < 0 || dup2(from, i) < 0)
			/* exitpath: ignore[early-exit] the process ends then */
			return -1;
	}
	return 0;
}

static int become_command(const struct plan *p, const struct message_request *req,
			  struct failure *f)
{
	setsid();
	if (place_stdio(req->fds) < 0)
		return fail(f, "stdio");
	if (close_range(3, ~0U, CLOSE_RANGE_CLOEXEC) < 0)
		return fail(f, "descriptors");
	if (inner_rlimits(&req->head.limits) < 0)
		return fail(f, "rlimits");
	reset_signals();
	umask((mode_t)p->umask);
	if (chdir(req->cwd) < 0)
		return fail(f, "chdir");
	return 0;
}

/* In the child: the listener goes out before exec, which closes it here. */
static int start_watch(const struct message_request *req, struct failure *f)
{
	int listener = -1;

	if (req->head.flags & MESSAGE_WATCH) {
		listener = notify_filter_install(req->head.flags & MESSAGE_NAMES);
		if (listener < 0)
			return fail(f, "exit watch");
	}
	if (say(req, BOX_STARTED, 0, &listener, 1) < 0)
		return fail(f, "report");
	return 0;
}

/* Out of memory, the kernel shall take the run, and not the zygote beside it. In the
 * zygote's /proc, where the run's own is read-only. */
static void prefer_oom(void)
{
	int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	if (write(fd, "1000", 4) < 0)
		errno = 0; /* then it takes whom it takes */
	close(fd);
}

static _Noreturn void in_child(const struct plan *p, const struct message_request *req,
			       struct failure *f, inner_child_fn run_child)
{
	if (become_command(p, req, f) == 0 && start_watch(req, f) == 0) {
		if (run_child) {
			/* It closes what exec would: the command could speak for init. */
			prctl(PR_SET_DUMPABLE, 1UL, 0UL, 0UL, 0UL);
			prefer_oom();
			run_child(req);
		}
		exec_search(req->argv, req->env);
		fail(f, "exec");
	}
	/* A fork shares no memory: init will not see f. */
	if (run_child)
		say_failed(req, f);
	/* Not exit_group: under the exit watch it would wait for a supervisor. */
	for (;;)
		syscall(SYS_exit, 127);
}

/*
 * Nothing runs that nobody knows of: a zygote that is killed before it told the
 * supervisor of us leaves us without a word, and a supervisor that died before we asked
 * for PDEATHSIG sends no signal. The kernel closes its descriptors before it sends
 * those signals: whoever finds the socket open asked in time.
 */
static void await_supervisor(const struct message_request *req)
{
	char go[MESSAGE_GO];
	ssize_t n;

	do {
		n = recv(req->fds[EVENTS], go, sizeof(go), 0);
	} while (n < 0 && errno == EINTR);
	if (n == (ssize_t)sizeof(go) &&
	    recv(req->fds[EVENTS], go, sizeof(go), MSG_DONTWAIT) < 0 && errno == EAGAIN)
		return;
	_exit(1);
}

/* The status of the command; it may be that there is none (-1) after f was filled. */
static pid_t start_command(const struct plan *p, const struct message_request *req,
			   inner_child_fn run_child, struct failure *volatile f)
{
	pid_t pid;

	if (run_child) {
		/* Of the memory that we are in with the server (zygote_loop.c); without
		 * the locks of fork(), which stay taken when we are killed. */
		pid = _Fork();
	} else {
		/* The child may change what f points to: vfork shares memory. */
		pid = vfork();
	}
	if (pid == 0)
		in_child(p, req, f, run_child);
	if (pid < 0)
		fail(f, "fork");
	return pid;
}

static _Noreturn void wait_for_end(void)
{
	for (;;)
		pause();
}

static unsigned long long number_of(const char *text, const char *key)
{
	const char *at = strstr(text, key);

	return at ? strtoull(at + strlen(key), NULL, 10) : 0;
}

/* What the kernel added to our account when we waited for others. io: /proc/self/io. */
static uint64_t written(int io)
{
	char text[512];
	ssize_t n = io < 0 ? -1 : pread(io, text, sizeof(text) - 1, 0);
	unsigned long long bytes, cancelled;

	text[n < 0 ? 0 : n] = '\0';
	bytes = number_of(text, "\nwrite_bytes: ");
	cancelled = number_of(text, "\ncancelled_write_bytes: ");
	return bytes > cancelled ? bytes - cancelled : 0;
}

/* Each orphan may be told of, but not more of them than the socket takes. */
static void reap_all(const struct message_request *req, pid_t root, int io)
{
	struct message_event e = {.kind = BOX_WROTE};
	uint64_t told = 0;

	for (;;) {
		pid_t pid = waitpid(-1, &e.status, __WALL);

		if (pid < 0 && errno == EINTR)
			continue;
		if (pid < 0)
			break;
		e.written = written(io);
		if (pid != root && e.written <= told + req->head.limits.disk / 16)
			continue;
		e.kind = pid == root ? BOX_ENDED : BOX_WROTE;
		told = e.written;
		must_say(req, &e);
	}
	e.kind = BOX_EMPTY;
	must_say(req, &e);
}

_Noreturn void inner_init(const struct plan *p, const struct message_request *req,
			  inner_child_fn run_child)
{
	static struct failure f; /* not on the stack that vfork shares */
	pid_t root = -1;
	int io = -1;

	f = (struct failure){0}; /* of the last run, in a server */
	prctl(PR_SET_PDEATHSIG, (unsigned long)SIGKILL, 0UL, 0UL, 0UL);
	if (req->head.limits.disk) /* only who is dumpable may open it */
		io = open("/proc/self/io", O_RDONLY | O_CLOEXEC);
	prctl(PR_SET_DUMPABLE, 0UL, 0UL, 0UL, 0UL);
	if (!p->is_server) /* it would be the server's, too: the memory is */
		prefer_oom();
	if (make_mounts(p, req, &f) == 0)
		confine(p, req, &f);
	/* Where a change of credentials cleared it. */
	prctl(PR_SET_PDEATHSIG, (unsigned long)SIGKILL, 0UL, 0UL, 0UL);
	await_supervisor(req);
	if (!f.step && req->head.argc)
		root = start_command(p, req, run_child, &f);
	if (f.step)
		say_failed(req, &f);
	reap_all(req, f.step ? -1 : root, io);
	wait_for_end();
}
