#include "rev_fixture.h"

static void resolves_what_git_resolves(void **state)
{
	char *dir = fixture_repo();
	struct repo *r = open_ok(dir, NULL);
	static const struct {
		const char *name, *subject;
	} cases[] = {
		{"main", "second"},  {"HEAD", "second"}, {"HEAD^", "first"},
		{"main~1", "first"}, {"v1", "first"},	 {"light", "second"},
	};

	(void)state;
	run_in(dir, "git tag -am tag v1 HEAD^; git tag light; git config user.name x");
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct revision_info rev = resolve_ok(r, cases[i].name);
		char *script = NULL, *want;

		assert_string_equal(rev.name, cases[i].name);
		assert_string_equal(rev.subject, cases[i].subject);
		assert_true(asprintf(&script, "git rev-parse '%s^{commit}' '%s^{tree}'",
				     rev.name, rev.name) > 0);
		want = shell(dir, script);
		assert_memory_equal(want, rev.commit, 40);
		assert_string_equal(want + 41, rev.tree);
		free(want);
		free(script);
		revision_free(&rev);
	}
	{
		struct revision_info rev = resolve_ok(r, ":/first");

		assert_string_equal(rev.subject, "first");
		revision_free(&rev);
	}
	repo_close(r);
	free(dir);
}

static void unknown_revisions_get_a_hint(void **state)
{
	char *dir = fixture_repo();
	struct repo *r;
	static const struct {
		const char *name, *message, *hint;
	} cases[] = {
		{"mian", "unknown revision 'mian'", "did you mean main?"},
		{"feture", "unknown revision", "did you mean feature?"},
		{"fix-1", "unknown revision", "did you mean topic/fix-l?"},
		{"nothing-like-it", "unknown revision", "git fetch"},
		{"-x", "unknown revision", "git fetch"},
		{"", "unknown revision", "git fetch"},
		{"--git-dir", "unknown revision", "git fetch"},
		{"main..feature", "is a range, not a revision", "--base REV"},
		{"HEAD:a.c", "is a blob, not a commit", "name a branch"},
		{"HEAD^{tree}", "is a tree, not a commit", "name a branch"},
		{"0000000000000000000000000000000000000000", "unknown revision", "fetch"},
	};

	(void)state;
	run_in(dir, "git branch feature; git branch topic/fix-l");
	r = open_ok(dir, NULL);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct revision_info rev = {0};
		struct err err = {0};

		assert_int_equal(rev_resolve(r, cases[i].name, &rev, &err), -1);
		assert_null(rev.commit);
		assert_int_equal(err.kind, ERR_USAGE);
		assert_contains(err.message, cases[i].message);
		assert_contains(err.hint, cases[i].hint);
	}
	repo_close(r);
	free(dir);
}

static void ambiguous_hashes_are_named(void **state)
{
	char *dir = fixture_repo(), *prefix;
	struct revision_info rev = {0};
	struct err err = {0};
	struct repo *r = open_ok(dir, NULL);

	(void)state;
	/* Enough commits that two of them share four digits. */
	run_in(dir,
	       "t=$(git write-tree); for i in $(seq 900); do printf 'commit "
	       "refs/heads/x%s\\ncommitter A <a@b> %s +0000\\ndata 1\\nx\\n\\n' $i $i;"
	       "done | git fast-import --quiet");
	prefix = shell(dir,
		       "git for-each-ref --format='%(objectname)' | cut -c1-4 | sort |"
		       "uniq -d | head -n1");
	assert_int_equal(strlen(prefix), 4);
	assert_int_equal(rev_resolve(r, prefix, &rev, &err), -1);
	assert_contains(err.message, "is ambiguous");
	repo_close(r);
	free(prefix);
	free(dir);
}

static void shallow_clones_hint_at_unshallow(void **state)
{
	char *dir = fixture_repo(), *clone = at("clone");
	struct revision_info rev = {0};
	struct err err = {0};
	struct checkout c;
	struct repo *r;
	char *name = NULL;

	(void)state;
	run_in(dir, "git clone -q --depth 1 \"file://$PWD\" ../clone");
	r = open_ok(clone, NULL);
	assert_int_equal(rev_resolve(r, "HEAD^", &rev, &err), -1);
	assert_contains(err.hint, "git fetch --unshallow");
	c = get_ok(r, "HEAD", NULL);
	expect(c.dir, "git log --format=%s; git fsck 2>&1", "second");
	checkout_release(&c);
	assert_int_equal(rev_default_base(r, &name, &err), -1);
	assert_contains(err.message, "HEAD has no parent in this shallow clone");
	run_in(clone, "echo three >a.c");
	c = get_ok(r, REV_WORKTREE, NULL);
	expect(c.dir, "cat a.c; git log --format=%s | wc -l", "three\n2");
	checkout_release(&c);
	repo_close(r);
	free(clone);
	free(dir);
}

static void default_base(void **state)
{
	static const struct {
		const char *what, *script, *want; /* want: a revision */
		const char *name;		  /* NULL: any */
	} cases[] = {
		{"clean on main", ":", "main^", "HEAD^"},
		{"dirty on main", "echo x >a.c", "main", "HEAD"},
		{"untracked on main", "echo x >new", "main", "HEAD"},
		{"ignored file only", "echo x >a.o", "main^", "HEAD^"},
		{"branch", "git checkout -qb b; git commit -qm c --allow-empty", "main",
		 "main"},
		{"branch that fell behind",
		 "git checkout -qb b HEAD^; git commit -qm c --allow-empty", "main^",
		 NULL},
		{"ahead of origin",
		 "git clone -q --bare . ../o.git; git remote add origin ../o.git;"
		 "git fetch -q; git remote set-head origin main;"
		 "git commit -qm c --allow-empty",
		 "origin/main", "origin/HEAD"},
		{"detached, only origin/main",
		 "git clone -q --bare . ../o.git; git remote add origin ../o.git;"
		 "git fetch -q; git checkout -q --detach; git branch -D -q main;"
		 "git commit -qm c --allow-empty",
		 "origin/main", "origin/main"},
		{"neither main nor master", "git branch -m trunk", "trunk^", "HEAD^"},
		{"master",
		 "git branch -m master; git checkout -qb b;"
		 "git commit -qm c --allow-empty",
		 "master", "master"},
		{"an unrelated main",
		 "git checkout -q --orphan b; git commit -qm c;"
		 "git commit -qm d --allow-empty",
		 "b^", "HEAD^"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char *dir = fixture_repo(), *name = NULL, *got, *want, *script;
		struct repo *r;
		struct err err = {0};

		run_in(dir, cases[i].script);
		r = open_ok(dir, NULL);
		if (rev_default_base(r, &name, &err) < 0)
			fail_msg("%s: %s", cases[i].what, err.message);
		script = xasprintf("git rev-parse %s", name);
		got = shell(dir, script);
		free(script);
		script = xasprintf("git rev-parse %s", cases[i].want);
		want = shell(dir, script);
		free(script);
		if (strcmp(got, want) != 0 ||
		    (cases[i].name && strcmp(cases[i].name, name) != 0))
			fail_msg("%s: %s", cases[i].what, name);
		free(want);
		free(got);
		free(name);
		repo_close(r);
		assert_int_equal(remove_tree(dir, NULL), 0);
		run_in(harness_tmpdir(), "rm -rf o.git");
		free(dir);
	}
}

static void no_base_at_all(void **state)
{
	char *dir = fixture(), *name = NULL;
	struct err err = {0};
	struct repo *r;

	(void)state;
	run_in(dir, "git init -q -b main");
	r = open_ok(dir, NULL);
	assert_int_equal(rev_default_base(r, &name, &err), -1);
	assert_contains(err.message, "no commits yet");
	run_in(dir, "git commit -qm first --allow-empty");
	assert_int_equal(rev_default_base(r, &name, &err), -1);
	assert_contains(err.message, "HEAD has no parent");
	assert_contains(err.hint, "--base REV");
	repo_close(r);
	free(dir);
}

static void reads_files_of_a_revision(void **state)
{
	char *dir = fixture_repo();
	static const struct {
		const char *path;
		bool found;
		const char *content;
	} cases[] = {
		{"a.c", true, "one\n"}, {"sub/s.txt", true, "s\n"},
		{"empty", true, ""},	{"sub", false, ""},
		{"sub/", false, ""},	{"none", false, ""},
		{"*.c", false, ""},	{"n\nl \"\xc3\xa9", true, "nl\n"},
	};
	struct buf b = {0};
	struct err err = {0};
	bool found = true;
	struct repo *r;

	(void)state;
	run_in(dir, "git checkout -q HEAD^; echo nl >\"$(printf 'n\\nl \"\\303\\251')\";"
		    ": >empty; ln -s a.c link; git add .; git commit -qm files");
	r = open_ok(dir, NULL);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		buf_clear(&b);
		assert_int_equal(
			rev_read_file(r, "HEAD", cases[i].path, &b, &found, &err), 0);
		assert_int_equal(found, cases[i].found);
		assert_string_equal(buf_str(&b), cases[i].content);
	}
	assert_int_equal(rev_read_file(r, "HEAD", "link", &b, &found, &err), -1);
	assert_contains(err.message, "symbolic link");
	/* A damaged object is not a missing file. */
	run_in(dir,
	       "o=$(git rev-parse HEAD:empty); p=.git/objects/$(echo $o | cut -c1-2)/"
	       "$(echo $o | cut -c3-); chmod +w $p; echo bad >$p");
	assert_int_equal(rev_read_file(r, "HEAD", "empty", &b, &found, &err), -1);
	assert_contains(err.hint, "git fsck");
	buf_release(&b);
	repo_close(r);
	free(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		HARNESS_TEST(resolves_what_git_resolves),
		HARNESS_TEST(unknown_revisions_get_a_hint),
		HARNESS_TEST(ambiguous_hashes_are_named),
		HARNESS_TEST(shallow_clones_hint_at_unshallow),
		HARNESS_TEST(default_base),
		HARNESS_TEST(no_base_at_all),
		HARNESS_TEST(reads_files_of_a_revision),
	};

	return HARNESS_RUN(tests);
}
