/* What `git diff -W` says, as ranges: made texts, hostile ones, and git itself. */
#include "rev_fixture.h"

#include "rev/changes.h"

static char *as_text(const struct rev_ranges *r)
{
	struct buf b = {0};

	for (size_t i = 0; i < r->n; i++)
		buf_addf(&b, "%s%s:%u-%u", i ? " " : "", r->v[i].path, r->v[i].first,
			 r->v[i].last);
	return buf_detach(&b);
}

#define HEAD(name) "diff --git a/" name " b/" name "\nindex 1..2 100644\n"
#define FILES(name) "--- a/" name "\n+++ b/" name "\n"

static void test_texts(void **state)
{
	static const struct {
		const char *diff, *ranges;
	} rows[] = {
		{"", ""},
		{HEAD("a.c") FILES("a.c") "@@ -1,2 +1,3 @@\n x\n+y\n z\n", "a.c:1-3"},
		{HEAD("a.c") FILES("a.c") "@@ -1 +1 @@ f()\n-x\n+y\n@@ -9,0 +10,2 @@\n"
					  "+u\n+v\n",
		 "a.c:1-1 a.c:10-11"},
		{HEAD("a.c") FILES("a.c") "@@ -1,2 +0,0 @@\n-x\n-y\n", "a.c:0-0"},
		{HEAD("a b.c") FILES("a b.c\t") "@@ -1 +1 @@\n-x\n+y\n", "a b.c:1-1"},
		/* content that looks like a header */
		{HEAD("a.c") FILES("a.c") "@@ -1,2 +1,2 @@\n--- a/x\n+++ b/x\n"
					  " @@ -1 +7 @@\n"
					  "@@ -5 +5 @@\n-u\n+v\n",
		 "a.c:1-2 a.c:5-5"},
		{HEAD("a.c") FILES("a.c") "@@ -1 +1 @@\n-x\n\\ No newline at end of "
					  "file\n+y\n\\ No newline at end of file\n" HEAD(
						  "b.c")
						  FILES("b.c") "@@ -1 +2 @@\n-x\n+y\n",
		 "a.c:1-1 b.c:2-2"},
		/* gone, renamed without a change, binary, quoted */
		{HEAD("a.c") "--- a/a.c\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n", ""},
		{HEAD("a.c") "similarity index 100%\nrename from a.c\nrename to b.c\n",
		 ""},
		{HEAD("a") "Binary files a/a and b/a differ\n", ""},
		{HEAD("a") "--- \"a/\\n\"\n+++ \"b/\\n\"\n@@ -1 +1 @@\n-x\n+y\n", ""},
		/* malformed */
		{"@@ -1 +1 @@\n-x\n+y\n", ""},
		{HEAD("a.c") FILES("a.c") "@@ -x +1 @@\n@@ -1 1 @@\n@@ -1,+1 @@\n@@", ""},
		{HEAD("a.c") FILES("a.c") "@@ -1 +4294967295,4294967295 @@\n+x",
		 "a.c:0-0"},
		{HEAD("a.c") FILES("a.c") "@@ -1 +99999999999999999999,2 @@\n+x",
		 "a.c:0-0"},
		{HEAD("a.c") "+++ b/\n@@ -1 +1 @@\n", ""},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(rev_ranges) struct rev_ranges r = {0};
		CLEANUP_FREE char *text = NULL;

		rev_ranges_parse(rows[i].diff, strlen(rows[i].diff), &r);
		text = as_text(&r);
		if (strcmp(text, rows[i].ranges) != 0)
			fail_msg("%s\ngives %s, not %s", rows[i].diff, text,
				 rows[i].ranges);
	}
}

static void test_git(void **state)
{
	char *repo = fixture();
	struct repo *r;
	struct err err = {0};
	struct revision_info base = {0}, now = {0};
	CLEANUP(rev_ranges) struct rev_ranges ranges = {0};
	CLEANUP_FREE char *text = NULL;

	(void)state;
	run_in(repo, "git init -q -b main\n"
		     "printf 'int f(void)\\n{\\n\\treturn 1;\\n}\\n\\n"
		     "int g(void)\\n{\\n\\treturn 2;\\n}\\n' >a.c\n"
		     "git add -A && git commit -qm one\n"
		     "sed -i 's/return 2/return 3/' a.c; echo new >'b c.txt'\n");
	r = repo_open(repo, NULL, &err);
	if (!r || rev_resolve(r, "HEAD", &base, &err) < 0 ||
	    rev_resolve(r, REV_WORKTREE, &now, &err) < 0 ||
	    rev_changed_ranges(r, base.commit, now.commit, &ranges, &err) < 0)
		fail_msg("%s", err.message);
	text = as_text(&ranges);
	assert_string_equal(text, "a.c:5-9 b c.txt:1-1");
	revision_release(&base);
	revision_release(&now);
	repo_close(r);
	free(repo);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		HARNESS_TEST(test_texts),
		HARNESS_TEST(test_git),
	};

	return HARNESS_RUN(tests);
}
