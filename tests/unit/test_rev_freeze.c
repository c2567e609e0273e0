#include "rev_fixture.h"

#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <time.h>

/* Every byte of the user's repository, but for the store; and what git makes of it. */
static char *footprint(const char *dir)
{
	return shell(dir, "export GIT_OPTIONAL_LOCKS=0;"
			  "find .git -path .git/exitpath -prune -o -type f -exec "
			  "sha256sum {} + | sort -k2; find .git -path .git/exitpath "
			  "-prune -o -type d -print | sort; git stash list;"
			  "git worktree list; git status --porcelain -uall --ignored;"
			  "git for-each-ref");
}

static void unchanged_tree_is_head(void **state)
{
	char *dir = fixture_repo(), *head = shell(dir, "git rev-parse HEAD");
	struct repo *r = open_ok(dir, NULL);
	struct revision_info rev;

	(void)state;
	run_in(dir, "echo x >a.o; mkdir out; echo y >out/z; touch a.c");
	rev = resolve_ok(r, REV_WORKTREE);
	assert_string_equal(rev.name, REV_WORKTREE);
	assert_string_equal(rev.commit, head);
	assert_string_equal(rev.subject, "second");
	revision_free(&rev);
	repo_close(r);
	free(head);
	free(dir);
}

/* What the user has in all the places where git keeps state, before each case. */
#define BUSY                                                                        \
	"echo stashed >a.c; git stash -q; git worktree add -q ../wt -b side;"       \
	"echo staged >staged.c; git add staged.c; git config core.splitIndex true;" \
	"git update-index --split-index; git update-index --untracked-cache;"

static void user_s_repository_stays_as_it_is(void **state)
{
	static const struct {
		const char *what, *script;
		const char *want; /* of the checks in the checkout */
		const char *check;
	} cases[] = {
		{"modified", "echo three >a.c", "three", "cat a.c"},
		{"staged and modified", "echo s1 >a.c; git add a.c; echo s2 >a.c", "s2",
		 "cat a.c"},
		{"untracked", "mkdir -p n/m; echo u >n/m/u", "u", "cat n/m/u"},
		{"ignored", "echo o >x.o; echo k >k.c", "no", "test -e x.o || echo no"},
		{"tracked although ignored",
		 "echo 1 >t.o; git add -f t.o; git commit -qm t; echo 2 >t.o", "2",
		 "cat t.o"},
		{"deleted", "rm sub/s.txt", "no", "test -e sub/s.txt || echo no"},
		{"deleted in the index", "git rm -q --cached a.c", "two", "cat a.c"},
		{"intent to add", "echo i >i.c; git add -N i.c", "i", "cat i.c"},
		{"executable", "chmod +x a.c", "yes", "test -x a.c && echo yes"},
		{"link", "ln -s a.c l; ln -s nowhere d", "a.c\nnowhere",
		 "readlink l; readlink d"},
		{"file becomes directory", "rm a.c; mkdir a.c; echo in >a.c/b", "in",
		 "cat a.c/b"},
		{"odd names", "printf x >'a b'; printf y >\"$(printf 'n\\nl\\351\"')\"",
		 "xy", "cat 'a b' \"$(printf 'n\\nl\\351\"')\""},
		{"CRLF",
		 "echo 'a.txt text eol=crlf' >.gitattributes;"
		 "printf 'l\\r\\n' >a.txt",
		 "6c0d0a", "od -An -tx1 a.txt | tr -d ' \\n'"},
		{"pathspec magic in a name", "echo m >':(top)x'", "m", "cat ':(top)x'"},
		{"a fifo", "mkfifo p; echo q >q", "no", "test -e p || echo no"},
		{"an abandoned index.lock", "echo l >a.c; : >.git/index.lock", "l",
		 "cat a.c"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char *dir = fixture_repo(), *before, *after, *got;
		struct revision_info rev, again;
		struct checkout c;
		struct repo *r;

		run_in(dir, BUSY);
		run_in(dir, cases[i].script);
		before = footprint(dir);
		r = open_ok(dir, NULL);
		rev = resolve_ok(r, REV_WORKTREE);
		again = resolve_ok(r, REV_WORKTREE);
		assert_string_equal(rev.commit, again.commit);
		assert_string_equal(rev.tree, again.tree);
		assert_string_equal(rev.name, REV_WORKTREE);
		revision_free(&again);
		c = get_ok(r, rev.commit, NULL);
		got = shell(c.dir, cases[i].check);
		if (strcmp(got, cases[i].want) != 0)
			fail_msg("%s: '%s' instead of '%s'", cases[i].what, got,
				 cases[i].want);
		free(got);
		expect(c.dir,
		       "git status --porcelain; cat staged.c; git log --format=%s | sed "
		       "'s/ on top of .*//'",
		       strstr(cases[i].what, "tracked although")
			       ? "staged\nworking tree\nt\nsecond\nfirst"
			       : "staged\nworking tree\nsecond\nfirst");
		checkout_release(&c);
		revision_free(&rev);
		repo_close(r);
		after = footprint(dir);
		if (strcmp(before, after) != 0)
			fail_msg("%s: before\n%s\nafter\n%s", cases[i].what, before,
				 after);
		free(before);
		free(after);
		run_in(harness_tmpdir(), "rm -rf my* wt");
		free(dir);
	}
}

static void same_content_gives_the_same_commit(void **state)
{
	char *dir = fixture_repo(), *first, *store = at("other store");
	struct repo *r = open_ok(dir, NULL);
	struct revision_info rev;

	(void)state;
	run_in(dir, "echo three >a.c");
	rev = resolve_ok(r, REV_WORKTREE);
	first = xstrdup(rev.commit);
	revision_free(&rev);
	repo_close(r);
	/* Another store, time, identity, index. */
	run_in(dir, "git add a.c; sleep 1");
	setenv("GIT_AUTHOR_NAME", "B", 1);
	setenv("GIT_COMMITTER_DATE", "@1 +0500", 1);
	r = open_ok(dir, store);
	rev = resolve_ok(r, REV_WORKTREE);
	assert_string_equal(rev.commit, first);
	revision_free(&rev);
	/* A frozen commit is a revision like others. */
	rev = resolve_ok(r, first);
	assert_contains(rev.subject, "working tree on top of");
	revision_free(&rev);
	unsetenv("GIT_COMMITTER_DATE");
	run_in(dir, "echo four >a.c");
	rev = resolve_ok(r, REV_WORKTREE);
	assert_string_not_equal(rev.commit, first);
	revision_free(&rev);
	repo_close(r);
	free(store);
	free(first);
	free(dir);
}

/* A file changed right after `git add`, to the same size within git's granularity:
 * only the index's own time tells git to look again. */
static void sees_what_changed_while_it_was_added(void **state)
{
	char *dir = fixture_repo();
	struct repo *r = open_ok(dir, NULL);
	struct checkout c;

	(void)state;
	run_in(dir,
	       "echo s1 >a.c; touch -d @1700000000 a.c; git config core.trustctime "
	       "false; git add a.c; echo s2 >a.c; touch -d @1700000000 a.c .git/index");
	c = get_ok(r, REV_WORKTREE, NULL);
	expect(c.dir, "cat a.c", "s2");
	checkout_release(&c);
	repo_close(r);
	free(dir);
}

static void keeps_a_sparse_checkout_whole(void **state)
{
	char *dir = fixture_repo();
	struct repo *r;
	struct checkout c;

	(void)state;
	run_in(dir, "mkdir big; echo b >big/b; git add big; git commit -qm big;"
		    "git sparse-checkout set --cone sub; test ! -e big/b;"
		    "echo changed >sub/s.txt; mkdir wide; echo new >wide/n");
	r = open_ok(dir, NULL);
	c = get_ok(r, REV_WORKTREE, NULL);
	expect(c.dir, "cat big/b sub/s.txt wide/n", "b\nchanged\nnew");
	checkout_release(&c);
	repo_close(r);
	free(dir);
}

static void refuses_what_cannot_be_frozen(void **state)
{
	static const struct {
		const char *what, *script, *message, *hint;
	} cases[] = {
		{"no commits", "rm -rf .git; git init -q", "no commits yet", "commit"},
		{"conflict",
		 "git checkout -qb b HEAD^; echo x >a.c; git commit -qam x;"
		 "git merge -q main >/dev/null || :",
		 "merge conflicts: a.c", "git merge --abort"},
		{"nested repository without commits", "git init -q nest; echo x >nest/x",
		 "cannot freeze the working tree", ".gitignore"},
		{"damaged index", "echo x >.git/index", "index", "git reset"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char *dir = fixture_repo(), *left;
		struct revision_info rev = {0};
		struct err err = {0};
		struct repo *r;

		run_in(dir, cases[i].script);
		r = open_ok(dir, NULL);
		if (rev_resolve(r, REV_WORKTREE, &rev, &err) == 0)
			fail_msg("%s was frozen", cases[i].what);
		assert_null(rev.commit);
		if (!strstr(err.message, cases[i].message) ||
		    !strstr(err.hint, cases[i].hint))
			fail_msg("%s: %s (%s)", cases[i].what, err.message, err.hint);
		repo_close(r);
		left = shell(harness_tmpdir(), "ls t/exitpath-* 2>/dev/null || true");
		assert_string_equal(left, "");
		free(left);
		run_in(harness_tmpdir(), "rm -rf my*");
		free(dir);
	}
}

/* Root may read everybody's repository; somebody else is stopped by git itself. */
static void names_a_foreign_owner(void **state)
{
	char *dir = fixture_repo();
	pid_t pid;
	int status;

	(void)state;
	if (geteuid() != 0)
		skip();
	run_in(dir, "chmod 755 .. .");
	pid = fork();
	if (pid == 0) {
		struct err err = {0};

		if (setgid(65534) < 0 || setuid(65534) < 0)
			_exit(1);
		_exit(repo_open(dir, NULL, &err) || err.kind != ERR_USAGE ||
		      !strstr(err.message, "another user") ||
		      !strstr(err.hint, "safe.directory"));
	}
	waitpid(pid, &status, 0);
	assert_int_equal(status, 0);
	free(dir);
}

/* As a user would have it: owned by whoever reads it, and no write bit anywhere. */
static void reads_its_own_read_only_repository(void **state)
{
	char *dir = fixture_repo(), *store = at("store");
	pid_t pid;
	int status;

	(void)state;
	run_in(dir, "echo three >a.c; chmod -R a-w . ; mkdir ../store;"
		    "chmod 777 ../store ../t; chmod 755 ..;"
		    "test $(id -u) != 0 || chown -R 65534:65534 .");
	pid = fork();
	if (pid == 0) {
		struct err err = {0};
		struct revision_info rev;
		struct checkout c;
		struct repo *r;

		if (geteuid() == 0 && (setgid(65534) < 0 || setuid(65534) < 0))
			_exit(1);
		r = repo_open(dir, NULL, &err);
		if (r || err.kind != ERR_ENVIRONMENT || !strstr(err.hint, "--store"))
			_exit(2);
		r = repo_open(dir, store, &err);
		if (!r || rev_resolve(r, REV_WORKTREE, &rev, &err) < 0 ||
		    checkout_get(r, &rev, DIGEST, NULL, false, NULL, NULL, &c, &err) <
			    0) {
			fprintf(stderr, "%s (%s)\n", err.message, err.hint);
			_exit(3);
		}
		_exit(0);
	}
	waitpid(pid, &status, 0);
	run_in(dir, "chmod -R u+w . ../store");
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	free(store);
	free(dir);
}

/* Runs in a child whose mounts are its own. 77: mounting is not allowed here. */
static int freeze_on_a_full_disk(const char *dir, const char *store)
{
	struct revision_info rev = {0};
	struct err err = {0};
	struct repo *r;

	if (unshare(CLONE_NEWNS) < 0 ||
	    mount("", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("full", store, "tmpfs", 0, "size=256k") < 0)
		return 77;
	r = repo_open(dir, store, &err);
	if (!r || rev_resolve(r, REV_WORKTREE, &rev, &err) == 0)
		return 1;
	if (err.kind != ERR_ENVIRONMENT || !strstr(err.hint, "disk space"))
		return 2;
	repo_close(r);
	return 0;
}

static void says_that_the_disk_is_full(void **state)
{
	char *dir = fixture_repo(), *store = at("store");
	pid_t pid;
	int status;

	(void)state;
	run_in(dir, "head -c 2000000 /dev/urandom >big; mkdir ../store");
	pid = fork();
	if (pid == 0)
		_exit(freeze_on_a_full_disk(dir, store)); /* runs no leak check */
	waitpid(pid, &status, 0);
	free(store);
	free(dir);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == 77)
		skip();
	assert_int_equal(WEXITSTATUS(status), 0);
}

/* SIGKILL at any moment of a freeze and a checkout; then it works as if never begun. */
static void survives_a_kill(void **state)
{
	char *dir = fixture_repo(), *before, *after;
	struct repo *r;
	struct checkout c;

	(void)state;
	run_in(dir, BUSY "for i in $(seq 60); do echo $i >f$i.c; done");
	before = footprint(dir);
	for (unsigned i = 0; i < 25; i++) {
		struct timespec wait = {.tv_nsec = 1000000L + 4000000L * (long)i};
		pid_t pid = fork();

		if (pid == 0) {
			struct revision_info rev;
			struct err err = {0};

			setpgid(0, 0);
			r = repo_open(dir, NULL, &err);
			if (!r || rev_resolve(r, REV_WORKTREE, &rev, &err) < 0 ||
			    checkout_get(r, &rev, DIGEST, NULL, false, NULL, NULL, &c,
					 &err)) {
				fprintf(stderr, "after kill %u: %s\n", i, err.message);
				_exit(1);
			}
			for (;;)
				pause();
		}
		setpgid(pid, pid);
		nanosleep(&wait, NULL);
		kill(-pid, SIGKILL);
		waitpid(pid, &(int){0}, 0);
		after = footprint(dir);
		assert_string_equal(before, after);
		free(after);
	}
	r = open_ok(dir, NULL);
	expect(harness_tmpdir(), "ls t/exitpath-* 2>/dev/null || true", "");
	c = get_ok(r, REV_WORKTREE, NULL);
	expect(c.dir, "cat f60.c staged.c; git status --porcelain", "60\nstaged");
	checkout_release(&c);
	repo_close(r);
	free(before);
	free(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		HARNESS_TEST(unchanged_tree_is_head),
		HARNESS_TEST(user_s_repository_stays_as_it_is),
		HARNESS_TEST(same_content_gives_the_same_commit),
		HARNESS_TEST(sees_what_changed_while_it_was_added),
		HARNESS_TEST(keeps_a_sparse_checkout_whole),
		HARNESS_TEST(refuses_what_cannot_be_frozen),
		HARNESS_TEST(names_a_foreign_owner),
		HARNESS_TEST(reads_its_own_read_only_repository),
		HARNESS_TEST(says_that_the_disk_is_full),
		HARNESS_TEST(survives_a_kill),
	};

	return HARNESS_RUN(tests);
}
