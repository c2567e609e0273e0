#include "rev_fixture.h"

#include <signal.h>
#include <sys/stat.h>
#include <utime.h>

static struct gc_stats gc_ok(struct repo *r, unsigned days)
{
	struct gc_stats stats = {0};
	struct err err = {0};

	if (repo_gc(r, days, &stats, &err) < 0)
		fail_msg("%s (%s)", err.message, err.hint);
	return stats;
}

static void removes_what_is_old(void **state)
{
	char *dir = fixture_repo();
	struct repo *r = open_ok(dir, NULL);
	struct checkout c = get_ok(r, "main", NULL), d = get_ok(r, "main^", NULL);
	struct gc_stats stats;

	(void)state;
	run_in(c.dir, "head -c 1000000 /dev/zero >big.o; mkdir ro; echo >ro/f;"
		      "chmod 555 ro");
	checkout_release(&c);
	checkout_release(&d);
	stats = gc_ok(r, 1);
	assert_int_equal(stats.checkouts, 0);
	run_in(dir, "cd .git/exitpath/trees; for s in */state.json; do "
		    "grep -l \"$(git rev-parse main)\" $s | xargs -r sed -i "
		    "'s/\"last_used\": [0-9]*/\"last_used\": 1000000/'; done");
	stats = gc_ok(r, 1);
	assert_int_equal(stats.checkouts, 1);
	assert_true(stats.bytes >= 1000000);
	stats = gc_ok(r, 0);
	assert_int_equal(stats.checkouts, 1);
	expect(dir, "ls .git/exitpath/trees", "");
	c = get_ok(r, "main", NULL);
	expect(c.dir, "cat a.c", "two");
	checkout_release(&c);
	repo_close(r);
	free(dir);
}

static void leaves_what_is_locked(void **state)
{
	char *dir = fixture_repo();
	struct repo *r = open_ok(dir, NULL);
	struct checkout c = get_ok(r, "main", NULL);
	struct gc_stats stats = gc_ok(r, 0);

	(void)state;
	assert_int_equal(stats.checkouts, 0);
	expect(c.dir, "cat a.c", "two");
	checkout_release(&c);
	stats = gc_ok(r, 0);
	assert_int_equal(stats.checkouts, 1);
	repo_close(r);
	free(dir);
}

static void removes_the_trash_of_a_killed_gc(void **state)
{
	char *dir = fixture_repo();
	struct repo *r = open_ok(dir, NULL);
	struct gc_stats stats;

	(void)state;
	run_in(dir, "mkdir -p .git/exitpath/trees/trash.0123.99/src; mkdir "
		    ".git/exitpath/trees/halfmade");
	stats = gc_ok(r, 0);
	assert_int_equal(stats.checkouts, 2);
	expect(dir, "ls .git/exitpath/trees", "");
	repo_close(r);
	free(dir);
}

#define COUNT_OBJECTS \
	"find .git/exitpath/git/objects -type f -path '*/[0-9a-f][0-9a-f]/*' | wc -l"

static void prunes_frozen_commits(void **state)
{
	char *dir = fixture_repo(), *first;
	struct repo *r, *other;
	struct revision_info rev;
	struct checkout c;

	(void)state;
	run_in(dir, "echo three >a.c");
	r = open_ok(dir, NULL);
	rev = resolve_ok(r, REV_WORKTREE);
	first = xstrdup(rev.commit);
	revision_free(&rev);
	/* Frozen through this handle: it may still be checked out. */
	gc_ok(r, 0);
	c = get_ok(r, first, NULL);
	checkout_release(&c);
	repo_close(r);
	expect(dir, COUNT_OBJECTS, "3");
	/* Somebody else has the store open, perhaps with a commit just frozen. */
	other = open_ok(dir, NULL);
	r = open_ok(dir, NULL);
	gc_ok(r, 0);
	expect(dir, COUNT_OBJECTS, "3");
	repo_close(other);
	/* A checkout that stays keeps its commit; another goes. */
	c = get_ok(r, first, NULL);
	run_in(dir, "echo four >a.c");
	rev = resolve_ok(r, REV_WORKTREE);
	revision_free(&rev);
	expect(dir, COUNT_OBJECTS, "6");
	repo_close(r);
	r = open_ok(dir, NULL);
	gc_ok(r, 0);
	expect(dir, COUNT_OBJECTS, "3");
	expect(c.dir, "git fsck 2>&1; cat a.c", "three");
	checkout_release(&c);
	gc_ok(r, 0);
	expect(dir, COUNT_OBJECTS, "0");
	/* And it still works. */
	c = get_ok(r, REV_WORKTREE, NULL);
	expect(c.dir, "cat a.c", "four");
	checkout_release(&c);
	repo_close(r);
	free(first);
	free(dir);
}

/* The user rewrote history and pruned: what we borrowed is gone. */
static void survives_the_user_s_own_gc(void **state)
{
	char *dir = fixture_repo();
	struct repo *r = open_ok(dir, NULL);
	struct checkout c;

	(void)state;
	run_in(dir, "echo three >a.c");
	c = get_ok(r, REV_WORKTREE, NULL);
	checkout_release(&c);
	repo_close(r);
	run_in(dir, "git reset -q --soft HEAD^; git commit -qm rewritten; echo x >z;"
		    "git reflog expire --expire=now --all; git gc -q --prune=now");
	r = open_ok(dir, NULL);
	c = get_ok(r, REV_WORKTREE, NULL);
	expect(c.dir, "cat a.c z; git log --format=%s | sed 's/ on.*//'",
	       "three\nx\nworking tree\nrewritten\nfirst");
	checkout_release(&c);
	gc_ok(r, 0);
	repo_close(r);
	free(dir);
}

static void scratch_is_private_and_short(void **state)
{
	char *dir = fixture_repo(), *a, *b;
	struct repo *r = open_ok(dir, NULL);
	struct err err = {0};
	struct stat st;

	(void)state;
	a = scratch_make(r, &err);
	b = scratch_make(r, &err);
	assert_non_null(a);
	assert_non_null(b);
	assert_string_not_equal(a, b);
	assert_int_equal(stat(a, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0700);
	assert_true(strlen(a) <= strlen(getenv("TMPDIR")) + 32);
	/* In use: another open and a gc leave them. */
	repo_close(open_ok(dir, NULL));
	assert_int_equal(gc_ok(r, 0).scratch, 0);
	assert_true(path_exists(a));
	run_in(a, "mkdir d; echo >d/f; chmod 500 d");
	scratch_remove(a);
	assert_false(path_exists(a));
	scratch_remove(b);
	scratch_remove(b);
	scratch_remove(NULL);
	repo_close(r);
	free(a);
	free(b);
	free(dir);
}

static void scratch_of_the_dead_is_removed(void **state)
{
	char *dir = fixture_repo();
	struct repo *r = open_ok(dir, NULL);
	struct gc_stats stats;
	pid_t pid, child = 0;
	int fds[2];

	(void)state;
	assert_int_equal(pipe(fds), 0);
	pid = fork();
	if (pid == 0) {
		char *scratch = scratch_make(r, NULL);
		struct gc_stats ignored;

		harness_file("ignored", "");
		if (!scratch || repo_gc(r, 0, &ignored, NULL) < 0)
			_exit(1);
		run_in(scratch, "head -c 100000 /dev/zero >f");
		child = fork();
		if (child == 0) { /* as a supervisor that outlives exitpath */
			close(fds[1]);
			for (;;)
				pause();
		}
		if (write(fds[1], &child, sizeof(child)) < 0)
			_exit(1);
		_exit(0);
	}
	assert_int_equal(read(fds[0], &child, sizeof(child)), sizeof(child));
	waitpid(pid, &(int){0}, 0);
	stats = gc_ok(r, 0);
	assert_int_equal(stats.scratch, 0);
	kill(child, SIGKILL);
	/* Not our child: its end is when the pipe's last writer is gone. */
	close(fds[1]);
	while (kill(child, 0) == 0 && stats.scratch == 0) {
		usleep(10000);
		stats = gc_ok(r, 0);
	}
	if (stats.scratch == 0)
		stats = gc_ok(r, 0);
	assert_int_equal(stats.scratch, 1);
	assert_true(stats.bytes >= 100000);
	close(fds[0]);
	repo_close(r);
	free(dir);
}

/* /tmp is everybody's: what is not ours alone is not used. */
static void scratch_distrusts_what_is_there(void **state)
{
	static const struct {
		const char *what, *script;
		bool trusted;
	} cases[] = {
		{"ours", "mkdir -m 700 t/exitpath-$(id -u)", true},
		{"open to others",
		 "mkdir t/exitpath-$(id -u);"
		 "chmod 777 t/exitpath-$(id -u)",
		 false},
		{"a link", "mkdir -m 700 else; ln -s ../else t/exitpath-$(id -u)", false},
		{"a file", ": >t/exitpath-$(id -u)", false},
		{"no such TMPDIR", "rmdir t", false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char *dir = fixture_repo(), *scratch;
		struct err err = {0};
		struct repo *r;

		run_in(harness_tmpdir(), cases[i].script);
		r = open_ok(dir, NULL);
		scratch = scratch_make(r, &err);
		if (!scratch)
			fail_msg("%s: %s", cases[i].what, err.message);
		if (!strncmp(scratch, getenv("TMPDIR"), strlen(getenv("TMPDIR"))) !=
		    cases[i].trusted)
			fail_msg("%s: %s", cases[i].what, scratch);
		scratch_remove(scratch);
		repo_close(r);
		run_in(harness_tmpdir(), "rm -rf my* t else");
		free(scratch);
		free(dir);
	}
}

static void scratch_is_where_it_can_be_named(void **state)
{
	static const struct {
		const char *dir; /* below the test's; NULL: TMPDIR is not set */
		bool used;
	} cases[] = {
		{"t", true},
		{"w\303\266", true},
		{"a b", false},
		{"a:b", false},
		{"a$b", false},
		{"a,b", false},
		{"a'b", false},
		{"a\"b", false},
		{"a\\b", false},
		{"a\nb", false},
		{NULL, false},
		{"t/not there", false},
		{"a-directory-whose-name-has-more-than-fifty-six-bytes-in-all", false},
	};
	char *dir = fixture();

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char *tmp = cases[i].dir ? at(cases[i].dir) : NULL;

		if (tmp) {
			if (!strstr(tmp, "/not"))
				assert_int_equal(make_dirs(tmp, 0700, NULL), 0);
			setenv("TMPDIR", tmp, 1);
		} else {
			unsetenv("TMPDIR");
		}
		if (strcmp(scratch_parent(), cases[i].used ? tmp : "/tmp") != 0)
			fail_msg("%s: %s", tmp, scratch_parent());
		free(tmp);
	}
	setenv("TMPDIR", "relative", 1);
	assert_string_equal(scratch_parent(), "/tmp");
	free(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		HARNESS_TEST(removes_what_is_old),
		HARNESS_TEST(leaves_what_is_locked),
		HARNESS_TEST(removes_the_trash_of_a_killed_gc),
		HARNESS_TEST(prunes_frozen_commits),
		HARNESS_TEST(survives_the_user_s_own_gc),
		HARNESS_TEST(scratch_is_private_and_short),
		HARNESS_TEST(scratch_of_the_dead_is_removed),
		HARNESS_TEST(scratch_distrusts_what_is_there),
		HARNESS_TEST(scratch_is_where_it_can_be_named),
	};

	return HARNESS_RUN(tests);
}
