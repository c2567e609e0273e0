/* Sandbox, environment and results of `exitpath run`. */
#include "engine/run_session.h"

#include "base/base64.h"
#include "base/fs.h"
#include "base/json.h"
#include "base/mem.h"
#include "rev/rev.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

/* Is dir the home directory, or above it? */
static bool holds_home(const char *dir)
{
	const char *home = home_dir();
	CLEANUP_FREE char *real = home ? realpath(home, NULL) : NULL;

	return (home && path_is_below(home, dir)) || (real && path_is_below(real, dir));
}

/* What the sandbox has of its own, or shows to be read, is not to be written. */
static const char *view_refused(const char *dir)
{
	static const char *const public[] = {"/usr", "/bin", "/sbin", "/lib", "/lib64",
					     "/etc", "/opt", "/nix",  "/gnu", "/home",
					     "/var", "/run", "/boot"};

	if (!strcmp(dir, "/"))
		return "is the whole machine";
	if (holds_home(dir))
		return "is, or holds, the home directory";
	for (size_t i = 0; sandbox_own_dirs[i]; i++)
		if (path_is_below(sandbox_own_dirs[i], dir))
			return "is private to each run in the sandbox";
	if (path_is_below(dir, "/dev") || path_is_below(dir, "/proc") ||
	    path_is_below(dir, "/sys"))
		return "is private to each run in the sandbox";
	for (size_t i = 0; i < ARRAY_SIZE(public); i++)
		if (!strcmp(dir, public[i]))
			return "belongs to the system";
	return NULL;
}

/* The top of the git repository around dir; dir itself when there is none, or when it is
 * one that holds the home directory (of its dotfiles, say). The caller frees. */
static char *find_top(const char *dir)
{
	CLEANUP_FREE char *top = xstrdup(dir);

	for (;;) {
		CLEANUP_FREE char *git = path_join(top, ".git");
		char *slash = strrchr(top, '/');

		if (path_exists(git))
			return xstrdup(view_refused(top) ? dir : top);
		if (!slash || slash == top)
			return xstrdup(dir);
		*slash = '\0';
	}
}

static int add_read(struct sandbox *sb, const struct run_opts *opts, const char *path,
		    struct err *err)
{
	CLEANUP_FREE char *full =
		path[0] == '/' ? xstrdup(path) : path_join(opts->dir, path);
	CLEANUP_FREE char *real = realpath(full, NULL);

	if (!real)
		return err_errno(err, ERR_USAGE, errno, "--read %s", path);
	/* Seen where it is, and under the name it was given when that is plain. */
	if (!strcmp(real, "/"))
		return err_set(err, ERR_USAGE, "--read %s would show the whole machine",
			       path);
	if (sandbox_is_own_dir(real))
		return err_set(err, ERR_USAGE,
			       "--read %s: it is a run's own in the sandbox", path);
	sandbox_add_view(sb, real, real, VIEW_READ);
	if (strcmp(full, real) != 0 && !strstr(full, "/.") && !strstr(full, "//") &&
	    full[strlen(full) - 1] != '/')
		sandbox_add_view(sb, real, full, VIEW_READ);
	return 0;
}

/* The first line of a file after prefix; NULL: it has none. The caller frees. */
static char *read_path(const char *file, const char *prefix)
{
	CLEANUP(buf) struct buf text = {0};
	size_t n = strlen(prefix);

	if (read_file(file, PATH_MAX, &text, NULL) < 0 ||
	    strncmp(buf_str(&text), prefix, n) != 0)
		return NULL;
	return xstrndup(buf_str(&text) + n, strcspn(buf_str(&text) + n, "\n"));
}

/*
 * The repository of a linked worktree, by its file .git; NULL: it is none. The file may
 * be foreign and lead to what is private, so the repository must know the worktree, too.
 * The caller frees.
 */
static char *worktree_of(const char *git)
{
	CLEANUP_FREE char *link = read_path(git, "gitdir: ");
	CLEANUP_FREE char *real = link && *link == '/' ? realpath(link, NULL) : NULL;
	CLEANUP_FREE char *back_file = real ? path_join(real, "gitdir") : NULL;
	CLEANUP_FREE char *back = back_file ? read_path(back_file, "") : NULL;
	CLEANUP_FREE char *own = realpath(git, NULL);
	char *slash = real ? strstr(real, "/worktrees/") : NULL;

	if (!slash || !own || !back || strcmp(back, own) != 0)
		return NULL;
	return xstrndup(real, (size_t)(slash - real));
}

/*
 * git obeys what stands there, outside the sandbox and the next time anybody calls it:
 * hooks, core.fsmonitor, filters. exitpath keeps its evidence there. So it can only be
 * read, and what it is linked to as well.
 */
static void add_git(struct sandbox *sb, const char *top)
{
	CLEANUP_FREE char *git = path_join(top, ".git");
	CLEANUP_FREE char *link = NULL;
	struct stat st;

	if (lstat(git, &st) < 0 || S_ISLNK(st.st_mode))
		return;
	sandbox_add_view(sb, git, git, VIEW_READ);
	link = S_ISREG(st.st_mode) ? worktree_of(git) : NULL;
	if (link && !view_refused(link) && !path_is_below(top, link))
		sandbox_add_view(sb, link, link, VIEW_READ);
}

int run_sandbox(const struct run_opts *opts, struct sandbox *ret, struct err *err)
{
	CLEANUP_FREE char *top = find_top(opts->dir);
	const char *why = view_refused(top);

	if (why) {
		err_set(err, ERR_USAGE, "commands could write all of %s, which %s", top,
			why);
		err_hint(err, "run it in the directory of a project, or with "
			      "--isolation none");
		return -1;
	}
	sandbox_add_view(ret, top, top, VIEW_WRITE);
	add_git(ret, top);
	for (size_t i = 0; opts->read && i < opts->read->n; i++)
		if (add_read(ret, opts, opts->read->v[i], err) < 0)
			return -1;
	ret->home = xstrdup(home_dir());
	ret->network = opts->network;
	return 0;
}

void run_env(const struct run_opts *opts, struct strv *ret)
{
	rev_clean_env(ret);
	/* It names a directory of the machine; a run has its own /tmp. */
	if (opts->isolation == ISOLATION_SANDBOX)
		env_set(ret, "TMPDIR", NULL);
}

/* ---- results ---- */

/* Text that was cut may end within a character. */
static size_t whole_characters(const struct buf *b, bool was_cut)
{
	const char *text = buf_str(b);
	size_t at = 0;

	while (at < b->len) {
		size_t n = utf8_len(text + at); /* reads up to the NUL at the end */

		if (!n)
			break;
		at += n;
	}
	return was_cut && b->len - at < 4 ? at : b->len;
}

static void put_stream(json_t *j, const char *name, const struct buf *b, bool was_cut)
{
	json_t *text = json_stringn(buf_str(b), whole_characters(b, was_cut));
	CLEANUP_FREE char *key = NULL, *base64 = NULL;

	if (text) {
		json_object_set_new(j, name, text);
		return;
	}
	key = xasprintf("%s_base64", name);
	base64 = base64_encode(buf_str(b), b->len);
	json_put(j, key, base64);
}

static json_t *begin(uint64_t line, const json_t *id, const char *verdict)
{
	json_t *j = json_object();

	if (line)
		json_put_int(j, "line", (int64_t)line);
	if (id)
		json_object_set_new(j, "id", json_deep_copy(id));
	json_put(j, "verdict", verdict);
	return j;
}

static void put_end(json_t *j, const struct pool_result *r)
{
	CLEANUP_FREE char *text = NULL;

	if (r->run.end == RUN_EXITED)
		json_put_int(j, "exit", r->run.status);
	if (r->run.end == RUN_SIGNALED)
		json_put_int(j, "signal", r->run.signal);
	if (r->run.end != RUN_NOT_STARTED && r->run.end != RUN_LOST &&
	    r->run.end != RUN_SANDBOX_FAILED)
		return;
	text = run_result_describe(&r->run);
	json_put(j, "error", r->error ? r->error : text);
	json_put(j, "hint", r->hint);
}

char *run_json(const struct pool_result *r, const struct run_opts *opts, uint64_t line,
	       const json_t *id)
{
	CLEANUP_JSON json_t *j = begin(line, id, run_verdict_name(r->run.end));

	put_end(j, r);
	json_put_int(j, "wall_ms", (int64_t)(r->run.wall_us / 1000));
	json_put_int(j, "cpu_ms", (int64_t)(r->run.cpu_us / 1000));
	json_put_int(j, "memory_kib", (int64_t)r->run.peak_kib);
	put_stream(j, "stdout", &r->out, r->run.stdout_cut);
	put_stream(j, "stderr", &r->err, r->run.stderr_cut);
	json_put_int(j, "stdout_bytes", (int64_t)r->run.stdout_bytes);
	json_put_int(j, "stderr_bytes", (int64_t)r->run.stderr_bytes);
	json_put_bool(j, "stdout_cut", r->run.stdout_cut);
	json_put_bool(j, "stderr_cut", r->run.stderr_cut);
	json_put_int(j, "left_behind", r->run.left_behind);
	json_put_bool(j, "warm", r->run.warm);
	json_put(j, "isolation", isolation_name(opts->isolation));
	json_put(j, "tier", limit_tier_name(r->run.tier));
	return json_dumps(j, JSON_COMPACT);
}

char *run_json_bad(const char *error, const char *hint, uint64_t line, const json_t *id)
{
	CLEANUP_JSON json_t *j = begin(line, id, "bad-input");

	json_put(j, "error", error);
	json_put(j, "hint", *hint ? hint : NULL);
	return json_dumps(j, JSON_COMPACT);
}

/* ---- output ---- */

enum sink_state sink_write(int fd, const char *data, size_t len, size_t *done)
{
	ssize_t n = write(fd, data, len < SINK_CHUNK ? len : SINK_CHUNK);

	if (n >= 0)
		*done += (size_t)n;
	else if (errno == EPIPE)
		return SINK_CLOSED;
	else if (errno != EINTR && errno != EAGAIN)
		return SINK_BROKEN;
	return SINK_OPEN;
}

struct pollfd sink_poll(int fd, bool pending)
{
	return (struct pollfd){.fd = fd, .events = pending ? POLLOUT : 0};
}
