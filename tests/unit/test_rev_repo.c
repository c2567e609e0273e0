#include "rev_fixture.h"

#include <sys/stat.h>

static void finds_the_repository(void **state)
{
	char *dir = fixture_repo(), *sub = path_join(dir, "sub");
	char *store = path_join(dir, ".git/exitpath");
	struct repo *r = open_ok(sub, NULL);

	(void)state;
	assert_string_equal(repo_top(r), dir);
	assert_string_equal(repo_store(r), store);
	assert_string_equal(repo_name(r), "my répo");
	assert_string_equal(repo_prefix(r), "sub");
	repo_close(r);
	r = open_ok(dir, NULL);
	assert_string_equal(repo_prefix(r), "");
	repo_close(r);
	expect(dir, "git status --porcelain", "");
	free(store);
	free(sub);
	free(dir);
}

static void starts_inside_the_git_directory(void **state)
{
	char *dir = fixture_repo(), *git = path_join(dir, ".git/refs");
	struct repo *r = open_ok(git, NULL);

	(void)state;
	assert_string_equal(repo_top(r), dir);
	assert_string_equal(repo_prefix(r), "");
	repo_close(r);
	free(git);
	free(dir);
}

static void linked_worktree_shares_the_store(void **state)
{
	char *dir = fixture_repo(), *linked = at("linked");
	char *store = path_join(dir, ".git/exitpath");
	struct revision_info rev;
	struct repo *r;

	(void)state;
	run_in(dir, "git worktree add -q ../linked -b side; echo side >../linked/a.c");
	r = open_ok(linked, NULL);
	assert_string_equal(repo_top(r), linked);
	assert_string_equal(repo_store(r), store);
	rev = resolve_ok(r, REV_WORKTREE);
	assert_string_equal(rev.subject + strlen(rev.subject) - 12,
			    rev.subject + strlen("working tree on top of "));
	revision_free(&rev);
	repo_close(r);
	expect(linked, "git status --porcelain", " M a.c");
	free(store);
	free(linked);
	free(dir);
}

static void bare_repository_has_no_worktree(void **state)
{
	char *dir = fixture_repo(), *bare = at("bare.git");
	struct revision_info rev = {0};
	struct err err = {0};
	struct checkout c;
	struct repo *r;

	(void)state;
	run_in(dir, "git clone -q --bare . ../bare.git");
	r = open_ok(bare, NULL);
	assert_string_equal(repo_name(r), "bare.git");
	assert_int_equal(rev_resolve(r, REV_WORKTREE, &rev, &err), -1);
	assert_int_equal(err.kind, ERR_USAGE);
	assert_contains(err.message, "bare");
	c = get_ok(r, "main", NULL);
	expect(c.dir, "cat a.c", "two");
	checkout_release(&c);
	repo_close(r);
	free(bare);
	free(dir);
}

static void store_inside_the_tree_hides_itself(void **state)
{
	char *dir = fixture_repo(), *store = path_join(dir, "x/store");
	struct repo *r = open_ok(dir, store);
	struct revision_info rev = resolve_ok(r, REV_WORKTREE);

	(void)state;
	expect(dir, "git status --porcelain", "");
	assert_string_equal(rev.subject, "second");
	revision_free(&rev);
	repo_close(r);
	free(store);
	free(dir);
}

static void reads_a_sha256_repository(void **state)
{
	char *dir = fixture();
	struct revision_info rev;
	struct checkout c;
	struct repo *r;

	(void)state;
	run_in(dir, "git init -q -b main --object-format=sha256; echo one >a.c;"
		    "git add .; git commit -qm first; echo two >a.c");
	r = open_ok(dir, NULL);
	rev = resolve_ok(r, REV_WORKTREE);
	assert_int_equal(strlen(rev.commit), 64);
	revision_free(&rev);
	c = get_ok(r, REV_WORKTREE, NULL);
	expect(c.dir, "cat a.c", "two");
	checkout_release(&c);
	c = get_ok(r, "main", NULL);
	expect(c.dir, "cat a.c", "one");
	checkout_release(&c);
	repo_close(r);
	free(dir);
}

/* In a hook git names the repository, and our store is elsewhere in it. */
static void honours_a_hook_s_environment(void **state)
{
	char *dir = fixture_repo(), *sub = path_join(dir, "sub"), *other = at("other");
	char *cwd = getcwd(NULL, 0);
	struct checkout c;
	struct repo *r;

	(void)state;
	run_in(dir, "cp .git/index .git/next; git init -q ../other");
	setenv("GIT_DIR", ".git", 1);
	setenv("GIT_INDEX_FILE", ".git/next", 1);
	setenv("GIT_PREFIX", "", 1);
	assert_int_equal(chdir(dir), 0);
	r = open_ok(".", NULL);
	assert_string_equal(repo_top(r), dir);
	run_in(dir, "echo three >a.c");
	c = get_ok(r, REV_WORKTREE, NULL);
	expect(c.dir, "unset GIT_DIR GIT_INDEX_FILE; cat a.c; git status --porcelain",
	       "three");
	checkout_release(&c);
	repo_close(r);
	/* Elsewhere the hook's variables mean nothing. */
	r = open_ok(other, NULL);
	assert_string_equal(repo_top(r), other);
	repo_close(r);
	/* Below the top, an absolute GIT_DIR must not make it the top. */
	unsetenv("GIT_INDEX_FILE");
	{
		char *git = path_join(dir, ".git");

		setenv("GIT_DIR", git, 1);
		free(git);
	}
	assert_int_equal(chdir(sub), 0);
	r = open_ok(".", NULL);
	assert_string_equal(repo_top(r), dir);
	assert_string_equal(repo_prefix(r), "sub");
	repo_close(r);
	unsetenv("GIT_DIR");
	unsetenv("GIT_PREFIX");
	assert_int_equal(chdir(cwd), 0);
	free(cwd);
	free(other);
	free(sub);
	free(dir);
}

/* `git --git-dir --work-tree`, as dotfile managers use it. */
static void honours_a_separate_work_tree(void **state)
{
	char *dir = fixture(), *git = at("dots.git"), *cwd = getcwd(NULL, 0);
	struct repo *r;

	(void)state;
	run_in(dir, "git init -q --bare ../dots.git; echo 1 >f;"
		    "git --git-dir=../dots.git --work-tree=. add f;"
		    "git --git-dir=../dots.git --work-tree=. commit -qm first");
	setenv("GIT_DIR", git, 1);
	setenv("GIT_WORK_TREE", dir, 1);
	assert_int_equal(chdir(dir), 0);
	r = open_ok(".", NULL);
	assert_string_equal(repo_top(r), dir);
	repo_close(r);
	unsetenv("GIT_DIR");
	unsetenv("GIT_WORK_TREE");
	assert_int_equal(chdir(cwd), 0);
	free(cwd);
	free(git);
	free(dir);
}

/* pre-receive: the pushed objects are in quarantine until the hook agrees. */
static void sees_quarantined_objects(void **state)
{
	char *dir = fixture_repo(), *bare = at("bare.git"), *commit;
	char *quarantine = path_join(bare, "objects/tmp_objdir-incoming-x");
	char *main_objects = path_join(bare, "objects"), *cwd = getcwd(NULL, 0);
	struct checkout c;
	struct repo *r;

	(void)state;
	run_in(dir, "git clone -q --bare . ../bare.git; echo pushed >a.c;"
		    "git commit -qam pushed;"
		    "mkdir ../bare.git/objects/tmp_objdir-incoming-x;"
		    "cp -r .git/objects/?? ../bare.git/objects/tmp_objdir-incoming-x/");
	commit = shell(dir, "git rev-parse HEAD");
	setenv("GIT_DIR", ".", 1);
	setenv("GIT_OBJECT_DIRECTORY", quarantine, 1);
	setenv("GIT_ALTERNATE_OBJECT_DIRECTORIES", main_objects, 1);
	setenv("GIT_QUARANTINE_PATH", quarantine, 1);
	assert_int_equal(chdir(bare), 0);
	r = open_ok(".", NULL);
	c = get_ok(r, commit, NULL);
	expect(c.dir, "cat a.c", "pushed");
	checkout_release(&c);
	repo_close(r);
	unsetenv("GIT_DIR");
	unsetenv("GIT_OBJECT_DIRECTORY");
	unsetenv("GIT_ALTERNATE_OBJECT_DIRECTORIES");
	unsetenv("GIT_QUARANTINE_PATH");
	assert_int_equal(chdir(cwd), 0);
	free(commit);
	free(cwd);
	free(main_objects);
	free(quarantine);
	free(bare);
	free(dir);
}

static void refuses_with_a_next_step(void **state)
{
	char *dir = fixture_repo(), *plain = at("plain"), *path = xstrdup(getenv("PATH"));
	char *file = path_join(dir, "a.c"), *missing = at("missing");
	const struct {
		const char *dir, *store;
		enum err_kind kind;
		const char *message, *hint;
	} cases[] = {
		{plain, NULL, ERR_USAGE, "not inside a git repository", "git init"},
		{missing, NULL, ERR_USAGE, "cannot enter", ""},
		{dir, file, ERR_ENVIRONMENT, "cannot be used", "--store"},
		{dir, "/proc/nowhere", ERR_ENVIRONMENT, "cannot be used", "--store"},
	};

	(void)state;
	assert_int_equal(make_dirs(plain, 0777, NULL), 0);
	setenv("GIT_CEILING_DIRECTORIES", harness_tmpdir(), 1);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct err err = {0};

		assert_null(repo_open(cases[i].dir, cases[i].store, &err));
		assert_int_equal(err.kind, cases[i].kind);
		assert_contains(err.message, cases[i].message);
		assert_contains(err.hint, cases[i].hint);
	}
	unsetenv("GIT_CEILING_DIRECTORIES");
	setenv("PATH", plain, 1);
	{
		struct err err = {0};

		assert_null(repo_open(dir, NULL, &err));
		assert_contains(err.message, "git was not found");
		assert_string_equal(err.hint, "apt install git");
	}
	setenv("PATH", path, 1);
	free(missing);
	free(file);
	free(path);
	free(plain);
	free(dir);
}

static void follows_a_moved_repository(void **state)
{
	char *dir = fixture_repo(), *moved = at("moved");
	struct repo *r = open_ok(dir, NULL);
	struct checkout c = get_ok(r, "main", NULL);
	struct err err = {0};

	(void)state;
	assert_int_equal(checkout_setup_done(&c, &err), 0);
	checkout_release(&c);
	repo_close(r);
	assert_int_equal(rename(dir, moved), 0);
	r = open_ok(moved, NULL);
	c = get_ok(r, "main", NULL);
	expect(c.dir, "cat a.c; git status --porcelain; git log --format=%s -1",
	       "two\nsecond");
	checkout_release(&c);
	repo_close(r);
	free(moved);
	free(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		HARNESS_TEST(finds_the_repository),
		HARNESS_TEST(starts_inside_the_git_directory),
		HARNESS_TEST(linked_worktree_shares_the_store),
		HARNESS_TEST(bare_repository_has_no_worktree),
		HARNESS_TEST(store_inside_the_tree_hides_itself),
		HARNESS_TEST(reads_a_sha256_repository),
		HARNESS_TEST(honours_a_hook_s_environment),
		HARNESS_TEST(honours_a_separate_work_tree),
		HARNESS_TEST(sees_quarantined_objects),
		HARNESS_TEST(refuses_with_a_next_step),
		HARNESS_TEST(follows_a_moved_repository),
	};

	return HARNESS_RUN(tests);
}
