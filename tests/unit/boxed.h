/*
 * For tests of the sandbox. Each body runs in a process of its own, as root and as an
 * ordinary user where we are root, else as who we are, and says what is wrong by CHECK.
 */
#ifndef TESTS_UNIT_BOXED_H
#define TESTS_UNIT_BOXED_H

#include "harness.h"

#include "base/err.h"
#include "base/macros.h"
#include "sandbox/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define BOXED_USER 65534

#define CHECK(condition)                                                               \
	do {                                                                           \
		if (!(condition)) {                                                    \
			fprintf(stderr, "%s:%d: as %u: %s (%s)\n", __FILE__, __LINE__, \
				geteuid(), #condition, strerror(errno));               \
			_exit(1);                                                      \
		}                                                                      \
	} while (0)

/* In the child: who may do nothing special. Keeps the group list of who is not root. */
static inline void boxed_become(uid_t uid)
{
	if (geteuid() == uid)
		return;
	CHECK(setgroups(0, NULL) == 0);
	CHECK(setresgid(uid, uid, uid) == 0);
	CHECK(setresuid(uid, uid, uid) == 0);
}

/* The exit status of body in a process of its own; -1: it was killed. */
static inline int boxed_fork(uid_t uid, void (*body)(void))
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		alarm(50); /* cmocka goes on by itself, the child would not */
		boxed_become(uid);
		body();
		_exit(0);
	}
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static inline void boxed_probe(void)
{
	const struct sandbox nothing = {0};
	struct err err = {0};

	if (sandbox_check(&nothing, &err) == 0)
		_exit(0);
	fprintf(stderr, "# skipped as %u: %s (%s)\n", geteuid(), err.message, err.hint);
	_exit(77);
}

/* Runs body as every user that can be had, and skips the test when no sandbox can. */
static inline void boxed_run(void (*body)(void))
{
	const uid_t users[2] = {geteuid(), geteuid() == 0 ? BOXED_USER : geteuid()};
	int ran = 0;

	for (int i = 0; i < (users[0] == users[1] ? 1 : 2); i++) {
		if (boxed_fork(users[i], boxed_probe) == 77)
			continue;
		assert_int_equal(boxed_fork(users[i], body), 0);
		ran++;
	}
	if (!ran)
		skip();
}

/* What a run gave. */
struct boxed {
	char step[32]; /* of BOX_FAILED; "": the command ran */
	int errnum;
	int status; /* of waitpid(2); -1: it never ended */
	bool lost;  /* init died */
	char out[16384];
	size_t len;
};

static inline void boxed_events(const struct box *b, struct boxed *r, bool *empty)
{
	struct box_event e;
	int rc;

	while ((rc = box_receive(b, &e)) > 0) {
		for (int i = 0; i < 3; i++)
			if (e.fds[i] >= 0)
				close(e.fds[i]);
		if (e.kind == BOX_ENDED)
			r->status = e.status;
		if (e.kind == BOX_FAILED) {
			memcpy(r->step, e.step, sizeof(r->step));
			r->errnum = e.errnum;
		}
		*empty = *empty || e.kind == BOX_EMPTY;
	}
	r->lost = r->lost || rc < 0;
}

/* req without streams: /dev/null, and pipes that fill ret->out. Until none is left. */
static inline void boxed_request(struct zygote *z, struct box_request req,
				 struct boxed *ret)
{
	uint64_t cpu, peak;
	bool empty = false;
	int pipes[2];
	struct box b;

	*ret = (struct boxed){.status = -1};
	CHECK(pipe2(pipes, O_CLOEXEC) == 0);
	req.in = req.in ? req.in : open("/dev/null", O_RDONLY | O_CLOEXEC);
	req.out = req.err = pipes[1];
	CHECK(zygote_run(z, &req, &b) == 0);
	close(pipes[1]);
	close(req.in);
	while (!empty && !ret->lost) {
		struct pollfd p[2] = {{.fd = b.events, .events = POLLIN},
				      {.fd = pipes[0], .events = POLLIN}};
		ssize_t n = 0;

		CHECK(poll(p, 2, 20000) > 0);
		if (p[1].revents & POLLIN) {
			n = read(pipes[0], ret->out + ret->len,
				 sizeof(ret->out) - 1 - ret->len);
			ret->len += n > 0 ? (size_t)n : 0;
		}
		if (p[0].revents)
			boxed_events(&b, ret, &empty);
	}
	box_kill(&b, &cpu, &peak);
	for (ssize_t n; (n = read(pipes[0], ret->out + ret->len,
				  sizeof(ret->out) - 1 - ret->len)) > 0;)
		ret->len += (size_t)n;
	close(pipes[0]);
}

/* A shell script in a zygote. */
static inline void boxed_script(struct zygote *z, const char *script, bool discard,
				struct boxed *ret)
{
	char *argv[] = {(char[]){"/bin/sh"}, (char[]){"-c"}, strdup(script), NULL};
	char *env[] = {(char[]){"PATH=/usr/bin:/bin"}, NULL};

	boxed_request(
		z,
		(struct box_request){
			.argv = argv, .env = env, .cwd = "/tmp", .discard = discard},
		ret);
	free(argv[2]);
}

static inline void boxed_start(const struct sandbox *sb, struct zygote *ret)
{
	struct err err = {0};

	if (zygote_start(sb, ret, &err) < 0) {
		fprintf(stderr, "%s (%s)\n", err.message, err.hint);
		_exit(1);
	}
}

static inline bool boxed_exited(const struct boxed *r, int status)
{
	bool ok = !r->step[0] && WIFEXITED(r->status) && WEXITSTATUS(r->status) == status;

	if (!ok)
		fprintf(stderr, "# step '%s' %s, status %x, lost %d:\n%s", r->step,
			strerror(r->errnum), (unsigned)r->status, r->lost, r->out);
	return ok;
}

#endif
