/* Real commands on real workers; what the pool must not lose, mix up or leave behind. */
#include "harness.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"
#include "proc/pool.h"
#include "proc/tree.h"
#include "sandbox/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* Asserts that nothing of ours is left, zombies included. */
static void nobody_left(void)
{
	pid_t pids[8];

	assert_int_equal(proc_descendants(getpid(), pids, ARRAY_SIZE(pids)), 0);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	assert_int_equal(errno, ECHILD);
}

static void submit(struct pool *p, uint64_t id, const char *script, uint64_t timeout_ms)
{
	CLEANUP(strv) struct strv argv = {0}, env = {0};
	struct pool_run run = {
		.argv = &argv,
		.env = &env,
		.cwd = harness_tmpdir(),
		.timeout_ms = timeout_ms,
		.limits = {.output = 1 << 20},
		.id = id,
	};

	strv_add(&argv, "/bin/sh");
	strv_add(&argv, "-c");
	strv_add(&argv, script);
	strv_copy(&env, environ);
	assert_int_equal(pool_submit(p, &run, NULL), 0);
}

/* Waits for the next result. */
static void next(struct pool *p, struct pool_result *ret)
{
	struct err err = {0};

	for (;;) {
		struct pollfd fds[POOL_MAX_WORKERS];

		if (pool_dispatch(p, &err) < 0)
			fail_msg("%s", err.message);
		if (pool_take(p, ret))
			return;
		assert_true(pool_pending(p) > 0);
		if (poll(fds, pool_fds(p, fds, ARRAY_SIZE(fds)), 20000) == 0)
			fail_msg("no result came");
	}
}

static struct pool *make(unsigned workers, unsigned queue, bool ordered)
{
	const struct pool_opts opts = {
		.workers = workers, .queue = queue, .ordered = ordered};
	struct err err = {0};
	struct pool *p = pool_new(&opts, &err);

	if (!p)
		fail_msg("%s", err.message);
	return p;
}

static void tells_ends_apart(void **state)
{
	static const struct {
		const char *script, *out, *err;
		enum run_end end;
		int value; /* status or signal */
		uint64_t timeout_ms;
	} cases[] = {
		{"echo hello", "hello\n", "", RUN_EXITED, 0, 0},
		{"echo no >&2; exit 3", "", "no\n", RUN_EXITED, 3, 0},
		{"kill -SEGV $$", "", "", RUN_SIGNALED, SIGSEGV, 0},
		{"echo a; sleep 60", "a\n", "", RUN_TIMED_OUT, 0, 200},
		{"printf 'x\\0y'", "x", "", RUN_EXITED, 0, 0},
		{"cat; echo end", "end\n", "", RUN_EXITED, 0, 0},
		{"sleep 60 & echo left", "left\n", "", RUN_EXITED, 0, 0},
	};
	struct pool *p = make(1, 0, false);

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(pool_result) struct pool_result r = {0};

		submit(p, 100 + i, cases[i].script, cases[i].timeout_ms);
		next(p, &r);
		assert_int_equal(r.id, 100 + i);
		assert_int_equal(r.run.end, cases[i].end);
		assert_int_equal(r.run.status + r.run.signal, cases[i].value);
		assert_string_equal(buf_str(&r.out), cases[i].out);
		assert_string_equal(buf_str(&r.err), cases[i].err);
		assert_int_equal(r.run.stdout_bytes, r.out.len);
	}
	pool_free(p);
	nobody_left();
}

static void says_what_could_not_start(void **state)
{
	CLEANUP(strv) struct strv argv = {0}, env = {0};
	struct pool_run run = {.argv = &argv, .env = &env, .cwd = "/"};
	struct pool *p = make(1, 0, false);
	static const struct {
		const char *program, *cwd, *step;
	} cases[] = {
		{"/no/such/program", "/", "exec"},
		{"true", "/no/such/dir", "chdir"},
	};

	(void)state;
	strv_add(&argv, "");
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(pool_result) struct pool_result r = {0};

		free(argv.v[0]);
		argv.v[0] = xstrdup(cases[i].program);
		run.cwd = cases[i].cwd;
		assert_int_equal(pool_submit(p, &run, NULL), 0);
		next(p, &r);
		assert_int_equal(r.run.end, RUN_NOT_STARTED);
		assert_string_equal(r.run.step, cases[i].step);
		assert_int_equal(r.run.errnum, ENOENT);
	}
	pool_free(p);
}

static void keeps_order(void **state)
{
	struct pool *p = make(4, 8, true);
	uint64_t taken = 0;

	(void)state;
	for (uint64_t id = 0; taken < 30;) {
		CLEANUP(pool_result) struct pool_result r = {0};

		while (id < 30 && pool_has_room(p)) {
			submit(p, id, id % 7 ? "echo $$" : "sleep 0.2; echo $$", 10000);
			id++;
		}
		next(p, &r);
		assert_int_equal(r.id, taken++);
		assert_true(r.out.len > 1);
	}
	assert_int_equal(pool_pending(p), 0);
	pool_free(p);
	nobody_left();
}

/* Without --ordered, the slow one does not hold up the others. */
static void is_fair_without_order(void **state)
{
	struct pool *p = make(2, 0, false);
	CLEANUP(pool_result) struct pool_result r = {0};

	(void)state;
	submit(p, 1, "sleep 5", 10000);
	submit(p, 2, "true", 10000);
	submit(p, 3, "true", 10000);
	for (unsigned i = 0; i < 2; i++) {
		next(p, &r);
		assert_int_not_equal(r.id, 1);
	}
	pool_free(p); /* does not wait for it */
	nobody_left();
}

static void has_bounds(void **state)
{
	struct pool *p = make(1, 3, true);
	CLEANUP(pool_result) struct pool_result r = {0};
	unsigned n = 0;

	(void)state;
	submit(p, n++, "sleep 60", 0);
	pool_dispatch(p, NULL);
	while (pool_has_room(p))
		submit(p, n++, "true", 0);
	assert_int_equal(n, 4);
	pool_dispatch(p, NULL);
	assert_false(pool_has_room(p));
	assert_false(pool_take(p, &r));
	pool_free(p);

	p = make(2, 3, true); /* results wait for the first: they count, too */
	n = 0;
	submit(p, n++, "sleep 60", 0);
	for (unsigned i = 0; i < 100; i++) {
		struct pollfd fds[2];

		while (pool_has_room(p) && n < 50)
			submit(p, n++, "true", 0);
		pool_dispatch(p, NULL);
		poll(fds, pool_fds(p, fds, 2), 10);
	}
	assert_in_range(n, 4, 8);
	pool_free(p);
	nobody_left();
}

static void refuses(void **state)
{
	CLEANUP(strv) struct strv argv = {0}, env = {0};
	const struct pool_opts much = {.workers = POOL_MAX_WORKERS + 1};
	struct pool_run run = {.argv = &argv, .env = &env, .cwd = "/", .warm = WARM_NODE};
	struct err err = {0};
	struct pool *p = make(1, 1, false);

	(void)state;
	strv_add(&argv, "node");
	assert_int_equal(pool_submit(p, &run, &err), -1);
	assert_int_equal(err.kind, ERR_USAGE);
	assert_non_null(strstr(err.message, "warm"));
	run.warm = WARM_NONE;
	strv_take(&env, xasprintf("A=%*d", 9 << 20, 1));
	assert_int_equal(pool_submit(p, &run, &err), -1);
	assert_non_null(strstr(err.message, "too large"));
	assert_int_equal(pool_pending(p), 0);
	assert_null(pool_new(&much, &err));
	pool_free(p);
	pool_free(NULL);
}

/* The parent of what writes its pid is the worker. */
static pid_t worker_of(struct pool *p)
{
	CLEANUP(pool_result) struct pool_result r = {0};

	submit(p, 0, "echo $PPID", 0);
	next(p, &r);
	return (pid_t)atoi(buf_str(&r.out));
}

static void replaces_dead_workers(void **state)
{
	struct pool *p = make(1, 0, false);
	pid_t before = worker_of(p), after;
	CLEANUP(pool_result) struct pool_result lost = {0}, again = {0};

	(void)state;
	submit(p, 1, "sleep 60 & setsid sleep 60 & kill -KILL $PPID; sleep 60", 0);
	submit(p, 2, "echo on", 0);
	next(p, &lost);
	assert_int_equal(lost.id, 1);
	assert_int_equal(lost.run.end, RUN_LOST);
	next(p, &again);
	assert_int_equal(again.id, 2);
	assert_string_equal(buf_str(&again.out), "on\n");
	after = worker_of(p);
	assert_int_not_equal(before, after);
	kill(after, SIGKILL); /* while it is idle: nothing is lost */
	usleep(20000);
	assert_true(worker_of(p) > 0);
	pool_free(p);
	nobody_left();
}

/* A worker that dies takes nothing of the others with it. */
static void spares_the_others(void **state)
{
	struct pool *p = make(3, 0, true);
	CLEANUP(pool_result) struct pool_result a = {0}, b = {0}, c = {0};

	(void)state;
	submit(p, 1, "sleep 0.4; echo one", 0);
	submit(p, 2, "kill -KILL $PPID; sleep 9", 0);
	submit(p, 3, "sleep 0.4; echo three", 0);
	next(p, &a);
	next(p, &b);
	next(p, &c);
	assert_string_equal(buf_str(&a.out), "one\n");
	assert_int_equal(b.run.end, RUN_LOST);
	assert_string_equal(buf_str(&c.out), "three\n");
	pool_free(p);
	nobody_left();
}

static void cancels(void **state)
{
	struct pool *p = make(2, 0, false);

	(void)state;
	for (uint64_t id = 0; id < 6; id++)
		submit(p, id, "trap '' TERM; setsid sleep 60 & sleep 60", 0);
	pool_dispatch(p, NULL);
	usleep(100000);
	pool_cancel(p);
	pool_cancel(p);
	for (unsigned i = 0; i < 6; i++) {
		CLEANUP(pool_result) struct pool_result r = {0};

		next(p, &r);
		assert_int_equal(r.run.end, RUN_CANCELLED);
	}
	assert_int_equal(pool_pending(p), 0);
	pool_free(p);
	nobody_left();
}

/* The byte comes when the run has ended already: the next one must not be hit. */
static void cancels_only_what_runs(void **state)
{
	struct pool *p = make(1, 0, false);

	(void)state;
	for (unsigned i = 0; i < 50; i++) {
		CLEANUP(pool_result) struct pool_result r = {0}, s = {0};

		submit(p, 1, "true", 0);
		pool_dispatch(p, NULL);
		usleep(100 * i);
		pool_cancel(p);
		next(p, &r);
		assert_true(r.run.end == RUN_EXITED || r.run.end == RUN_CANCELLED);
		submit(p, 2, "echo on", 0);
		next(p, &s);
		assert_int_equal(s.run.end, RUN_EXITED);
		assert_string_equal(buf_str(&s.out), "on\n");
	}
	pool_free(p);
}

/* Runs do not grow the files of a worker, nor mix up what they hold. */
static void reuses_its_files(void **state)
{
	struct pool *p = make(1, 0, false);

	(void)state;
	for (unsigned i = 0; i < 20; i++) {
		CLEANUP(pool_result) struct pool_result r = {0};

		submit(p, i,
		       i % 2 ? "echo short" : "head -c 300000 /dev/zero | tr '\\0' x", 0);
		next(p, &r);
		assert_int_equal(r.out.len, i % 2 ? 6 : 300000);
	}
	pool_free(p);
}

static void streams(void **state)
{
	const struct pool_opts opts = {.workers = 1, .stream = true};
	struct pool *p = pool_new(&opts, NULL);
	CLEANUP(pool_result) struct pool_result r = {0};
	char text[32] = "";
	int fds[2];

	(void)state;
	assert_non_null(p);
	pool_streams(p, fds);
	submit(p, 1, "echo early; sleep 60", 0);
	pool_dispatch(p, NULL);
	for (int i = 0; i < 1000 && !*text; i++) {
		assert_true(pread(fds[0], text, sizeof(text) - 1, 0) >= 0);
		usleep(10000);
	}
	assert_string_equal(text, "early\n");
	pool_cancel(p);
	next(p, &r);
	assert_int_equal(r.run.end, RUN_CANCELLED);
	assert_int_equal(r.out.len, 0);
	assert_int_equal(r.run.stdout_bytes, 6);
	pool_free(p);
	nobody_left();
}

/* In a process of its own, whose standard input is a file. */
static int in_passes_stdin(const char *path)
{
	const struct pool_opts opts = {.workers = 1, .pass_stdin = true};
	CLEANUP(pool_result) struct pool_result r = {0};
	struct pool *p;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	dup2(fd, STDIN_FILENO);
	close(fd);
	p = pool_new(&opts, NULL);
	submit(p, 1, "cat", 0);
	next(p, &r);
	pool_free(p);
	return strcmp(buf_str(&r.out), "from a file\n") != 0;
}

static void passes_stdin(void **state)
{
	const char *path = harness_file("in", "from a file\n");
	int status;
	pid_t pid = fork();

	(void)state;
	if (pid == 0)
		_exit(in_passes_stdin(path));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static bool wait_for_file(const char *path, struct buf *ret)
{
	for (int i = 0; i < 2000; i++) {
		buf_clear(ret);
		if (read_file(path, 0, ret, NULL) == 0 && ret->len &&
		    ret->data[ret->len - 1] == '\n')
			return true;
		usleep(5000);
	}
	return false;
}

/* kill -9 of the pool's owner: the worker, and a daemon of its run, end as well. */
static void dies_with_its_owner(void **state)
{
	const char *dir = harness_tmpdir();
	CLEANUP_FREE char *path = path_join(dir, "pid");
	CLEANUP(buf) struct buf text = {0};
	int worker = 0, daemon = 0;
	pid_t pid = fork();
	bool gone = false;

	(void)state;
	if (pid == 0) {
		struct pool *p;

		alarm(30); /* whatever comes of the test */
		p = make(2, 0, false);

		submit(p, 1,
		       "setsid sh -c 'echo $$ >d; sleep 60' & sleep 0.2; "
		       "echo $PPID $(cat d) >p; mv p pid; sleep 60",
		       0);
		submit(p, 2, "sleep 60", 0);
		pool_dispatch(p, NULL);
		pause();
	}
	assert_true(wait_for_file(path, &text));
	assert_int_equal(sscanf(buf_str(&text), "%d %d", &worker, &daemon), 2);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	for (int i = 0; i < 1000 && !gone; i++) {
		struct proc_stat a, b;
		bool w = proc_stat_read(worker, &a) == 0 && a.state != 'Z';
		bool d = proc_stat_read(daemon, &b) == 0 && b.state != 'Z';

		gone = !w && !d;
		usleep(5000);
	}
	assert_true(gone);
	while (waitpid(-1, NULL, 0) > 0) /* they came to us */
		;
}

/* ---- sandboxed ---- */

/* Skips where there is none. The view is the test's directory. */
static struct pool *make_boxed(unsigned workers, struct sandbox *sb)
{
	const struct pool_opts opts = {.workers = workers, .sandbox = sb};
	struct err err = {0};

	sandbox_add_view(sb, harness_tmpdir(), harness_tmpdir(), VIEW_WRITE);
	if (sandbox_check(sb, &err) < 0) {
		print_message("%s\n", err.message);
		sandbox_release(sb);
		return NULL;
	}
	return pool_new(&opts, NULL);
}

static void submit_boxed(struct pool *p, const char *script, enum network network,
			 bool discard)
{
	CLEANUP(strv) struct strv argv = {0}, env = {0};
	const struct pool_run run = {
		.argv = &argv,
		.env = &env,
		.cwd = harness_tmpdir(),
		.timeout_ms = GENERATED_WALL_MS,
		.limits = GENERATED_LIMITS,
		.network = network,
		.discard = discard,
	};

	strv_add(&argv, "/bin/sh");
	strv_add(&argv, "-c");
	strv_add(&argv, script);
	strv_add(&env, "PATH=/usr/bin:/bin");
	assert_int_equal(pool_submit(p, &run, NULL), 0);
}

static void runs_in_the_sandbox(void **state)
{
	static const struct {
		const char *script, *out;
		enum network network;
		bool discard;
		enum run_end end;
	} cases[] = {
		{"echo kept >a; cat a", "kept\n", NETWORK_NONE, false, RUN_EXITED},
		{"echo gone >b; cat a b", "kept\ngone\n", NETWORK_NONE, true, RUN_EXITED},
		{"ls; echo x >/tmp/x", "a\n", NETWORK_LOOPBACK, false, RUN_EXITED},
		{"ls /tmp/x || echo none", "none\n", NETWORK_NONE, false, RUN_EXITED},
		{"grep -c : /proc/net/dev", "1\n", NETWORK_LOOPBACK, false, RUN_EXITED},
		{"kill -SEGV $$", "", NETWORK_NONE, false, RUN_SIGNALED},
		{"while :; do :; done", "", NETWORK_NONE, true, RUN_TIMED_OUT},
		{"yes", NULL, NETWORK_NONE, false, RUN_OVER_OUTPUT},
		{"echo on", "on\n", NETWORK_NONE, false, RUN_EXITED},
	};
	struct sandbox sb = {0};
	struct pool *p = make_boxed(1, &sb);

	(void)state;
	if (!p)
		skip();
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(pool_result) struct pool_result r = {0};

		submit_boxed(p, cases[i].script, cases[i].network, cases[i].discard);
		next(p, &r);
		if (cases[i].end != RUN_TIMED_OUT)
			assert_int_equal(r.run.end, cases[i].end);
		else /* both limits are 5 s */
			assert_true(run_result_late(&r.run));
		if (cases[i].out)
			assert_string_equal(buf_str(&r.out), cases[i].out);
		else
			assert_in_range(r.out.len, 1000, 1 << 20);
	}
	pool_free(p);
	sandbox_release(&sb);
	nobody_left();
}

/* The zygote is killed while it waits: the next run is started by another. */
static void replaces_dead_zygotes(void **state)
{
	struct sandbox sb = {0};
	struct pool *p = make_boxed(1, &sb);
	pid_t pids[16], killed = 0;

	(void)state;
	if (!p)
		skip();
	for (unsigned i = 0; i < 3; i++) {
		CLEANUP(pool_result) struct pool_result r = {0};
		size_t n;

		submit_boxed(p, "echo on", NETWORK_NONE, false);
		next(p, &r);
		assert_int_equal(r.run.end, RUN_EXITED);
		assert_string_equal(buf_str(&r.out), "on\n");
		n = proc_descendants(getpid(), pids, ARRAY_SIZE(pids));
		for (size_t j = 0; j < n && j < ARRAY_SIZE(pids); j++) {
			struct proc_stat st;

			if (proc_stat_read(pids[j], &st) == 0 && st.ppid != getpid() &&
			    st.state != 'Z') {
				kill(pids[j], SIGKILL);
				killed++;
			}
		}
	}
	assert_int_equal(killed, 3);
	pool_free(p);
	sandbox_release(&sb);
	nobody_left();
}

static void loses_a_sandboxed_run(void **state)
{
	struct sandbox sb = {0};
	struct pool *p = make_boxed(1, &sb);
	CLEANUP(pool_result) struct pool_result lost = {0}, again = {0};
	pid_t pids[16];
	size_t n;

	(void)state;
	if (!p)
		skip();
	submit_boxed(p, "sleep 60 & setsid sleep 60", NETWORK_NONE, false);
	pool_dispatch(p, NULL);
	usleep(200000);
	n = proc_descendants(getpid(), pids, ARRAY_SIZE(pids));
	for (size_t i = 0; i < n && i < ARRAY_SIZE(pids); i++) {
		struct proc_stat st;

		if (proc_stat_read(pids[i], &st) == 0 && st.ppid == getpid())
			kill(pids[i], SIGKILL); /* the worker */
	}
	next(p, &lost);
	assert_int_equal(lost.run.end, RUN_LOST);
	assert_int_equal(proc_descendants(getpid(), pids, ARRAY_SIZE(pids)), 0);
	submit_boxed(p, "echo on", NETWORK_NONE, false);
	next(p, &again);
	assert_string_equal(buf_str(&again.out), "on\n");
	pool_free(p);
	sandbox_release(&sb);
	nobody_left();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		HARNESS_TEST(tells_ends_apart),
		HARNESS_TEST(says_what_could_not_start),
		HARNESS_TEST(keeps_order),
		HARNESS_TEST(is_fair_without_order),
		HARNESS_TEST(has_bounds),
		HARNESS_TEST(refuses),
		HARNESS_TEST(replaces_dead_workers),
		HARNESS_TEST(spares_the_others),
		HARNESS_TEST(cancels),
		HARNESS_TEST(cancels_only_what_runs),
		HARNESS_TEST(reuses_its_files),
		HARNESS_TEST(streams),
		HARNESS_TEST(passes_stdin),
		HARNESS_TEST(dies_with_its_owner),
		HARNESS_TEST(runs_in_the_sandbox),
		HARNESS_TEST(replaces_dead_zygotes),
		HARNESS_TEST(loses_a_sandboxed_run),
	};

	return HARNESS_RUN(tests);
}
