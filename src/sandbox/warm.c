#include "sandbox/sandbox.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"
#include "sandbox/cgroup.h"
#include "sandbox/inner.h"
#include "sandbox/make_plan.h"
#include "sandbox/server.h"
#include "sandbox/start.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/close_range.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>

/* For an interpreter to load what it can: some 300 ms on an idle machine. */
#define START_PATIENCE_US 10000000

/* embed.S */
extern const char embed_server_start[], embed_server_end[];
extern const char embed_warm_python_start[], embed_warm_python_end[];

/* No names are left in __main__ by this. */
#define BEGIN "exec(__import__('sys').argv[1], {})"

struct start {
	const struct cgroup *cgroup;
	struct inner_server server;
	const struct plan *plan;
	int socket, plan_fd, library, output;
};

/* A file that nobody can change any more; -1 with errno. */
static int sealed_file(const char *name, const void *data, size_t len)
{
	int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd >= 0 && write_all(fd, data, len) == 0 &&
	    fcntl(fd, F_ADD_SEALS,
		  F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0)
		return fd;
	if (fd >= 0) {
		int errnum = errno;

		close(fd);
		errno = errnum;
	}
	return -1;
}

/* At the numbers that server.h says, and nothing else. */
static int arrange_fds(struct start *s)
{
	int *const fds[] = {&s->output, &s->socket, &s->plan_fd, &s->library};
	/* exitpath: ignore[never-released] close_range() takes it; an error ends this */
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	for (size_t i = 0; i < ARRAY_SIZE(fds); i++) {
		*fds[i] = fcntl(*fds[i], F_DUPFD_CLOEXEC, SERVER_LIBRARY + 1);
		if (*fds[i] < 0)
			return -1;
	}
	if (null < 0 || dup2(null, 0) < 0 || dup2(s->output, 1) < 0 ||
	    dup2(s->output, 2) < 0 || dup2(s->socket, SERVER_SOCKET) < 0 ||
	    dup2(s->plan_fd, SERVER_PLAN) < 0 || dup2(s->library, SERVER_LIBRARY) < 0)
		return -1;
	close_range(SERVER_LIBRARY + 1, ~0U, 0);
	for (int fd = SERVER_SOCKET; fd <= SERVER_LIBRARY; fd++)
		fcntl(fd, F_SETFD, FD_CLOEXEC);
	return 0;
}

static _Noreturn void server_main(struct start *s, pid_t parent)
{
	struct message_ready ready = {0};
	const char *step = "cgroup";
	int rc = 0, socket = s->socket;

	start_process(parent);
	setpgid(0, 0);
	if (s->cgroup)
		rc = cgroup_attach(s->cgroup, 0);
	if (rc == 0) {
		step = "descriptors";
		rc = arrange_fds(s);
		socket = rc < 0 ? socket : SERVER_SOCKET;
	}
	if (rc == 0)
		rc = start_enter(s->plan, &step);
	if (rc == 0)
		rc = inner_server_start(s->plan, &s->server, &step);
	if (rc < 0) {
		ready.errnum = errno;
		snprintf(ready.step, sizeof(ready.step), "%s", step);
		message_send(socket, &ready, sizeof(ready), NULL, 0);
	}
	_exit(0);
}

static int no_server(struct err *err, const char *why, int errnum)
{
	if (errnum)
		return err_errno(err, ERR_ENVIRONMENT, errnum,
				 "no interpreter can be kept ready: %s", why);
	return err_set(err, ERR_ENVIRONMENT, "no interpreter can be kept ready: %s", why);
}

/* What it holds that is its own. */
static uint64_t memory_of(pid_t pid)
{
	CLEANUP(buf) struct buf b = {0};
	CLEANUP_FD int fd = -1;
	char path[64];
	const char *line;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || read_fd(fd, 0, &b) < 0)
		return 0;
	line = strstr(buf_str(&b), "\nRssAnon:");
	return line ? strtoull(line + 9, NULL, 10) * 1024 : 0;
}

/* 0; -1: too late, or cancelled. */
static int wait_for_message(int socket, int cancel, struct err *err)
{
	uint64_t until = clock_us() + START_PATIENCE_US;

	for (;;) {
		struct pollfd p[] = {{.fd = socket, .events = POLLIN},
				     {.fd = cancel, .events = POLLIN}};
		uint64_t now = clock_us();
		int rc = now < until ? poll(p, 2, (int)((until - now) / 1000) + 1) : 0;

		if (rc < 0 && errno == EINTR)
			continue;
		if (rc > 0 && !p[1].revents)
			return 0;
		return no_server(err, rc > 0 ? "cancelled" : "it does not get ready", 0);
	}
}

/* The last line that it wrote, of a traceback. */
static int died(int output, struct err *err)
{
	CLEANUP(buf) struct buf b = {0};
	char *line;

	if (lseek(output, -LINE_MAX, SEEK_END) < 0 && lseek(output, 0, SEEK_SET) < 0)
		return no_server(err, "it ended at its start", errno);
	if (read_fd(output, LINE_MAX, &b) < 0 || !b.len)
		return no_server(err, "it ended at its start", 0);
	while (b.len && b.data[b.len - 1] == '\n')
		b.data[--b.len] = '\0';
	line = strrchr(buf_str(&b), '\n');
	return no_server(err, line ? line + 1 : buf_str(&b), 0);
}

static int wait_until_ready(struct zygote *z, int cancel, int output, struct err *err)
{
	struct message_ready ready;
	const int off = 0;
	int pid = -1;
	long n;

	if (wait_for_message(z->socket, cancel, err) < 0)
		return -1;
	n = message_receive(z->socket, &ready, sizeof(ready), NULL, 0, &pid,
			    MSG_DONTWAIT);
	if (n != (long)sizeof(ready))
		return died(output, err);
	ready.step[sizeof(ready.step) - 1] = '\0';
	if (ready.step[0])
		return no_server(err, ready.step, ready.errnum);
	setsockopt(z->socket, SOL_SOCKET, SO_PASSCRED, &off, sizeof(off));
	z->memory = memory_of(pid);
	return 0;
}

/* What is executed: the interpreter, its options, the beginning, our script. */
static struct strv server_argv(const struct warm_server *w)
{
	CLEANUP_FREE char *script =
		xstrndup(embed_warm_python_start,
			 (size_t)(embed_warm_python_end - embed_warm_python_start));
	char first[16];
	struct strv argv = {0};

	for (size_t i = 0; i < w->first; i++)
		strv_add(&argv, w->argv[i]);
	snprintf(first, sizeof(first), "%zu", w->first);
	strv_add(&argv, "-c");
	strv_add(&argv, BEGIN);
	strv_add(&argv, script);
	strv_add(&argv, first);
	return argv;
}

static int start(struct start *s, struct zygote *z, struct err *err)
{
	pid_t self = getpid();
	const int on = 1;
	int pair[2];

	s->plan_fd = sealed_file("exitpath-plan", s->plan, sizeof(*s->plan));
	s->library = sealed_file("exitpath-server", embed_server_start,
				 (size_t)(embed_server_end - embed_server_start));
	s->output = memfd_create("exitpath-output", MFD_CLOEXEC);
	if (s->plan_fd < 0 || s->library < 0 || s->output < 0 ||
	    socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return no_server(err, "memfd", errno);
	/* The kernel then says who sends: the server's pid as we count. */
	setsockopt(pair[0], SOL_SOCKET, SO_PASSCRED, &on, sizeof(on));
	z->socket = pair[0];
	s->socket = pair[1];
	z->pid = start_fork();
	if (z->pid == 0)
		server_main(s, self);
	close(pair[1]);
	if (z->pid < 0)
		return no_server(err, "fork", errno);
	setpgid(z->pid, z->pid); /* whoever comes first */
	return 0;
}

int zygote_start_warm(const struct sandbox *sb, const struct cgroup *cgroup,
		      const struct warm_server *w, struct zygote *ret, struct err *err)
{
	CLEANUP(strv) struct strv argv = server_argv(w);
	struct zygote z = {.pid = -1, .socket = -1, .server = true};
	struct plan *p = plan_new_server(sb, err);
	struct start s = {
		.cgroup = cgroup,
		.server = {argv.v, w->env, w->cwd},
		.plan = p,
		.socket = -1,
		.plan_fd = -1,
		.library = -1,
		.output = -1,
	};
	int rc;

	if (!p)
		return -1;
	rc = start(&s, &z, err);
	if (rc == 0)
		rc = wait_until_ready(&z, w->cancel, s.output, err);
	if (rc == 0)
		*ret = z;
	else
		zygote_stop(&z);
	fd_cleanup(&s.plan_fd);
	fd_cleanup(&s.library);
	fd_cleanup(&s.output);
	free(p);
	return rc;
}
