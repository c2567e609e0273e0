/*
 * Each worker (worker.c) has
 *
 *	a socket    the length of a request goes, a reply comes: small packets, which
 *	            neither side ever waits to get rid of
 *	a pipe      a byte cancels its run
 *	three files (memfd) for the request and for stdout and stderr of the run; whose
 *	            turn it is, the socket says
 *
 * so pool_dispatch() needs no thread and never blocks. A byte that cancels may come when
 * its run has just ended. It must not hit the next one: the pool keeps the read end,
 * too, and takes it back while the worker is idle.
 */
#include "proc/pool.h"

#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"
#include "proc/children.h"
#include "proc/spawn.h"
#include "proc/wire.h"
#include "proc/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

/* A worker that was told to end has killed its run before this. */
#define FREE_PATIENCE_MS 10000

enum { SOCKET, CONTROL, TAKE_BACK, REQUEST, OUT, ERR, FDS };
_Static_assert((int)FDS <= (int)CHILD_FDS, "a worker's descriptors");

struct request {
	uint64_t id, seq;
	struct buf text; /* as the worker reads it */
	struct request *next;
};

struct done {
	struct pool_result result;
	uint64_t seq;
	struct done *next;
};

struct worker_slot {
	struct child child; /* pid 0: there is none */
	struct request *run;
	bool cancelled;
};

struct pool {
	struct pool_opts opts;
	struct worker_slot *slots;
	unsigned nslots;
	struct request *waiting, **waiting_end;
	struct done *done; /* ordered: by seq */
	struct done **done_end;
	size_t nwaiting, ndone, pending;
	uint64_t submitted, taken;
};

void pool_result_release(struct pool_result *r)
{
	buf_release(&r->out);
	buf_release(&r->err);
	free(r->error);
	free(r->hint);
	*r = (struct pool_result){0};
}

static void request_free(struct request *r)
{
	if (r)
		buf_release(&r->text);
	free(r);
}

/* ---- workers ---- */

static const struct child no_worker = {.fds = {-1, -1, -1, -1, -1, -1}};

static void close_fds(int *fds, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		fd_cleanup(&fds[i]);
		fds[i] = -1;
	}
}

static int open_file(const char *name)
{
	return spawn_raise(memfd_create(name, MFD_CLOEXEC));
}

/* fds: by name; ret_socket: the worker's end. 0, or -1 with errno. */
static int open_fds(int *fds, int *ret_socket)
{
	int pair[2] = {-1, -1}, control[2] = {-1, -1};

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return -1;
	fds[SOCKET] = spawn_raise(pair[0]);
	*ret_socket = spawn_raise(pair[1]);
	if (fds[SOCKET] < 0 || *ret_socket < 0 || spawn_pipe(control) < 0)
		return -1;
	fds[CONTROL] = control[1];
	fds[TAKE_BACK] = control[0];
	fcntl(fds[TAKE_BACK], F_SETFL, O_NONBLOCK);
	fcntl(fds[CONTROL], F_SETFL, O_NONBLOCK);
	fds[REQUEST] = open_file("exitpath-request");
	fds[OUT] = open_file("exitpath-stdout");
	fds[ERR] = open_file("exitpath-stderr");
	return fds[REQUEST] < 0 || fds[OUT] < 0 || fds[ERR] < 0 ? -1 : 0;
}

static _Noreturn void in_worker(const struct pool *p, const int *fds, int socket)
{
	const struct worker_opts opts = {
		.socket = socket,
		.control = fds[TAKE_BACK],
		.request = fds[REQUEST],
		.out = fds[OUT],
		.err = fds[ERR],
		.pass_stdin = p->opts.pass_stdin,
		.sandbox = p->opts.sandbox,
	};

	children_close();
	close(fds[SOCKET]);
	close(fds[CONTROL]);
	worker_main(&opts);
}

/* 0, or -1 with errno. */
static int start_worker(const struct pool *p, struct worker_slot *w)
{
	struct child c = no_worker;
	int socket = -1, errnum;

	children_adopt();
	if (open_fds(c.fds, &socket) < 0)
		goto failed;
	c.pid = fork();
	if (c.pid < 0)
		goto failed;
	if (c.pid == 0)
		in_worker(p, c.fds, socket);
	close(socket);
	*w = (struct worker_slot){.child = c};
	child_add(&w->child);
	return 0;
failed:
	errnum = errno;
	fd_cleanup(&socket);
	close_fds(c.fds, FDS);
	errno = errnum;
	return -1;
}

/* It is dead, or dies at once: with what it had below it. */
static void drop_worker(struct worker_slot *w)
{
	while (waitpid(w->child.pid, NULL, __WALL) < 0 && errno == EINTR)
		;
	child_remove(&w->child);
	child_kill_orphans(&w->child);
	close_fds(w->child.fds, FDS);
	w->child.pid = 0;
}

/* ---- what is asked, what came of it ---- */

static struct done *add_done(struct pool *p, const struct request *r)
{
	struct done *d = xcalloc(1, sizeof(*d)), **at = p->done_end;

	d->seq = r->seq;
	d->result.id = r->id;
	if (p->opts.ordered)
		for (at = &p->done; *at && (*at)->seq < d->seq;)
			at = &(*at)->next;
	d->next = *at;
	*at = d;
	if (!d->next)
		p->done_end = &d->next;
	p->ndone++;
	return d;
}

static void end_unrun(struct pool *p, struct request *r, enum run_end end)
{
	add_done(p, r)->result.run.end = end;
	request_free(r);
}

static void push_waiting(struct pool *p, struct request *r)
{
	*p->waiting_end = r;
	p->waiting_end = &r->next;
	p->nwaiting++;
}

static struct request *pop_waiting(struct pool *p)
{
	struct request *r = p->waiting;

	p->waiting = r->next;
	if (!p->waiting)
		p->waiting_end = &p->waiting;
	r->next = NULL;
	p->nwaiting--;
	return r;
}

static void read_stream(int fd, struct buf *ret)
{
	struct stat st;

	if (fstat(fd, &st) < 0 || st.st_size <= 0 || lseek(fd, 0, SEEK_SET) < 0)
		return;
	if (read_fd(fd, 0, ret) < 0)
		buf_clear(ret);
	/* The next run begins with an empty file: until then it would only take memory.
	 */
	if (ftruncate(fd, 0) < 0)
		return;
}

static void take_back_cancel(struct worker_slot *w)
{
	char bytes[16];

	while (w->cancelled && read(w->child.fds[TAKE_BACK], bytes, sizeof(bytes)) > 0)
		;
	w->cancelled = false;
}

static void end_run(struct pool *p, struct worker_slot *w, struct wire_reply *reply)
{
	struct pool_result *r = &add_done(p, w->run)->result;

	r->run = reply->run;
	r->error = TAKE_PTR(reply->error);
	r->hint = TAKE_PTR(reply->hint);
	if (!p->opts.stream) {
		read_stream(w->child.fds[OUT], &r->out);
		read_stream(w->child.fds[ERR], &r->err);
	}
	request_free(TAKE_PTR(w->run));
	take_back_cancel(w);
}

static void lose(struct pool *p, struct worker_slot *w)
{
	drop_worker(w);
	if (w->run)
		end_unrun(p, TAKE_PTR(w->run), RUN_LOST);
	w->cancelled = false;
}

static void receive(struct pool *p, struct worker_slot *w)
{
	char text[WIRE_MAX_REPLY];
	CLEANUP(wire_reply) struct wire_reply reply = {0};
	ssize_t n = recv(w->child.fds[SOCKET], text, sizeof(text), MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n > 0 && w->run && wire_get_reply(text, (size_t)n, &reply) == 0) {
		end_run(p, w, &reply);
		return;
	}
	/* It died, or is out of its mind. */
	kill(w->child.pid, SIGKILL);
	lose(p, w);
}

/* 0; -1 with errno: nothing was sent, the run is still the caller's. */
static int order(struct worker_slot *w, struct request *r)
{
	const uint64_t len = r->text.len;

	if (lseek(w->child.fds[REQUEST], 0, SEEK_SET) < 0 ||
	    write_all(w->child.fds[REQUEST], r->text.data, r->text.len) < 0 ||
	    send(w->child.fds[SOCKET], &len, sizeof(len), MSG_NOSIGNAL | MSG_DONTWAIT) !=
		    (ssize_t)sizeof(len))
		return -1;
	w->run = r;
	return 0;
}

static int assign(struct pool *p, struct err *err)
{
	unsigned alive = 0;
	int errnum = 0;

	for (unsigned i = 0; i < p->nslots && p->waiting; i++) {
		struct worker_slot *w = &p->slots[i];
		struct request *r;

		if (!w->child.pid && start_worker(p, w) < 0) {
			errnum = errno;
			continue;
		}
		alive++;
		if (w->run)
			continue;
		r = pop_waiting(p);
		if (order(w, r) == 0)
			continue;
		kill(w->child.pid, SIGKILL);
		lose(p, w);
		end_unrun(p, r, RUN_LOST);
	}
	if (p->waiting && !alive)
		return err_errno(err, ERR_ENVIRONMENT, errnum, "cannot make a worker");
	return 0;
}

/* ---- the interface ---- */

static unsigned processors(void)
{
	cpu_set_t set;
	int n = sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 1;

	return n < 1			      ? 1
	       : n > POOL_DEFAULT_MAX_WORKERS ? POOL_DEFAULT_MAX_WORKERS
					      : (unsigned)n;
}

struct pool *pool_new(const struct pool_opts *opts, struct err *err)
{
	struct pool *p;

	if (opts->workers > POOL_MAX_WORKERS || opts->queue > POOL_MAX_QUEUE) {
		err_set(err, ERR_USAGE,
			"at most %d workers and %d requests that wait can be had",
			POOL_MAX_WORKERS, POOL_MAX_QUEUE);
		return NULL;
	}
	p = xcalloc(1, sizeof(*p));
	p->opts = *opts;
	if (!p->opts.queue)
		p->opts.queue = POOL_QUEUE;
	p->nslots = opts->workers ? opts->workers : processors();
	p->slots = xcalloc(p->nslots, sizeof(*p->slots));
	p->waiting_end = &p->waiting;
	p->done_end = &p->done;
	for (unsigned i = 0; i < p->nslots; i++)
		p->slots[i].child = no_worker;
	for (unsigned i = 0; i < p->nslots; i++) {
		if (start_worker(p, &p->slots[i]) == 0)
			continue;
		err_errno(err, ERR_ENVIRONMENT, errno, "cannot make worker %u of %u",
			  i + 1, p->nslots);
		err_hint(err, "--workers sets how many there are");
		pool_free(p);
		return NULL;
	}
	return p;
}

bool pool_has_room(const struct pool *p)
{
	return p->nwaiting < p->opts.queue && p->ndone < p->opts.queue;
}

/*
 * Measured with node 20.20, CPU time of `node t.js` with an empty t.js: 54 ms. It has
 * threads, so that it cannot be forked; started ahead, it takes the same 52 ms, only
 * earlier; with --build-snapshot it takes 58.
 */
int pool_can_warm(enum warm warm, struct err *err)
{
	if (warm != WARM_NODE)
		return 0;
	err_set(err, ERR_USAGE,
		"warm: node cannot be forked, and starting it ahead or from a snapshot "
		"takes as much CPU time as starting it");
	err_hint(err, "leave it out, or put many tests into one node process");
	return -1;
}

int pool_submit(struct pool *p, const struct pool_run *run, struct err *err)
{
	struct request *r;
	uint64_t cap = run->limits.output;

	if (!run->argv->n || *run->cwd != '/')
		return err_set(err, ERR_INTERNAL, "a run without %s",
			       run->argv->n ? "a working directory" : "a command");
	if (pool_can_warm(run->warm, err) < 0)
		return -1;
	if (!cap)
		cap = p->opts.stream ? INT64_MAX : DEFAULT_OUTPUT_CAP;
	r = xcalloc(1, sizeof(*r));
	wire_put_request(&r->text, run, cap);
	if (r->text.len > WIRE_MAX_REQUEST || run->argv->n > WIRE_MAX_STRINGS ||
	    run->env->n > WIRE_MAX_STRINGS) {
		request_free(r);
		return err_set(err, ERR_USAGE,
			       "the command and its environment are too large");
	}
	r->id = run->id;
	r->seq = p->submitted++;
	push_waiting(p, r);
	p->pending++;
	return 0;
}

size_t pool_pending(const struct pool *p)
{
	return p->pending;
}

size_t pool_fds(const struct pool *p, struct pollfd *fds, size_t cap)
{
	size_t n = 0;

	for (unsigned i = 0; i < p->nslots; i++) {
		if (!p->slots[i].child.pid)
			continue;
		if (n < cap)
			fds[n] = (struct pollfd){.fd = p->slots[i].child.fds[SOCKET],
						 .events = POLLIN};
		n++;
	}
	return n < cap ? n : cap;
}

void pool_streams(const struct pool *p, int ret_fds[2])
{
	ret_fds[0] = p->slots[0].child.pid ? p->slots[0].child.fds[OUT] : -1;
	ret_fds[1] = p->slots[0].child.pid ? p->slots[0].child.fds[ERR] : -1;
}

int pool_dispatch(struct pool *p, struct err *err)
{
	for (unsigned i = 0; i < p->nslots; i++)
		if (p->slots[i].child.pid)
			receive(p, &p->slots[i]);
	return assign(p, err);
}

bool pool_take(struct pool *p, struct pool_result *ret)
{
	struct done *d = p->done;

	if (!d || (p->opts.ordered && d->seq != p->taken))
		return false;
	p->done = d->next;
	if (!p->done)
		p->done_end = &p->done;
	p->taken++;
	p->ndone--;
	p->pending--;
	*ret = d->result;
	free(d);
	return true;
}

void pool_cancel(struct pool *p)
{
	while (p->waiting)
		end_unrun(p, pop_waiting(p), RUN_CANCELLED);
	for (unsigned i = 0; i < p->nslots; i++) {
		struct worker_slot *w = &p->slots[i];

		if (!w->run || w->cancelled)
			continue;
		w->cancelled = true;
		if (write(w->child.fds[CONTROL], "", 1) < 0)
			kill(w->child.pid, SIGKILL); /* cannot be: it is empty */
	}
}

/* Told to end by the end of its socket and its pipe. */
static void end_worker(struct worker_slot *w, uint64_t give_up)
{
	struct pollfd p = {.fd = (int)syscall(SYS_pidfd_open, w->child.pid, 0),
			   .events = POLLIN};

	while (p.fd >= 0) {
		uint64_t now = clock_us();
		int n = poll(&p, 1, now < give_up ? (int)((give_up - now) / 1000) : 0);

		if (n > 0 || (n < 0 && errno != EINTR))
			break;
		if (n == 0) { /* stopped, or stuck in the kernel */
			kill(w->child.pid, SIGKILL);
			break;
		}
	}
	fd_cleanup(&p.fd);
	drop_worker(w);
}

void pool_free(struct pool *p)
{
	uint64_t give_up = clock_us() + FREE_PATIENCE_MS * 1000;

	if (!p)
		return;
	for (unsigned i = 0; i < p->nslots; i++) {
		close_fds(&p->slots[i].child.fds[SOCKET], 1);
		close_fds(&p->slots[i].child.fds[CONTROL], 1);
	}
	for (unsigned i = 0; i < p->nslots; i++) {
		if (p->slots[i].child.pid)
			end_worker(&p->slots[i], give_up);
		request_free(p->slots[i].run);
	}
	while (p->waiting)
		request_free(pop_waiting(p));
	while (p->done) {
		struct done *d = p->done;

		p->done = d->next;
		pool_result_release(&d->result);
		free(d);
	}
	free(p->slots);
	free(p);
}
