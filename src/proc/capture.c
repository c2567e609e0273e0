/*
 * The input is a memfd rather than a pipe: then only the outputs have to be served, and
 * no order of reads and writes can deadlock. The end is the program's end, not EOF:
 * git leaves helpers (fsmonitor, gc) that may hold its stderr.
 */
#include "base/fs.h"
#include "base/mem.h"
#include "proc/proc.h"
#include "proc/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define DEFAULT_CAP ((size_t)64 << 20)
#define STDERR_CAP ((size_t)64 << 10) /* kept; the last line is quoted */

struct capture {
	const char *name; /* file name of the program, for messages */
	pid_t pid;
	int pidfd, report;
	int out, err; /* nonblocking read ends; -1: at their end */
	size_t cap;
	struct buf *text;
	struct buf errors;
};

static int open_input(const char *input)
{
	size_t len = input ? strlen(input) : 0;
	int fd;

	if (!len)
		return spawn_raise(open("/dev/null", O_RDONLY | O_CLOEXEC));
	fd = spawn_raise(memfd_create("input", MFD_CLOEXEC));
	if (fd < 0)
		return -1;
	if (write_all(fd, input, len) < 0 || lseek(fd, 0, SEEK_SET) < 0) {
		close(fd);
		return -1;
	}
	return fd;
}

static int start(struct capture *c, char *const *argv, const struct capture_opts *opts)
{
	CLEANUP_FD int in = open_input(opts->input);
	int out[2], err[2];
	struct spawn s = {.argv = argv,
			  .env = opts->env ? opts->env : environ,
			  .cwd = opts->cwd,
			  .in = in};

	if (in < 0 || spawn_pipe(out) < 0)
		return -1;
	c->out = out[0];
	if (spawn_pipe(err) < 0) {
		close(out[1]);
		return -1;
	}
	c->err = err[0];
	fcntl(c->out, F_SETFL, O_NONBLOCK);
	fcntl(c->err, F_SETFL, O_NONBLOCK);
	s.out = out[1];
	s.err = err[1];
	c->pid = spawn(&s, &c->report);
	close(out[1]);
	close(err[1]);
	if (c->pid < 0)
		return -1;
	c->pidfd = (int)syscall(SYS_pidfd_open, c->pid, 0);
	return c->pidfd;
}

/* False: nothing is there now, or never will be. */
static bool take(int *fd, struct buf *b)
{
	char chunk[65536];
	ssize_t n;

	if (*fd < 0)
		return false;
	n = read(*fd, chunk, sizeof(chunk));
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return false;
	if (n <= 0) {
		close(*fd);
		*fd = -1;
		return false;
	}
	buf_add(b, chunk, (size_t)n);
	return true;
}

static void take_errors(struct capture *c)
{
	while (take(&c->err, &c->errors)) {
		size_t drop = c->errors.len / 2;

		if (c->errors.len < STDERR_CAP)
			continue;
		memmove(c->errors.data, c->errors.data + drop, c->errors.len - drop + 1);
		c->errors.len -= drop;
	}
}

/* Reads both outputs until the program has ended. */
static int serve(struct capture *c, struct err *err)
{
	for (bool ended = false; !ended;) {
		struct pollfd p[] = {{.fd = c->pidfd, .events = POLLIN},
				     {.fd = c->out, .events = POLLIN},
				     {.fd = c->err, .events = POLLIN},
				     {.fd = proc_interrupt_fd(), .events = POLLIN}};

		if (poll(p, ARRAY_SIZE(p), -1) < 0 && errno != EINTR)
			return err_errno(err, ERR_ENVIRONMENT, errno,
					 "cannot wait for %s", c->name);
		if (proc_interrupted())
			return err_set(err, ERR_INTERRUPTED, "%s was interrupted",
				       c->name);
		ended = p[0].revents != 0;
		while (c->text->len <= c->cap && take(&c->out, c->text))
			;
		take_errors(c);
		if (c->text->len > c->cap)
			return err_set(err, ERR_ENVIRONMENT,
				       "%s wrote more than %zu bytes", c->name, c->cap);
	}
	return 0;
}

/* The last line that says something. */
static const char *last_line(struct buf *b)
{
	char *end, *start;

	if (!b->len)
		return NULL;
	end = b->data + b->len;
	while (end > b->data && (end[-1] == '\n' || end[-1] == '\r' || end[-1] == ' '))
		*--end = '\0';
	start = memrchr(b->data, '\n', (size_t)(end - b->data));
	start = start ? start + 1 : b->data;
	return *start ? start : NULL;
}

/*
 * What a person needs of the errors: the last line, and before it the first that begins
 * with "error:". git names the file there and says only "fatal: adding files failed" in
 * the end. The caller frees; NULL: nothing was said.
 */
static char *telling_lines(struct buf *b)
{
	const char *last = last_line(b), *error = NULL;

	if (!last)
		return NULL;
	for (const char *p = b->data; p && p < last; p = strchr(p, '\n')) {
		p += *p == '\n';
		if (!strncmp(p, "error:", 6)) {
			error = p;
			break;
		}
	}
	if (!error || error >= last)
		return xstrdup(last);
	return xasprintf("%.*s; %s", (int)strcspn(error, "\n"), error, last);
}

/* How the program ended, as an error unless the caller wants the status. */
static int judge(struct capture *c, int status, int *ret_status, struct err *err)
{
	struct spawn_failure f;
	int code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
	CLEANUP_FREE char *why = NULL;

	if (read(c->report, &f, sizeof(f)) == (ssize_t)sizeof(f))
		return err_errno(err, ERR_ENVIRONMENT, f.errnum, "cannot run %s (%s)",
				 c->name, spawn_step_name(f.step));
	if (ret_status) {
		*ret_status = code;
		return 0;
	}
	if (code == 0)
		return 0;
	why = telling_lines(&c->errors);
	if (WIFSIGNALED(status))
		return err_set(err, ERR_ENVIRONMENT, "%s was killed by signal %d%s%s",
			       c->name, WTERMSIG(status), why ? ": " : "",
			       why ? why : "");
	return err_set(err, ERR_ENVIRONMENT, "%s failed with exit %d%s%s", c->name, code,
		       why ? ": " : "", why ? why : "");
}

/* "git worktree": the program and its subcommand. */
static char *display_name(char *const *argv)
{
	const char *sub =
		argv[1] && argv[1][0] != '-' && !strchr(argv[1], '/') ? argv[1] : NULL;

	return xasprintf("%s%s%s", path_base(argv[0]), sub ? " " : "", sub ? sub : "");
}

static int run(struct capture *c, char *const *argv, const struct capture_opts *opts,
	       int *ret_status, struct err *err)
{
	int status = 0, rc = 0;

	if (start(c, argv, opts) < 0)
		rc = err_errno(err, ERR_ENVIRONMENT, errno, "cannot start %s", c->name);
	else
		rc = serve(c, err);
	if (c->pid > 0) {
		if (rc < 0)
			kill(c->pid, SIGKILL);
		while (waitpid(c->pid, &status, 0) < 0 && errno == EINTR)
			;
		if (rc == 0)
			rc = judge(c, status, ret_status, err);
	}
	fd_cleanup(&c->report);
	fd_cleanup(&c->pidfd);
	fd_cleanup(&c->out);
	fd_cleanup(&c->err);
	return rc;
}

int proc_capture(char *const *argv, const struct capture_opts *opts, struct buf *ret_out,
		 int *ret_status, struct err *err)
{
	static const struct capture_opts none;
	CLEANUP(buf) struct buf text = {0};
	CLEANUP_FREE char *name = display_name(argv);
	struct capture c = {
		.name = name,
		.pidfd = -1,
		.report = -1,
		.out = -1,
		.err = -1,
		.text = &text,
	};
	int rc;

	if (!opts)
		opts = &none;
	c.cap = opts->cap ? opts->cap : DEFAULT_CAP;
	rc = run(&c, argv, opts, ret_status, err);
	buf_release(&c.errors);
	if (rc == 0 && ret_out)
		buf_add(ret_out, buf_str(&text), text.len);
	return rc;
}
