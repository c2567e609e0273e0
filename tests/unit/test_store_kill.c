/*
 * What no finished record may fall to: kill -9 at any moment, several writers at once, a
 * full disk, a read-only one.
 */
#include "store_fixture.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* In a child, cmocka's assertions would run the parent's tests: it only exits. */
#define CHILD_CHECK(what)                                              \
	do {                                                           \
		if (!(what)) {                                         \
			fprintf(stderr, "child: line %d\n", __LINE__); \
			_exit(1);                                      \
		}                                                      \
	} while (0)

static int child_status(pid_t pid)
{
	int status = -1;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

/* Records runs for ever; says the number of each that store_finish() has promised. */
static void record_for_ever(const char *dir, int out)
{
	struct store *s = store_open(dir, NULL);

	CHILD_CHECK(s);
	for (unsigned i = 0;; i++) {
		CLEANUP_FREE char *text =
			xasprintf("{\"pid\": %d, \"i\": %u}", getpid(), i);
		CLEANUP_FREE char *id = fixture_run(s, text, NULL);
		long n;

		CHILD_CHECK(id);
		n = strtol(id + 4, NULL, 10);
		CHILD_CHECK(write(out, &n, sizeof(n)) == sizeof(n));
	}
}

/* Starts a recorder, kills it after delay_us; adds what it promised to promised[]. */
static void kill_one(const char *dir, unsigned delay_us, char *promised, size_t cap)
{
	int fds[2];
	pid_t pid;
	long n;
	struct timespec t = {.tv_nsec = delay_us * 1000L};

	assert_int_equal(pipe(fds), 0);
	pid = fork();
	if (pid == 0) {
		close(fds[0]);
		record_for_ever(dir, fds[1]);
	}
	close(fds[1]);
	nanosleep(&t, NULL);
	kill(pid, SIGKILL);
	assert_int_equal(child_status(pid), -SIGKILL);
	while (read(fds[0], &n, sizeof(n)) == sizeof(n)) {
		assert_in_range(n, 1, cap - 1);
		promised[n] = 1;
	}
	close(fds[0]);
}

enum { KILLS = 50, RUNS_MAX = 100000 };

static void kill_at_any_moment(void **state)
{
	CLEANUP_FREE char *dir = path_join(harness_tmpdir(), "store");
	CLEANUP_FREE char *promised = xcalloc(RUNS_MAX, 1);
	struct run_row *rows = NULL;
	size_t n = 0, aborted = 0, finished = 0, expected = 0;
	struct store *s;
	uint64_t bytes;
	unsigned seed = 1;

	(void)state;
	for (int i = 0; i < KILLS; i++) {
		struct verify_stats stats = {0};

		seed = seed * 1103515245 + 12345;
		kill_one(dir, (seed >> 8) % 40000, promised, RUNS_MAX);
		if (fixture_problems(dir, &stats) != 0)
			fail_msg("after kill %d: %s", i,
				 stats.problems.n ? stats.problems.v[0] : "unreadable");
		strv_release(&stats.problems);
	}
	s = fixture_open(dir);
	assert_int_equal(store_list(s, 0, &rows, &n, NULL), 0);
	for (size_t i = 0; i < n; i++) {
		long id = strtol(rows[i].run_id + 4, NULL, 10);
		bool is_finished = !strcmp(rows[i].state, "finished");

		if (promised[id] && !is_finished)
			fail_msg("run-%ld is lost", id);
		expected += !!promised[id];
		promised[id] = 0;
		finished += is_finished;
		aborted += !strcmp(rows[i].state, "aborted");
		run_row_release(&rows[i]);
	}
	free(rows);
	assert_null(memchr(promised, 1, RUNS_MAX));
	assert_int_equal(finished + aborted, n);
	assert_in_range(expected, 1, finished);
	print_message("# %zu finished (%zu promised), %zu aborted\n", finished, expected,
		      aborted);
	/* What the killed ones left behind goes, what the records name stays. */
	assert_int_equal(store_gc(s, 0, &bytes, NULL), 0);
	store_close(s);
	assert_int_equal(fixture_problems(dir, NULL), 0);
}

static void writers_at_once(void **state)
{
	CLEANUP_FREE char *dir = path_join(harness_tmpdir(), "store");
	struct verify_stats stats = {0};
	pid_t pids[4];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(pids); i++) {
		pids[i] = fork();
		if (pids[i] == 0) {
			for (int k = 0; k < 10; k++) {
				struct err err = {0};
				struct store *s = store_open(dir, &err);
				char *id = s ? fixture_run(s, k % 2 ? "a" : "b", &err)
					     : NULL;
				uint64_t bytes;

				if (!id)
					fprintf(stderr, "%s\n", err.message);
				CHILD_CHECK(id);
				if (k == 5 && i == 0)
					CHILD_CHECK(store_gc(s, 1, &bytes, &err) == 0);
				free(id);
				store_close(s);
			}
			_exit(0);
		}
	}
	for (size_t i = 0; i < ARRAY_SIZE(pids); i++)
		assert_int_equal(child_status(pids[i]), 0);
	assert_int_equal(fixture_problems(dir, &stats), 0);
	assert_int_equal(stats.records, 40);
}

/* A mount namespace of our own, with a file system of `size` at dir; false: may not. */
static bool private_mount(const char *dir, const char *size)
{
	return unshare(CLONE_NEWNS) == 0 &&
	       mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
	       mount("exitpath", dir, "tmpfs", 0, size) == 0;
}

enum { CHILD_SKIP = 77 };

static void expect_child(pid_t pid)
{
	int status = child_status(pid);

	if (status == CHILD_SKIP) {
		print_message("# skipped: cannot mount in a namespace of its own\n");
		skip();
	}
	assert_int_equal(status, 0);
}

static void fill_disk(const char *dir)
{
	CLEANUP_FREE char *path = path_join(dir, "store");
	CLEANUP_FREE char *noise = xcalloc(1, 20001);
	struct err err = {0};
	struct store *s;
	unsigned finished = 0, seed = 1;
	char *id;

	if (!private_mount(dir, "size=600k"))
		_exit(CHILD_SKIP);
	s = store_open(path, &err);
	CHILD_CHECK(s);
	for (;;) {
		for (size_t i = 0; i < 20000; i++) {
			seed = seed * 1103515245 + 12345;
			noise[i] = (char)('!' + (seed >> 16) % 64);
		}
		id = fixture_run(s, noise, &err);
		if (!id)
			break;
		free(id);
		finished++;
	}
	CHILD_CHECK(finished > 2 && err.kind == ERR_ENVIRONMENT);
	CHILD_CHECK(strstr(err.message, path) && strstr(err.hint, "--store DIR"));
	/* Now the database itself: what is left goes to an endless row of begun runs. */
	while ((id = store_begin(s, "gate", DIGEST, &err)))
		free(id);
	CHILD_CHECK(strstr(err.message, path) && strstr(err.hint, "free space"));
	store_close(s);
	CHILD_CHECK(mount(NULL, dir, NULL, MS_REMOUNT, "size=4m") == 0);
	{
		struct verify_stats stats = {0};

		CHILD_CHECK(fixture_problems(path, &stats) == 0);
		CHILD_CHECK(stats.records == finished);
	}
	s = store_open(path, &err);
	CHILD_CHECK(s);
	id = fixture_run(s, noise, &err);
	CHILD_CHECK(id);
	free(id);
	store_close(s);
	_exit(0);
}

static void full_disk(void **state)
{
	const char *dir = harness_tmpdir();
	pid_t pid;

	(void)state;
	pid = fork();
	if (pid == 0)
		fill_disk(dir);
	expect_child(pid);
}

static void write_protected(const char *dir)
{
	CLEANUP_FREE char *path = path_join(dir, "store");
	struct err err = {0};
	struct store *s;
	char hex[SHA256_HEX];

	if (!private_mount(dir, "size=4m"))
		_exit(CHILD_SKIP);
	s = store_open(path, &err);
	CHILD_CHECK(s);
	free(fixture_run(s, "x", &err));
	store_close(s);
	CHILD_CHECK(mount(NULL, dir, NULL, MS_REMOUNT | MS_RDONLY, NULL) == 0);
	s = store_open(path, &err);
	CHILD_CHECK(!s && err.kind == ERR_ENVIRONMENT);
	CHILD_CHECK(strstr(err.message, path) && strstr(err.hint, "--store DIR"));
	CHILD_CHECK(mount(NULL, dir, NULL, MS_REMOUNT, NULL) == 0);
	s = store_open(path, &err);
	CHILD_CHECK(s);
	CHILD_CHECK(mount("exitpath", path, "tmpfs", MS_RDONLY, NULL) == 0);
	CHILD_CHECK(store_artifact(s, "y", 1, hex, &err) == -1 && *err.hint);
	CHILD_CHECK(umount(path) == 0);
	store_close(s);
	_exit(0);
}

static void read_only_disk(void **state)
{
	const char *dir = harness_tmpdir();
	pid_t pid;

	(void)state;
	pid = fork();
	if (pid == 0)
		write_protected(dir);
	expect_child(pid);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		HARNESS_TEST(kill_at_any_moment),
		HARNESS_TEST(writers_at_once),
		HARNESS_TEST(full_disk),
		HARNESS_TEST(read_only_disk),
	};

	return HARNESS_RUN(tests);
}
