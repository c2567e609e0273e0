#include "rev_fixture.h"

#include <dirent.h>
#include <signal.h>
#include <sys/stat.h>
#include <time.h>

#define ADD "git -c protocol.file.allow=always submodule --quiet add "

static void gc_all(struct repo *r)
{
	struct gc_stats stats;
	struct err err = {0};

	if (repo_gc(r, 0, &stats, &err) < 0)
		fail_msg("%s", err.message);
}

static void checks_out_a_commit(void **state)
{
	char *dir = fixture_repo(), *before, *after;
	struct repo *r;
	struct checkout c, d;

	(void)state;
	run_in(dir,
	       "git tag v1.2; git tag -am x v1.1 HEAD^; git config core.autocrlf input;"
	       "git config filter.up.clean 'tr A-Z a-z';"
	       "git config filter.up.smudge 'tr a-z A-Z';"
	       "echo 's.txt filter=up' >.git/info/attributes");
	before = shell(dir, "find . -path ./.git/exitpath -prune -o -type f -exec "
			    "sha256sum {} + | sort -k2");
	r = open_ok(dir, NULL);
	c = get_ok(r, "main", NULL);
	d = get_ok(r, "HEAD^", NULL);
	assert_string_not_equal(c.key, d.key);
	assert_int_equal(strlen(c.key), 16);
	assert_false(c.setup_done);
	expect(c.dir,
	       "cat a.c sub/s.txt; git status --porcelain -uall; git describe | sed "
	       "s/g.*/g/;"
	       "git log --format=%s; git config core.autocrlf; git config gc.auto",
	       "two\nS\nv1.1-1-g\nsecond\nfirst\ninput\n0");
	expect(d.dir, "cat a.c; git status --porcelain -uall; git describe", "one\nv1.1");
	after = shell(dir, "find . -path ./.git/exitpath -prune -o -type f -exec "
			   "sha256sum {} + | sort -k2");
	assert_string_equal(before, after);
	checkout_release(&c);
	checkout_release(&d);
	repo_close(r);
	free(before);
	free(after);
	free(dir);
}

/* What a set-up left that failed or was killed is not built upon. */
static void makes_anew_after_a_set_up_that_did_not_succeed(void **state)
{
	char *dir = fixture_repo();
	struct repo *r = open_ok(dir, NULL);
	struct checkout c = get_ok(r, "main", NULL);
	struct err err = {0};

	(void)state;
	assert_int_equal(checkout_setup_begin(&c, &err), 0);
	run_in(c.dir, "echo half >a.o");
	checkout_release(&c);
	c = get_ok(r, "main", NULL);
	assert_false(c.setup_done);
	expect(c.dir, "cat a.c; ls *.o 2>/dev/null || :", "two");
	assert_int_equal(checkout_setup_begin(&c, &err), 0);
	run_in(c.dir, "echo whole >a.o");
	assert_int_equal(checkout_setup_done(&c, &err), 0);
	checkout_release(&c);
	c = get_ok(r, "main", NULL);
	assert_true(c.setup_done);
	expect(c.dir, "cat a.o", "whole");
	/* Done again (--fresh), and killed this time. */
	assert_int_equal(checkout_setup_begin(&c, &err), 0);
	assert_false(c.setup_done);
	checkout_release(&c);
	c = get_ok(r, "main", NULL);
	assert_false(c.setup_done);
	expect(c.dir, "ls *.o 2>/dev/null || :", "");
	checkout_release(&c);
	repo_close(r);
	free(dir);
}

static void reuses_and_restores(void **state)
{
	static const struct {
		const char *what, *script; /* run in the checkout between two uses */
		bool setup_kept;
		bool built_kept; /* untracked output of the set-up */
	} cases[] = {
		{"nothing", ":", true, true},
		{"touched", "touch a.c", true, true},
		{"untracked", "echo >new", true, true},
		{"modified", "echo x >a.c", false, true},
		{"deleted", "rm -r sub", false, true},
		{"staged", "echo x >a.c; git add a.c", false, true},
		{"committed", "echo x >a.c; git commit -qam x", false, true},
		{"other head", "git checkout -q HEAD^", false, true},
		{"mode", "chmod +x a.c", false, true},
		{"file became a directory", "rm a.c; mkdir a.c; echo >a.c/x", false,
		 true},
		{"index lock", "echo x >a.c; : >.git/index.lock", false, true},
		{"no index", "rm .git/index", false, true},
		{"HEAD lock", "echo x >a.c; : >.git/HEAD.lock", false, false},
		{"no repository", "rm -rf .git", false, true},
		{"damaged repository", "rm .git/HEAD", false, false},
		{"no state", "rm ../state.json", false, false},
		{"damaged state", "echo '{' >../state.json", false, false},
		{"state of no object", "echo '[]' >../state.json", false, false},
		{"nothing left", "rm -rf ../src", false, false},
		{"alternates of elsewhere", "echo /nowhere >.git/objects/info/alternates",
		 false, true},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char *dir = fixture_repo(), *built;
		struct repo *r = open_ok(dir, NULL);
		struct checkout c = get_ok(r, "main", NULL);
		struct err err = {0};

		run_in(c.dir, "mkdir out; echo built >out/bin; echo log >../setup.log");
		assert_int_equal(checkout_setup_done(&c, &err), 0);
		assert_true(c.setup_done);
		run_in(c.dir, cases[i].script);
		checkout_release(&c);
		c = get_ok(r, "main", NULL);
		if (c.setup_done != cases[i].setup_kept)
			fail_msg("%s: set-up %s", cases[i].what,
				 c.setup_done ? "kept" : "lost");
		built = path_join(c.dir, "out/bin");
		if (path_exists(built) != cases[i].built_kept)
			fail_msg("%s: built files", cases[i].what);
		free(built);
		expect(c.dir,
		       "cat a.c sub/s.txt; git status --porcelain -uno;"
		       "git log --format=%s -1",
		       "two\ns\nsecond");
		checkout_release(&c);
		c = get_ok(r, "main", NULL);
		assert_true(c.setup_done == cases[i].setup_kept);
		checkout_release(&c);
		repo_close(r);
		expect(dir, "git symbolic-ref HEAD; git status --porcelain",
		       "refs/heads/main");
		run_in(harness_tmpdir(), "rm -rf my*");
		free(dir);
	}
}

/* Another commit with the same tree shares the checkout, and HEAD names it. */
static void same_tree_same_checkout(void **state)
{
	char *dir = fixture_repo(), *key;
	struct repo *r = open_ok(dir, NULL);
	struct checkout c = get_ok(r, "main", NULL);
	struct err err = {0};
	struct strv share = {0};

	(void)state;
	key = xstrdup(c.key);
	assert_int_equal(checkout_setup_done(&c, &err), 0);
	checkout_release(&c);
	run_in(dir, "git commit -q --allow-empty -m third");
	c = get_ok(r, "main", NULL);
	assert_string_equal(c.key, key);
	assert_true(c.setup_done);
	expect(c.dir, "git log --format=%s -1", "third");
	checkout_release(&c);
	strv_add(&share, "node_modules");
	c = get_ok(r, "main", &share);
	assert_string_not_equal(c.key, key);
	checkout_release(&c);
	strv_release(&share);
	repo_close(r);
	free(key);
	free(dir);
}

static void asking_twice_is_a_bug(void **state)
{
	char *dir = fixture_repo();
	struct repo *r = open_ok(dir, NULL);
	struct checkout c = get_ok(r, "main", NULL), d = {0};
	struct revision_info rev = resolve_ok(r, "main");
	struct err err = {0};

	(void)state;
	assert_int_equal(checkout_get(r, &rev, DIGEST, NULL, false, NULL, NULL, &d, &err),
			 -1);
	assert_int_equal(err.kind, ERR_INTERNAL);
	assert_null(d.dir);
	checkout_release(&c);
	assert_int_equal(checkout_get(r, &rev, DIGEST, NULL, false, NULL, NULL, &d, &err),
			 0);
	checkout_release(&d);
	revision_free(&rev);
	repo_close(r);
	free(dir);
}

struct waited {
	unsigned times;
	pid_t owner;
};

static void note_wait(void *ctx, pid_t owner)
{
	struct waited *w = ctx;

	w->times++;
	w->owner = owner;
}

static void waits_for_another_process(void **state)
{
	char *dir = fixture_repo(), byte = 0;
	struct repo *r = open_ok(dir, NULL);
	struct revision_info rev = resolve_ok(r, "main");
	struct waited w = {0};
	struct err err = {0};
	struct checkout c;
	int ready[2];
	pid_t pid;

	(void)state;
	assert_int_equal(pipe(ready), 0);
	pid = fork();
	if (pid == 0) {
		if (checkout_get(r, &rev, DIGEST, NULL, false, NULL, NULL, &c, NULL) <
			    0 ||
		    write(ready[1], "x", 1) != 1)
			_exit(1);
		usleep(350000);
		_exit(0);
	}
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	close(ready[1]);
	assert_int_equal(
		checkout_get(r, &rev, DIGEST, NULL, false, note_wait, &w, &c, &err), 0);
	assert_int_equal(w.times, 1);
	assert_int_equal(w.owner, pid);
	waitpid(pid, &(int){0}, 0);
	checkout_release(&c);
	revision_free(&rev);
	repo_close(r);
	free(dir);
}

/* Six processes, from nothing: each opens, freezes, takes both checkouts, soils them. */
static void many_at_once(void **state)
{
	char *dir = fixture_repo();
	pid_t pids[6];

	(void)state;
	run_in(dir, "echo three >a.c");
	for (size_t i = 0; i < 6; i++) {
		pids[i] = fork();
		if (pids[i] != 0)
			continue;
		for (unsigned n = 0; n < 5; n++) {
			struct repo *r = open_ok(dir, NULL);
			struct checkout c = get_ok(r, REV_WORKTREE, NULL);
			struct gc_stats stats;
			struct err err = {0};

			expect(c.dir, "cat a.c; git status --porcelain -uno", "three");
			run_in(c.dir, "echo soiled >a.c");
			checkout_release(&c);
			c = get_ok(r, "main", NULL);
			expect(c.dir, "cat a.c; git status --porcelain -uno", "two");
			checkout_release(&c);
			if (n == i % 5 && repo_gc(r, 0, &stats, &err) < 0) {
				fprintf(stderr, "gc: %s\n", err.message);
				_exit(1);
			}
			repo_close(r);
		}
		_exit(0);
	}
	for (size_t i = 0; i < 6; i++) {
		int status;

		waitpid(pids[i], &status, 0);
		assert_int_equal(status, 0);
	}
	free(dir);
}

static void shares_directories(void **state)
{
	char *dir = fixture_repo(), *top, *want;
	struct strv share = {0};
	struct repo *r;
	struct checkout c;

	(void)state;
	run_in(dir, "mkdir -p node_modules/x a/b 'with space' out/.venv;"
		    "echo lib >node_modules/x/lib; ln -s /tmp evil; git add evil;"
		    "git commit -qm evil; echo n >node_modules/n");
	strv_add(&share, "node_modules/");
	strv_add(&share, "./a//b");
	strv_add(&share, "with space");
	strv_add(&share, "out/.venv");
	strv_add(&share, "missing");
	strv_add(&share, "sub");      /* tracked: stays its own */
	strv_add(&share, "evil/dir"); /* below a tracked link: not followed */
	r = open_ok(dir, NULL);
	c = get_ok(r, "main", &share);
	top = path_join(dir, "node_modules");
	want = xasprintf("%s\nlib\nlink\nlink\nlink\ndir\n", top);
	want[strlen(want) - 1] = '\0';
	expect(c.dir,
	       "readlink node_modules; cat node_modules/x/lib;"
	       "for i in a/b 'with space' out/.venv sub missing; do "
	       "if test -h \"$i\"; then echo link; elif test -d \"$i\"; then echo dir;"
	       "fi; done; git status --porcelain",
	       want);
	assert_false(path_exists("/tmp/dir"));
	checkout_release(&c);
	/* Gone from the working tree: gone from the checkout. */
	run_in(dir, "rm -r a");
	c = get_ok(r, "main", &share);
	expect(c.dir, "test -h a/b || echo gone; cat node_modules/n", "gone\nn");
	checkout_release(&c);
	strv_release(&share);
	repo_close(r);
	free(want);
	free(top);
	free(dir);
}

static const struct sandbox_view *view_at(const struct sandbox *sb, const char *at)
{
	for (size_t i = sb->nviews; i--;)
		if (!strcmp(sb->views[i].at, at))
			return &sb->views[i];
	fail_msg("nothing is seen at %s", at);
	return NULL;
}

/* "top" in a pattern stands for the repository. */
static void assert_view(const struct sandbox *sb, const char *top, const char *at,
			const char *from, enum view_mode mode)
{
	char *full = *at == '/' ? strdup(at) : path_join(top, at);
	const struct sandbox_view *v = view_at(sb, full);

	assert_string_equal(v->from, from);
	assert_int_equal(v->mode, mode);
	free(full);
}

/* What a sandboxed run is shown; that it works is tests/cli/sandbox.bats' business. */
static void shows_a_checkout_to_the_sandbox(void **state)
{
	char *dir = fixture_repo(), *modules, *objects, *list, *key;
	struct strv share = {0};
	CLEANUP(sandbox) struct sandbox sb = {0};
	struct revision_info rev;
	struct err err = {0};
	struct checkout c;
	struct repo *r;

	(void)state;
	setenv("HOME", harness_tmpdir(), 1); /* above the repository */
	run_in(dir, "mkdir -p node_modules out; echo lib >node_modules/lib");
	strv_add(&share, "node_modules");
	strv_add(&share, "sub"); /* tracked: stays its own */
	strv_add(&share, "missing");
	r = open_ok(dir, NULL);
	rev = resolve_ok(r, "main");
	for (int again = 0; again < 2; again++) {
		sandbox_release(&sb);
		assert_int_equal(
			checkout_get(r, &rev, DIGEST, &share, true, NULL, NULL, &c, &err),
			0);
		assert_int_equal(c.shared.n, 1);
		expect(c.dir,
		       "cat sub/s.txt; ls -A node_modules; test -e missing || echo no;"
		       "git status --porcelain",
		       "s\nno");
		assert_int_equal(checkout_views(r, &c, &sb, &err), 0);
		assert_view(&sb, dir, harness_tmpdir(), c.home, VIEW_WRITE);
		key = xasprintf("%s/my répo", c.home);
		assert_true(path_exists(key)); /* a mount point */
		free(key);
		assert_view(&sb, dir, dir, c.dir, VIEW_WRITE);
		modules = path_join(dir, "node_modules");
		assert_view(&sb, dir, "node_modules", modules, VIEW_READ);
		objects = path_join(dir, ".git/objects");
		assert_view(&sb, dir, "/run/exitpath/objects/0", objects, VIEW_READ);
		free(objects);
		objects = path_join(dir, ".git/exitpath/git/objects");
		assert_view(&sb, dir, "/run/exitpath/objects/1", objects, VIEW_READ);
		free(objects);
		list = path_join(c.dir, "../alternates.0");
		objects = realpath(list, NULL);
		assert_view(&sb, dir, ".git/objects/info/alternates", objects, VIEW_READ);
		expect(c.dir, "cat ../alternates.0",
		       "/run/exitpath/objects/0\n/run/exitpath/objects/1");
		free(objects);
		free(list);
		free(modules);
		run_in(c.home, "echo kept >cache");
		checkout_release(&c);
	}
	/* From another place nothing is hidden; submodules borrow for themselves. */
	run_in(harness_tmpdir(), "git init -q -b main lib; cd lib; echo l >f; git add f;"
				 "git commit -qm 1");
	run_in(dir, ADD "../lib m; git commit -qm sub; git worktree add -q ../wt HEAD;"
			"cd ../wt; git -c protocol.file.allow=always submodule --quiet "
			"update --init");
	repo_close(r);
	free(dir);
	dir = at("wt");
	r = open_ok(dir, NULL);
	revision_free(&rev);
	rev = resolve_ok(r, "HEAD");
	sandbox_release(&sb);
	assert_int_equal(checkout_get(r, &rev, DIGEST, NULL, true, NULL, NULL, &c, &err),
			 0);
	assert_int_equal(checkout_views(r, &c, &sb, &err), 0);
	objects = at("my répo/.git/objects");
	assert_view(&sb, dir, objects, objects, VIEW_READ);
	view_at(&sb, list = path_join(dir, "m/.git/objects/info/alternates"));
	expect(c.dir, "cat ../alternates.1 | sed 's,.*/.git/,,'",
	       "worktrees/wt/modules/m/objects");
	free(list);
	free(objects);
	checkout_release(&c);
	strv_release(&share);
	revision_free(&rev);
	repo_close(r);
	free(dir);
}

/* What a sandboxed run leaves in its checkout is run by no git outside. */
static void runs_nothing_that_a_run_configured(void **state)
{
#define EVIL                                                                \
	"git config filter.x.clean \"touch $MARK; cat\";"                   \
	"git config core.fsmonitor \"touch $MARK; :\"; mkdir -p .git/info;" \
	"echo '* filter=x' >.git/info/attributes;"
	static const char *const soils[] = {
		EVIL "touch a.c",
		"cd m; " EVIL "touch f",
		"mv m m2; mkdir m; cd m; git init -q; " EVIL "cp ../m2/f .; git add f;"
		"git commit -qm 1; touch f",
		"cd none; git init -q; " EVIL "echo 1 >f; git add f; git commit -qm 1;"
		"echo 2 >f",
		"rm -rf m; ln -s ../../../../.. m",
		"mv .git .git2; ln -s .git2 .git; " EVIL "touch a.c",
		"rm -rf .git; echo 'gitdir: sub' >.git",
		"rm -rf .git m",
		"rm -r ../git",
	};
	char *dir = fixture_repo(), *mark = at("mark"), *before, *after;
	struct revision_info rev;
	struct err err = {0};
	struct checkout c;
	struct repo *r;

	(void)state;
	setenv("MARK", mark, 1);
	run_in(harness_tmpdir(), "git init -q -b main lib; cd lib; echo l >f; git add f;"
				 "git commit -qm 1");
	run_in(dir, ADD "../lib m; " ADD "../lib none; git commit -qm sub;"
			"git submodule --quiet deinit -f none");
	r = open_ok(dir, NULL);
	rev = resolve_ok(r, "HEAD");
	before = shell(dir, "find . -path ./.git/exitpath -prune -o -type f -exec "
			    "sha256sum {} + | sort -k2");
	for (size_t i = 0; i < sizeof(soils) / sizeof(soils[0]); i++) {
		for (int again = 0; again < 2; again++) {
			assert_int_equal(checkout_get(r, &rev, DIGEST, NULL, true, NULL,
						      NULL, &c, &err),
					 0);
			expect(c.dir,
			       "cat a.c m/f; test ! -e none/.git; git config "
			       "filter.x.clean || :;"
			       "git -C m config filter.x.clean || :; git status "
			       "--porcelain -uno; git -C m log --format=%s",
			       "two\nl\n1");
			if (!again)
				run_in(c.dir, soils[i]);
			remove_tree(mark, NULL);
			checkout_release(&c);
		}
		assert_int_equal(
			checkout_get(r, &rev, DIGEST, NULL, true, NULL, NULL, &c, &err),
			0);
		if (path_exists(mark))
			fail_msg("git ran what this configured: %s", soils[i]);
		checkout_release(&c);
	}
	after = shell(dir, "find . -path ./.git/exitpath -prune -o -type f -exec "
			   "sha256sum {} + | sort -k2");
	assert_string_equal(before, after);
	revision_free(&rev);
	repo_close(r);
	free(before);
	free(after);
	free(mark);
	free(dir);
}

static void refuses_shares_outside(void **state)
{
	static const char *const cases[] = {"/etc", "..",   "a/../../b",   "",
					    ".",    ".git", "a/.git/hooks"};
	char *dir = fixture_repo();
	struct repo *r = open_ok(dir, NULL);
	struct revision_info rev = resolve_ok(r, "main");

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct strv share = {0};
		struct checkout c = {0};
		struct err err = {0};

		strv_add(&share, cases[i]);
		assert_int_equal(checkout_get(r, &rev, DIGEST, &share, false, NULL, NULL,
					      &c, &err),
				 -1);
		assert_int_equal(err.kind, ERR_USAGE);
		assert_contains(err.message, "cannot share");
		strv_release(&share);
	}
	revision_free(&rev);
	repo_close(r);
	free(dir);
}

static void fills_submodules(void **state)
{
	char *dir = fixture_repo(), *before, *after;
	struct repo *r;
	struct checkout c;
	struct err err = {0};

	(void)state;
	run_in(harness_tmpdir(),
	       "for m in lib deep; do git init -q -b main $m; (cd $m; echo $m-1 >f;"
	       "git add f; git commit -qm 1); done;"
	       "cd lib; " ADD "../deep 'd p'; git commit -qm deep");
	run_in(dir, ADD "../lib 'm/l b'; " ADD "../lib unused; git commit -qm sub;"
			"git -c protocol.file.allow=always submodule --quiet update "
			"--init --recursive; git submodule --quiet deinit -f unused;"
			"echo lib-2 >'m/l b/f'; git -C 'm/l b' commit -qam 2");
	before = shell(dir, "find . -path ./.git/exitpath -prune -o -type f -exec "
			    "sha256sum {} + | sort -k2");
	r = open_ok(dir, NULL);
	c = get_ok(r, "main", NULL);
	expect(c.dir, "cat 'm/l b/f' 'm/l b/d p/f'; ls -A unused; git status --porcelain",
	       "lib-1\ndeep-1");
	assert_int_equal(checkout_setup_done(&c, &err), 0);
	checkout_release(&c);
	c = get_ok(r, "main", NULL);
	assert_true(c.setup_done);
	run_in(c.dir, "echo soiled >'m/l b/d p/f'; echo >'m/l b/new'");
	checkout_release(&c);
	c = get_ok(r, "main", NULL);
	assert_false(c.setup_done);
	expect(c.dir, "cat 'm/l b/f' 'm/l b/d p/f'; ls 'm/l b/new'",
	       "lib-1\ndeep-1\nm/l b/new");
	checkout_release(&c);
	/* The working tree has the submodule one commit further. */
	c = get_ok(r, REV_WORKTREE, NULL);
	expect(c.dir, "cat 'm/l b/f' 'm/l b/d p/f'", "lib-2\ndeep-1");
	checkout_release(&c);
	after = shell(dir, "find . -path ./.git/exitpath -prune -o -type f -exec "
			   "sha256sum {} + | sort -k2");
	assert_string_equal(before, after);
	/* Removed since: its objects are still in .git/modules. */
	run_in(dir, "git rm -qf 'm/l b'; git commit -qm gone");
	c = get_ok(r, "main^", NULL);
	expect(c.dir, "cat 'm/l b/f' 'm/l b/d p/f'", "lib-1\ndeep-1");
	checkout_release(&c);
	repo_close(r);
	free(before);
	free(after);
	free(dir);
}

static void missing_submodule_commits_are_named(void **state)
{
	char *dir = fixture_repo();
	struct repo *r;
	struct revision_info rev;
	struct checkout c = {0};
	struct err err = {0};

	(void)state;
	run_in(harness_tmpdir(), "git init -q -b main lib; cd lib; echo 1 >f;"
				 "git add f; git commit -qm 1");
	run_in(dir, ADD "../lib lib; git commit -qm sub; git update-index --cacheinfo "
			"160000,1234567890123456789012345678901234567890,lib;"
			"git commit -qm ahead");
	r = open_ok(dir, NULL);
	rev = resolve_ok(r, "main");
	assert_int_equal(checkout_get(r, &rev, DIGEST, NULL, false, NULL, NULL, &c, &err),
			 -1);
	assert_int_equal(err.kind, ERR_USAGE);
	assert_contains(err.message, "submodule lib: commit 123456789012");
	assert_contains(err.hint, "git submodule update --init");
	revision_free(&rev);
	repo_close(r);
	free(dir);
}

static void borrows_through_a_shared_clone(void **state)
{
	char *dir = fixture_repo(), *clone = at("clone");
	struct repo *r;
	struct checkout c;

	(void)state;
	run_in(dir, "git clone -q --shared . ../clone; cd ../clone; echo 3 >a.c");
	r = open_ok(clone, NULL);
	c = get_ok(r, REV_WORKTREE, NULL);
	expect(c.dir, "cat a.c sub/s.txt; git status --porcelain", "3\ns");
	checkout_release(&c);
	repo_close(r);
	free(clone);
	free(dir);
}

static void fetches_what_a_partial_clone_lacks(void **state)
{
	static const char *const filters[] = {"blob:none", "tree:0"};

	(void)state;
	for (size_t i = 0; i < sizeof(filters) / sizeof(filters[0]); i++) {
		char *dir = fixture_repo(), *clone = at("clone"), *before, *after;
		char *script =
			xasprintf("git config uploadpack.allowFilter true;"
				  "git config uploadpack.allowAnySHA1InWant true;"
				  "git clone -q --filter=%s \"file://$PWD\" ../clone",
				  filters[i]);
		struct revision_info rev;
		struct err err = {0};
		struct repo *r;
		struct checkout c;

		run_in(dir, script);
		run_in(clone, "echo three >a.c");
		before = shell(clone, "find . -path ./.git/exitpath -prune -o -type f "
				      "-exec sha256sum {} + | sort -k2");
		r = open_ok(clone, NULL);
		c = get_ok(r, "HEAD^", NULL);
		expect(c.dir, "cat a.c sub/s.txt; git status --porcelain", "one\ns");
		checkout_release(&c);
		c = get_ok(r, REV_WORKTREE, NULL);
		expect(c.dir, "cat a.c sub/s.txt", "three\ns");
		checkout_release(&c);
		after = shell(clone, "find . -path ./.git/exitpath -prune -o -type f "
				     "-exec sha256sum {} + | sort -k2");
		assert_string_equal(before, after);
		/* The remote is gone. */
		gc_all(r);
		repo_close(r);
		r = open_ok(clone, NULL);
		gc_all(r);
		rev = resolve_ok(r, "HEAD^");
		run_in(harness_tmpdir(), "rm -rf my*");
		assert_int_equal(
			checkout_get(r, &rev, DIGEST, NULL, false, NULL, NULL, &c, &err),
			-1);
		assert_contains(err.message, "this partial clone lacks objects");
		assert_contains(err.hint, "git checkout");
		revision_free(&rev);
		repo_close(r);
		run_in(harness_tmpdir(), "rm -rf clone");
		free(before);
		free(after);
		free(script);
		free(clone);
		free(dir);
	}
}

static void damaged_objects_are_an_error(void **state)
{
	char *dir = fixture_repo(), *src;
	struct repo *r = open_ok(dir, NULL);
	struct revision_info rev = resolve_ok(r, "main");
	struct checkout c = {0};
	struct err err = {0};

	(void)state;
	run_in(dir,
	       "o=$(git rev-parse main:a.c); rm -f .git/objects/$(echo $o | cut -c1-2)/"
	       "$(echo $o | cut -c3-)");
	assert_int_equal(checkout_get(r, &rev, DIGEST, NULL, false, NULL, NULL, &c, &err),
			 -1);
	assert_int_equal(err.kind, ERR_ENVIRONMENT);
	assert_contains(err.message, "cannot check out");
	if (!err.hint[0])
		fail_msg("%s", err.message);
	assert_contains(err.hint, "git fsck");
	src = shell(dir, "ls .git/exitpath/trees/*");
	assert_string_equal(src, "lock");
	free(src);
	revision_free(&rev);
	repo_close(r);
	free(dir);
}

/* What the user set up to run code around git does not run. */
static void runs_no_hooks(void **state)
{
	char *dir = fixture_repo();
	struct repo *r;
	struct checkout c;

	(void)state;
	run_in(dir, "mkdir ../hooks; for h in post-checkout post-index-change pre-commit "
		    "reference-transaction post-commit; do "
		    "printf '#!/bin/sh\\necho ran >>\"%s\"' \"$PWD/../ran\" >../hooks/$h;"
		    "chmod +x ../hooks/$h; done; git config core.hooksPath ../hooks;"
		    "cp ../hooks/* .git/hooks/; git config core.fsmonitor "
		    "\"$PWD/.git/hooks/pre-commit\"; rm -f ../ran; echo 3 >a.c");
	r = open_ok(dir, NULL);
	c = get_ok(r, REV_WORKTREE, NULL);
	expect(c.dir, "cat a.c", "3");
	checkout_release(&c);
	repo_close(r);
	expect(dir, "test -e ../ran || echo none", "none");
	free(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		HARNESS_TEST(checks_out_a_commit),
		HARNESS_TEST(reuses_and_restores),
		HARNESS_TEST(makes_anew_after_a_set_up_that_did_not_succeed),
		HARNESS_TEST(same_tree_same_checkout),
		HARNESS_TEST(asking_twice_is_a_bug),
		HARNESS_TEST(waits_for_another_process),
		HARNESS_TEST(many_at_once),
		HARNESS_TEST(shares_directories),
		HARNESS_TEST(shows_a_checkout_to_the_sandbox),
		HARNESS_TEST(runs_nothing_that_a_run_configured),
		HARNESS_TEST(refuses_shares_outside),
		HARNESS_TEST(fills_submodules),
		HARNESS_TEST(missing_submodule_commits_are_named),
		HARNESS_TEST(borrows_through_a_shared_clone),
		HARNESS_TEST(fetches_what_a_partial_clone_lacks),
		HARNESS_TEST(damaged_objects_are_an_error),
		HARNESS_TEST(runs_no_hooks),
	};

	return HARNESS_RUN(tests);
}
