#include "rev_fixture.h"

#include "base/strv.h"
#include "engine/sources.h"
#include "rev/changes.h"

static char *told(const struct rev_changes *c)
{
	struct buf out = {0};

	for (size_t i = 0; i < c->n; i++) {
		const struct rev_change *v = &c->v[i];

		buf_addf(&out, "%c %s>%s [%s>%s]%s%s; ", v->status,
			 v->old_path ? v->old_path : "", v->path ? v->path : "",
			 buf_str(&v->old_text), buf_str(&v->text),
			 v->is_text ? "" : " no text", v->too_large ? " large" : "");
	}
	return buf_detach(&out);
}

static void every_kind_of_change(void **state)
{
	char *dir = fixture_repo(), *text;
	struct repo *r;
	struct rev_changes c = {0};
	struct revision_info candidate;

	(void)state;
	run_in(dir,
	       "printf '1\\n2\\n3\\n4\\n5\\n6\\n' >old; echo gone >gone; echo x >mod;"
	       "echo l >link; printf 'a\\000b' >bin; echo big >big; git add -A;"
	       "git commit -qm base; git tag base;"
	       "git mv old 'new name'; git rm -q gone; printf y >mod; rm link;"
	       "ln -s mod link; printf 'a\\000c' >bin; seq 1000 >big; printf n >new;"
	       "chmod +x a.c");
	r = open_ok(dir, NULL);
	candidate = resolve_ok(r, REV_WORKTREE);
	assert_int_equal(rev_changes(r, "base", candidate.commit, 1000, &c, NULL), 0);
	text = told(&c);
	assert_non_null(strstr(text, "M big>big [>] large; "));
	assert_non_null(strstr(text, "M mod>mod [x\n>y]; "));
	assert_non_null(strstr(text, "D gone> [gone\n>]; "));
	assert_non_null(strstr(text, "A >new [>n]; "));
	assert_non_null(strstr(text, "M link>link [>] no text; "));
	assert_non_null(strstr(text, "no text; D gone"));
	assert_non_null(strstr(text, "R old>new name [1\n2\n3\n4\n5\n6\n>1\n2\n3\n"));
	assert_non_null(strstr(text, "M a.c>a.c"));
	assert_int_equal(c.n, 8);
	rev_changes_release(&c);
	assert_int_equal(rev_changes(r, "base", "base", 1000, &c, NULL), 0);
	assert_int_equal(c.n, 0);
	assert_int_equal(rev_changes(r, "base", "nope", 1000, &c, NULL), -1);
	free(text);
	revision_free(&candidate);
	repo_close(r);
	free(dir);
}

static char *sources_of(const char *dir, const char *sub)
{
	struct strv paths CLEANUP(strv) = {0};
	struct source_files f CLEANUP(source_files) = {0};
	struct buf out = {0};

	strv_take(&paths, path_join(dir, sub));
	assert_int_equal(engine_sources(&paths, &f, NULL), 0);
	for (size_t i = 0; i < f.n; i++)
		buf_addf(&out, "%s ", f.v[i].path + strlen(dir) + 1);
	return buf_detach(&out);
}

static void files_that_git_knows(void **state)
{
	char *dir = fixture_repo(), *text;
	struct strv none = {0};
	struct err err = {0};
	struct source_files f = {0};

	(void)state;
	run_in(dir, "mkdir -p sub/vendor ig; echo ig >>.gitignore; touch new.py ig/a.c "
		    "sub/b.go sub/vendor/v.go; git add sub; git rm -q --cached sub/b.go;"
		    "git -C . ls-files >/dev/null");
	text = sources_of(dir, "sub");
	assert_string_equal(text, "sub/b.go ");
	free(text);
	text = sources_of(dir, "new.py");
	assert_string_equal(text, "new.py ");
	free(text);
	run_in(dir, "rm -rf .git");
	text = sources_of(dir, "sub");
	assert_string_equal(text, "sub/b.go ");
	free(text);
	strv_take(&none, path_join(dir, "missing"));
	assert_int_equal(engine_sources(&none, &f, &err), -1);
	assert_int_equal(err.kind, ERR_USAGE);
	strv_release(&none);
	free(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		HARNESS_TEST(every_kind_of_change),
		HARNESS_TEST(files_that_git_knows),
	};

	return HARNESS_RUN(tests);
}
