/* A git repository in the test's own directory, and shell commands run in it. */
#ifndef TESTS_UNIT_REV_FIXTURE_H
#define TESTS_UNIT_REV_FIXTURE_H

#include "harness.h"

#include "base/buf.h"
#include "base/fs.h"
#include "base/mem.h"
#include "rev/rev.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define DIGEST "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

/* The output of a shell script run in dir; fails the test when the script does. The
 * caller frees. */
static inline char *shell(const char *dir, const char *script)
{
	struct buf out = {0};
	int fds[2], status;
	pid_t pid;

	assert_int_equal(pipe(fds), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		if (chdir(dir) < 0 || dup2(fds[1], 1) < 0)
			_exit(126);
		close(fds[0]);
		close(fds[1]);
		execl("/bin/sh", "sh", "-ec", script, (char *)NULL);
		_exit(127);
	}
	close(fds[1]);
	assert_int_equal(read_fd(fds[0], 0, &out), 0);
	close(fds[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (status != 0)
		fail_msg("status %d of: %s\n%s", status, script, buf_str(&out));
	while (out.len && out.data[out.len - 1] == '\n')
		out.data[--out.len] = '\0';
	return buf_detach(&out);
}

static inline void run_in(const char *dir, const char *script)
{
	free(shell(dir, script));
}

/* Compares the output of a script. */
static inline void expect(const char *dir, const char *script, const char *want)
{
	char *got = shell(dir, script);

	assert_string_equal(got, want);
	free(got);
}

/* <test directory>/name; the caller frees. */
static inline char *at(const char *name)
{
	return path_join(harness_tmpdir(), name);
}

/* Isolates git and the scratch directories; makes an empty directory `repo` with a
 * space and a letter beyond ASCII in its path. The caller frees. */
static inline char *fixture(void)
{
	static char original[4096];
	char *dir, *tmp;

	if (!original[0]) {
		const char *now = getenv("TMPDIR");

		snprintf(original, sizeof(original), "%s", now ? now : "/tmp");
	}
	setenv("TMPDIR", original, 1);
	tmp = at("t");
	setenv("TMPDIR", tmp, 1);
	assert_int_equal(make_dirs(tmp, 0700, NULL), 0);
	free(tmp);
	setenv("GIT_CONFIG_GLOBAL", "/dev/null", 1);
	setenv("GIT_CONFIG_SYSTEM", "/dev/null", 1);
	setenv("GIT_AUTHOR_NAME", "A", 1);
	setenv("GIT_AUTHOR_EMAIL", "a@example.org", 1);
	setenv("GIT_COMMITTER_NAME", "A", 1);
	setenv("GIT_COMMITTER_EMAIL", "a@example.org", 1);
	dir = at("my répo");
	assert_int_equal(make_dirs(dir, 0777, NULL), 0);
	return dir;
}

/* The same with two commits on main; a.c says "one" in the first, "two" in the second. */
static inline char *fixture_repo(void)
{
	char *dir = fixture();

	run_in(dir, "git init -q -b main; mkdir sub; echo one >a.c; echo s >sub/s.txt;"
		    "printf '*.o\\nout/\\n' >.gitignore; git add .; git commit -qm first;"
		    "echo two >a.c; git commit -qam second");
	return dir;
}

static inline struct repo *open_ok(const char *dir, const char *store)
{
	struct err err = {0};
	struct repo *r = repo_open(dir, store, &err);

	if (!r)
		fail_msg("%s (%s)", err.message, err.hint);
	return r;
}

static inline void revision_free(struct revision_info *rev)
{
	free(rev->name);
	free(rev->commit);
	free(rev->tree);
	free(rev->subject);
	memset(rev, 0, sizeof(*rev));
}

static inline struct revision_info resolve_ok(struct repo *r, const char *name)
{
	struct revision_info rev = {0};
	struct err err = {0};

	if (rev_resolve(r, name, &rev, &err) < 0)
		fail_msg("%s (%s)", err.message, err.hint);
	return rev;
}

static inline struct checkout get_ok(struct repo *r, const char *name,
				     const struct strv *share)
{
	struct revision_info rev = resolve_ok(r, name);
	struct checkout c = {0};
	struct err err = {0};

	if (checkout_get(r, &rev, DIGEST, share, false, NULL, NULL, &c, &err) < 0)
		fail_msg("%s (%s)", err.message, err.hint);
	revision_free(&rev);
	return c;
}

static inline void assert_contains(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("'%s' is not in '%s'", part, text);
}

#endif
