#include "harness.h"

#include "base/macros.h"
#include "proc/tree.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define TAIL " S 7 42 42 0 -1 4194560 1 2 3 4 5 60 700 8000 20 0 3 0 4711 99 1\n"

static void parses_any_comm(void **state)
{
	static const struct {
		const char *comm, *ret_comm;
	} cases[] = {
		{"sh", "sh"},
		{"a b", "a b"},
		{"", ""},
		{") R 1 (", ") R 1 ("},
		{"x) Z 1 1", "x) Z 1 1"},
		{"new\nline", "new\nline"},
		{"((((", "(((("},
		{"))))", "))))"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char text[256];
		struct proc_stat st = {0};

		snprintf(text, sizeof(text), "42 (%s)" TAIL, cases[i].comm);
		assert_int_equal(proc_stat_parse(text, strlen(text), &st), 0);
		assert_string_equal(st.comm, cases[i].ret_comm);
		assert_int_equal(st.pid, 42);
		assert_int_equal(st.ppid, 7);
		assert_int_equal(st.state, 'S');
		assert_int_equal(st.flags, 4194560);
		assert_int_equal(st.threads, 3);
		assert_int_equal(st.cpu, 8765);
		assert_int_equal(st.start, 4711);
	}
}

static void refuses_what_is_no_stat(void **state)
{
	static const char *const cases[] = {
		"",
		"42",
		"42 (sh",
		"42 sh)" TAIL,
		"(sh)" TAIL,
		" (sh)" TAIL,
		"0 (sh)" TAIL,
		"-1 (sh)" TAIL,
		"99999999999999999999 (sh)" TAIL,
		")42 (sh",
		"42 (sh)",
		"42 (sh) S",
		"42 (sh) 1 7 42" TAIL,
		"42 (sh) S 7 42 42 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 3 0",
		"42 (sh) S -7 42 42 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 3 0 4711 99\n",
		"42 (sh) S 7 42 x 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 3 0 4711 99\n",
		"42 (sh) S 7 42 42 0 -1 99999999999999999999999 1 2 3 4 5 6 7 8 20 0 3 0 "
		"4711 99\n",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct proc_stat st = {.pid = 123};

		assert_int_equal(proc_stat_parse(cases[i], strlen(cases[i]), &st), -1);
		assert_int_equal(st.pid, 123);
	}
}

static void cuts_a_long_comm(void **state)
{
	char text[512];
	struct proc_stat st;

	(void)state;
	snprintf(text, sizeof(text), "42 (%0100d)" TAIL, 0);
	assert_int_equal(proc_stat_parse(text, strlen(text), &st), 0);
	assert_int_equal(strlen(st.comm), sizeof(st.comm) - 1);
}

static void reads_itself(void **state)
{
	struct proc_stat st;

	(void)state;
	assert_int_equal(prctl(PR_SET_NAME, "a) R (b"), 0);
	assert_int_equal(proc_stat_read(getpid(), &st), 0);
	assert_int_equal(st.pid, getpid());
	assert_int_equal(st.ppid, getppid());
	assert_int_equal(st.state, 'R');
	assert_string_equal(st.comm, "a) R (b");
	assert_true(st.threads >= 1);
	assert_int_equal(proc_stat_read(0x7ffffff0, &st), -1);
}

/* A child that has a child; both sleep. Returns the pid of the first. */
static pid_t make_family(pid_t *ret_grandchild)
{
	int fds[2];
	pid_t pid, grandchild;

	assert_int_equal(pipe(fds), 0);
	pid = fork();
	if (pid == 0) {
		grandchild = fork();
		if (grandchild == 0)
			for (;;)
				pause();
		if (write(fds[1], &grandchild, sizeof(grandchild)) < 0)
			_exit(1);
		for (;;)
			pause();
	}
	assert_int_equal(read(fds[0], ret_grandchild, sizeof(pid_t)), sizeof(pid_t));
	close(fds[0]);
	close(fds[1]);
	return pid;
}

static void finds_and_kills_descendants(void **state)
{
	pid_t grandchild, child = make_family(&grandchild), found[4] = {0};

	(void)state;
	assert_int_equal(proc_descendants(getpid(), found, 4), 2);
	assert_true((found[0] == child && found[1] == grandchild) ||
		    (found[1] == child && found[0] == grandchild));
	/* more than fit: the number is told all the same */
	found[1] = 0;
	assert_int_equal(proc_descendants(getpid(), found, 1), 2);
	assert_int_equal(found[1], 0);
	assert_int_equal(proc_descendants(child, found, 4), 1);
	assert_int_equal(found[0], grandchild);

	assert_int_equal(proc_kill_descendants(child), 1);
	assert_int_equal(kill(child, 0), 0);
	assert_int_equal(proc_kill_descendants(getpid()), 1);
	assert_int_equal(waitpid(child, NULL, WNOHANG), -1); /* was reaped */
	assert_int_equal(proc_kill_descendants(getpid()), 0);
	assert_int_equal(proc_descendants(getpid(), found, 4), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		HARNESS_TEST(parses_any_comm),
		HARNESS_TEST(refuses_what_is_no_stat),
		HARNESS_TEST(cuts_a_long_comm),
		HARNESS_TEST(reads_itself),
		HARNESS_TEST(finds_and_kills_descendants),
	};

	/* orphans of this test are its own */
	prctl(PR_SET_CHILD_SUBREAPER, 1UL, 0UL, 0UL, 0UL);
	return HARNESS_RUN(tests);
}
